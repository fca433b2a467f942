/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `collshim report FILE`: what a run's report (COLLSHIM_REPORT, written by shim/mpi/entry/report.c
 * and, as FILE.nccl, by shim/nccl/entry/report.c) says, as a table, as a picture, or as JSON again.
 * Read with jansson: the file may come from anywhere, and a parser of our own for the CLI's sake
 * would be one more thing to get wrong. Its strings are made fit to be printed as soon as it is
 * read.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config/base/text.h"
#include "config/settings/settings.h"
#include "shim/cli/cli.h"
#include "shim/cli/page/csv.h"
#include "shim/cli/page/page.h"
#include "shim/cli/report/call_sites.h"
#include "shim/cli/report/foreign.h"
#include "shim/cli/report/lines.h"
#include "shim/cli/report/nccl_choices.h"
#include "shim/cli/report/rails_show.h"
#include "shim/cli/report/report_rows.h"
#include "shim/cli/report/waits_show.h"

static const char help[] =
    "collshim report FILE [--all] [--wide] [--json | --csv TABLE]\n"
    "collshim report FILE --html PAGE | --trace FILE | --plot PICTURE | --svg PICTURE | --png "
    "PICTURE\n"
    "collshim report --diff OLD NEW [--all]\n"
    "\n"
    "Shows the report of a run that was started with COLLSHIM_REPORT=FILE: for every call site "
    "and\n"
    "every collective how many calls were rerouted, how long they took beside the library's, by\n"
    "which algorithm, and why the others ran natively. The last line says what to do next.\n"
    "A program of NCCL alone leaves its report in FILE.nccl: that is shown where there is no "
    "FILE.\n"
    "A job that was killed leaves a partial report, of what rank 0 had counted.\n"
    "\n"
    "  --all            all call sites, not only the first 20, and all rails, not only 32\n"
    "  --wide           all columns, and long lines as they are; else 80 columns\n"
    "  --html PAGE      also write one HTML file that shows it all, for a browser; it needs no "
    "network\n"
    "  --csv TABLE      print one table as CSV: sites, late, last_rail, collectives, sizes,\n"
    "                   native, rails, by_rank, choices or settings\n"
    "  --diff           what changed between two runs, by call site; between folders of runs, as\n"
    "                   `collshim gate` has it, with its exit status\n"
    "  --svg PICTURE, --png PICTURE\n"
    "                   also draw the time of the call sites, by gnuplot\n"
    "  --plot PICTURE   also draw mean times over sizes into PICTURE, by gnuplot; its name ends "
    "in\n"
    "                   .png or .svg\n"
    "  --trace FILE     also write the sampled calls for Perfetto (ui.perfetto.dev): a track for "
    "each\n"
    "                   rank, and arrows from late ranks to those that waited\n"
    "  --json           print the report as one JSON object, in a fixed order of keys\n"
    "\n"
    "How to read the call sites\n"
    "  place       function, file and line where there is debug information on this machine, in a\n"
    "              file of yours or of root; else object and offset; in Python the extension's\n"
    "              function\n"
    "  time        its share of the time that all ranks spent in collectives\n"
    "  ranks       of the communicator, and nodes where they are known\n"
    "  us, p99     median and 99th percentile of the rerouted calls, then of the native ones; "
    "exact\n"
    "              to an eighth; p99, ranks, the doubt and the algorithm stand in --wide\n"
    "  saved       seconds of all ranks: the medians' difference times the rerouted calls, and "
    "two\n"
    "              standard errors of it; - where either way was timed less than three times\n"
    "  waiting     of sampled calls, the part in which ranks waited for one that worked longer "
    "since\n"
    "              the collective before; no schedule can save it. Time lost in an earlier "
    "collective\n"
    "              counts as moving. Barrier and small calls are sampled too\n"
    "  combining   a part of moving: what ranks combined in rerouted calls\n"
    "  last        the rail whose message from another host came last in most rerouted calls\n"
    "How to read the table\n"
    "  calls       of all ranks together; total is the collective's bytes, from this size up to "
    "twice\n"
    "              of it; us is the median over all calls and ranks that were timed\n"
    "  gain        the library's time through the reroute's, as the guard weighed them, give or "
    "take\n"
    "              one standard deviation (+-); below 1 the library is faster. Without a guard: "
    "of\n"
    "              the medians\n"
    "  guard       verdicts: on how many communicators the reroute, or the library, was faster\n"
    "How to read the rails\n"
    "  sent, received  to and from other hosts, by calls that a schedule of collshim carried; what "
    "the\n"
    "              library's own calls and algorithms put on a rail is not known\n"
    "  share       of what the host sent (received)\n"
    "  Mbit/s      over the time of these calls; can: what the rail is taken to carry, as measured "
    "or\n"
    "              as COLLSHIM_TOPOLOGY says\n"
    "  rail        the place of the process among its host's, unless COLLSHIM_TOPOLOGY says "
    "otherwise\n"
    "\n"
    "Examples:\n"
    "  mpirun -x LD_PRELOAD=libcollshim.so -x COLLSHIM_REPORT=run.json ./app\n"
    "  collshim report run.json\n"
    "  collshim report run.json --html run.html\n"
    "  collshim report run.json --csv sites >sites.csv\n"
    "  collshim report run.json --plot run.svg\n"
    "  collshim report --diff before.json after.json\n"
    "  collshim report run.json --json | jq '.collectives[] | select(.rerouted > 0)'\n";

