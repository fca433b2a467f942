/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Invented demands: matrices of sizes, in the shapes that programs have. The same numbers from the
 * same seed everywhere, so that a figure can be repeated.
 */
#ifndef COLLSHIM_PLANNERS_DEMAND_H
#define COLLSHIM_PLANNERS_DEMAND_H

#include "config/topo/topo.h"

/*
 * KIND(enum name, text). The kinds:
 *   uniform   every rank sends the same to every other
 *   skew      a share `hot` of a rank's bytes goes to rank `peer`, the rest to all
 *   two       like skew, with two hot ranks: `peer` and one half the ranks away
 *   few       all send to every `every`-th rank only, for example to aggregators
 *   stencil   neighbours in a row; across node borders 1 / (1 - hot) as much
 *   moe       tokens to experts: popularity falls off, `hot` is the top expert's share
 *   local     skew inside each node: each rank's `hot` share goes to its neighbour
 *   random    any sizes up to twice the average, a third of the pairs silent
 */
#define DEMAND_KINDS(KIND)                                                                         \
    KIND(UNIFORM, "uniform")                                                                       \
    KIND(SKEW, "skew")                                                                             \
    KIND(TWO, "two")                                                                               \
    KIND(FEW, "few")                                                                               \
    KIND(STENCIL, "stencil")                                                                       \
    KIND(MOE, "moe")                                                                               \
    KIND(LOCAL, "local")                                                                           \
    KIND(RANDOM, "random")

enum demand_kind {
#define KIND(id, text) DEMAND_##id,
    DEMAND_KINDS(KIND)
#undef KIND
        DEMAND_COUNT
};

struct demand {
    enum demand_kind kind;
    double hot;     /* 0 .. 1 */
    int peer;       /* rank; one past the end counts from 0 again */
    int every;      /* > 0 */
    uint64_t bytes; /* that a rank sends in all, about */
    uint64_t seed;
};

extern const struct demand demand_defaults; /* skew of 0.7 to rank 0, 4 MiB per rank */

const char *demand_kind_name(enum demand_kind kind);
int demand_kind_find(const char *name); /* or -1 */

/* Fill matrix [nranks * nranks], row by row what a rank sends; the diagonal is 0. */
void demand_fill(const struct demand *d, const struct topo *t, uint64_t *matrix);

#endif
