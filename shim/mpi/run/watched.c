/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/run/watched.h"

/* A transport's threads add to their own, which no call reads. */
static void combine(void *context, const void *a, const void *b, void *dst, size_t bytes)
{
    uint64_t began = site_clock();

    reduction_combine(context, a, b, dst, bytes);
    site_now.combining += site_clock() - began;
}

static void note_landed(void *context, int peer)
{
    const struct mpi_comm *c = context;

    if (c->topo->rank[peer].node != c->topo->rank[c->rank].node)
        site_now.landed = site_clock();
}

void watched_begin(struct mpi_comm *c, struct engine_buffers *b)
{
    b->combine = combine;
    b->landed = note_landed;
    b->landed_context = c;
}
