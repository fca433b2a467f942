/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The value of LD_PRELOAD with collshim in it, or without. Other preloaded libraries stay, in their
 * order. Libraries are divided by single colons, none is empty.
 */
#ifndef COLLSHIM_CONFIG_PRELOAD_LIST_H
#define COLLSHIM_CONFIG_PRELOAD_LIST_H

#define PRELOAD_NAME "libcollshim.so"

/*
 * list: LD_PRELOAD as it is, or NULL. library: a path without blanks and colons. It takes the place
 * of the first libcollshim.so in the list, or comes first if there is none. Others of that name go:
 * a process must not have two versions. NULL: all go. Returns the new value, "" if it is empty,
 * which the caller frees; or NULL without memory. Thread-safe.
 */
char *preload_list_with(const char *list, const char *library);

/* 1 if the dynamic linker takes this path out of LD_PRELOAD as one. */
int preload_list_can_hold(const char *library);

#endif
