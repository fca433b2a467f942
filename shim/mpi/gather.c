/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Gather and MPI_Gatherv. What is significant at the root only is read at the root only.
 * Gather's block size is known to all: from what they send, and the root, which may be in place,
 * from what it receives. Gatherv's sizes are agreed on first (sizes.h).
 */
#include <stdint.h>

#include "shim/mpi/comm.h"
#include "shim/mpi/count.h"
#include "shim/mpi/reroute.h"
#include "shim/mpi/sizes.h"
#include "shim/mpi/vectors.h"
#include "shim/mpi/wrappers.h"

struct arguments {
    const void *sendbuf;
    MPI_Count sendcount;
    MPI_Datatype sendtype;
    void *recvbuf;
    MPI_Count recvcount;      /* Gather */
    struct counts recvcounts; /* Gatherv */
    struct displs displs;
    const uint64_t *offset; /* where each block starts, packed */
    MPI_Datatype recvtype;
    int root;
    MPI_Comm comm;
    int large; /* called by its _c name */
};

static int native_gather(const struct call *call)
{
    const struct arguments *a = call->arguments;

    if (a->large)
        return mpi.Gather_c(a->sendbuf, a->sendcount, a->sendtype, a->recvbuf, a->recvcount,
                            a->recvtype, a->root, a->comm);
    return mpi.Gather(a->sendbuf, (int)a->sendcount, a->sendtype, a->recvbuf, (int)a->recvcount,
                      a->recvtype, a->root, a->comm);
}

static int native_gatherv(const struct call *call)
{
    const struct arguments *a = call->arguments;

    if (a->large)
        return mpi.Gatherv_c(a->sendbuf, a->sendcount, a->sendtype, a->recvbuf, a->recvcounts.wide,
                             a->displs.wide, a->recvtype, a->root, a->comm);
    return mpi.Gatherv(a->sendbuf, (int)a->sendcount, a->sendtype, a->recvbuf, a->recvcounts.narrow,
                       a->displs.narrow, a->recvtype, a->root, a->comm);
}

static struct call_block gather_block(const struct call *call, int i)
{
    const struct arguments *a = call->arguments;

    return (struct call_block){.user = (char *)a->recvbuf + i * a->recvcount * call->output.extent,
                               .count = a->recvcount,
                               .packed = (uint64_t)i * call->request.nbytes};
}

static struct call_block gatherv_block(const struct call *call, int i)
{
    const struct arguments *a = call->arguments;

    return (struct call_block){.user = (char *)a->recvbuf +
                                       displs_at(a->displs, i) * call->output.extent,
                               .count = counts_at(a->recvcounts, i),
                               .packed = a->offset[i]};
}

/* Is there anything in this rank's arguments that the library should judge? Else fill in the call's
   buffers. vector: Gatherv. */
static int is_wrong(struct comm *c, const struct arguments *a, struct call *call)
{
    int at_root = c->rank == a->root, in_place = at_root && a->sendbuf == MPI_IN_PLACE;
    uint64_t own = plan_block_bytes(&call->request, c->rank), sends;

    call->request.in_place = in_place;
    call->held_block = in_place ? c->rank : NO_BLOCK;
    call->output_dense = 1; /* where there is none */
    if (at_root) {
        if (layout_of(a->recvtype, &call->output) < 0 || a->recvbuf == MPI_IN_PLACE ||
            layout_is_nowhere(a->recvbuf, &call->output, call->total))
            return 1;
        call->nblocks = c->size;
        call->output_dense =
            call->output.dense &&
            (!call->request.bytes ||
             vectors_are_packed(a->recvcounts, a->displs, c->size, call->output.extent, a->offset));
    }
    if (in_place)
        return 0;
    if (bytes_of(a->sendcount, a->sendtype, &sends) < 0 || sends != own ||
        layout_of(a->sendtype, &call->input) < 0 || a->sendbuf == MPI_IN_PLACE ||
        layout_is_nowhere(a->sendbuf, &call->input, own))
        return 1;
    call->input_block =
        (struct call_block){.user = (char *)(uintptr_t)a->sendbuf, .count = a->sendcount};
    return 0;
}

static int run(struct comm *c, const struct arguments *a, struct call *call)
{
    call->request.root = a->root;
    call->request.grain = 1;
    return is_wrong(c, a, call) ? leave_to_library(call) : reroute(c, call);
}

