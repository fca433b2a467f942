/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Scatter and MPI_Scatterv: all blocks are the root's input (rooted.h). In place, the root's
   block stays where it is. */
#include <stdint.h>

#include "shim/mpi/api/wrappers.h"
#include "shim/mpi/call/library.h"
#include "shim/mpi/collectives/rooted.h"
#include "shim/mpi/comm/comm.h"
#include "shim/mpi/later/nonblocking.h"

static struct call_block input_block(const struct mpi_call *call, int i)
{
    return rooted_block(call, &call->input.layout, i);
}

static struct call_block own_block(const struct mpi_call *call, int i)
{
    const struct rooted *a = call->arguments;

    (void)i;
    return (struct call_block){.user = a->own.buffer, .count = a->own.count};
}

/* All blocks, at the root. */
static void fill_input(const struct rooted *a, struct mpi_call *call, int size)
{
    struct call_input *in = &call->input;

    in->block = input_block(call, 0);
    in->block.count = in->layout.size ? (MPI_Count)call->total / in->layout.size : 0;
    if (a->offset && !rooted_is_packed(a, &in->layout, size)) {
        in->stage = 1;
        in->n = size;
        in->blocks = input_block;
    }
}

static int scatter_fill(struct mpi_comm *c, struct mpi_call *call)
{
    const struct rooted *a = call->arguments;
    uint64_t own = plan_block_bytes(&call->request, c->rank), receives;

    if (c->rank == a->root) {
        if (layout_of(a->all.type, &call->input.layout) < 0)
            return MPI_ERR_TYPE;
        fill_input(a, call, c->size);
    }
    if (call->request.in_place)
        return MPI_SUCCESS;
    if (bytes_of(a->own.count, a->own.type, &receives) < 0 ||
        layout_of_elements(a->own.count, a->own.type, &call->output.layout) < 0)
        return MPI_ERR_TYPE;
    if (receives != own)
        return MPI_ERR_TRUNCATE;
    call->output.n = 1;
    call->output.block = own_block;
    call->output.dense = call->output.layout.dense;
    return MPI_SUCCESS;
}

#define TEMPLATE "shim/mpi/collectives/scatter_wraps.h"
#include "shim/mpi/collectives/forms.h"
