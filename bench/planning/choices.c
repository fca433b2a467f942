/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How good the choice is by the model: bench_choices [POINTS [SEED [PERCENT]]], 500 points by
 * default.
 *
 * A point is a drawn machine, collective and size. Every row that serves it is simulated, by its
 * own way and by each recipe below, all with the chunk that a job takes first. `chosen` is the
 * first candidate of a job, and `tried` the fastest of all candidates, among which the guard
 * measures. Both are compared to the fastest way known. Points that no row pays for are the
 * library's; they count in none of the columns. The table is by collective. The exit status is 1 if
 * the last line misses the constants below.
 *
 * Points that are behind by more than PERCENT are printed.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planners/algorithms/nimble/demand.h"
#include "planners/choose/simulated.h"
#include "planners/model/model.h"

/* The promise: that many percent behind at most in that part of the points, and never more. */
static const double near = 1.03, part = 0.95, never = 1.25;

enum { MOST_RANKS = 64, MOST_MOVES = 200000, MOST_WAYS = 32 };

static const char *const recipes[][2] = {
    {"lane", "inter=ring"},
    {"lane", "inter=recursive_doubling"},
    {"lane", "inter=rabenseifner"},
    {"lane", "inter=direct"},
    {"lane", "lanes=1"},
    {"compose", "ring=1"},
    {"compose", "stripe=1"},
    {"compose", "ring=1,stripe=1"},
    {"compose", "steps=single"},
    {"compose", "steps=multi"},
    {"parallel_rings", "intra=linear"},
    {"parallel_rings", "intra=sockets"},
};
enum { RECIPES = sizeof recipes / sizeof *recipes };

struct draw {
    uint64_t state;
};

static uint32_t below(struct draw *d, uint32_t n)
{
    uint64_t z = d->state += 0x9e3779b97f4a7c15ull;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return (uint32_t)((z ^ z >> 31) >> 32) % n;
}

#define ONE_OF(d, list) (list)[below(d, sizeof(list) / sizeof *(list))]

struct point {
    char machine[512];
    struct topo *t; /* owned */
    uint64_t *demand;
    struct plan_request q;
};

/* A machine as sites have them: a rail per rank or fewer, of one rate or one slow. */
static void draw_machine(struct draw *d, char *text, size_t size)
{
    static const int nodes[] = {1, 2, 2, 3, 4, 4, 6, 8, 8, 12, 16, 32}, ranks[] = {2, 3, 4, 4, 8},
                     rails[] = {1, 2, 4, 4, 8}, rates[] = {10, 25, 100, 100, 200, 400};
    static const int tcp_us[] = {10, 20, 50}, ib_us[] = {1, 2, 4}, nvlink[] = {25, 50, 100, 150},
                     shm[] = {3, 5, 10};
    int n = ONE_OF(d, nodes), g = ONE_OF(d, ranks), k = ONE_OF(d, rails), rate = ONE_OF(d, rates);
    int gpu = below(d, 2) == 0, sockets = g % 2 == 0 && below(d, 4) == 0 ? 2 : 1;
    int us = rate <= 25 ? ONE_OF(d, tcp_us) : ONE_OF(d, ib_us);
    int at = snprintf(text, size, "node:%d socket:%d %s:%d rail:%d@%dGbit latency_rail:%dus", n,
                      sockets, gpu ? "gpu" : "rank", g / sockets, k < g ? k : g, rate, us);

    if (gpu)
        at += snprintf(text + at, size - (size_t)at, " link_nvlink:%dGB/s", ONE_OF(d, nvlink));
    else
        at += snprintf(text + at, size - (size_t)at, " link_shm:%dGB/s", ONE_OF(d, shm));
    if (n > 1 && below(d, 8) == 0) /* one slow rail */
        snprintf(text + at, size - (size_t)at, " rail_rate:%u.0@%dGbit", below(d, (uint32_t)n),
                 rate / 2);
}

static int all_on_gpus(const struct topo *t)
{
    for (int r = 0; r < t->nranks; r++)
        if (t->rank[r].gpu < 0)
            return 0;
    return 1;
}

static uint64_t *draw_demand(struct draw *d, const struct topo *t, uint64_t bytes)
{
    struct demand kind = demand_defaults;
    uint64_t *demand = calloc((size_t)t->nranks * (size_t)t->nranks, sizeof *demand);

    kind.kind = (enum demand_kind)below(d, DEMAND_COUNT);
    kind.hot = 0.1 * (1 + below(d, 9));
    kind.bytes = bytes;
    kind.seed = below(d, 1000);
    if (demand)
        demand_fill(&kind, t, demand);
    return demand;
}

