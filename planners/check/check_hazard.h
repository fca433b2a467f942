/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank's hazards: for the checker only. */
#ifndef COLLSHIM_PLANNERS_CHECK_HAZARD_H
#define COLLSHIM_PLANNERS_CHECK_HAZARD_H

#include "planners/plan/plan.h"

/*
 * Prove that any two operations of the plan that touch the same bytes, one of them writing, are
 * ordered. One names the other, or names operations that together touch all those bytes and are
 * ordered after the other. Two operations of one COPY or REDUCE queue are ordered by the queue.
 * Returns 0, -EINVAL with one line in why, or -ENOMEM.
 */
int check_hazards(const struct plan *p, char *why, size_t why_size);

#endif
