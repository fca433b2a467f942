/* SPDX-License-Identifier: BSD-3-Clause */
/* How large the chunks are in which a plan moves its bytes. */
#ifndef COLLSHIM_PLANNERS_CHUNKS_H
#define COLLSHIM_PLANNERS_CHUNKS_H

#include "planners/plan/collective.h"

/*
 * Chunks worth trying if the user sets none, at most PLAN_CHUNKS of them; returns how many. The
 * first was measured to be the best, or is the safest. Multiples of the grain, at most
 * PLAN_MOST_CHUNK, the same on all ranks.
 */
enum { PLAN_CHUNKS = 2 };
int plan_chunks(const struct plan_request *q, size_t *chunk);

/*
 * The chunk for q if the user asks for `wanted` bytes: a multiple of the grain. Below
 * PLAN_SMALL_CHUNK it grows until PLAN_MANY_CHUNKS hold all of the call. It is at most
 * PLAN_MOST_CHUNK, and less where a rank has a GPU. The same on all ranks.
 */
enum { PLAN_MANY_CHUNKS = 16 << 10, PLAN_SMALL_CHUNK = 4 << 10 };
size_t plan_chunk(const struct plan_request *q, size_t wanted);

#endif
