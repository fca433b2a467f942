/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a loaded object lies, for dl_iterate_phdr. In a header, because the preload links libc
   alone. */
#ifndef COLLSHIM_CONFIG_OBJECT_SPAN_H
#define COLLSHIM_CONFIG_OBJECT_SPAN_H

#include <link.h>
#include <stdint.h>

/* The addresses from its first segment to its last one. Returns 1 if the address is in a segment.
 */
static inline int object_span(const struct dl_phdr_info *info, uintptr_t address, uintptr_t *from,
                              uintptr_t *to)
{
    int inside = 0;

    *from = UINTPTR_MAX;
    *to = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t at = info->dlpi_addr + p->p_vaddr;

        if (p->p_type != PT_LOAD)
            continue;
        *from = at < *from ? at : *from;
        *to = at + p->p_memsz > *to ? at + p->p_memsz : *to;
        inside |= address >= at && address < at + p->p_memsz;
    }
    return inside;
}

#endif
