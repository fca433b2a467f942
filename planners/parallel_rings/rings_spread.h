/* SPDX-License-Identifier: BSD-3-Clause */
/* What rings_spread.c and rings_relay.c share: a spreading under way. */
#ifndef COLLSHIM_PLANNERS_RINGS_SPREAD_H
#define COLLSHIM_PLANNERS_RINGS_SPREAD_H

#include "planners/parallel_rings/rings_stage.h"

struct spread {
    struct plan_builder *b;
    struct shares *s;
    const struct rings_trees *trees;
    enum plan_buffer own;
    const struct arrivals *made, *busy;
    struct arrivals here; /* what of the current unit has been received, by unit bytes */
};

/* Something to do with a piece and a peer. */
typedef void spread_use(struct spread *w, int peer, int lane, const struct segment *g);

/* Receive a piece into its place in the output; send one from where it is. */
spread_use spread_receive, spread_send;

/*
 * The own node's unit: rank's block in the order in which `reader`, a local index, needs it: what
 * that rank has to send on first, then the rest. Calls use(w, peer, lane, piece) for each.
 */
void spread_pieces(struct spread *w, int rank, struct share block, int reader, int peer, int lane,
                   spread_use *use);

/* Copy the own block to where it belongs, unless it is there. Returns the operation. */
uint32_t spread_copy_own(struct spread *w);

/* Instead of the linear exchange: what arrives from local peers, and what goes to them. */
void trees_take(struct spread *w, int unit);
void trees_give(struct spread *w, int unit);

#endif
