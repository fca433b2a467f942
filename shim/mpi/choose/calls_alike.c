/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/choose/calls_alike.h"

#include <stdint.h>

#include "shim/mpi/call/call.h"
#include "shim/mpi/comm/comm.h"

static uint64_t alike_add(uint64_t h, uint64_t value)
{
    h = (h ^ value) * 0x9e3779b97f4a7c15ull;
    return h ^ (h >> 29);
}

/* Values that a plan depends on and that MPI requires to be equal. Handles are not among them: they
   may be addresses. */
static uint64_t signature(const struct mpi_call *call, int n)
{
    const struct plan_request *q = &call->request;
    uint64_t h = alike_add(1, call->collective);

    h = alike_add(h, call->total);
    h = alike_add(h, (uint64_t)q->root);
    h = alike_add(h, q->nbytes);
    h = alike_add(h, q->grain);
    for (int r = 0; q->bytes && r < n; r++)
        h = alike_add(h, q->bytes[r]);
    if (call->combines)
        h = alike_add(alike_add(h, call->reduction.kernel_type), call->reduction.kernel_op);
    return h;
}

/* The ranks have disagreed, and all know it. A rank may still be in the library's wrong call when
   the others make the next one, and wait there for their messages, not ours. So the communicator is
   the library's from here on. */
static enum reason differ(struct mpi_comm *c)
{
    return c->verdict = REASON_ARGUMENTS;
}

enum reason calls_alike(struct mpi_comm *c, const struct mpi_call *call)
{
    uint64_t h = signature(call, c->size), all[3];
    uint64_t mine[3] = {h, ~h, call->wrong != MPI_SUCCESS};

    if (plan_has_demand(call->collective)) /* the rows were compared when they were exchanged */
        return REASON_NONE;
    if (mpi.Allreduce(mine, all, 3, MPI_UINT64_T, MPI_MAX, c->private_comm) != MPI_SUCCESS)
        return REASON_ARGUMENTS;
    return all[0] == ~all[1] && !all[2] ? REASON_NONE : differ(c);
}

enum reason calls_alike_in_pair(struct mpi_comm *c, const struct mpi_call *call)
{
    int pair = call->reduction.pair, mine[2] = {pair, -pair}, most[2];

    if (mpi.Allreduce(mine, most, 2, MPI_INT, MPI_MAX, c->private_comm) != MPI_SUCCESS)
        return REASON_ARGUMENTS;
    return most[0] == -most[1] ? REASON_NONE : differ(c);
}
