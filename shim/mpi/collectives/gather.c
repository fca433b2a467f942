/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Gather and MPI_Gatherv: all blocks are the root's output (rooted.h). */
#include <stdint.h>

#include "shim/mpi/api/wrappers.h"
#include "shim/mpi/call/library.h"
#include "shim/mpi/collectives/rooted.h"
#include "shim/mpi/comm/comm.h"
#include "shim/mpi/later/nonblocking.h"

static struct call_block gather_output_block(const struct mpi_call *call, int i)
{
    return rooted_block(call, &call->output.layout, i);
}

static int gather_fill(struct mpi_comm *c, struct mpi_call *call)
{
    const struct rooted *a = call->arguments;
    uint64_t own = plan_block_bytes(&call->request, c->rank), sends;

    if (c->rank == a->root) {
        if (layout_of(a->all.type, &call->output.layout) < 0)
            return MPI_ERR_TYPE;
        call->output.n = c->size;
        call->output.block = gather_output_block;
        call->output.dense = rooted_is_packed(a, &call->output.layout, c->size);
    }
    if (call->request.in_place) {
        call->output.held = c->rank;
        return MPI_SUCCESS;
    }
    if (bytes_of(a->own.count, a->own.type, &sends) < 0 ||
        layout_of_elements(a->own.count, a->own.type, &call->input.layout) < 0)
        return MPI_ERR_TYPE;
    if (sends != own)
        return MPI_ERR_TRUNCATE;
    call->input.block = (struct call_block){.user = a->own.buffer, .count = a->own.count};
    return MPI_SUCCESS;
}

#define TEMPLATE "shim/mpi/collectives/gather_wraps.h"
#include "shim/mpi/collectives/forms.h"
