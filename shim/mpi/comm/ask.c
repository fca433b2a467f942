/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rejected: MPI_Allreduce. A nonblocking call asks inside the library's progress engine.
 */
#include "shim/mpi/comm/ask.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "planners/algorithms/lane/lane.h"

int ask_open(struct ask *a, const struct topo *t, int rank, struct xport *mpi)
{
    struct plan_request q = {.collective = COLL_ALLREDUCE,
                             .topo = t,
                             .rank = rank,
                             .nbytes = sizeof a->value,
                             .grain = sizeof a->value,
                             .chunk_bytes = sizeof a->value,
                             .in_place = 1};
    int rc = plan_lane.build(&q, &a->plan);

    if (!rc)
        rc = engine_create(a->plan, mpi, &a->engine);
    if (!rc)
        rc = engine_reserve(a->engine, 1);
    a->scratch = rc ? NULL : malloc(a->plan->scratch_bytes + 1);
    return a->scratch ? 0 : -ENOMEM;
}

void ask_close(struct ask *a)
{
    engine_free(a->engine);
    plan_free(a->plan);
    free(a->scratch);
    *a = (struct ask){0};
}

static void add(void *context, const void *a, const void *b, void *dst, size_t bytes)
{
    (void)context, (void)bytes;
    *(int *)dst = *(const int *)a + *(const int *)b;
}

static struct engine_buffers buffers_of(struct ask *a)
{
    return (struct engine_buffers){
        .output = &a->value, .scratch = a->scratch, .combine = add, .grain = sizeof a->value};
}

int ask_begin(struct ask *a, int value)
{
    struct engine_buffers buffers = buffers_of(a);

    a->value = value;
    return engine_begin(a->engine, &buffers);
}

int ask_step(struct ask *a, enum engine_state *state)
{
    return engine_step(a->engine, state);
}

int ask_all(struct ask *a, int value, int *sum)
{
    struct engine_buffers buffers = buffers_of(a);

    a->value = value;
    int rc = engine_run(a->engine, &buffers);
    *sum = a->value;
    return rc;
}
