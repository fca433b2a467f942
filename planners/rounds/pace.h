/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rounds of a request, cut as finely as it pays. Knows neither NCCL nor CUDA. Pure functions:
 * the same on all ranks, from values that are.
 *
 * Messages may be cut finer at both ends than in the middle (taper), since other links are idle
 * only before the first piece has come and behind the last. Modelled, links inside nodes four times
 * as fast as a rail, five groups: 1/6, 2/3 and 1/6 of a message give 0.92 of the bound, thirds
 * 0.86.
 */
#ifndef COLLSHIM_PLANNERS_PACE_H
#define COLLSHIM_PLANNERS_PACE_H

#include "planners/registry.h"
#include "planners/rounds/rounds.h"

/* So many bytes as a chunk of any type: never 0, if they are not. */
size_t pace_chunk(size_t bytes);

/*
 * The rounds of q->rank, by the chunk that the request names. Without one (0), by that, and by
 * those ends of messages, which cost the least of stream and host: from messages in one piece on,
 * these are halved, as long as more rounds, each of which costs a group and launches, make up for
 * it by what is under way at the same time. like: rounds of another size that is nearly this one
 * (NULL: none), whose cut is taken then. Returns 0 and *rounds_p (rounds_free()), or what the row
 * or rounds_build() refuses it with.
 */
int pace_rounds(const struct plan_request *q, const struct plan_algorithm *a,
                const struct rounds *like, struct rounds **rounds_p);

#endif
