/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rounds of a request, cut as finely as it pays. Knows neither NCCL nor CUDA. Pure functions:
 * the same on all ranks, from values that are.
 *
 * Messages may be cut finer at both ends than in the middle (taper), since other links are idle
 * only before the first piece has come and behind the last. With five groups, and links inside
 * nodes four times as fast as a rail, 1/6, 2/3 and 1/6 of a message give 0.92 of the bound, and
 * thirds give 0.86 (modelled).
 */
#ifndef COLLSHIM_PLANNERS_PACE_H
#define COLLSHIM_PLANNERS_PACE_H

#include "planners/plan/algorithm.h"
#include "planners/rounds/rounds.h"

/* So many bytes as a chunk of any type: never 0, if they are not, and at most PLAN_MOST_CHUNK. */
size_t pace_chunk(size_t bytes);

/*
 * The rounds of q->rank, by the chunk that the request names. Without one (0), the chunk and the
 * ends of messages are chosen for the least cost of stream and host. Messages begin in one piece,
 * and pieces are halved as long as the overlap gains more than the added groups and launches cost.
 * like: rounds of a similar size, whose cut is used; NULL: none. Returns 0 and *rounds_p
 * (rounds_free()), or the error of the row or of rounds_build().
 */
int pace_rounds(const struct plan_request *q, const struct plan_algorithm *a,
                const struct rounds *like, struct rounds **rounds_p);

#endif
