/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A collective cut into slices that several processes per rank carry at the same time: each slice
 * is the same collective on a part of every block, with its own plan.
 *
 * A process carries its slice in a window: its own memory, in which the slice lies packed for the
 * plan. This file says which bytes go into the window, and which come out.
 *
 * Pure functions; all but slice_window of values that are the same on all ranks.
 * Source: sections 3.1 to 3.1.2 of Multiple Processes per GPU.
 */
#ifndef COLLSHIM_PLANNERS_SLICES_H
#define COLLSHIM_PLANNERS_SLICES_H

#include "planners/plan/collective.h"
#include "planners/plan/plan.h"

/* The number of slices for that many processes: fewer if the request has too few elements, 1 if the
   collective is not cut. */
int slices_of(const struct plan_request *q, int processes);

/* Slice i of n as a request of its own: *from is where its part of each block begins. Its chunk is
   q's, or none where q has none. The one slice of a collective that is not cut is all of it. */
struct plan_request slice_request(const struct plan_request *q, int n, int i, uint64_t *from);

/* Bytes of a buffer of the whole collective that lie in the window: n pieces of one length. */
struct slice_part {
    enum plan_buffer buffer; /* of the whole: PLAN_INPUT or PLAN_OUTPUT */
    uint64_t at, stride;     /* of the first piece there, and from one to the next */
    uint64_t window_at;      /* of the first in the window; the others follow without a gap */
    uint64_t length, n;      /* n 0: nothing */
};

struct slice_window {
    uint64_t bytes;
    uint64_t input_at, output_at; /* where the slice's plan has its buffers */
    struct slice_part fetch;      /* before the plan runs */
    struct slice_part store;      /* after it */
};

/* The window of a slice on rank q->rank. slice, from: as slice_request gave them. */
struct slice_window slice_window(const struct plan_request *q, const struct plan_request *slice,
                                 uint64_t from);

/* Seconds that slicing costs besides what the slices' plans take. */
double slices_cost(const struct plan_request *q, int n);

#endif
