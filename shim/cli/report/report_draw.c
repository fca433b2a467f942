/* SPDX-License-Identifier: BSD-3-Clause */
/* Mean times over sizes, as gnuplot draws them. */
#include <string.h>

#include "shim/cli/cli.h"
#include "shim/cli/report/gnuplot.h"
#include "shim/cli/report/report_rows.h"

/* A block of "bytes native_us rerouted_us" for gnuplot, with ? for values that were not measured.
 */
static void plot_data(FILE *f, const struct collective_row *c)
{
    struct size_row s;
    json_t *size;
    size_t i;

    fprintf(f, "$%s << end_of_data\n", c->name);
    json_array_foreach(c->sizes, i, size)
    {
        report_read_size(size, &s);
        fprintf(f, "%lld", s.from);
        fprintf(f, s.native ? " %.1f" : " ?", s.native_us);
        fprintf(f, s.rerouted ? " %.1f\n" : " ?\n", s.rerouted_us);
    }
    fputs("end_of_data\n", f);
}

static int is_plain_name(const char *name)
{
    return name[strspn(name, "abcdefghijklmnopqrstuvwxyz_")] == 0 && name[0];
}

static void plot(FILE *f, const struct report *r, const char *picture)
{
    struct collective_row c;
    json_t *row;
    size_t i;
    int n = 0;

    fputs("set datafile missing '?'\n", f);
    json_array_foreach(r->collectives, i, row)
    {
        report_read_collective(row, &c);
        if (json_array_size(c.sizes) && is_plain_name(c.name))
            plot_data(f, &c);
    }
    gnuplot_output(f, picture, 900, 600);
    fputs("set logscale x 2\nset logscale y\nset format x '%.0b%BB'\nset grid\nset key top left\n"
          "set xlabel 'bytes of the collective, from'\nset ylabel 'mean time, us'\n"
          "set title 'collshim: mean time per call' noenhanced\nplot ",
          f);
    json_array_foreach(r->collectives, i, row)
    {
        report_read_collective(row, &c);
        if (!json_array_size(c.sizes) || !is_plain_name(c.name))
            continue;
        fprintf(f,
                "%s$%s using 1:2 with linespoints lt %d dt 2 title '%s, library' noenhanced, "
                "$%s using 1:3 with linespoints lt %d title '%s, rerouted' noenhanced",
                n ? ", " : "", c.name, n + 1, c.name, c.name, n + 1, c.name);
        n++;
    }
    fputc('\n', f);
}

static int sizes_of(const struct report *r)
{
    struct collective_row c;
    int n = 0;
    json_t *row;
    size_t i;

    json_array_foreach(r->collectives, i, row)
    {
        report_read_collective(row, &c);
        n += (int)json_array_size(c.sizes);
    }
    return n;
}

int report_draw(const struct report *r, const char *picture)
{
    if (!sizes_of(r))
        return cli_fail("nothing to draw: no call was rerouted or timed");
    FILE *f = gnuplot_open();
    if (!f)
        return CLI_FAILURE;
    plot(f, r, picture);
    return gnuplot_close(f, picture);
}
