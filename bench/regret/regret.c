/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_regret: the cost of choosing. The guard runs jobs on simulated machines. Regret is the time
 * lost against always calling the contender that is truly the fastest. It compares the
 * means of the two, so that a held-up call counts for no contender. It includes the extra time of
 * first calls and the time of agreements.
 */
#include <getopt.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/regret/guarded.h"

enum { MOST_TRACES = 64, STARTS = 20 };

static const char help[] =
    "bench_regret [--machines N] [--seed N] [--traces DIR]\n\n"
    "Regret of the guard (shim/decide/guard/) on simulated machines (bench/regret/README.md).\n\n"
    "  --machines N   made-up machines (default 2000)\n"
    "  --seed N       the first one's (default 1)\n"
    "  --traces DIR   recorded ones too, of DIR/*.txt\n";

enum part { FIRST_TRIAL, SECOND_TRIAL, FURTHER_TRIAL, IN_USE, COLD, AGREEING, PARTS };
static const char *const part_names[PARTS] = {"first trials", "second",     "further",
                                              "in use",       "cold calls", "agreeing"};

struct outcome {
    double part[PARTS];  /* of the regret of the first calls */
    double first, after; /* regret of the first calls, and of those after them */
    double wrong;        /* share of classes whose contender is more than 5 % behind after FIRST */
    double timed;        /* calls, by class */
    double once;         /* regret of the first calls if each contender ran once */
};

/* Lost by the first calls and the others; and the time of the fastest. */
struct tally {
    int called[MOST_CLASSES][MOST_ARMS];
    double part[PARTS];
    double lost[2], total[2];
};

static void one_call(struct machine *m, int class, int call, int warm[MOST_ARMS], struct tally *t,
                     struct outcome *o)
{
    double seconds[MOST_RANKS];
    int timed, best = machine_best(m, class, call), late = call >= FIRST;
    uint64_t bytes = machine_bytes(m, class, call);
    int arm = guarded_pick(class, bytes, &timed);
    double cold = warm[arm]++ ? 0 : m->cold[arm], usual = machine_mean(m, class, best, call);
    double slower = machine_mean(m, class, arm, call) - usual, begun = arm == best ? 0 : cold;
    double lost = slower + begun;
    int times = t->called[class][arm]++;
    enum part why = arm == guarded_best(class) ? IN_USE
                    : times < 2                ? (enum part)(FIRST_TRIAL + times)
                                               : FURTHER_TRIAL;

    t->part[why] += late ? 0 : slower;
    t->part[COLD] += late ? 0 : begun;
    if (timed) {
        o->timed += 1. / m->classes;
        machine_call(m, class, arm, call, cold / 2, bytes, seconds);
        if (guarded_note(class, seconds, m->ranks)) {
            lost += m->agree * usual;
            t->part[AGREEING] += late ? 0 : m->agree * usual;
        }
    }
    t->lost[late] += lost;
    t->total[late] += usual;
    if (call + 1 == FIRST && machine_mean(m, class, guarded_best(class), call) > 1.05 * usual)
        o->wrong += 1. / m->classes;
}

static double once_each(const struct machine *m)
{
    double lost = 0, total = 0;

    for (int c = 0; c < m->classes; c++) {
        int best = machine_best(m, c, 0);
        total += FIRST * m->mean[c][best];
        for (int i = 0; i < m->arms; i++)
            lost += i == best ? 0 : m->mean[c][i] - m->mean[c][best] + (c ? 0 : m->cold[i]);
    }
    return lost / total;
}

static struct outcome run(struct machine *m)
{
    static struct tally t;
    int warm[MOST_ARMS] = {0}, apart = m->in_turn ? 0 : FIRST;
    struct outcome o = {.once = once_each(m)};

    t = (struct tally){0};
    guarded_begin(m);
    for (int k = 0; k < CALLS + apart * (m->classes - 1); k++)
        for (int c = 0; c < m->classes; c++)
            if (k >= apart * c && k - apart * c < CALLS)
                one_call(m, c, k - apart * c, warm, &t, &o);
    o.first = t.lost[0] / t.total[0];
    for (int i = 0; i < PARTS; i++)
        o.part[i] = t.part[i] / t.total[0];
    o.after = t.lost[1] / t.total[1];
    return o;
}

/* Which machines a line of the table is about. */
static int any(const struct machine *m)
{
    return !m->trace;
}
static int few(const struct machine *m)
{
    return any(m) && m->arms <= 3;
}
static int many(const struct machine *m)
{
    return any(m) && m->arms > 3;
}
static int held_up(const struct machine *m)
{
    return any(m) && m->hiccup > 0;
}
static int cold(const struct machine *m)
{
    return any(m) && m->cold[0] > 0;
}
static int two_modes(const struct machine *m)
{
    return any(m) && m->slow_arm >= 0;
}
static int changing(const struct machine *m)
{
    return any(m) && m->change_at < CALLS;
}
static int sizes(const struct machine *m)
{
    return any(m) && m->sizes != SIZES_ONE;
}
static int quiet(const struct machine *m)
{
    return any(m) && !m->hiccup && m->slow_arm < 0 && !m->cold[0];
}
static int recorded(const struct machine *m)
{
    return m->trace != NULL;
}

