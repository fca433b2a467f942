/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A request of bytes. Other fields may follow the chunk: REQUEST(COLL_BCAST, t, 9, 4, .root = 3).
 * And the plans of all its ranks.
 */
#ifndef COLLSHIM_TEST_UNIT_REQUEST_H
#define COLLSHIM_TEST_UNIT_REQUEST_H

#include "planners/plan/algorithm.h"

#define REQUEST(which, topology, length, chunk, ...)                                               \
    ((struct plan_request){.collective = (which),                                                  \
                           .topo = (topology),                                                     \
                           .nbytes = (length),                                                     \
                           .grain = 1,                                                             \
                           .chunk_bytes = (chunk),                                                 \
                           ##__VA_ARGS__})

/* plan[r]: of rank r, the caller's. Returns 0 or what building returned; plans are made until then.
 */
static inline int request_plans(struct plan_request q, const struct plan_algorithm *a,
                                struct plan **plan)
{
    int rc = 0;

    for (q.rank = 0; !rc && q.rank < q.topo->nranks; q.rank++)
        rc = a->build(&q, &plan[q.rank]);
    return rc;
}

#endif
