/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two runs beside each other. The first call of a function in one run is the first in the other.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/settings/settings.h"
#include "shim/cli/cli.h"
#include "shim/cli/report/call_sites.h"

struct pair {
    struct site_line old, new;     /* object NULL: not in that run */
    char function[SITES_FUNCTION]; /* of the one that is there */
};

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

static size_t match(struct pair *p, const struct site_line *old, size_t nold,
                    const struct site_line *new, size_t nnew)
{
    size_t n = nold;

    for (size_t i = 0; i < nold; i++) {
        p[i].old = old[i];
        sites_function(&old[i], p[i].function);
    }
    for (size_t k = 0; k < nnew; k++) {
        char function[SITES_FUNCTION];
        size_t i = 0;

        sites_function(&new[k], function);
        while (i < nold &&
               (p[i].new.object || !sites_same(&p[i].old, p[i].function, &new[k], function)))
            i++;
        if (i == nold)
            i = n++;
        p[i].new = new[k];
    }
    return n;
}

static const struct cli_column columns[] = {
    {"  collective", -22, -24},
    {"total", 7, 8},
    {"ranks", 0, 5},
    {"calls", 7, 9},
    {"then", 7, 9},
    {"mean us", 8, 10},
    {"then", 8, 10},
    {"faster", 6, 8},
    {"change s", 8, 11},
    {NULL, 0, 0},
};

static void put_mean_us(struct cli_cells *c, const struct site_line *s)
{
    cli_cell(c, s->object && s->calls ? "%.1f" : "-",
             s->calls ? seconds(s) / (double)s->calls * 1e6 : 0);
}

static void print_pair(const struct pair *p)
{
    const struct site_line *s = p->new.object ? &p->new : &p->old;
    struct cli_cells c = {0};
    char place[400], from[32] = "-";
    double per_call[2] = {
        p->old.object && p->old.calls ? seconds(&p->old) / (double)p->old.calls : 0,
        p->new.object && p->new.calls ? seconds(&p->new) / (double)p->new.calls : 0};

    sites_place(s->object, s->build_id, s->offset, place, sizeof place);
    if (s->from)
        cfg_print_bytes((unsigned long long)s->from, from, sizeof from);
    printf("  %s\n", place);
    cli_cell(&c, "  %s", s->collective);
    cli_cell(&c, "%s", from);
    cli_cell(&c, "%lld", s->ranks);
    cli_cell(&c, "%lld", p->old.calls);
    cli_cell(&c, "%lld", p->new.calls);
    put_mean_us(&c, &p->old);
    put_mean_us(&c, &p->new);
    if (per_call[0] > 0 && per_call[1] > 0)
        cli_cell(&c, "%.2fx", per_call[0] / per_call[1]);
    else
        cli_cell(&c, !p->new.object ? "gone" : !p->old.object ? "new" : "-");
    cli_cell(&c, cli_is_wide ? "%+.3g" : "%+.2g", change(p));
    cli_print_row(columns, &c);
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
    struct site_line *a = sites_lines(old, &nold), *b = sites_lines(new, &nnew);
    struct pair *p = a && b ? calloc(nold + nnew + 1, sizeof *p) : NULL;
    double sum[2] = {0};
    int code = CLI_OK;

    if (!p)
        code = cli_fail("out of memory");
    else if (!nold || !nnew)
        code = cli_fail("the %s report has no call sites", nold ? "second" : "first");
    else
        n = match(p, a, nold, b, nnew);
    for (size_t i = 0; i < n; i++) {
        sum[0] += seconds(&p[i].old);
        sum[1] += seconds(&p[i].new);
    }
    if (n && !(sum[0] > 0 && sum[1] > 0)) {
        code = cli_fail("no call of the %s report was timed", sum[0] > 0 ? "second" : "first");
    } else if (n) {
        qsort(p, n, sizeof *p, by_change);
        printf("Collectives took %.4g s of all ranks, then %.4g s\n", sum[0], sum[1]);
        cli_print_titles(columns);
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
