/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef COLLSHIM_PLANNERS_NIMBLE_H
#define COLLSHIM_PLANNERS_NIMBLE_H

#include "planners/balance.h"
#include "planners/registry.h"

/* Alltoallv over balanced paths (papers/nimble-multipath-balancing.txt). */
extern const struct plan_algorithm plan_nimble;
/* Alltoallv with every message direct, in the same order and with as many under way: what balancing
   is compared with. */
extern const struct plan_algorithm plan_nimble_pairwise;

/* The options that a request is balanced with: a message is worth splitting from a few chunks on.
 */
struct balance_options nimble_options(const struct plan_request *q);

/*
 * The plan of q->rank for an exchange that is cut like this, the same pieces on all ranks. Any
 * relays will do, so that tests can ask for stranger paths than balancing finds. name: constant.
 * Returns as plan_algorithm.build does.
 */
int nimble_build_pieces(const struct plan_request *q, const struct balance *b, const char *name,
                        struct plan **plan_p);

#endif