static int foreign(const char *path)
{
    return cli_fail("%s: JSON, but no report; COLLSHIM_REPORT=FILE writes one in MPI_Finalize",
                    path);
}

/* The file, or the one that NCCL's calls left beside it; *path is which. NULL: neither, as errno
 * says. */
static FILE *open_file(const char **path, char *beside, size_t size)
{
    FILE *f = fopen(*path, "re");

    if (f || errno != ENOENT)
        return f;
    snprintf(beside, size, "%s.nccl", *path);
    f = fopen(beside, "re");
    if (f)
        *path = beside;
    return f;
}

/* Read and check all of it before a line is printed. Returns CLI_OK or CLI_FAILURE. */
static int open_report(const char *path, struct report *r)
{
    struct collective_row c;
    char beside[4096];
    json_error_t e;
    json_t *row;
    size_t i;
    FILE *f = open_file(&path, beside, sizeof beside);

    if (!f && errno == ENOENT)
        return cli_fail("%s: %s, nor a %s.nccl: 0 calls seen, or the run has not ended; of a "
                        "library that is linked statically no call is seen, but by NCCL's plugins",
                        path, strerror(errno), path);
    if (!f)
        return cli_fail("%s: %s", path, strerror(errno));
    errno = 0;
    r->root = json_loadf(f, JSON_REJECT_DUPLICATES, &e);
    int unreadable = errno;
    int is_empty = ftell(f) == 0;
    fclose(f);
    if (!r->root && unreadable == EISDIR)
        return cli_fail("%s: a directory, not a report", path);
    if (!r->root && is_empty)
        return cli_fail("%s: empty; did the run reach MPI_Finalize?", path);
    if (!r->root && json_error_code(&e) == json_error_premature_end_of_input)
        return cli_fail("%s: cut off after line %d; did the run reach MPI_Finalize?", path, e.line);
    if (!r->root)
        return cli_fail("%s:%d: not JSON: %s", path, e.line, e.text);
    foreign_clean(r->root);
    r->nccl = json_object_get(r->root, "nccl");
    r->collectives = json_object_get(r->nccl ? r->nccl : r->root, "collectives");
    if (!json_is_string(json_object_get(r->root, "collshim")) ||
        !json_is_integer(json_object_get(r->root, "ranks")) || !json_is_array(r->collectives) ||
        !sites_are_valid(json_object_get(r->root, "sites")) || !nccl_choices_are_valid(r->nccl) ||
        !rails_are_valid(json_object_get(r->root, "rails")))
        return foreign(path);
    json_array_foreach(r->collectives, i, row)
    {
        if (report_read_collective(row, &c) < 0)
            return foreign(path);
    }
    return CLI_OK;
}

