/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/cli/report/call_sites.h"

#include <stddef.h>
#include <string.h>

#include "config/base/text.h"
#include "config/settings/settings.h"
#include "shim/cli/cli.h"
#include "shim/cli/report/advice.h"
#include "shim/cli/report/gnuplot.h"
#include "shim/cli/report/lines.h"
#include "shim/cli/report/waits_show.h"

static const char *text_of(json_t *row, const char *key)
{
    return json_string_value(json_object_get(row, key));
}

static double number_of(json_t *row, const char *key)
{
    json_t *n = json_object_get(row, key);

    return json_is_number(n) ? json_number_value(n) : -1;
}

/* The places of the whole numbers. Rejected: json_unpack, because it is four times as slow. */
static const struct {
    const char *key;
    size_t at;
} counts[] = {
    {"offset", offsetof(struct site_line, offset)},
    {"comm_ranks", offsetof(struct site_line, ranks)},
    {"comm_nodes", offsetof(struct site_line, nodes)},
    {"total_bytes_from", offsetof(struct site_line, from)},
    {"calls", offsetof(struct site_line, calls)},
    {"rerouted", offsetof(struct site_line, rerouted)},
    {"native", offsetof(struct site_line, native)},
};

int sites_read(json_t *row, struct site_line *s)
{
    *s = (struct site_line){.build_id = text_of(row, "build_id"),
                            .algorithm = text_of(row, "algorithm"),
                            .reason = text_of(row, "reason"),
                            .rerouted_us = number_of(row, "rerouted_us_median"),
                            .rerouted_p99 = number_of(row, "rerouted_us_p99"),
                            .native_us = number_of(row, "native_us_median"),
                            .native_p99 = number_of(row, "native_us_p99"),
                            .callers = json_object_get(row, "callers")};
    s->saved_known = json_is_number(json_object_get(row, "saved_rank_s"));
    s->saved_s = s->saved_known ? number_of(row, "saved_rank_s") : 0;
    s->error_s = number_of(row, "plus_minus_rank_s");
    s->object = text_of(row, "object");
    s->collective = text_of(row, "collective");
    if (!s->object || !s->collective)
        return -1;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        json_t *n = json_object_get(row, counts[i].key);

        if (!json_is_integer(n))
            return -1;
        *(long long *)((char *)s + counts[i].at) = (long long)json_integer_value(n);
    }
    s->rerouted_s = number_of(row, "rerouted_rank_s");
    s->native_s = number_of(row, "native_rank_s");
    s->waiting_s = (s->rerouted_s + s->native_s) * waits_part(row);
    return s->rerouted_s < 0 || s->native_s < 0 ? -1 : 0;
}

