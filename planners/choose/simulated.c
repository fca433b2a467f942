/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A way replaces the first candidate only if it is clearly faster: costs know of processors and
 * libraries what the model does not. Each simulation ends where it is behind the fastest so far.
 */
#include "planners/choose/simulated.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "planners/algorithms/compose/compose.h"
#include "planners/algorithms/lane/lane.h"
#include "planners/links/cost.h"
#include "planners/links/load.h"
#include "planners/model/model.h"

enum { MOST_RANKS = 64, MOST_CHUNKS = 1 << 14 };

static const double clearly = 0.98;
/* Simulating all ways takes about so long for a pair of ranks, and for a chunk that a rank gets. */
static const double pair_s = 30e-6, chunk_s = 12e-6;

/* Beside each row's own way. */
static const struct {
    const struct plan_algorithm *algorithm;
    const char *recipe;
} recipes[] = {{&plan_lane, "inter=ring"},    {&plan_lane, "inter=recursive_doubling"},
               {&plan_lane, "inter=direct"},  {&plan_lane, "lanes=1"},
               {&plan_compose, "ring=1"},     {&plan_compose, "stripe=1"},
               {&plan_compose, "steps=multi"}};
enum { RECIPES = sizeof recipes / sizeof *recipes };

static struct plan_candidate way_at(int way)
{
    int recipe = way - plan_algorithm_count;

    return (struct plan_candidate){.algorithm = recipe < 0 ? plan_algorithms[way]
                                                           : recipes[recipe].algorithm,
                                   .recipe = recipe < 0 ? NULL : recipes[recipe].recipe,
                                   .ppg = 1};
}

/* Messages and chunks of them that the busiest rank posts. */
static double posting(struct plan *const *plan, int nranks)
{
    uint64_t most = 0;

    for (int r = 0; r < nranks; r++) {
        uint64_t chunks = 0;

        for (uint32_t i = 0; i < plan[r]->nops; i++)
            if (plan[r]->queues[plan[r]->ops[i].queue].peer >= 0)
                chunks += (plan[r]->ops[i].length - 1) / plan[r]->chunk_bytes + 1;
        most = chunks > most ? chunks : most;
    }
    return (double)most / 2 * COST_MESSAGE_S;
}

int simulated_seconds(const struct plan_request *q, const struct plan_algorithm *a, uint64_t chunks,
                      double most_s, double *seconds)
{
    int nranks = q->topo->nranks;
    struct plan **plan = calloc((size_t)nranks, sizeof *plan);
    struct plan_request asked = *q;
    struct model_result m = {0};
    char why[256];
    int rc = !plan ? -ENOMEM : q->recipe ? a->accepts(q, why, sizeof why) : 0;

    asked.in_place = 0;
    for (asked.rank = 0; !rc && asked.rank < nranks; asked.rank++)
        rc = a->build(&asked, &plan[asked.rank]);
    if (!rc)
        rc = model_run_within(q->topo, (const struct plan *const *)plan, chunks, most_s, &m);
    if (!rc)
        *seconds = m.seconds + posting(plan, nranks);
    model_free(&m);
    for (int r = 0; plan && r < nranks; r++)
        plan_free(plan[r]);
    free(plan);
    return rc;
}

int simulated_is_worth_it(const struct plan_request *q, const struct plan_candidate *c, int n)
{
    return n && c[0].ppg == 1 && !q->recipe && q->topo->nranks <= MOST_RANKS &&
           (q->topo->nnodes == 1 || load_rates_known(q->topo));
}

double simulated_cost(const struct plan_request *q, const struct plan_candidate *first)
{
    double nranks = q->topo->nranks,
           chunks = nranks * ((double)plan_total_bytes(q) / (double)(first->chunk_bytes + 1) + 1);

    return pair_s * nranks * nranks + chunk_s * (chunks < MOST_CHUNKS ? chunks : MOST_CHUNKS);
}

void simulated_find(const struct plan_request *q, const struct plan_candidate *c,
                    double found[SIMULATED])
{
    struct plan_request asked = *q;
    double first, least, now;

    found[SIMULATED_WAY] = 0;
    found[SIMULATED_PART] = 1;
    asked.chunk_bytes = c[0].chunk_bytes;
    if (simulated_seconds(&asked, c[0].algorithm, MOST_CHUNKS, (double)INFINITY, &first))
        return;
    least = first * clearly;
    for (int i = 0; i < plan_algorithm_count + RECIPES; i++) {
        struct plan_candidate way = way_at(i);

        asked.recipe = way.recipe;
        if (!(way.algorithm->collectives & 1u << q->collective) ||
            simulated_seconds(&asked, way.algorithm, MOST_CHUNKS, least, &now) || now >= least)
            continue;
        least = now;
        found[SIMULATED_WAY] = i + 1;
        found[SIMULATED_PART] = now / first;
    }
}

int simulated_prefer(const double found[SIMULATED], struct plan_candidate *c, int n, int max)
{
    int way = (int)found[SIMULATED_WAY], at = 0;

    if (way < 1)
        return n;
    struct plan_candidate best = way_at(way - 1);
    best.chunk_bytes = c[0].chunk_bytes;
    best.seconds = c[0].seconds * found[SIMULATED_PART];
    while (at < n && (c[at].algorithm != best.algorithm || c[at].recipe != best.recipe ||
                      c[at].chunk_bytes != best.chunk_bytes))
        at++;
    if (at == n)
        at = n < max ? n++ : max - 1;
    for (; at > 0; at--)
        c[at] = c[at - 1];
    c[0] = best;
    return n;
}

int simulated_candidates(const struct plan_request *q, struct plan_candidate *c, int max)
{
    int n = plan_candidates(q, c, max);
    double found[SIMULATED];

    if (!simulated_is_worth_it(q, c, n))
        return n;
    simulated_find(q, c, found);
    return simulated_prefer(found, c, n, max);
}
