/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * getopt_long, with a help text that is long enough to learn from. The list of collectives in it
 * is made from the rows.
 */
#define _GNU_SOURCE
#include "options.h"

#include <getopt.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help_before[] =
    "Usage: mpirun ... %s [OPTION]...\n"
    "\n"
    "Times collectives of the MPI library against the same calls through collshim, in one run:\n"
    "repetition by repetition in rotating order, every received byte verified, each time the\n"
    "maximum over the ranks, each figure the median of the repetitions. Preload the shim to have\n"
    "its column (mpirun -x LD_PRELOAD=libcollshim.so, -genv LD_PRELOAD ... with MPICH); without\n"
    "it, the native columns alone are made.\n"
    "\n"
    "What is timed\n"
    "  --collective NAME[,NAME]  which, or 'all'; default allgather:\n";

static const char help_after[] =
    "  --bytes LIST              'this size' in the lines above, per rank: 64K,1M,1000003 or a\n"
    "                            range 1K..16M, in steps of 2, or 1K..16M:4 in steps of 4; K, M,\n"
    "                            G are powers of 1024; reductions add 64-bit integers up if 8\n"
    "                            divides the size, else they xor bytes; default 64K..4M:4\n"
    "  --demand FILE             for alltoallv: the matrix of sizes, a row of numbers per sender;\n"
    "                            only their proportions count (collshim plan alltoallv\n"
    "                            --demand KIND --rows prints such); default: 0.7 to rank 0\n"
    "  --repetitions N           timed calls of each contender and size; default 10\n"
    "  --warm-up CALLS           calls of the preload before these, so that it may settle, and "
    "short\n"
    "                            calls are repeated up to ten times as often, for four seconds;\n"
    "                            default 16, or as many as half a second has, up to 330\n"
    "  --native WHICH            the baseline: 'best' (default) forces each of the library's own\n"
    "                            algorithms and keeps the fastest, 'default' takes its own choice\n"
    "                            only, NAME,... tries these (a wrong name lists the right ones)\n"
    "  --alone NAME              this contender has the job to itself: 'collshim', 'auto' (the\n"
    "                            library's own choice), or an algorithm as --native names them.\n"
    "                            Contenders that are called in turn leave rails for each other\n"
    "                            that none of them leaves for itself\n"
    "  --prune FACTOR            drop a native algorithm that the trial calls show this many "
    "times\n"
    "                            slower than the best; default 1.25\n"
    "  --settle CALLS            instead: the preload's own decisions against the library's own\n"
    "                            choice, from the first call on. Is it behind once settled, and\n"
    "                            how much did settling cost, in parts of 200 native calls? (Up\n"
    "                            to ten times as many calls if all take less than 4 s.) With\n"
    "                            --alone collshim, or auto, that one has the job: its first\n"
    "                            calls, and the median of its last quarter\n"
    "  --limit SECONDS           with --settle and --warm-up: fewer calls per size if they take\n"
    "                            longer; default 60\n"
    "\n"
    "Bounds\n"
    "  --bound                   measure the rails and print the least time they allow\n"
    "  --rails affine|striped    how ranks use the rails: each bound to one (default), or each\n"
    "                            using all; decides how flows add up to a node's rate\n"
    "\n"
    "Checks\n"
    "  --verify all|none         every byte of every call (default), or nothing\n"
    "  --corrupt                 spoil one byte that the last receiving rank got, to see that the\n"
    "                            check finds it; the run must then fail\n"
    "\n"
    "Output\n"
    "  --json FILE               also one JSON object per line to FILE ('-': stdout, no table)\n"
    "  --algorithm-label NAME    the name of the shim's algorithm in the output; default shim\n"
    "  --label TEXT              goes to the output as it is\n"
    "  --emulated                mark every figure as measured on an emulated network\n"
    "  --placement               print which rank is on which node\n"
    "  --help                    this text\n"
    "\n"
    "Exit status: 0, 1 if a received byte was wrong or nothing could be timed, 2 for a wrong\n"
    "option.\n"
    "\n"
    "Example, 4 ranks on this machine:\n"
    "  mpirun -n 4 --oversubscribe --mca mpi_yield_when_idle 1 %s --bytes 64K..1M:4\n";