static const char *size_text(long long bytes, char *text, size_t size)
{
    cfg_print_bytes((unsigned long long)bytes, text, size);
    return text;
}

/* Algorithm names with the calls each took, where there is more than one. */
static void put_algorithms(struct cli_cells *c, const struct size_row *s)
{
    char text[CLI_CELL] = "";
    size_t at = 0;
    const char *name;
    json_t *calls;
    int several = s->algorithms && json_object_size(s->algorithms) > 1;

    json_object_foreach(s->algorithms, name, calls)
    {
        if (at < sizeof text)
            at += (size_t)snprintf(text + at, sizeof text - at, several ? "%s%s (%lld)" : "%s%s",
                                   at ? ", " : " ", name, (long long)json_integer_value(calls));
    }
    cli_cell(c, "%s", text_clean(text)); /* it may be cut inside a character */
}

/* A reroute against the library. */
struct comparison {
    double gain, spread; /* 0: not known */
};

/* The guard's comparison; without one, the times. */
static struct comparison compare(const struct size_row *s)
{
    if (s->guard_gain > 0)
        return (struct comparison){s->guard_gain, s->guard_spread};
    if (!s->rerouted || !s->native || s->rerouted_us <= 0 ||
        (!s->guard_gain && s->guard_rerouted + s->guard_native))
        return (struct comparison){0};
    return (struct comparison){s->native_us / s->rerouted_us, s->median_spread};
}

static const struct cli_column columns[] = {
    {"  total", 9, 10}, {"rerouted", 8, 10}, {"us", 8, 12},   {"native", 8, 10},      {"us", 8, 12},
    {"gain", 6, 8},     {"+-", 5, 6},        {"guard", 5, 7}, {" algorithm", -1, -1}, {NULL, 0, 0},
};

static void print_size(json_t *o)
{
    struct cli_cells c = {0};
    struct size_row s;
    char from[32];

    report_read_size(o, &s);
    struct comparison weighed = compare(&s);
    cli_cell(&c, "%s", size_text(s.from, from, sizeof from));
    cli_cell(&c, "%lld", s.rerouted);
    cli_cell(&c, s.rerouted ? "%.1f" : "-", s.rerouted_us);
    cli_cell(&c, "%lld", s.native);
    cli_cell(&c, s.native ? "%.1f" : "-", s.native_us);
    cli_cell(&c, weighed.gain > 0 ? "%.2fx" : "-", weighed.gain);
    cli_cell(&c, weighed.spread > 0 ? "%.2g%%" : "-", 100 * weighed.spread);
    cli_cell(&c, s.guard_rerouted + s.guard_native ? "%lld:%lld" : "-", s.guard_rerouted,
             s.guard_native);
    put_algorithms(&c, &s);
    cli_print_row(columns, &c);
}

/* The skew of the traffic, and the cost of finding it. */
static void print_balancing(json_t *o)
{
    long long sent, hottest, questions, rows, predictions, changes;

    if (json_unpack(o, "{s:I, s:I, s:I, s:I, s:I, s:I}", "sent_bytes", &sent, "to_hottest_bytes",
                    &hottest, "questions", &questions, "row_exchanges", &rows, "predictions",
                    &predictions, "state_changes", &changes) < 0)
        return;
    printf(
        "  %.3g of what a rank sends goes to its hottest peer; over all ranks %lld questions, %lld "
        "exchanges of rows, %lld predictions, %lld changes of state\n",
        sent ? (double)hottest / (double)sent : 0, questions, rows, predictions, changes);
}

