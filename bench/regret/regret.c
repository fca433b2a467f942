/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_regret: the cost of choosing. Each policy runs the same jobs on the same machines. Regret
 * is the time lost against always calling the contender that is truly the fastest. It compares the
 * means of the two, so that a held-up call counts for no contender. It includes the extra time of
 * first calls and the time of agreements.
 */
#include <getopt.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/regret/policy.h"

enum { MOST_TRACES = 64, STARTS = 20, MIXED = 4 };

static const char help[] =
    "bench_regret [--machines N] [--seed N] [--traces DIR] [--plot FILE.png]\n\n"
    "Regret of three policies on simulated machines (bench/regret/README.md): the guard\n"
    "(shim/decide/guard.c); a simpler one that keeps the fastest of two trials each (fastest);\n"
    "one that knows what no guard can (informed).\n\n"
    "  --machines N   made-up machines (default 2000), and a quarter as many with contenders of\n"
    "                 two kinds\n"
    "  --seed N       the first one's (default 1)\n"
    "  --traces DIR   recorded ones too, of DIR/*.txt\n"
    "  --plot FILE    draw the mean regret over calls (needs gnuplot)\n";

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

static const struct policy *const policies[] = {&policy_fastest, &policy_guard, &policy_informed};
enum { POLICIES = sizeof policies / sizeof *policies };

static double curve[POLICIES][CALLS]; /* sums over machines of calls lost so far, by class */

/* Lost by the first calls and the others; and the time of the fastest. */
struct tally {
    int called[MOST_CLASSES][MOST_ARMS];
    double part[PARTS];
    double lost[2], total[2], by_call[CALLS];
};