static int gather(const struct arguments *a)
{
    struct call call = {.collective = COLL_GATHER,
                        .comm = a->comm,
                        .request = {.collective = COLL_GATHER},
                        .arguments = a,
                        .native = native_gather,
                        .output_block = gather_block};
    struct comm *c = NULL;
    uint64_t block = 0;
    int size, rank;
    enum reason why = gate_rooted(a->comm, a->root, COLL_GATHER, &size, &rank);

    if (!why) {
        int wrong = rank == a->root ? bytes_of(a->recvcount, a->recvtype, &block)
                                    : bytes_of(a->sendcount, a->sendtype, &block);

        why = wrong || bytes_of_all(block, size, &call.total) ? REASON_ARGUMENTS
                                                              : gate_size(call.total);
    }
    if (!why)
        c = gate_comm(a->comm, size, COLL_GATHER, &why);
    if (c) {
        call.request.nbytes = (size_t)block;
        return run(c, a, &call);
    }
    count_native(COLL_GATHER, why);
    return call.native(&call);
}

/* What this rank knows of Gatherv's sizes. */
static struct sizes_claim claim_of(const struct arguments *a, int rank, int size)
{
    struct sizes_claim claim = {0};

    if (rank == a->root) {
        claim.wrong = !displs_given(a->displs) ||
                      vectors_sizes(a->recvcounts, size, a->recvtype, NULL, NULL, &claim.total) < 0;
        if (!claim.wrong && a->sendbuf == MPI_IN_PLACE) {
            claim.wrong = bytes_of(counts_at(a->recvcounts, rank), a->recvtype, &claim.own) < 0;
            return claim;
        }
    }
    claim.wrong |= bytes_of(a->sendcount, a->sendtype, &claim.own) < 0;
    return claim;
}

static int gatherv(struct arguments *a)
{
    struct call call = {.collective = COLL_GATHERV,
                        .comm = a->comm,
                        .request = {.collective = COLL_GATHERV},
                        .arguments = a,
                        .native = native_gatherv,
                        .output_block = gatherv_block};
    struct comm *c = NULL;
    int size, rank;
    enum reason why = gate_rooted(a->comm, a->root, COLL_GATHERV, &size, &rank);

    if (!why) {
        struct sizes_claim claim = claim_of(a, rank, size);

        why = sizes_agree(a->comm, size, COLL_GATHERV, &claim, &call.total);
        if (!why && !(c = gate_comm(a->comm, size, COLL_GATHERV, &why)))
            sizes_were_vain(a->comm, COLL_GATHERV);
    }
    if (!c) {
        count_native(COLL_GATHERV, why);
        return call.native(&call);
    }
    int rc = sizes_share(c, a->comm, a->root, a->recvcounts, a->recvtype);
    if (rc != MPI_SUCCESS)
        return rc;
    a->offset = c->offset;
    call.request.bytes = c->bytes;
    rc = run(c, a, &call);
    if (call.in_vain)
        sizes_were_vain(a->comm, COLL_GATHERV);
    return rc;
}

int wrap_Gather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    return gather(&(struct arguments){.sendbuf = sendbuf,
                                      .sendcount = sendcount,
                                      .sendtype = sendtype,
                                      .recvbuf = recvbuf,
                                      .recvcount = recvcount,
                                      .recvtype = recvtype,
                                      .root = root,
                                      .comm = comm});
}

int wrap_Gather_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    return gather(&(struct arguments){.sendbuf = sendbuf,
                                      .sendcount = sendcount,
                                      .sendtype = sendtype,
                                      .recvbuf = recvbuf,
                                      .recvcount = recvcount,
                                      .recvtype = recvtype,
                                      .root = root,
                                      .comm = comm,
                                      .large = 1});
}

int wrap_Gatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                 const int *recvcounts, const int *displs, MPI_Datatype recvtype, int root,
                 MPI_Comm comm)
{
    return gatherv(&(struct arguments){.sendbuf = sendbuf,
                                       .sendcount = sendcount,
                                       .sendtype = sendtype,
                                       .recvbuf = recvbuf,
                                       .recvcounts = {.narrow = recvcounts},
                                       .displs = {.narrow = displs},
                                       .recvtype = recvtype,
                                       .root = root,
                                       .comm = comm});
}

int wrap_Gatherv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                   const MPI_Count *recvcounts, const MPI_Aint *displs, MPI_Datatype recvtype,
                   int root, MPI_Comm comm)
{
    return gatherv(&(struct arguments){.sendbuf = sendbuf,
                                       .sendcount = sendcount,
                                       .sendtype = sendtype,
                                       .recvbuf = recvbuf,
                                       .recvcounts = {.wide = recvcounts},
                                       .displs = {.wide = displs},
                                       .recvtype = recvtype,
                                       .root = root,
                                       .comm = comm,
                                       .large = 1});
}