enum { MOST_CALLS = 100000 };

/* option: "" for a word that is no option. */
static int wrong(int speak, const char *option, const char *value, const char *right)
{
    if (speak)
        fprintf(stderr, "collshim: bench: %s%s%s%s: not understood; %s\n", *option ? "--" : "",
                option, *option && *value ? " " : "", value, right);
    return 2;
}

static void help(const char *program)
{
    printf(help_before, program);
    for (size_t i = 0; bench_collectives[i]; i++)
        printf("      %-21s %s\n", bench_collectives[i]->name, bench_collectives[i]->summary);
    printf(help_after, program);
}

/* Read "64K" from *text and move it on. Returns 0 for anything that is no positive size. */
static size_t size_of(const char **text)
{
    static const char units[] = "KMG";
    char *end;
    unsigned long long n;
    const char *unit;

    if (**text < '0' || **text > '9')
        return 0;
    n = strtoull(*text, &end, 10);
    unit = *end ? strchr(units, *end) : NULL;
    if (unit) {
        int shift = 10 * (int)(unit - units + 1);

        if (n > SIZE_MAX >> shift)
            return 0;
        n <<= shift;
        end++;
    }
    *text = end;
    return n;
}

static int parse_sizes(const char *text, struct bench_options *o)
{
    for (o->n_sizes = 0;; text++) {
        size_t from = size_of(&text), to = from, step = 2;

        if (from && strncmp(text, "..", 2) == 0) {
            text += 2;
            to = size_of(&text);
            if (*text == ':') {
                text++;
                step = size_of(&text);
            }
        }
        if (!from || to < from || step < 2 || (*text && *text != ','))
            return -1;
        for (;; from *= step) {
            if (o->n_sizes == BENCH_MOST_SIZES)
                return -1;
            o->sizes[o->n_sizes++] = from;
            if (from > to / step)
                break;
        }
        if (!*text)
            return 0;
    }
}

static int parse_collectives(const char *text, struct bench_options *o)
{
    char name[64];

    o->n_collectives = 0;
    if (strcmp(text, "all") == 0) {
        for (size_t i = 0; i < BENCH_MOST_COLLECTIVES && bench_collectives[i]; i++)
            o->collectives[o->n_collectives++] = bench_collectives[i];
        return 0;
    }
    for (;; text++) {
        size_t length = strcspn(text, ",");
        const struct bench_collective *row;

        snprintf(name, sizeof(name), "%.*s", (int)length, text);
        row = bench_collective_find(name);
        if (!row || o->n_collectives == BENCH_MOST_COLLECTIVES)
            return -1;
        o->collectives[o->n_collectives++] = row;
        text += length;
        if (!*text)
            return 0;
    }
}

static int parse_count(const char *text, int least, int *count)
{
    char *end;
    long n = strtol(text, &end, 10);

    *count = (int)n;
    return *end || n < least || n > MOST_CALLS;
}

static int parse_repetitions(const char *text, struct bench_options *o)
{
    return parse_count(text, 1, &o->repetitions);
}

static int parse_settle(const char *text, struct bench_options *o)
{
    return parse_count(text, 40, &o->settle);
}

static int parse_warm_up(const char *text, struct bench_options *o)
{
    return parse_count(text, 1, &o->warm_up);
}

static int parse_limit(const char *text, struct bench_options *o)
{
    char *end;

    o->limit_s = strtod(text, &end);
    return *end || !(o->limit_s > 0);
}

static int parse_prune(const char *text, struct bench_options *o)
{
    char *end;

    o->prune = strtod(text, &end);
    return *end || !(o->prune >= 1);
}

static int parse_rails(const char *text, struct bench_options *o)
{
    o->rails = strcmp(text, "striped") ? BENCH_RAILS_AFFINE : BENCH_RAILS_STRIPED;
    return o->rails == BENCH_RAILS_AFFINE && strcmp(text, "affine");
}

