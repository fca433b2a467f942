/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Balancing: the path of each message of an exchange, chosen so that the load of the busiest link
 * is least. For every pair of ranks some bytes go from one to the other. They may go
 *   - direct: between nodes they leave through the sender's rail and enter through the receiver's;
 *   - inside a node over one other rank of it, where ranks have a link to each other (not where
 *     each has one uplink to a switch or to memory: a relay would only use it twice);
 *   - between nodes over one rail at both ends (rail-matched), by way of the rank of the sender's
 *     node that holds the rail, and its counterpart at the receiver's node.
 *
 * A link is busy for load / capacity seconds, or "bytes of one rail" if no rates are known. The
 * maximum over all links is the congestion. Planning is a pure function and has the same result on
 * every rank. It uses no clock and no random numbers, and one order of operations. It uses only
 * floating-point operations that IEEE 754 rounds exactly (+ - * / and comparison). The build has
 * -ffp-contract=off: a fused multiply-add rounds once, separate operations round twice. balance.c
 * refuses -ffast-math.
 *
 * Source: NIMBLE, sections IV-B and V-B; docs/papers/nimble.md says what is done differently.
 * Thread rule: no state; a finished balance is const.
 */
#ifndef COLLSHIM_PLANNERS_BALANCE_H
#define COLLSHIM_PLANNERS_BALANCE_H

#include "planners/algorithms/nimble/balance_pieces.h"

struct balance_options {
    double lambda; /* most of a message that one visit moves: 0 < lambda <= 1 */
    uint64_t
        split_bytes; /* messages of so many bytes and less go direct, unless by a narrow rail */
    uint64_t relay_bytes;   /* the cost of a relay: bytes by which a message seems longer */
    double accuracy;        /* stop when proven so near to the best, e.g. 0.01 */
    double visits_per_pair; /* how much work at most: visits to messages, about 1 per pair */
};

extern const struct balance_options balance_defaults;

/* Split the demand: [nranks * nranks], row by row the bytes that a rank sends to each; the diagonal
   does not count. 0 and *b (free with balance_free in either case) or -ENOMEM. */
int balance_plan(const struct balance_net *net, const uint64_t *demand,
                 const struct balance_options *options, struct balance *b);

#endif
