/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Balancing graded against the exact linear program: random machines (unequal rails, a slow rail,
 * weak links inside nodes, ranks of their own number per node, rails busy with other traffic) and
 * demands of every kind. Prints a line per case; exit 1 if one is more than 2% above the optimum,
 * below it, or if a bound that balancing claims to have proven is wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planners/algorithms/nimble/demand.h"
#include "shim/cli/plan/lp.h"

enum { CASES = 240 };

static double chance(uint64_t *state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(*state >> 40) / (double)(1 << 24);
}

static int below(uint64_t *state, int n)
{
    return (int)(chance(state) * n);
}

/* The ways in which machines differ. */
enum feature { EQUAL, UNEQUAL, SLOW_RAIL, WEAK_LINKS, BACKGROUND, UPLINKS, FEATURES };

static const char *const feature_names[FEATURES] = {"equal rails", "unequal rails", "slow rail",
                                                    "weak links",  "background",    "uplinks"};

static struct topo *machine(uint64_t *state, enum feature feature)
{
    static const char *const shapes[] = {
        "node:2 gpu:4 rail:4",      "node:4 gpu:2 rail:2",
        "node:3 gpu:3 rail:3",      "node:2 rank:3,4 rail:4",
        "node:4 gpu:4 rail:4",      "node:2 rank:6 rail:3",
        "node:3 rank:2,4,3 rail:3", "node:1 gpu:4 rail:1",
        "node:2 gpu:8 rail:8",      "node:3 gpu:4 rail:2 place:cyclic"};
    struct topo *t;
    char why[256];

    if (topo_parse(shapes[below(state, sizeof shapes / sizeof *shapes)], 0, &t, why, sizeof why))
        return NULL;
    for (int r = 0; r < t->nrails; r++)
        t->rail[r].bw_bytes_per_s = feature == UNEQUAL     ? 1e9 * (1 + below(state, 8))
                                    : feature == SLOW_RAIL ? (r ? 1e10 : 5e9)
                                                           : 1e10;
    double rate =
        feature == WEAK_LINKS ? 2e9 + 8e9 * chance(state) : 1e10 * (1 + 3 * chance(state));
    t->link[TOPO_LINK_NVLINK].bw_bytes_per_s = rate;
    t->link[TOPO_LINK_SHM].bw_bytes_per_s = rate;
    return t;
}

static void disturb(struct balance_net *net, uint64_t *state, uint64_t bytes)
{
    for (uint32_t l = 2; l < net->nlinks; l++)
        if (below(state, 3) == 0)
            net->background[l] = chance(state) * (double)bytes;
}

static int grade(int i, const struct balance_net *net, const struct demand *d, enum feature feature,
                 uint64_t *matrix, double *worst)
{
    struct balance plan, uniform, direct;
    double best;
    char shape[256];
    int rc = 0;

    demand_fill(d, net->t, matrix);
    rc |= balance_plan(net, matrix, &balance_defaults, &plan);
    rc |= balance_uniform(net, matrix, &uniform);
    rc |= balance_direct(net, matrix, &direct);
    if (!rc && plan.npieces)
        rc = lp_congestion(net, matrix, balance_defaults.split_bytes, &best);
    if (rc)
        return fprintf(stderr, "grade: case %d: error %d\n", i, rc), 1;
    if (!plan.npieces)
        best = plan.congestion;
    double ratio = best > 0 ? plan.congestion / best : 1;
    int bad = !(ratio <= 1.02) || ratio < 1 - 1e-6 || plan.bound > best * (1 + 1e-6);
    topo_print(net->t, shape, sizeof shape);
    printf("%-4d %-13s %-8s %5.3f  uniform %6.3f  direct %6.3f  bound %5.3f  relayed %4.2f  "
           "sweeps %2d  %s%s\n",
           i, feature_names[feature], demand_kind_name(d->kind), ratio, uniform.congestion / best,
           direct.congestion / best, plan.bound / best,
           (double)plan.relayed / ((double)d->bytes * net->t->nranks), plan.sweeps, shape,
           bad ? "  BAD" : "");
    if (ratio > *worst)
        *worst = ratio;
    balance_free(&plan);
    balance_free(&uniform);
    balance_free(&direct);
    return bad;
}

int main(int argc, char **argv)
{
    int first = argc > 1 ? atoi(argv[1]) : 0,
        last = argc > 2   ? atoi(argv[2])
               : argc > 1 ? first + 1
                          : CASES,
        bad = 0;
    double worst = 0;

    for (int i = first; i < last; i++) {
        uint64_t state = (uint64_t)i * 7919 + 17;
        enum feature feature = (enum feature)(i % FEATURES);
        struct topo *t = (chance(&state), machine(&state, feature));
        struct balance_net net;
        struct demand d = {.kind = (enum demand_kind)(i / FEATURES % DEMAND_COUNT),
                           .hot = 0.1 + 0.85 * chance(&state),
                           .peer = below(&state, 64),
                           .every = 2 + below(&state, 3),
                           .bytes = 1ull << (28 + below(&state, 5)),
                           .seed = (uint64_t)i};
        if (!t)
            return 1;
        uint64_t *matrix = calloc((size_t)t->nranks * (size_t)t->nranks, sizeof *matrix);
        if (!matrix ||
            balance_net_open(&net, t, feature == UPLINKS ? BALANCE_SWITCH : BALANCE_MESH))
            return 1;
        if (feature == BACKGROUND)
            disturb(&net, &state, d.bytes);
        bad += grade(i, &net, &d, feature, matrix, &worst);
        balance_net_close(&net);
        free(matrix);
        topo_free(t);
    }
    printf("the worst is %.4f of the optimum\n%d passed, %d failed\n", worst, last - first - bad,
           bad);
    return bad > 0;
}