static void drop(struct point *p)
{
    free(p->demand);
    topo_free(p->t);
    *p = (struct point){.t = NULL};
}

/* Bytes that a rank sends or holds: from 64 KiB to 1 GiB, evenly by their logarithm. */
static uint64_t draw_bytes(struct draw *d)
{
    return (uint64_t)(65536 * exp2(below(d, 141) / 10.0)) / 64 * 64;
}

/* Forms with sizes of their own are as the others, with equal sizes. */
static int is_drawn(enum plan_collective c)
{
    return !plan_is(c, PLAN_BY_RANK) && c != COLL_EXSCAN && c != COLL_NEIGHBOR_ALLGATHER &&
           c != COLL_NEIGHBOR_ALLTOALL;
}

/* A point that a simulation of all ways is not too long for. */
static int draw_point(struct draw *d, struct point *p)
{
    char why[256];

    for (;;) {
        enum plan_collective c = (enum plan_collective)below(d, COLL_COUNT);
        uint64_t bytes = draw_bytes(d);
        size_t chunk[PLAN_CHUNKS];

        if (!is_drawn(c))
            continue;
        *p = (struct point){.t = NULL};
        draw_machine(d, p->machine, sizeof p->machine);
        if (topo_parse(p->machine, 0, &p->t, why, sizeof why))
            return fprintf(stderr, "choices: %s: %s\n", p->machine, why), -1;
        uint64_t n = (uint64_t)p->t->nranks;
        if (n > MOST_RANKS) {
            drop(p);
            continue;
        }
        p->q =
            (struct plan_request){.collective = c,
                                  .topo = p->t,
                                  .grain = plan_is(c, PLAN_COMBINES) ? 4 : 1,
                                  .root = plan_is(c, PLAN_ROOTED) ? (int)below(d, (uint32_t)n) : 0,
                                  .memory = all_on_gpus(p->t) ? PLAN_ON_DEVICE : PLAN_IN_HOST,
                                  .nbytes = plan_is_vector(c) ? bytes : (bytes / n + 63) / 64 * 64};
        if (plan_has_demand(c)) {
            p->q.nbytes = 0;
            p->q.demand = p->demand = draw_demand(d, p->t, bytes);
            if (!p->demand)
                return -1;
        }
        plan_chunks(&p->q, chunk);
        uint64_t block = plan_has_demand(c) || plan_is_vector(c) ? bytes / n : p->q.nbytes;
        if (n * n * (block / chunk[0] + 1) <= MOST_MOVES)
            return 0;
        drop(p);
    }
}

/* Infinite if the row cannot serve the point. */
static double predict(const struct plan_request *q, const struct plan_algorithm *a)
{
    double seconds;

    return simulated_seconds(q, a, MODEL_CHUNKS, (double)INFINITY, &seconds) ? (double)INFINITY
                                                                             : seconds;
}

struct way {
    const struct plan_algorithm *algorithm;
    const char *recipe;
    size_t chunk;
    double seconds;
};

struct ways {
    struct way way[MOST_WAYS];
    int n;
};

static const struct way *simulate(struct ways *w, const struct plan_request *q,
                                  const struct plan_algorithm *a, const char *recipe, size_t chunk)
{
    struct plan_request asked = *q;

    for (int i = 0; i < w->n; i++)
        if (w->way[i].algorithm == a && w->way[i].chunk == chunk &&
            !strcmp(w->way[i].recipe ? w->way[i].recipe : "", recipe ? recipe : ""))
            return &w->way[i];
    asked.recipe = recipe;
    asked.chunk_bytes = chunk;
    w->way[w->n] = (struct way){a, recipe, chunk, predict(&asked, a)};
    return &w->way[w->n++];
}

/* All ways that are known, with one chunk; the fastest. */
static const struct way *best_known(struct ways *w, const struct plan_request *q, size_t chunk)
{
    const struct way *best = NULL;

    for (int i = 0; i < plan_algorithm_count; i++) {
        const struct plan_algorithm *a = plan_algorithms[i];

        if (!(a->collectives & 1u << q->collective))
            continue;
        for (int r = -1; r < RECIPES; r++) {
            if (r >= 0 && strcmp(recipes[r][0], a->name))
                continue;
            const struct way *now = simulate(w, q, a, r < 0 ? NULL : recipes[r][1], chunk);
            if (!best || now->seconds < best->seconds)
                best = now;
        }
    }
    return best;
}

