/* SPDX-License-Identifier: BSD-3-Clause */
/* Did the loader's list of libraries change? In a header, because the preload links libc alone. */
#ifndef COLLSHIM_CONFIG_LOADED_H
#define COLLSHIM_CONFIG_LOADED_H

#include <link.h>
#include <stddef.h>

static inline int loaded_note_changes(struct dl_phdr_info *info, size_t size, void *changes)
{
    (void)size;
    *(unsigned long long *)changes = info->dlpi_adds + info->dlpi_subs;
    return 1;
}

/* How often a library was loaded or unloaded so far; not 0. Takes the loader's lock. Any thread. */
static inline unsigned long long loaded_changes(void)
{
    unsigned long long changes = 0;

    dl_iterate_phdr(loaded_note_changes, &changes);
    return changes;
}

#endif
