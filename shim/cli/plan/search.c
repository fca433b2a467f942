/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `collshim search`: the best recipe of a composition on a topology, by the model. HiCCL leaves its
 * five parameters to the user (section IV-A). Here one parameter after the other takes its best
 * value while the others stay, from each way to compose the collective, until none gets better.
 *
 * Rejected: all combinations. They are thousands, and each is a simulation of all ranks.
 */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config/base/hash.h"
#include "config/base/read_file.h"
#include "config/base/write_file.h"
#include "config/settings/settings.h"
#include "planners/algorithms/compose/compose.h"
#include "planners/check/check.h"
#include "planners/choose/choose.h"
#include "planners/links/cost.h"
#include "shim/cli/plan/request.h"

static const char help[] =
    "collshim search COLLECTIVE [OPTIONS]\n"
    "\n"
    "The fastest schedule of a collective on a topology, by the model of `collshim sim`: the\n"
    "algorithms as they are, and recipes of compose (hierarchy, ring, stripe, pipeline, steps).\n"
    "Each better one is told on stderr when it is found. The result is proved, and printed with\n"
    "the row that makes a job use it: put it into a file, and name that in COLLSHIM_PROFILE.\n"
    "Interrupt it (Ctrl-C) when it is good enough: the best so far is the result. A second\n"
    "Ctrl-C ends the proof, and writes nothing to --profile.\n"
    "\n"
    "  --topology TEXT   synthetic form or file (default: COLLSHIM_TOPOLOGY, else\n"
    "                    'node:4 gpu:4 rail:4'); `collshim topo TEXT` explains one\n"
    "  --bytes SIZE      payload of each rank (alltoall: for each rank), 1MiB by default\n"
    "  --root R          the root of a bcast, reduce, gather or scatter (default: 0)\n"
    "  --limit SECONDS   begin no simulation after that time (default: 60; 0: no limit)\n"
    "  --profile FILE    put the row in front of those of FILE, which may be new\n"
    "\n"
    "Examples:\n"
    "  collshim search bcast --bytes 64MiB --topology 'node:4 gpu:4 rail:4@100Gbit'\n"
    "  collshim search allreduce --bytes 1GiB --topology 'node:16 gpu:8 rail:8' --profile "
    "my.profile\n"
    "\n"
    "Exit status: 0 a result, also at the limit; 1 none, or it cannot be written; 2 wrong usage;\n"
    "130 interrupted, with the best so far as the result.\n";

/* The parameters of a recipe, and the values that each may take; "" is its default. */
enum { HIERARCHY, RING, STRIPE, PIPELINE, KEYS, VALUES = 64, NAME = 96 };
static const char *const keys[KEYS] = {"hierarchy", "ring", "stripe", "pipeline"};
static const char *const steps[] = {"", "single", "multi", "rooted"};

struct values {
    int n;
    char text[VALUES][NAME];
};

struct search {
    struct request r;
    struct values of[KEYS];
    int value[KEYS]; /* of the recipe that is tried */
    const char *steps;
    double deadline; /* seconds of the clock; 0: none */
    int tried, cut;  /* cut: it ended before all were tried */
    double best_s, first_s;
    const struct plan_algorithm *best, *first; /* first: what the preload would try first */
    char recipe[512];                          /* of the best; "": none */
    struct known {
        uint64_t hash;
        double seconds;
    } known[4096]; /* recipes that were tried, as many as fit */
    int nknown;
};

static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
    interrupted = signal;
}

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int is_over(const struct search *s)
{
    return interrupted || (s->deadline > 0 && now_s() > s->deadline);
}

/* Seconds by the model; infinite: it cannot be built or predicted. */
static double simulate(struct search *s, const struct plan_algorithm *a, const char *recipe)
{
    struct request_plans p;
    struct model_result m;
    double seconds = (double)INFINITY;
    char why[256];

    s->r.q.recipe = recipe;
    if (recipe && a->accepts(&s->r.q, why, sizeof why))
        return seconds;
    s->tried++;
    if (!request_build(&s->r, a, &p) &&
        !model_run(s->r.topo, (const struct plan *const *)p.plan, &m)) {
        seconds = m.seconds;
        model_free(&m);
    }
    request_plans_free(&p);
    return seconds;
}

/* Is one a gain over the other? One part in a thousand counts. */
static int is_less(double seconds, double than)
{
    return seconds < 0.999 * than;
}

/* The same, and the best so far is kept. */
static double try_one(struct search *s, const struct plan_algorithm *a, const char *recipe)
{
    double seconds = is_over(s) ? (double)INFINITY : simulate(s, a, recipe);

    if (a == s->first && !recipe)
        s->first_s = seconds;
    if (!is_less(seconds, s->best_s))
        return seconds;
    s->best = a;
    s->best_s = seconds;
    snprintf(s->recipe, sizeof s->recipe, "%s", recipe ? recipe : "");
    fprintf(stderr, "%6d tried  %12.6g ms  %s%s%s%s\n", s->tried, seconds * 1e3, a->name,
            recipe ? "(" : "", recipe ? recipe : "", recipe ? ")" : "");
    return seconds;
}