/* How far behind, as factors: a row of the table. */
struct tally {
    int points, library, chosen_near, tried_near;
    double chosen_worst, tried_worst, chosen_sum, tried_sum;
};

static void count(struct tally *t, double chosen, double tried)
{
    t->points++;
    t->chosen_near += chosen <= near;
    t->tried_near += tried <= near;
    t->chosen_sum += chosen;
    t->tried_sum += tried;
    t->chosen_worst = chosen > t->chosen_worst ? chosen : t->chosen_worst;
    t->tried_worst = tried > t->tried_worst ? tried : t->tried_worst;
}

static const char *text_of(const struct way *w, char text[128])
{
    snprintf(text, 128, "%s%s%s%s %zuK %.4g ms", w->algorithm->name, w->recipe ? "(" : "",
             w->recipe ? w->recipe : "", w->recipe ? ")" : "", w->chunk >> 10, w->seconds * 1e3);
    return text;
}

static void measure(const struct point *p, struct tally *row, struct tally *all, double shown)
{
    struct plan_candidate c[PLAN_CANDIDATES];
    struct ways w = {.n = 0};
    const struct way *first = NULL, *tried = NULL;
    char text[3][128];
    int n = simulated_candidates(&p->q, c, PLAN_CANDIDATES);

    if (!n) {
        row->library++;
        all->library++;
        return;
    }
    const struct way *best = best_known(&w, &p->q, c[0].chunk_bytes);
    for (int i = 0; i < n; i++) {
        const struct way *now = simulate(&w, &p->q, c[i].algorithm, c[i].recipe, c[i].chunk_bytes);
        first = first ? first : now;
        tried = !tried || now->seconds < tried->seconds ? now : tried;
    }
    double chosen = first->seconds / best->seconds, measured = tried->seconds / best->seconds;
    chosen = chosen < 1 ? 1 : chosen;
    measured = measured < 1 ? 1 : measured;
    count(row, chosen, measured);
    count(all, chosen, measured);
    if (shown > 0 && chosen > 1 + shown / 100)
        printf("%.2f %.2f %s %s root %d, %zu bytes: %s; tried %s; best %s (predicted %.4g ms)\n",
               chosen, measured, plan_collective_name(p->q.collective), p->machine, p->q.root,
               p->q.nbytes, text_of(first, text[0]), text_of(tried, text[1]),
               text_of(best, text[2]), c[0].seconds * 1e3);
}

static void print_row(const char *name, const struct tally *t)
{
    double n = t->points ? t->points : 1;

    printf("%-22s %7d %8d %9.1f %7.3f %7.2f %9.1f %7.3f %7.2f\n", name, t->points, t->library,
           100 * t->chosen_near / n, t->chosen_sum / n, t->chosen_worst, 100 * t->tried_near / n,
           t->tried_sum / n, t->tried_worst);
}

int main(int argc, char **argv)
{
    int points = argc > 1 ? atoi(argv[1]) : 500;
    struct draw d = {argc > 2 ? strtoull(argv[2], NULL, 10) : 1};
    double shown = argc > 3 ? atof(argv[3]) : 0;
    struct tally rows[COLL_COUNT] = {{0}}, all = {0};

    if (points < 1)
        return fprintf(stderr, "usage: bench_choices [POINTS [SEED [PERCENT]]]\n"), 2;
    while (all.points < points) {
        struct point p;

        if (draw_point(&d, &p))
            return 1;
        measure(&p, &rows[p.q.collective], &all, shown);
        drop(&p);
    }
    printf("%-22s %7s %8s  CHOSEN FIRST              BEST OF THOSE TRIED\n", "", "", "");
    printf("%-22s %7s %8s %9s %7s %7s %9s %7s %7s\n", "COLLECTIVE", "POINTS", "LIBRARY", "% BY 3 %",
           "MEAN", "WORST", "% BY 3 %", "MEAN", "WORST");
    for (int c = 0; c < COLL_COUNT; c++)
        if (rows[c].points)
            print_row(plan_collective_name((enum plan_collective)c), &rows[c]);
    print_row("all", &all);
    return all.chosen_near >= part * all.points && all.chosen_worst <= never ? 0 : 1;
}