static int parse_verify(const char *text, struct bench_options *o)
{
    o->verify = strcmp(text, "none") != 0;
    return o->verify && strcmp(text, "all");
}

/* One row per option, in the order of the help text. */
static const struct row {
    const char *name;
    int (*parse)(const char *value, struct bench_options *o); /* non-zero: not understood */
    const char *right;                                        /* the message for that case */
    size_t text, flag; /* without parse: the field of bench_options that gets the value, or 1 */
} rows[] = {
    {"collective", .parse = parse_collectives, .right = "--help lists them"},
    {"bytes", .parse = parse_sizes, .right = "right are 64K,1M or 1K..16M or 1K..16M:4"},
    {"demand", .text = offsetof(struct bench_options, demand_path)},
    {"repetitions", .parse = parse_repetitions, .right = "right is a number from 1 to 100000"},
    {"warm-up", .parse = parse_warm_up, .right = "right is a number from 1 to 100000"},
    {"native", .text = offsetof(struct bench_options, native)},
    {"alone", .text = offsetof(struct bench_options, alone)},
    {"prune", .parse = parse_prune, .right = "right is a number from 1 up"},
    {"settle", .parse = parse_settle, .right = "right is a number from 40 to 100000"},
    {"limit", .parse = parse_limit, .right = "right is a number of seconds"},
    {"bound", .flag = offsetof(struct bench_options, bound)},
    {"rails", .parse = parse_rails, .right = "right are affine and striped"},
    {"verify", .parse = parse_verify, .right = "right are all and none"},
    {"corrupt", .flag = offsetof(struct bench_options, corrupt)},
    {"json", .text = offsetof(struct bench_options, json_path)},
    {"algorithm-label", .text = offsetof(struct bench_options, algorithm_label)},
    {"label", .text = offsetof(struct bench_options, label)},
    {"emulated", .flag = offsetof(struct bench_options, emulated)},
    {"placement", .flag = offsetof(struct bench_options, placement)},
    {.name = "help"},
};
enum { ROWS = sizeof rows / sizeof *rows, HELP = ROWS - 1 };

static int parse_one(const struct row *r, const char *value, int speak, struct bench_options *o)
{
    if (r->parse)
        return r->parse(value, o) ? wrong(speak, r->name, value, r->right) : BENCH_RUN;
    if (r->text)
        *(const char **)(void *)((char *)o + r->text) = value;
    else
        *(int *)(void *)((char *)o + r->flag) = 1;
    return BENCH_RUN;
}

int bench_options_parse(int argc, char **argv, int speak, struct bench_options *options)
{
    struct option table[ROWS + 1] = {0};
    int id;

    *options = (struct bench_options){
        .collectives = {&bench_allgather},
        .n_collectives = 1,
        .repetitions = 10,
        .limit_s = 60,
        .prune = 1.25,
        .native = "best",
        .verify = 1,
        .algorithm_label = "shim",
    };
    parse_sizes("64K..4M:4", options);
    for (int i = 0; i < ROWS; i++)
        table[i] = (struct option){
            .name = rows[i].name, .has_arg = rows[i].parse || rows[i].text, .val = i};
    opterr = 0;
    while ((id = getopt_long(argc, argv, "", table, NULL)) != -1) {
        if (id == '?')
            return wrong(speak, "", argv[optind - 1],
                         "no such option, or no value where it wants one; see --help");
        if (id == HELP) {
            if (speak)
                help(argv[0]);
            return 0;
        }
        int rc = parse_one(&rows[id], optarg, speak, options);
        if (rc != BENCH_RUN)
            return rc;
    }
    if (optind < argc)
        return wrong(speak, "", argv[optind], "there are no arguments but options, see --help");
    if (options->alone && options->settle && strcmp(options->alone, "collshim") &&
        strcmp(options->alone, "auto"))
        return wrong(speak, "alone", options->alone, "with --settle right are collshim and auto");
    if (options->corrupt && !options->verify)
        return wrong(speak, "corrupt", "", "with --verify none nothing would find it");
    return BENCH_RUN;
}
