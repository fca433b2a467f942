/* SPDX-License-Identifier: BSD-3-Clause */
/* A spreading under way: state shared by rings_spread.c and rings_relay.c. */
#ifndef COLLSHIM_PLANNERS_RINGS_SPREAD_H
#define COLLSHIM_PLANNERS_RINGS_SPREAD_H

#include "planners/algorithms/parallel_rings/rings_stage.h"

struct spread {
    struct plan_builder *b;
    struct shares *s;
    const struct rings_trees *trees;
    enum plan_buffer own;
    const struct arrivals *made, *busy;
    struct arrivals here; /* the received part of the current unit, by unit bytes */
};

/* Something to do with a piece and a peer. */
typedef void spread_use(struct spread *w, int peer, int tag, const struct share_piece *g);

/* Receive a piece into its place in the output; send one from where it is. */
spread_use spread_receive, spread_send;

/*
 * A rank's block of the own node's unit, in the order in which `reader`, a local index, needs it:
 * first the part that this rank sends on, then the rest. Calls use(w, peer, tag, piece) for each.
 */
void spread_pieces(struct spread *w, int rank, struct share block, int reader, int peer, int tag,
                   spread_use *use);

/* Copy the own block to where it belongs, unless it is there. Returns the operation. */
uint32_t spread_copy_own(struct spread *w);

/* Instead of the linear exchange: data from local peers, and data for them. */
void trees_take(struct spread *w, int unit);
void trees_give(struct spread *w, int unit);

#endif
