/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plan as one run of bytes without addresses in it, to be handed to another process of the same
 * machine and build.
 */
#ifndef COLLSHIM_PLANNERS_FLAT_H
#define COLLSHIM_PLANNERS_FLAT_H

#include "planners/plan/plan.h"

/* The alignment of a flat plan. */
enum { PLAN_FLAT_ALIGN = 64 };

size_t plan_flat_bytes(const struct plan *p);

/* to: plan_flat_bytes(p) of them, aligned to PLAN_FLAT_ALIGN. */
void plan_flatten(const struct plan *p, void *to);

/*
 * The plan that was flattened: *p and its arrays lie in `from`, which must outlive it; nothing is
 * to be freed. Returns 0, or -EINVAL if the bytes are not a flat plan of that length.
 */
int plan_flat_open(const void *from, size_t bytes, struct plan *p);

#endif