static void print_collective(const struct collective_row *c)
{
    const char *why;
    json_t *calls, *size;
    size_t i;

    printf("\n%s: %lld call%s, %lld rerouted", c->name, c->calls, cli_s(c->calls), c->rerouted);
    if (c->rerouted)
        printf(" (%s)", c->algorithm);
    if (c->equal + c->different)
        printf("; verified: %lld equal, %lld DIFFERENT", c->equal, c->different);
    putchar('\n');
    json_object_foreach(c->reasons, why, calls)
    {
        printf("  %10lld ran natively: %s\n", (long long)json_integer_value(calls), why);
    }
    if (c->balancing)
        print_balancing(c->balancing);
    if (!json_array_size(c->sizes))
        return;
    cli_print_titles(columns);
    json_array_foreach(c->sizes, i, size)
    {
        print_size(size);
    }
}

/* Settings that are not at their default say most about a run. */
static void print_settings(const json_t *settings)
{
    for (int id = 0; id < CFG_ALL; id++) { /* old names are in reports from before */
        const char *value = json_string_value(json_object_get(settings, cfg_rows[id].name));

        if (value && strcmp(value, cfg_rows[id].default_text) != 0)
            printf("%s=%s\n", cfg_rows[id].variable, value);
    }
}

static void print_job(json_t *job)
{
    const char *id = json_string_value(json_object_get(job, "id"));
    const char *user = json_string_value(json_object_get(job, "user"));
    const char *script = json_string_value(json_object_get(job, "script"));
    const char *program = json_string_value(json_object_get(job, "program"));

    if (!program)
        return;
    printf("%s%s%s on %lld node%s", program, script ? " " : "", script ? script : "",
           (long long)json_integer_value(json_object_get(job, "nodes")),
           cli_s((long long)json_integer_value(json_object_get(job, "nodes"))));
    printf("%s%s%s%s", id ? ", job " : "", id ? id : "", user ? ", user " : "", user ? user : "");
    printf(", %.3g s\n", json_number_value(json_object_get(job, "seconds")));
}

static void print_table(const struct report *r, size_t most)
{
    const char *library = json_string_value(json_object_get(r->root, "library"));
    const char *all_native = json_string_value(json_object_get(r->root, "all_native"));
    const char *counted = json_string_value(json_object_get(r->root, "counts_are"));
    struct collective_row c;
    int seen = 0;
    json_t *row;
    size_t i;

    printf("collshim %s, %lld ranks, %s\n", json_string_value(json_object_get(r->root, "collshim")),
           (long long)json_integer_value(json_object_get(r->root, "ranks")),
           library ? library : "unknown library");
    print_job(json_object_get(r->root, "job"));
    print_settings(json_object_get(r->root, "settings"));
    if (json_is_true(json_object_get(r->root, "partial")))
        puts("Partial: the job did not reach MPI_Finalize.");
    sites_print(r->root, most);
    counted = counted ? counted : "of unknown ranks";
    if (all_native)
        printf("All calls ran natively: %s. Counts are %s.\n", all_native, counted);
    if (r->nccl)
        printf("Counts are %s; ncclSend %lld, ncclRecv %lld\n", counted,
               (long long)json_integer_value(json_object_get(r->nccl, "sends")),
               (long long)json_integer_value(json_object_get(r->nccl, "recvs")));
    json_array_foreach(r->collectives, i, row)
    {
        report_read_collective(row, &c);
        seen += c.calls > 0;
        if (c.calls)
            print_collective(&c);
    }
    nccl_choices_print(r->nccl);
    rails_print(r->root, most > SITES_SHOWN ? most : RAILS_SHOWN);
    waits_print(r->root);
    if (!seen)
        puts("\nNone of the collectives that can be rerouted was called.");
    sites_advise(r->root);
}

static int ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n > m && !strcmp(text + n - m, end);
}

