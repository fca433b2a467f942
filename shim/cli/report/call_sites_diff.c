/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two runs beside each other. Two sites are the same if build id and offset are. Sites of different
 * builds are matched by function, if it is known: the first call of a function in one run is the
 * first in the other. A run in which nothing was rerouted may not know the nodes of its
 * communicators.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/settings/settings.h"
#include "shim/cli/cli.h"
#include "shim/cli/report/call_sites.h"
#include "shim/cli/report/lines.h"

struct pair {
    struct site_line old, new; /* object NULL: not in that run */
    char function[160];        /* of the one that is there */
};

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

static int same_call(const struct pair *p, const struct site_line *b, const char *function)
{
    const struct site_line *a = &p->old;

    if (!a->object || p->new.object || strcmp(a->collective, b->collective) != 0 ||
        a->from != b->from || a->ranks != b->ranks ||
        (a->nodes && b->nodes && a->nodes != b->nodes))
        return 0;
    if (same_build(a, b))
        return a->offset == b->offset;
    return function[0] && !strcmp(p->function, function) &&
           !strcmp(base_name(a->object), base_name(b->object));
}

static double seconds(const struct site_line *s)
{
    return s->object ? s->rerouted_s + s->native_s : 0;
}

static double change(const struct pair *p)
{
    return seconds(&p->new) - seconds(&p->old);
}

static int by_change(const void *a, const void *b)
{
    double x = fabs(change(a)), y = fabs(change(b));

    return (x < y) - (x > y);
}

static int by_place(const void *a, const void *b)
{
    const struct site_line *x = a, *y = b;

    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* The rows in the order of their offsets. The caller frees them. */
static struct site_line *lines_of(json_t *root, size_t *n)
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

static void function_of(const struct site_line *s, char *function, size_t size)
{
    struct line l;

    lines_find(s->object, s->build_id, (uint64_t)s->offset, &l);
    snprintf(function, size, "%s", l.function);
}

static size_t match(struct pair *p, const struct site_line *old, size_t nold,
                    const struct site_line *new, size_t nnew)
{
    size_t n = nold;

    for (size_t i = 0; i < nold; i++) {
        p[i].old = old[i];
        function_of(&old[i], p[i].function, sizeof p[i].function);
    }
    for (size_t k = 0; k < nnew; k++) {
        char function[sizeof p->function];
        size_t i = 0;

        function_of(&new[k], function, sizeof function);
        while (i < nold && !same_call(&p[i], &new[k], function))
            i++;
        if (i == nold)
            i = n++;
        p[i].new = new[k];
    }
    return n;
}

static const char *mean_us(const struct site_line *s, char *text, size_t size)
{
    snprintf(text, size, s->object && s->calls ? "%.1f" : "-",
             s->calls ? seconds(s) / (double)s->calls * 1e6 : 0);
    return text;
}

static void print_pair(const struct pair *p)
{
    const struct site_line *s = p->new.object ? &p->new : &p->old;
    char place[400], from[32] = "-", t[2][32];
    double per_call[2] = {
        p->old.object && p->old.calls ? seconds(&p->old) / (double)p->old.calls : 0,
        p->new.object && p->new.calls ? seconds(&p->new) / (double)p->new.calls : 0};

    sites_place(s->object, s->build_id, s->offset, place, sizeof place);
    if (s->from)
        cfg_print_bytes((unsigned long long)s->from, from, sizeof from);
    printf("  %s\n    %-20s %8s %5lld %9lld %9lld %10s %10s ", place, s->collective, from, s->ranks,
           p->old.calls, p->new.calls, mean_us(&p->old, t[0], sizeof t[0]),
           mean_us(&p->new, t[1], sizeof t[1]));
    if (per_call[0] > 0 && per_call[1] > 0)
        printf("%7.2fx", per_call[0] / per_call[1]);
    else
        printf("%8s", p->old.object ? "gone" : "new");
    printf(" %+11.3g\n", change(p));
}

/* One sentence about the change that matters. */
static void conclude(const struct pair *p, size_t n, double old, double new)
{
    char place[400];
    const struct site_line *s = n ? p->new.object ? &p->new : &p->old : NULL;

    if (s)
        sites_place(s->object, s->build_id, s->offset, place, sizeof place);
    if (!s || fabs(new - old) < 0.02 * old)
        puts("\nNext: nothing; the two runs took the same time within 2 %.");
    else if (new > old && change(p) > 0)
        printf("\nNext: look at %s, which makes up %.0f %% of the loss.\n", place,
               fmin(100, 100 * change(p) / (new - old)));
    else
        printf("\nNext: keep the new run's settings%s.\n",
               new < old ? "" : " only where they gain; the total grew");
}

int sites_diff(json_t *old, json_t *new, size_t most)
{
    size_t nold, nnew, n = 0;
    struct site_line *a = lines_of(old, &nold), *b = lines_of(new, &nnew);
    struct pair *p = a && b ? calloc(nold + nnew + 1, sizeof *p) : NULL;
    double sum[2] = {0};
    int code = CLI_OK;

    if (!p)
        code = cli_fail("out of memory");
    else if (!nold || !nnew)
        code = cli_fail("the %s report has no call sites", nold ? "second" : "first");
    else
        n = match(p, a, nold, b, nnew);
    if (n) {
        qsort(p, n, sizeof *p, by_change);
        for (size_t i = 0; i < n; i++) {
            sum[0] += seconds(&p[i].old);
            sum[1] += seconds(&p[i].new);
        }
        printf("Collectives took %.4g s of all ranks, then %.4g s\n", sum[0], sum[1]);
        printf("    %-20s %8s %5s %9s %9s %10s %10s %8s %11s\n", "collective", "total", "ranks",
               "calls", "then", "mean us", "then", "faster", "change s");
        for (size_t i = 0; i < n && i < most; i++)
            print_pair(&p[i]);
        if (n > most)
            printf("  %zu more; --all shows them\n", n - most);
        conclude(p, n, sum[0], sum[1]);
    }
    free(p);
    free(a);
    free(b);
    return code;
}