static double try_recipe(struct search *s)
{
    char recipe[512] = "";
    size_t n = (size_t)snprintf(recipe, sizeof recipe, "%s%s", *s->steps ? "steps=" : "", s->steps);

    for (int k = 0; k < KEYS; k++) {
        const char *value = s->of[k].text[s->value[k]];

        if (*value)
            n += (size_t)snprintf(recipe + n, sizeof recipe - n, "%s%s=%s", n ? "," : "", keys[k],
                                  value);
    }
    uint64_t hash = hash_text(HASH_SEED, recipe);
    for (int i = 0; i < s->nknown; i++)
        if (s->known[i].hash == hash)
            return s->known[i].seconds;
    double seconds = try_one(s, &plan_compose, n ? recipe : NULL);
    if (s->nknown < (int)(sizeof s->known / sizeof *s->known))
        s->known[s->nknown++] = (struct known){hash, seconds};
    return seconds;
}

static void add_value(struct values *v, const char *text)
{
    for (int i = 0; i < v->n; i++)
        if (!strcmp(v->text[i], text))
            return;
    if (v->n < VALUES)
        snprintf(v->text[v->n++], NAME, "%s", text);
}

static void add_number(struct values *v, int number)
{
    char text[16];

    snprintf(text, sizeof text, "%d", number);
    add_value(v, text);
}

/* Hierarchies of so many levels at most above the last one, `behind`. */
static void add_hierarchies(struct values *v, const char *before, int left, int levels,
                            const char *behind)
{
    char text[NAME];

    snprintf(text, sizeof text, "%s%d%s", before, left, behind);
    add_value(v, text);
    for (int f = 2; levels > 1 && f < left; f++)
        if (left % f == 0) {
            snprintf(text, sizeof text, "%s%d:", before, f);
            add_hierarchies(v, text, left / f, levels - 1, behind);
        }
}

static void fill_values(struct search *s)
{
    const struct topo *t = s->r.topo;
    int most = cost_largest_node(t);
    char behind[32];

    for (int k = 0; k < KEYS; k++)
        add_value(&s->of[k], "");
    snprintf(behind, sizeof behind, ":%d", most);
    add_hierarchies(&s->of[HIERARCHY], "", t->nnodes, 3, behind);
    add_number(&s->of[HIERARCHY], t->nranks);
    for (int f = 2; f < most; f++)
        if (most % f == 0) {
            snprintf(behind, sizeof behind, ":%d:%d", f, most / f);
            add_hierarchies(&s->of[HIERARCHY], "", t->nnodes, 1, behind);
        }
    for (int d = 1; d <= t->nnodes; d++)
        if (t->nnodes % d == 0)
            add_number(&s->of[RING], d);
    add_number(&s->of[RING], t->nranks);
    for (int d = 1; d <= most; d++)
        if (most % d == 0)
            add_number(&s->of[STRIPE], d);
    for (int d = 1; d <= 256; d *= 2)
        add_number(&s->of[PIPELINE], d);
}

/* Try all values of one parameter; *here is the time of the recipe, before and after. Returns 1 if
   it is less. */
static int descend(struct search *s, int key, double *here)
{
    int best[KEYS], better = 0;

    memcpy(best, s->value, sizeof best);
    for (int i = 0; i < s->of[key].n && !is_over(s); i++)
        for (int again = 0; again < (key == HIERARCHY ? 2 : 1); again++) {
            memcpy(s->value, best, sizeof best);
            s->value[key] = i;
            if (again) /* it may make no such rings */
                s->value[RING] = s->value[STRIPE] = 0;
            double seconds = try_recipe(s);
            if (is_less(seconds, *here)) {
                *here = seconds;
                better = 1;
                memcpy(best, s->value, sizeof best);
            }
        }
    memcpy(s->value, best, sizeof best);
    return better;
}

static void run(struct search *s)
{
    enum plan_collective c = s->r.q.collective;
    struct plan_candidate way;

    s->best_s = s->first_s = (double)INFINITY;
    s->first = plan_candidates(&s->r.q, &way, 1) ? way.algorithm : NULL;
    for (int i = 0; i < plan_algorithm_count; i++)
        if (plan_algorithms[i]->collectives & 1u << c)
            try_one(s, plan_algorithms[i], NULL);
    for (size_t w = 0; plan_compose.collectives & 1u << c && w < sizeof steps / sizeof *steps;
         w++) {
        int better = 1;

        s->steps = steps[w];
        memset(s->value, 0, sizeof s->value);
        for (double here = try_recipe(s); better && !is_over(s);) {
            better = 0;
            for (int k = KEYS; k-- > 0;)
                better |= descend(s, k, &here);
        }
    }
    s->cut = is_over(s);
}