int sites_are_valid(json_t *list)
{
    struct site_line s;
    json_t *row;
    size_t i;

    json_array_foreach(list, i, row)
    {
        if (sites_read(row, &s) < 0)
            return 0;
    }
    return !list || json_is_array(list);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

void sites_place(const char *object, const char *build_id, long long offset, char *text,
                 size_t size)
{
    struct line l;

    lines_find(object, build_id, (uint64_t)offset, &l);
    if (l.function[0] && l.file[0])
        snprintf(text, size, "%s at %s:%d", l.function, l.file, l.line);
    else if (l.file[0])
        snprintf(text, size, "%s:%d", l.file, l.line);
    else if (l.function[0])
        snprintf(text, size, "%s in %s", l.function, base_name(object));
    else if (offset)
        snprintf(text, size, "%s+0x%llx", base_name(object), (unsigned long long)offset);
    else
        snprintf(text, size, "%s", base_name(object));
    text_clean(text); /* it may be cut inside a character */
}

static void name_place(json_t *o)
{
    const char *object = text_of(o, "object");
    char place[400];

    if (object) {
        sites_place(object, text_of(o, "build_id"),
                    (long long)json_integer_value(json_object_get(o, "offset")), place,
                    sizeof place);
        json_object_set_new(o, "place", json_pack("s", place));
    }
}

void sites_name(json_t *root)
{
    json_t *row, *frame;
    size_t i, k;

    json_array_foreach(json_object_get(root, "sites"), i, row)
    {
        name_place(row);
        json_array_foreach(json_object_get(row, "callers"), k, frame)
        {
            name_place(frame);
        }
    }
}

static double seconds_of(const struct site_line *s)
{
    return s->rerouted_s + s->native_s;
}

static double all_seconds(json_t *list)
{
    struct site_line s;
    double all = 0;
    json_t *row;
    size_t i;

    json_array_foreach(list, i, row)
    {
        if (sites_read(row, &s) == 0)
            all += seconds_of(&s);
    }
    return all;
}

static void put_us(struct cli_cells *c, double value)
{
    cli_cell(c, value < 0 ? "-" : "%.1f", value);
}

/* The callers of a site, three levels, without the frames that start every program. */
static void print_callers(json_t *callers)
{
    char place[400];
    json_t *frame;
    size_t i;

    json_array_foreach(callers, i, frame)
    {
        const char *object = text_of(frame, "object");

        if (i == 3 || !object || !strncmp(base_name(object), "libc.so", 7))
            break;
        sites_place(object, text_of(frame, "build_id"),
                    (long long)json_integer_value(json_object_get(frame, "offset")), place,
                    sizeof place);
        printf("%s%s", i ? " < " : "; called by ", place);
    }
}

static const struct cli_column columns[] = {
    {"time", 8, 9},        {"collective", -20, -20},
    {"total", 7, 8},       {"ranks", 0, 7},
    {"calls", 7, 9},       {"rerouted", 8, 10},
    {"us", 7, 10},         {"p99", 0, 10},
    {"native us", 9, 10},  {"p99", 0, 10},
    {"saved s", 7, 0},     {"saved s", 0, 14},
    {" algorithm", 0, -1}, {NULL, 0, 0},
};

static void print_row(json_t *row, const struct site_line *s, double all)
{
    struct cli_cells c = {0};
    char from[32] = "-", place[400];

    if (s->from)
        cfg_print_bytes((unsigned long long)s->from, from, sizeof from);
    sites_place(s->object, s->build_id, s->offset, place, sizeof place);
    printf("  %s", place);
    print_callers(s->callers);
    putchar('\n');
    cli_cell(&c, "%.1f%%", all > 0 ? 100 * seconds_of(s) / all : 0);
    cli_cell(&c, "%s", s->collective);
    cli_cell(&c, "%s", from);
    cli_cell(&c, s->nodes ? "%lld/%lld" : "%lld", s->ranks, s->nodes);
    cli_cell(&c, "%lld", s->calls);
    cli_cell(&c, "%.1f%%", s->calls ? 100.0 * (double)s->rerouted / (double)s->calls : 0);
    put_us(&c, s->rerouted_us);
    put_us(&c, s->rerouted_p99);
    put_us(&c, s->native_us);
    put_us(&c, s->native_p99);
    cli_cell(&c, s->saved_known ? "%.2g" : "-", s->saved_s);
    cli_cell(&c, s->saved_known ? "%.3g+-%.1g" : "-", s->saved_s, s->error_s);
    cli_cell(&c, "%s%s", s->algorithm ? " " : "", s->algorithm ? s->algorithm : "");
    cli_print_row(columns, &c);
    if (s->reason && s->native > s->calls / 2)
        printf("          natively: %s\n", s->reason);
    waits_print_row(row);
}

void sites_print(json_t *root, size_t most)
{
    json_t *list = json_object_get(root, "sites"), *saved = json_object_get(root, "saved"), *row;
    double all = all_seconds(list);
    struct site_line s;
    size_t i;

    if (!json_array_size(list))
        return;
    printf("\nCall sites: %.3g s of all ranks in collectives", all);
    if (number_of(saved, "plus_minus") > 0)
        printf("; saved %.3g +- %.1g s", number_of(saved, "rank_seconds"),
               number_of(saved, "plus_minus"));
    putchar('\n');
    cli_print_titles(columns);
    json_array_foreach(list, i, row)
    {
        if (i < most && sites_read(row, &s) == 0)
            print_row(row, &s, all);
    }
    if (json_array_size(list) > most)
        printf("  %zu more; --all shows them\n", json_array_size(list) - most);
}

/* The reason that most of the native time has, of calls for which its advice changes something. */
static const char *main_reason(json_t *list, double *seconds)
{
    const char *best = NULL;
    struct site_line s, other;
    json_t *row, *again;
    size_t i, k;

    *seconds = 0;
    json_array_foreach(list, i, row)
    {
        double sum = 0;

        if (i >= 64 || sites_read(row, &s) < 0 || !s.reason)
            continue;
        json_array_foreach(list, k, again)
        {
            if (sites_read(again, &other) == 0 && other.reason && !strcmp(other.reason, s.reason) &&
                advice_reaches(s.reason, other.from))
                sum += other.native_s;
        }
        if (sum > *seconds) {
            *seconds = sum;
            best = s.reason;
        }
    }
    return best;
}

/* The row that loses most, beyond doubt; where the guard has taken the reroute back, that is over.
 */
static const char *worst(json_t *list, struct site_line *w)
{
    struct site_line s;
    json_t *row;
    size_t i;

    w->saved_s = 0;
    json_array_foreach(list, i, row)
    {
        if (sites_read(row, &s) == 0 && s.saved_known && s.rerouted > s.calls / 2 &&
            s.saved_s < w->saved_s && s.saved_s < -s.error_s)
            *w = s;
    }
    return w->saved_s < 0 ? w->collective : NULL;
}

/* The row with the most waiting; NULL: there is none. */
static json_t *most_waiting(json_t *list, struct site_line *w)
{
    json_t *row, *most = NULL;
    struct site_line s;
    size_t i;

    w->waiting_s = 0;
    json_array_foreach(list, i, row)
    {
        if (sites_read(row, &s) == 0 && s.waiting_s > w->waiting_s) {
            *w = s;
            most = row;
        }
    }
    return most;
}

static void advise_waiting(json_t *row, const struct site_line *s)
{
    char place[400];

    sites_place(s->object, s->build_id, s->offset, place, sizeof place);
    printf("\nNext: %.0f %% of this %s (%s) ", 100 * waits_part(row), s->collective, place);
    waits_print_cause(row);
    puts(".");
}

static double rerouted_calls(json_t *list)
{
    struct site_line s;
    double calls = 0;
    json_t *row;
    size_t i;

    json_array_foreach(list, i, row)
    {
        if (sites_read(row, &s) == 0)
            calls += (double)s.rerouted;
    }
    return calls;
}

void sites_advise(json_t *root)
{
    json_t *list = json_object_get(root, "sites");
    const char *all_native = text_of(root, "all_native"), *clause;
    double all = all_seconds(list), native;
    const char *reason = main_reason(list, &native);
    struct site_line w = {0}, late = {0};
    json_t *waiting = most_waiting(list, &late);
    json_t *saved = json_object_get(root, "saved");
    double gain = number_of(saved, "rank_seconds");

    if (json_is_true(json_object_get(root, "partial")))
        puts("\nNext: let the job reach MPI_Finalize; this report is of rank 0 alone.");
    else if (all_native && (clause = advice_for(all_native)))
        printf("\nNext: %s.\n", clause);
    else if (!json_array_size(list))
        return;
    else if (worst(list, &w) && -w.saved_s > all / 100)
        printf("\nNext: %s loses %.2g s at this site; COLLSHIM_ALGORITHM=%s=native leaves it to "
               "the library.\n",
               w.collective, -w.saved_s, w.collective);
    else if (waiting && late.waiting_s > all / 4)
        advise_waiting(waiting, &late);
    else if (reason && native > all / 4)
        printf("\nNext: %.0f %% of the time ran natively (%s); %s.\n", 100 * native / all, reason,
               advice_for(reason));
    else if (number_of(saved, "calls_without_comparison") > rerouted_calls(list) / 2)
        puts(
            "\nNext: run it once with COLLSHIM_MODE=ab; most rerouted calls have no native ones to "
            "be compared with.");
    else if (gain > number_of(saved, "plus_minus"))
        puts("\nNext: nothing; what can be rerouted is, and it pays.");
    else if (gain > 0)
        puts("\nNext: a longer run; what was saved is less than the doubt about it.");
    else
        puts("\nNext: nothing; the library is at least as fast here.");
}

enum { BARS = 12 };

int sites_draw(json_t *root, const char *picture)
{
    json_t *list = json_object_get(root, "sites"), *row;
    struct site_line s;
    char place[400], name[64], label[480], from[32];
    size_t i;

    if (!json_array_size(list))
        return cli_fail("nothing to draw: the report has no call sites");
    FILE *f = gnuplot_open();
    if (!f)
        return CLI_FAILURE;
    fputs("$sites << end_of_data\n", f);
    json_array_foreach(list, i, row)
    {
        if (i >= BARS || sites_read(row, &s) < 0)
            continue;
        sites_place(s.object, s.build_id, s.offset, place, sizeof place);
        cfg_print_bytes((unsigned long long)s.from, from, sizeof from);
        text_show(name, sizeof name, place, strlen(place));
        snprintf(label, sizeof label, "%s, %s %s", name, s.collective, from);
        gnuplot_text(f, label);
        fprintf(f, " %.9g %.9g\n", s.rerouted_s, s.native_s);
    }
    fputs("end_of_data\n", f);
    gnuplot_output(f, picture, 1000, 700);
    fputs("set title 'collshim: time in collectives by call site' noenhanced\n"
          "set ylabel 'seconds of all ranks'\nset style data histograms\n"
          "set style histogram rowstacked\nset style fill solid 0.8\nset boxwidth 0.7\n"
          "set grid y\nset yrange [0:*]\nset xtics rotate by -35 noenhanced\n"
          "plot $sites using 2:xtic(1) title 'rerouted', '' using 3 title 'native'\n",
          f);
    return gnuplot_close(f, picture);
}
