/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Striping (HiCCL, section IV-C): the data of a root are divided among carriers in its own group,
 * so that they leave the node over all its rails. A carrier is the root moved on inside the group,
 * which makes the root one of them; a stripe is as wide as its carrier's rail is fast. The paper's
 * stripes are equal, and bound by the slowest rail.
 *
 * The paper stripes for any leaves. Here a point-to-point primitive whose leaf is among the
 * carriers goes there directly.
 */
#include <errno.h>
#include <stdlib.h>

#include "planners/algorithms/compose/compose_parts.h"
#include "planners/links/load.h"
#include "planners/links/shares.h"

static int rates_differ(const struct topo *t)
{
    if (!load_rates_known(t) || t->rate)
        return load_rates_known(t);
    for (int r = 1; r < t->nrails; r++)
        if (t->rail[r].bw_bytes_per_s != t->rail[0].bw_bytes_per_s)
            return 1;
    return 0;
}

/* The rate of each rank's rail: ranks of a node that share a rail share its rate. A stripe goes
   through a carrier's rail, in and out again. */
int compose_weigh_rails(struct compose_shape *s)
{
    const struct topo *t = s->t;

    if (s->stripe == 1 || !rates_differ(t))
        return 0;
    s->weight = calloc((size_t)t->nranks, sizeof *s->weight);
    if (!s->weight)
        return -ENOMEM;
    for (int r = 0; r < t->nranks; r++) {
        const struct topo_rank *k = &t->rank[r];

        /* A rank that uses all rails counts as one with a common rail. */
        s->weight[r] = k->rail >= 0 || t->rate
                           ? shares_rail_weight(t, k->node, k->local, SHARE_THROUGH)
                           : 1 + (uint64_t)t->rail[0].bw_bytes_per_s;
    }
    return 0;
}

static uint64_t stripe_offset(const struct compose_shape *s, int stripe)
{
    return (uint64_t)stripe * s->width[s->stripe_depth] / (uint64_t)s->stripe;
}

/* The address that carries a stripe of what the root has. */
static uint64_t carrier_of(const struct compose_shape *s, uint64_t root, int stripe)
{
    uint64_t width = s->width[s->stripe_depth];

    return root - root % width + (root % width + stripe_offset(s, stripe)) % width;
}

uint64_t compose_root_of(const struct compose_shape *s, uint64_t carrier, int stripe)
{
    uint64_t width = s->width[s->stripe_depth];

    return carrier - carrier % width + (carrier % width + width - stripe_offset(s, stripe)) % width;
}

static int same_group(const struct compose_shape *s, uint64_t a, uint64_t b, int depth)
{
    return a / s->width[depth] == b / s->width[depth];
}

int compose_stripes(const struct compose_shape *s, int root, int leaf)
{
    if (s->stripe == 1 || leaf == COMPOSE_EVERYONE)
        return s->stripe;
    return same_group(s, compose_address(s, root), compose_address(s, leaf), s->stripe_depth)
               ? 1
               : s->stripe;
}

uint64_t compose_carrier(const struct compose_shape *s, int root, int leaf, int stripe)
{
    uint64_t address = compose_address(s, root);

    return compose_stripes(s, root, leaf) == 1 ? address : carrier_of(s, address, stripe);
}

uint64_t compose_cut(const struct compose_shape *s, int root, int leaf, int stripe,
                     uint64_t elements)
{
    int stripes = compose_stripes(s, root, leaf);
    uint64_t before = (uint64_t)stripe, all = (uint64_t)stripes;

    if (s->weight)
        before = all = 0;
    for (int j = 0; s->weight && j < stripes; j++) {
        uint64_t weight = s->weight[compose_rank_at(s, compose_carrier(s, root, leaf, j))];
        before += j < stripe ? weight : 0;
        all += weight;
    }
    return all ? (uint64_t)((unsigned __int128)elements * before / all) : 0;
}