/* The row of a tuning profile for that result: sizes of the same power of two. */
static void print_row(const struct search *s, FILE *f)
{
    const struct topo *t = s->r.topo;
    uint64_t total = plan_total_bytes(&s->r.q),
             least = total ? 1ull << (63 - __builtin_clzll(total)) : 0;

    fprintf(f, "%s  %dx%d  %llu-%llu  %s%s%s%s\n", plan_collective_name(s->r.q.collective),
            t->nnodes, cost_largest_node(t), (unsigned long long)least,
            (unsigned long long)(total ? 2 * least - 1 : 0), s->best->name, *s->recipe ? "(" : "",
            s->recipe, *s->recipe ? ")" : "");
}

static struct {
    const struct search *s;
    const char *text;
} profile; /* for print_profile, which takes the file alone */

static void print_profile(FILE *f)
{
    print_row(profile.s, f);
    fputs(profile.text, f);
}

/* The first row that matches wins, so the new one goes in front. */
static int write_row(const struct search *s, const char *path)
{
    enum { MOST = 1 << 20 };
    const char *why = NULL;
    char *before = NULL;
    size_t size;
    int code = CLI_OK, rc = config_read_file(path, MOST, &before, &size, &why);

    if (rc && rc != -ENOENT)
        return cli_fail("%s: %s", path, why);
    profile.s = s;
    profile.text = before ? before : "";
    if (config_write_file(path, print_profile, &why))
        code = cli_fail("%s: %s", path, why);
    free(before);
    return code;
}

static int prove(struct search *s)
{
    struct request_plans p;
    char why[256] = "";

    s->r.q.recipe = *s->recipe ? s->recipe : NULL;
    int rc = request_build(&s->r, s->best, &p);
    if (!rc)
        rc = plan_check(&s->r.q, (const struct plan *const *)p.plan, why, sizeof why);
    request_plans_free(&p);
    return rc ? cli_fail("check failed: %s", *why ? why : "out of memory") : CLI_OK;
}

static int show(struct search *s, const char *path)
{
    const struct topo *t = s->r.topo;
    double bound = request_bound_s(&s->r);
    char bytes[32];
    int code;

    if (!s->best)
        return cli_fail("no simulation ended; a larger --limit would do");
    cfg_print_bytes(plan_total_bytes(&s->r.q), bytes, sizeof bytes);
    printf("%s of %s in all, %d ranks on %d node%s\n", plan_collective_name(s->r.q.collective),
           bytes, t->nranks, t->nnodes, cli_s(t->nnodes));
    printf("tried        %d schedule%s%s\n", s->tried, cli_s(s->tried),
           interrupted ? ", then interrupted"
           : s->cut    ? ", until the limit"
                       : "");
    printf("best         %.6g ms", s->best_s * 1e3);
    if (bound > 0)
        printf(", %.3f of the bound", bound / s->best_s);
    if (s->first && s->first_s < (double)INFINITY)
        printf("; %s, which a job would try first, %.6g ms", s->first->name, s->first_s * 1e3);
    printf("\nprofile      ");
    print_row(s, stdout);
    fflush(stdout); /* the proof may take a minute where ranks are hundreds */
    code = prove(s);
    if (!code)
        puts("checked      sends meet receives, no deadlock, every byte right, no hazard");
    if (!code && path)
        code = write_row(s, path);
    return code ? code : interrupted ? 128 + SIGINT : CLI_OK;
}

/* From now on, or 0: no limit. */
static int take_limit(const char *text, double *deadline)
{
    enum { USUAL = 60, MOST = 1000000 };
    char *end = NULL;
    long seconds = text ? strtol(text, &end, 10) : USUAL;

    if (text && (end == text || *end || seconds < 0 || seconds > MOST))
        return cli_usage("search", "--limit: '%s' is no number of seconds from 0 to %d", text,
                         MOST);
    *deadline = seconds ? now_s() + (double)seconds : 0;
    return CLI_OK;
}

int cli_search(int argc, char **argv)
{
    struct request_options o = {.limit = "0"};
    const char *limit = NULL, *path = NULL;
    struct sigaction stop = {.sa_handler = interrupt, .sa_flags = SA_RESTART | SA_RESETHAND};
    const struct cli_option options[] = {
        {"--topology", NULL, &o.topology}, {"--bytes", NULL, &o.bytes}, {"--root", NULL, &o.root},
        {"--limit", NULL, &limit},         {"--profile", NULL, &path},  {NULL, NULL, NULL}};
    int n = cli_options(argc, argv, options, help);

    if (n < 0)
        return -1 - n;
    if (n != 1)
        return cli_usage("search", n ? "one collective at a time" : "a collective is missing");
    struct search *s = calloc(1, sizeof *s);
    if (!s)
        return cli_fail("out of memory");
    int code = take_limit(limit, &s->deadline);
    if (!code)
        code = request_read("search", &o, argv[1], &s->r);
    if (!code)
        fill_values(s);
    if (!code && s->r.q.demand)
        code = cli_usage("search", "%s has a demand, not one size", argv[1]);
    if (!code) {
        sigaction(SIGINT, &stop, NULL);
        run(s);
        code = show(s, path);
    }
    request_free(&s->r);
    free(s);
    return code;
}
