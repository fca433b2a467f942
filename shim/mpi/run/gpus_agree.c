/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/run/gpus_agree.h"

#include "planners/choose/choose.h"
#include "shim/decide/choose/gate.h"
#include "shim/mpi/call/device.h"
#include "shim/mpi/comm/comm.h"
#include "shim/mpi/run/staging.h"
#include "transports/cuda/cuda_memory.h"

/* From this many bytes on, asking takes less than a hundredth of a call. Between two ranks it takes
   0.5 us under Open MPI and 0.7 to 1.5 us under MPICH, and as much again for each doubling of the
   ranks, if each has a processor (real, this machine). NVLink of 25 GB/s takes 42 us for 1 MiB
   (computed). */
enum { WORTH_ASKING = 1 << 20 };
enum { SURELY = 8, MOST_PATIENCE = 64 };

/* A thread may call MPI that has no context itself; its buffers have one. */
static int32_t gpu_of(const struct mpi_call *call)
{
    struct call_block in = call->input.block, out = {0};
    struct cuda_place place;

    if (call->output.n)
        out = call->output.block(call, 0);
    return device_holds(call_block_layout(&in, &call->input.layout), in.user, in.count, &place) ||
                   device_holds(call_block_layout(&out, &call->output.layout), out.user, out.count,
                                &place)
               ? gpus_number(cuda_place_address(&place))
               : gpus_here();
}

/* Has every rank a GPU by now? Collective. Returns an MPI code. */
static int look_again(struct mpi_comm *c, const struct mpi_call *call)
{
    int32_t own = gpu_of(call), least = -1, *all = (int32_t *)(void *)c->room.bytes;
    int rc = mpi.Allreduce(&own, &least, 1, MPI_INT32_T, MPI_MIN, c->private_comm);

    if (rc != MPI_SUCCESS || least < 0)
        return rc;
    rc = mpi.Allgather(&own, 1, MPI_INT32_T, all, 1, MPI_INT32_T, c->private_comm);
    if (rc != MPI_SUCCESS)
        return rc;
    gpus_everywhere(&c->gpus, c->size);
    if (!mpi_process.topo)
        topo_number_gpus(c->topo, all, c->room.offset);
    return rc;
}

/* The first large calls look, then number 16, 32 and 64, and none after that: ranks without CUDA
   pay a few messages in all. Only on one node, as far as any algorithm asks. Not in calls that
   agree on sizes, which use the communicator's room that the look takes. */
static int look_now(struct mpi_comm *c, const struct mpi_call *call)
{
    struct gpus *g = &c->gpus;

    if (g->everywhere || g->unseen == MOST_PATIENCE || c->topo->nnodes > 1 ||
        call->total < WORTH_ASKING || call->request.bytes || call->request.demand)
        return 0;
    g->unseen++;
    return g->unseen <= SURELY || (g->unseen & (g->unseen - 1)) == 0;
}

/* Is there an algorithm for device memory that suits the communicator? */
static int matters(struct mpi_comm *c, const struct mpi_call *call)
{
    uint32_t bit = 1u << call->collective;

    if (!c->gpus.everywhere)
        return 0;
    if (!(c->gpus.known & bit) && plan_memory_matters(&call->request))
        c->gpus.matters |= bit;
    c->gpus.known |= bit;
    return (c->gpus.matters & bit) != 0;
}

/* Does the user want every call rerouted that can be? */
static int always(const struct mpi_call *call)
{
    return gate_always(call->collective);
}

static void be_patient(struct gpus *g)
{
    if (g->patience < MOST_PATIENCE)
        g->patience = g->patience ? (uint16_t)(2 * g->patience) : 1;
    g->waiting = g->patience;
}

int gpus_agree(struct mpi_comm *c, struct mpi_call *call)
{
    struct gpus *g = &c->gpus;

    call->request.memory = PLAN_IN_HOST;
    if (look_now(c, call)) {
        int looked = look_again(c, call);

        if (looked != MPI_SUCCESS)
            return looked;
    }
    if (!matters(c, call) || (!always(call) && call->total < WORTH_ASKING))
        return MPI_SUCCESS;
    if (g->waiting && !always(call)) {
        g->waiting--;
        return MPI_SUCCESS;
    }
    double answer[1 + DIVISION_TIMES] = {!staging_stays(c, call)};
    divisions_tell(&c->measured.divisions, answer + 1);
    int rc = mpi.Allreduce(MPI_IN_PLACE, answer, 1 + DIVISION_TIMES, MPI_DOUBLE, MPI_MAX,
                           c->private_comm);
    if (rc != MPI_SUCCESS)
        return rc;
    divisions_hear(&c->measured.divisions, answer + 1, c->size);
    if (answer[0] > 0) {
        be_patient(g);
        return MPI_SUCCESS;
    }
    g->patience = 0;
    call->request.memory = PLAN_ON_DEVICE;
    return MPI_SUCCESS;
}