static void one_call(const struct policy *p, struct machine *m, int class, int call,
                     int warm[MOST_ARMS], struct tally *t, struct outcome *o)
{
    double seconds[MOST_RANKS];
    int timed, best = machine_best(m, class, call), late = call >= FIRST;
    uint64_t bytes = machine_bytes(m, class, call);
    int arm = p->pick(class, bytes, &timed);
    double cold = warm[arm]++ ? 0 : m->cold[arm], usual = machine_mean(m, class, best, call);
    double slower = machine_mean(m, class, arm, call) - usual, begun = arm == best ? 0 : cold;
    double lost = slower + begun;
    int times = t->called[class][arm]++;
    enum part why = !timed || arm == p->best(class) ? IN_USE
                    : times < 2                     ? (enum part)(FIRST_TRIAL + times)
                                                    : FURTHER_TRIAL;

    t->part[why] += late ? 0 : slower;
    t->part[COLD] += late ? 0 : begun;
    if (timed) {
        o->timed += 1. / m->classes;
        machine_call(m, class, arm, call, cold / 2, bytes, seconds);
        if (p->note(class, bytes, seconds, m->ranks, cold / 2 * 1e-3 * (1 << class))) {
            lost += m->agree * usual;
            t->part[AGREEING] += late ? 0 : m->agree * usual;
        }
    }
    t->lost[late] += lost;
    t->total[late] += usual;
    t->by_call[call] += lost / usual / m->classes;
    if (call + 1 == FIRST && machine_mean(m, class, p->best(class), call) > 1.05 * usual)
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

static struct outcome run(int policy, struct machine *m)
{
    static struct tally t;
    int warm[MOST_ARMS] = {0}, apart = m->in_turn ? 0 : FIRST;
    struct outcome o = {.once = once_each(m)};
    double sum = 0;

    t = (struct tally){0};
    policies[policy]->begin(m);
    for (int k = 0; k < CALLS + apart * (m->classes - 1); k++)
        for (int c = 0; c < m->classes; c++)
            if (k >= apart * c && k - apart * c < CALLS)
                one_call(policies[policy], m, c, k - apart * c, warm, &t, &o);
    o.first = t.lost[0] / t.total[0];
    for (int i = 0; i < PARTS; i++)
        o.part[i] = t.part[i] / t.total[0];
    o.after = t.lost[1] / t.total[1];
    for (int k = 0; k < CALLS; k++)
        curve[policy][k] += sum += t.by_call[k];
    return o;
}

/* Which machines a line of the table is about. */
static int any(const struct machine *m)
{
    return !m->trace && !m->theirs;
}
static int few(const struct machine *m)
{
    return any(m) && m->arms <= 4;
}
static int many(const struct machine *m)
{
    return any(m) && m->arms > 4;
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
static int mixed(const struct machine *m)
{
    return m->theirs != 0;
}
static int recorded(const struct machine *m)
{
    return m->trace != NULL;
}

static const struct {
    const char *name;
    int (*is)(const struct machine *m);
} lines[] = {{"made up, all", any},          {"2 to 4 contenders", few},
             {"5 to 8 contenders", many},    {"calls held up", held_up},
             {"cold first calls", cold},     {"one with two modes", two_modes},
             {"one that changes", changing}, {"sizes that vary", sizes},
             {"none of these", quiet},       {"contenders of two kinds", mixed},
             {"recorded", recorded}};
enum { LINES = sizeof lines / sizeof *lines };

struct job {
    struct outcome outcome[POLICIES];
    unsigned lines; /* a bit each */
};

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static void print_line(const struct job *job, int jobs, int line, int policy, double *first)
{
    struct outcome sum = {0};
    int n = 0;

    for (int i = 0; i < jobs; i++) {
        const struct outcome *o = &job[i].outcome[policy];

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
    printf("%-23s %6d  %-12s %7.2f%% %8.2f%% %9.2f%% %10.3f%% %7.1f%% %7.0f\n", lines[line].name, n,
           policies[policy]->name, 100 * sum.first / n, 100 * first[n * 95 / 100],
           100 * sum.once / n, 100 * sum.after / n, 100 * sum.wrong / n, sum.timed / n);
}

static void print_table(const struct job *job, int jobs)
{
    double *first = malloc(((size_t)jobs + 1) * sizeof *first);

    if (!first)
        return;
    printf("%-23s %6s  %-12s %8s %9s %10s %11s %8s %7s\n", "machines", "", "policy", "first 200",
           "95th", "each once", "next 10,000", "wrong", "timed");
    for (int line = 0; line < LINES; line++)
        for (int p = 0; p < POLICIES; p++)
            print_line(job, jobs, line, p, first);
    free(first);
}

/* The causes of the first calls' regret, over all generated machines. */
static void print_parts(const struct job *job, int jobs)
{
    if (!jobs)
        return;
    printf("\nof the first 200 calls, made up, all:\n%-12s", "policy");
    for (int i = 0; i < PARTS; i++)
        printf(" %12s", part_names[i]);
    for (int p = 0; p < POLICIES; p++) {
        printf("\n%-12s", policies[p]->name);
        for (int i = 0; i < PARTS; i++) {
            double sum = 0;
            for (int k = 0; k < jobs; k++)
                sum += job[k].outcome[p].part[i];
            printf(" %11.2f%%", 100 * sum / jobs);
        }
    }
    putchar('\n');
}

static int plot(const char *file, int jobs)
{
    FILE *f = popen("gnuplot", "we");

    if (!f)
        return -1;
    fprintf(f,
            "set terminal png size 900,600\nset output '%s'\nset logscale x\nset grid\n"
            "set key top right\nset xlabel 'calls of a size class'\n"
            "set ylabel 'mean regret so far, %% of the time of the fastest'\n"
            "set title 'what choosing costs, on %d simulated machines'\nplot [10:] [0:20] ",
            file, jobs);
    for (int p = 0; p < POLICIES; p++)
        fprintf(f, "%s'-' using 1:2 with lines lw 2 title '%s'", p ? ", " : "", policies[p]->name);
    fputc('\n', f);
    for (int p = 0; p < POLICIES; p++) {
        for (double k = 10; k <= CALLS; k *= 1.05)
            fprintf(f, "%d %g\n", (int)k, 100 * curve[p][(int)k - 1] / jobs / (int)k);
        fputs("e\n", f);
    }
    return pclose(f) ? -1 : 0;
}

static void run_job(struct job *job, const struct machine *m)
{
    for (int line = 0; line < LINES; line++)
        job->lines |= lines[line].is(m) ? 1u << line : 0;
    for (int p = 0; p < POLICIES; p++) {
        static struct machine copy;
        copy = *m;
        job->outcome[p] = run(p, &copy);
    }
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
    static const struct option options[] = {
        {"help", no_argument, NULL, 'h'},       {"machines", required_argument, NULL, 'm'},
        {"seed", required_argument, NULL, 's'}, {"traces", required_argument, NULL, 't'},
        {"plot", required_argument, NULL, 'p'}, {NULL, 0, NULL, 0}};
    static struct machine m;
    const char *traces = NULL, *picture = NULL;
    int machines = 2000, jobs = 0, o;
    uint64_t seed = 1;

    while ((o = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (o == 'm')
            machines = atoi(optarg);
        else if (o == 's')
            seed = (uint64_t)atoll(optarg);
        else if (o == 't')
            traces = optarg;
        else if (o == 'p')
            picture = optarg;
        else
            return fputs(help, o == 'h' ? stdout : stderr), o == 'h' ? 0 : 2;
    }
    if (optind < argc || machines < 0 || machines > 1000000) {
        fputs("bench_regret: --machines: 0 to 1000000, and nothing but options; --help\n", stderr);
        return 2;
    }
    struct job *job = calloc(2 * (size_t)machines + MOST_TRACES * STARTS, sizeof *job);
    if (!job)
        return 1;
    for (; jobs < machines; jobs++) {
        machine_make(&m, seed + (uint64_t)jobs);
        run_job(&job[jobs], &m);
    }
    int failed = picture && jobs && plot(picture, jobs) < 0;
    for (; jobs < machines + machines / MIXED; jobs++) {
        machine_make_mixed(&m, seed + (uint64_t)jobs);
        run_job(&job[jobs], &m);
    }
    int replayed = traces ? run_traces(traces, job + jobs) : 0;
    failed |= replayed < 0;
    print_table(job, jobs + (replayed > 0 ? replayed : 0));
    print_parts(job, machines);
    free(job);
    return failed;
}
