/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NIMBLE: Alltoallv over balanced paths, rows to compare it with, and a test whether balancing
 * gains. Source: NIMBLE (docs/papers/nimble.md).
 */
#ifndef COLLSHIM_PLANNERS_NIMBLE_H
#define COLLSHIM_PLANNERS_NIMBLE_H

#include "planners/algorithms/nimble/balance.h"
#include "planners/plan/algorithm.h"

/* Alltoallv over balanced paths. */
extern const struct plan_algorithm plan_nimble;
/* Alltoallv with every message between nodes cut alike over the rails, at any rates and load. It
   does what striping libraries do, for comparison. */
extern const struct plan_algorithm plan_striped;
/* Alltoallv with every message direct, in the same order and with as many under way: what balancing
   is compared with. */
extern const struct plan_algorithm plan_pairwise;

/* The options that a request is balanced with: a message is worth splitting from a few chunks on.
 */
struct balance_options nimble_options(const struct plan_request *q);

/*
 * The load of the busiest link if every message went direct, and if messages were balanced: in
 * seconds, or bytes of one rail if no rates are known. q->rank does not matter. Returns 0 or
 * -ENOMEM.
 */
int nimble_predict(const struct plan_request *q, double *direct, double *balanced);

/*
 * The skew of a demand, coarsely: how often the most that one rank sends or receives can be halved
 * and is still the mean or more. 0 if no rank has twice the mean. Needs no memory, so it cannot
 * fail on one rank.
 */
unsigned nimble_skew(const uint64_t *demand, int nranks);

/*
 * The plan of q->rank for an exchange that is cut like this, the same pieces on all ranks. Any
 * relays will do, so that tests can ask for stranger paths than balancing finds. name: constant.
 * Returns as plan_algorithm.build does.
 */
int nimble_build_pieces(const struct plan_request *q, const struct balance *b, const char *name,
                        struct plan **plan_p);

#endif
