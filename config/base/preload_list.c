/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/base/preload_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char dividers[] = ": "; /* the dynamic linker's; there is no escape */

int preload_list_can_hold(const char *library)
{
    return *library && !strpbrk(library, dividers);
}

static int is_collshim(const char *entry, size_t size)
{
    size_t name = strlen(PRELOAD_NAME);

    return size >= name && !memcmp(entry + size - name, PRELOAD_NAME, name) &&
           (size == name || entry[size - name - 1] == '/');
}

static void append(char *list, const char *entry, size_t size)
{
    size_t used = strlen(list);

    sprintf(list + used, "%s%.*s", used ? ":" : "", (int)size, entry);
}

char *preload_list_with(const char *list, const char *library)
{
    const char *rest = list ? list : "";
    char *with = malloc(strlen(rest) + (library ? strlen(library) : 0) + 2);
    int placed = !library;

    if (!with)
        return NULL;
    *with = 0;
    for (; *rest; rest += strspn(rest, dividers)) {
        size_t size = strcspn(rest, dividers);

        if (size && !is_collshim(rest, size)) {
            append(with, rest, size);
        } else if (size && !placed) {
            append(with, library, strlen(library));
            placed = 1;
        }
        rest += size;
    }
    if (!placed) {
        size_t size = strlen(library), used = strlen(with);

        memmove(with + size + (used > 0), with, used + 1);
        memcpy(with, library, size);
        if (used)
            with[size] = ':';
    }
    return with;
}
