/* SPDX-License-Identifier: BSD-3-Clause */
/* The meaning of each collective, for the checker only: contents before and after. */
#ifndef COLLSHIM_PLANNERS_CHECK_MEANING_H
#define COLLSHIM_PLANNERS_CHECK_MEANING_H

#include "planners/check/check_value.h"
#include "planners/plan/collective.h"

/* The logical position of the bytes: see check_value.h. Fill a rank's buffers (empty before) with
   what they hold at the start. 0 or -ENOMEM. */
int check_before(const struct plan_request *q, int rank, struct check_buffer *input,
                 struct check_buffer *output);

/* The contents that the output must have at the end; first: [nranks + 1], at k the set of the first
   k ranks (none at 0). 0 or -ENOMEM. */
int check_after(const struct plan_request *q, int rank, const uint32_t *first,
                struct check_buffer *expected);

#endif
