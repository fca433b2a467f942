/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Function, file and line of an address in an object's file, by libdw where the build found it. The
 * process that made the call recorded object and offset only.
 *
 * Thread rule: one thread.
 */
#ifndef COLLSHIM_SHIM_CLI_LINES_H
#define COLLSHIM_SHIM_CLI_LINES_H

#include <stdint.h>

struct line {
    char function[160]; /* "": not known */
    char file[160];     /* its last two parts; "": not known */
    int line;
};

/* The call that returns to that offset. build_id: hexadecimal, or NULL; a file that has another one
   tells nothing. Returns 1 if anything is known, else 0. Files stay open until lines_close. */
int lines_find(const char *object, const char *build_id, uint64_t offset, struct line *l);
void lines_close(void);

#endif