static int diff(char **argv, size_t most)
{
    struct report old = {0}, new = {0};
    char **path = argv + 1;
    struct stat st;

    for (int i = 0; i < 2; i++)
        if (!stat(path[i], &st) && S_ISDIR(st.st_mode))
            return cli_gate(3, argv);
    int code = open_report(path[0], &old);

    code = code ? code : open_report(path[1], &new);
    if (!code) {
        cli_capture();
        code = sites_diff(old.root, new.root, most);
        cli_print_captured();
    }
    json_decref(old.root);
    json_decref(new.root);
    return code;
}

static const struct csv_table tables[] = {
    {"sites", "sites", NULL},
    {"late", "sites", "waiting/late"},
    {"last_rail", "sites", "waiting/last_rail"},
    {"collectives", "collectives", NULL},
    {"sizes", "collectives", "sizes"},
    {"native", "collectives", "native"},
    {"rails", "rails", NULL},
    {"by_rank", "by_rank", NULL},
    {"choices", "nccl/choices", NULL},
    {"settings", "settings", NULL},
    {NULL, NULL, NULL},
};

/* The outputs that the caller asks for; NULL: not this one. */
struct output {
    int json;
    const char *csv, *html, *plot, *bars, *trace;
    size_t most;
};

static int write_page(const struct report *r, const char *path)
{
    cli_capture();
    sites_advise(r->root);
    char *next = cli_captured();

    sites_name(r->root);
    int code = page_write(path, "report", r->root, next);
    free(next);
    return code;
}

static int show_text(const struct report *r, const struct output *o)
{
    cli_capture();
    print_table(r, o->most);
    cli_print_captured();
    return o->html    ? write_page(r, o->html)
           : o->plot  ? report_draw(r, o->plot)
           : o->bars  ? sites_draw(r->root, o->bars)
           : o->trace ? waits_trace(r->root, o->trace)
                      : CLI_OK;
}

static int show(const char *path, const struct output *o)
{
    struct report r = {0};
    int code = open_report(path, &r);

    if (!code && o->json) {
        json_dumpf(r.root, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(12));
        putchar('\n');
    } else if (!code && o->csv) {
        sites_name(r.root);
        code = csv_print("report", tables, o->csv, r.root);
    } else if (!code) {
        code = show_text(&r, o);
    }
    json_decref(r.root);
    return code;
}

int cli_report(int argc, char **argv)
{
    struct output o = {0};
    const char *svg = NULL, *png = NULL;
    int all = 0, differ = 0;
    const struct cli_option options[] = {
        {"--json", &o.json, NULL},   {"--all", &all, NULL},   {"--diff", &differ, NULL},
        {"--plot", NULL, &o.plot},   {"--svg", NULL, &svg},   {"--png", NULL, &png},
        {"--html", NULL, &o.html},   {"--csv", NULL, &o.csv}, {"--wide", &cli_is_wide, NULL},
        {"--trace", NULL, &o.trace}, {NULL, NULL, NULL}};
    int n = cli_options(argc, argv, options, help);

    if (n < 0)
        return -1 - n;
    if (n != 1 + differ)
        return cli_usage("report", differ ? "--diff takes two files"
                                   : n    ? "one file at a time"
                                          : "a file is missing");
    if (o.json + !!o.csv + !!o.html + !!o.plot + !!svg + !!png + !!o.trace + differ > 1)
        return cli_usage(
            "report",
            "one of --json, --csv, --html, --plot, --svg, --png, --trace and --diff, not both");
    if (o.plot && !ends_in(o.plot, ".png") && !ends_in(o.plot, ".svg"))
        return cli_usage("report", "--plot: '%s' ends neither in .png nor in .svg", o.plot);
    if ((svg && !ends_in(svg, ".svg")) || (png && !ends_in(png, ".png")))
        return cli_usage("report", "%s: '%s' does not end in .%s", svg ? "--svg" : "--png",
                         svg ? svg : png, svg ? "svg" : "png");
    o.most = all ? SIZE_MAX : SITES_SHOWN;
    o.bars = svg ? svg : png;
    int code = differ ? diff(argv, o.most) : show(argv[1], &o);
    lines_close();
    return code;
}
