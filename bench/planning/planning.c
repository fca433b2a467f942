/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long planning takes, and how large a plan is: bench_plan [REPETITIONS], 101 by default
 *
 * One rank's part, for every algorithm, on a small and on a large machine. A plan is built on the
 * first call with a new size; this program prints that call's extra time. "tried": a job tries the
 * row for some size, unless another is named. JSON lines on stdout.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "planners/choose/choose.h"
#include "planners/choose/registry.h"

enum { MOST_REPETITIONS = 101 };

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

enum { MOST_RANKS = 1024 }; /* whose demand is listed */

/* Every rank has the same for every other; NULL if the machine is too large for a list. */
static uint64_t *even_demand(const struct topo *t)
{
    size_t pairs = (size_t)t->nranks * (size_t)t->nranks;
    uint64_t *demand = t->nranks > MOST_RANKS ? NULL : malloc(pairs * sizeof *demand);

    for (size_t i = 0; demand && i < pairs; i++)
        demand[i] = 1 << 20;
    return demand;
}

/* Would a job try that row, for some size? */
static int is_tried(const struct plan_algorithm *a, enum plan_collective c, const struct topo *t,
                    const uint64_t *demand)
{
    for (size_t bytes = 1 << 10; bytes <= (size_t)1 << 30; bytes *= 4) {
        struct plan_candidate list[PLAN_CANDIDATES];
        struct plan_request q = {.collective = c,
                                 .topo = t,
                                 .nbytes = plan_has_demand(c) ? 0 : bytes,
                                 .demand = demand,
                                 .grain = 1};

        for (int i = plan_candidates(&q, list, PLAN_CANDIDATES); i-- > 0;)
            if (list[i].algorithm == a)
                return 1;
    }
    return 0;
}

static int measure(const struct plan_algorithm *a, enum plan_collective c, const struct topo *t,
                   const uint64_t *demand, int repetitions)
{
    double us[MOST_REPETITIONS];
    size_t bytes = 0;

    for (int i = 0; i < repetitions; i++) {
        struct plan_request q = {.collective = c,
                                 .topo = t,
                                 .rank = (int)((long)i * 37 % t->nranks),
                                 .nbytes = plan_has_demand(c) ? 0 : 1 << 20,
                                 .demand = demand,
                                 .grain = 1,
                                 .chunk_bytes = 1 << 16};
        struct plan *p;
        double start = now_us();

        if (a->build(&q, &p))
            return fprintf(stderr, "planning: %s cannot serve this shape\n", a->name), 1;
        us[i] = now_us() - start;
        if (plan_footprint(p) > bytes)
            bytes = plan_footprint(p);
        plan_free(p);
    }
    qsort(us, (size_t)repetitions, sizeof *us, ascending);
    printf("{\"what\": \"planning\", \"collective\": \"%s\", \"algorithm\": \"%s\", \"ranks\": %d, "
           "\"nodes\": %d, \"rates_by_node\": %s, \"tried\": %s, \"median_us\": %.1f, "
           "\"worst_us\": %.1f, \"plan_bytes\": %zu}\n",
           plan_collective_name(c), a->name, t->nranks, t->nnodes, t->rate ? "true" : "false",
           is_tried(a, c, t, demand) ? "true" : "false", us[repetitions / 2], us[repetitions - 1],
           bytes);
    return 0;
}

int main(int argc, char **argv)
{
    static const char *const shapes[] = {
        "node:4 gpu:4 rail:4", "node:1024 gpu:8 rail:8",
        "node:1024 gpu:8 rail:8@100Gbit rail_rate:5.2@50Gbit,9.3@25Gbit,77.0out@1Gbit"};
    int repetitions = argc > 1 ? atoi(argv[1]) : MOST_REPETITIONS, failed = 0;

    if (repetitions < 1 || repetitions > MOST_REPETITIONS)
        return fprintf(stderr, "planning: '%s' is not 1 to %d repetitions\n", argv[1],
                       MOST_REPETITIONS),
               2;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        struct topo *t;
        char why[256];

        if (topo_parse(shapes[s], 0, &t, why, sizeof why))
            return fprintf(stderr, "planning: %s\n", why), 1;
        uint64_t *demand = even_demand(t);
        for (int i = 0; i < plan_algorithm_count; i++)
            for (int c = 0; c < COLL_COUNT; c++)
                if (plan_algorithms[i]->collectives & 1u << c &&
                    (!plan_has_demand((enum plan_collective)c) || demand))
                    failed |= measure(plan_algorithms[i], (enum plan_collective)c, t, demand,
                                      repetitions);
        free(demand);
        topo_free(t);
    }
    return failed;
}