static const struct {
    const char *name;
    int (*is)(const struct machine *m);
} lines[] = {{"made up, all", any},          {"2 or 3 contenders", few},
             {"4 or 5 contenders", many},    {"calls held up", held_up},
             {"cold first calls", cold},     {"one with two modes", two_modes},
             {"one that changes", changing}, {"sizes that vary", sizes},
             {"none of these", quiet},       {"recorded", recorded}};
enum { LINES = sizeof lines / sizeof *lines };

struct job {
    struct outcome outcome;
    unsigned lines; /* a bit each */
};

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static void print_line(const struct job *job, int jobs, int line, double *first)
{
    struct outcome sum = {0};
    int n = 0;

    for (int i = 0; i < jobs; i++) {
        const struct outcome *o = &job[i].outcome;

        if (!(job[i].lines & 1u << line))
            continue;
        first[n++] = o->first;
        sum.first += o->first;
        sum.after += o->after;
        sum.wrong += o->wrong;
        sum.timed += o->timed;
        sum.once += o->once;
    }
    if (!n)
        return;
    qsort(first, (size_t)n, sizeof *first, ascending);
    printf("%-23s %6d %8.2f%% %8.2f%% %9.2f%% %10.3f%% %7.1f%% %7.0f\n", lines[line].name, n,
           100 * sum.first / n, 100 * first[n * 95 / 100], 100 * sum.once / n, 100 * sum.after / n,
           100 * sum.wrong / n, sum.timed / n);
}

static void print_table(const struct job *job, int jobs)
{
    double *first = malloc(((size_t)jobs + 1) * sizeof *first);

    if (!first)
        return;
    printf("%-23s %6s %9s %9s %10s %11s %8s %7s\n", "machines", "", "first 200", "95th",
           "each once", "next 10,000", "wrong", "timed");
    for (int line = 0; line < LINES; line++)
        print_line(job, jobs, line, first);
    free(first);
}

/* The causes of the first calls' regret, over all generated machines. */
static void print_parts(const struct job *job, int jobs)
{
    if (!jobs)
        return;
    printf("\nof the first 200 calls, made up, all:\n");
    for (int i = 0; i < PARTS; i++) {
        double sum = 0;

        for (int k = 0; k < jobs; k++)
            sum += job[k].outcome.part[i];
        printf("%-23s %16.2f%%\n", part_names[i], 100 * sum / jobs);
    }
}

static void run_job(struct job *job, const struct machine *m)
{
    static struct machine copy;

    for (int line = 0; line < LINES; line++)
        job->lines |= lines[line].is(m) ? 1u << line : 0;
    copy = *m;
    job->outcome = run(&copy);
}

/* Jobs that replay the traces of a folder. Returns how many, or -1. */
static int run_traces(const char *folder, struct job *job)
{
    static struct machine m;
    char pattern[4096];
    glob_t found;
    int jobs = 0;

    snprintf(pattern, sizeof pattern, "%s/*.txt", folder);
    if (glob(pattern, 0, NULL, &found) != 0) {
        fprintf(stderr,
                "bench_regret: --traces %s: no *.txt there; bench/regret/record.c writes one\n",
                folder);
        return -1;
    }
    for (size_t i = 0; i < found.gl_pathc && i < MOST_TRACES; i++) {
        struct trace t;

        if (trace_read(found.gl_pathv[i], &t) < 0) {
            fprintf(stderr, "bench_regret: %s: not pairs of microseconds\n", found.gl_pathv[i]);
            continue;
        }
        for (int k = 0; k < STARTS; k++) {
            machine_replay(&m, &t, (uint64_t)k);
            run_job(&job[jobs++], &m);
        }
        trace_free(&t);
    }
    globfree(&found);
    return jobs;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"help", no_argument, NULL, 'h'},
                                            {"machines", required_argument, NULL, 'm'},
                                            {"seed", required_argument, NULL, 's'},
                                            {"traces", required_argument, NULL, 't'},
                                            {NULL, 0, NULL, 0}};
    static struct machine m;
    const char *traces = NULL;
    int machines = 2000, jobs = 0, o;
    uint64_t seed = 1;

    while ((o = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (o == 'm')
            machines = atoi(optarg);
        else if (o == 's')
            seed = (uint64_t)atoll(optarg);
        else if (o == 't')
            traces = optarg;
        else
            return fputs(help, o == 'h' ? stdout : stderr), o == 'h' ? 0 : 2;
    }
    if (optind < argc || machines < 0 || machines > 1000000) {
        fputs("bench_regret: --machines: 0 to 1000000, and nothing but options; --help\n", stderr);
        return 2;
    }
    struct job *job = calloc((size_t)machines + MOST_TRACES * STARTS, sizeof *job);
    if (!job)
        return 1;
    for (; jobs < machines; jobs++) {
        machine_make(&m, seed + (uint64_t)jobs);
        run_job(&job[jobs], &m);
    }
    int replayed = traces ? run_traces(traces, job + jobs) : 0;
    print_table(job, jobs + (replayed > 0 ? replayed : 0));
    print_parts(job, machines);
    free(job);
    return replayed < 0;
}
