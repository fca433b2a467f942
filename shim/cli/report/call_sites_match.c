/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which call sites of two runs are the same. Two are if build id and offset are. Sites of different
 * builds are matched by function, if it is known. A run in which nothing was rerouted may not know
 * the nodes of its communicators.
 */
#include <stdlib.h>
#include <string.h>

#include "shim/cli/report/call_sites.h"
#include "shim/cli/report/lines.h"

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static int same_build(const struct site_line *a, const struct site_line *b)
{
    return a->build_id && b->build_id ? !strcmp(a->build_id, b->build_id)
                                      : !strcmp(a->object, b->object);
}

int sites_same(const struct site_line *a, const char *function_a, const struct site_line *b,
               const char *function_b)
{
    if (!a->object || strcmp(a->collective, b->collective) != 0 || a->from != b->from ||
        a->ranks != b->ranks || (a->nodes && b->nodes && a->nodes != b->nodes))
        return 0;
    if (same_build(a, b))
        return a->offset == b->offset;
    return function_b[0] && !strcmp(function_a, function_b) &&
           !strcmp(base_name(a->object), base_name(b->object));
}

void sites_function(const struct site_line *s, char function[SITES_FUNCTION])
{
    struct line l;

    lines_find(s->object, s->build_id, (uint64_t)s->offset, &l);
    snprintf(function, SITES_FUNCTION, "%s", l.function);
}

static int by_place(const void *a, const void *b)
{
    const struct site_line *x = a, *y = b;

    return (x->offset > y->offset) - (x->offset < y->offset);
}

struct site_line *sites_lines(json_t *root, size_t *n)
{
    json_t *list = json_object_get(root, "sites"), *row;
    struct site_line *s = calloc(json_array_size(list) + 1, sizeof *s);
    size_t i;

    *n = 0;
    if (!s)
        return NULL;
    json_array_foreach(list, i, row)
    {
        if (sites_read(row, &s[*n]) == 0)
            ++*n;
    }
    qsort(s, *n, sizeof *s, by_place);
    return s;
}
