/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Scatter and MPI_Scatterv: gather.c with the arrows turned round. What is significant at the
 * root only is read at the root only. In place, the root's block stays where it is.
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
    MPI_Count sendcount;      /* Scatter */
    struct counts sendcounts; /* Scatterv */
    struct displs displs;
    const uint64_t *offset; /* where each block starts, packed */
    MPI_Datatype sendtype;
    void *recvbuf;
    MPI_Count recvcount;
    MPI_Datatype recvtype;
    int root;
    MPI_Comm comm;
    int large; /* called by its _c name */
};

static int native_scatter(const struct call *call)
{
    const struct arguments *a = call->arguments;

    if (a->large)
        return mpi.Scatter_c(a->sendbuf, a->sendcount, a->sendtype, a->recvbuf, a->recvcount,
                             a->recvtype, a->root, a->comm);
    return mpi.Scatter(a->sendbuf, (int)a->sendcount, a->sendtype, a->recvbuf, (int)a->recvcount,
                       a->recvtype, a->root, a->comm);
}

static int native_scatterv(const struct call *call)
{
    const struct arguments *a = call->arguments;

    if (a->large)
        return mpi.Scatterv_c(a->sendbuf, a->sendcounts.wide, a->displs.wide, a->sendtype,
                              a->recvbuf, a->recvcount, a->recvtype, a->root, a->comm);
    return mpi.Scatterv(a->sendbuf, a->sendcounts.narrow, a->displs.narrow, a->sendtype, a->recvbuf,
                        (int)a->recvcount, a->recvtype, a->root, a->comm);
}

static struct call_block scatterv_block(const struct call *call, int i)
{
    const struct arguments *a = call->arguments;

    return (struct call_block){.user = (char *)(uintptr_t)a->sendbuf +
                                       displs_at(a->displs, i) * call->input.extent,
                               .count = counts_at(a->sendcounts, i),
                               .packed = a->offset[i]};
}

static struct call_block own_block(const struct call *call, int i)
{
    const struct arguments *a = call->arguments;

    (void)i;
    return (struct call_block){.user = a->recvbuf, .count = a->recvcount};
}

/* All blocks, at the root. */
static void fill_input(const struct arguments *a, struct call *call, int size)
{
    if (!call->request.bytes) {
        call->input_block = (struct call_block){.user = (char *)(uintptr_t)a->sendbuf,
                                                .count = a->sendcount * size};
        return;
    }
    call->input_block = scatterv_block(call, 0);
    if (call->input.dense &&
        vectors_are_packed(a->sendcounts, a->displs, size, call->input.extent, a->offset))
        return;
    call->stage_input = 1;
    call->ninputs = size;
    call->inputs = scatterv_block;
}

/* Is there anything in this rank's arguments that the library should judge? Else fill in the call's
   buffers. */
static int is_wrong(struct comm *c, const struct arguments *a, struct call *call)
{
    int at_root = c->rank == a->root, in_place = at_root && a->recvbuf == MPI_IN_PLACE;
    uint64_t own = plan_block_bytes(&call->request, c->rank), receives;

    call->request.in_place = in_place;
    call->held_block = NO_BLOCK;
    call->output_dense = 1; /* where there is none */
    if (at_root) {
        if (layout_of(a->sendtype, &call->input) < 0 || a->sendbuf == MPI_IN_PLACE ||
            layout_is_nowhere(a->sendbuf, &call->input, call->total))
            return 1;
        fill_input(a, call, c->size);
    }
    if (in_place)
        return 0;
    if (bytes_of(a->recvcount, a->recvtype, &receives) < 0 || receives != own ||
        layout_of(a->recvtype, &call->output) < 0 || a->recvbuf == MPI_IN_PLACE ||
        layout_is_nowhere(a->recvbuf, &call->output, own))
        return 1;
    call->nblocks = 1;
    call->output_block = own_block;
    call->output_dense = call->output.dense;
    return 0;
}

static int run(struct comm *c, const struct arguments *a, struct call *call)
{
    call->request.root = a->root;
    call->request.grain = 1;
    return is_wrong(c, a, call) ? leave_to_library(call) : reroute(c, call);
}

static int scatter(const struct arguments *a)
{
    struct call call = {.collective = COLL_SCATTER,
                        .comm = a->comm,
                        .request = {.collective = COLL_SCATTER},
                        .arguments = a,
                        .native = native_scatter};
    struct comm *c = NULL;
    uint64_t block = 0;
    int size, rank;
    enum reason why = gate_rooted(a->comm, a->root, COLL_SCATTER, &size, &rank);

    if (!why) {
        int wrong = rank == a->root ? bytes_of(a->sendcount, a->sendtype, &block)
                                    : bytes_of(a->recvcount, a->recvtype, &block);

        why = wrong || bytes_of_all(block, size, &call.total) ? REASON_ARGUMENTS
                                                              : gate_size(call.total);
    }
    if (!why)
        c = gate_comm(a->comm, size, COLL_SCATTER, &why);
    if (c) {
        call.request.nbytes = (size_t)block;
        return run(c, a, &call);
    }
    count_native(COLL_SCATTER, why);
    return call.native(&call);
}

/* What this rank knows of Scatterv's sizes. */
static struct sizes_claim claim_of(const struct arguments *a, int rank, int size)
{
    struct sizes_claim claim = {0};

    if (rank == a->root) {
        claim.wrong = !displs_given(a->displs) ||
                      vectors_sizes(a->sendcounts, size, a->sendtype, NULL, NULL, &claim.total) < 0;
        if (!claim.wrong && a->recvbuf == MPI_IN_PLACE) {
            claim.wrong = bytes_of(counts_at(a->sendcounts, rank), a->sendtype, &claim.own) < 0;
            return claim;
        }
    }
    claim.wrong |= bytes_of(a->recvcount, a->recvtype, &claim.own) < 0;
    return claim;
}

static int scatterv(struct arguments *a)
{
    struct call call = {.collective = COLL_SCATTERV,
                        .comm = a->comm,
                        .request = {.collective = COLL_SCATTERV},
                        .arguments = a,
                        .native = native_scatterv};
    struct comm *c = NULL;
    int size, rank;
    enum reason why = gate_rooted(a->comm, a->root, COLL_SCATTERV, &size, &rank);

    if (!why) {
        struct sizes_claim claim = claim_of(a, rank, size);

        why = sizes_agree(a->comm, size, COLL_SCATTERV, &claim, &call.total);
        if (!why && !(c = gate_comm(a->comm, size, COLL_SCATTERV, &why)))
            sizes_were_vain(a->comm, COLL_SCATTERV);
    }
    if (!c) {
        count_native(COLL_SCATTERV, why);
        return call.native(&call);
    }
    int rc = sizes_share(c, a->comm, a->root, a->sendcounts, a->sendtype);
    if (rc != MPI_SUCCESS)
        return rc;
    a->offset = c->offset;
    call.request.bytes = c->bytes;
    rc = run(c, a, &call);
    if (call.in_vain)
        sizes_were_vain(a->comm, COLL_SCATTERV);
    return rc;
}

int wrap_Scatter(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                 int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    return scatter(&(struct arguments){.sendbuf = sendbuf,
                                       .sendcount = sendcount,
                                       .sendtype = sendtype,
                                       .recvbuf = recvbuf,
                                       .recvcount = recvcount,
                                       .recvtype = recvtype,
                                       .root = root,
                                       .comm = comm});
}

int wrap_Scatter_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                   MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    return scatter(&(struct arguments){.sendbuf = sendbuf,
                                       .sendcount = sendcount,
                                       .sendtype = sendtype,
                                       .recvbuf = recvbuf,
                                       .recvcount = recvcount,
                                       .recvtype = recvtype,
                                       .root = root,
                                       .comm = comm,
                                       .large = 1});
}

int wrap_Scatterv(const void *sendbuf, const int *sendcounts, const int *displs,
                  MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype,
                  int root, MPI_Comm comm)
{
    return scatterv(&(struct arguments){.sendbuf = sendbuf,
                                        .sendcounts = {.narrow = sendcounts},
                                        .displs = {.narrow = displs},
                                        .sendtype = sendtype,
                                        .recvbuf = recvbuf,
                                        .recvcount = recvcount,
                                        .recvtype = recvtype,
                                        .root = root,
                                        .comm = comm});
}

int wrap_Scatterv_c(const void *sendbuf, const MPI_Count *sendcounts, const MPI_Aint *displs,
                    MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
                    MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    return scatterv(&(struct arguments){.sendbuf = sendbuf,
                                        .sendcounts = {.wide = sendcounts},
                                        .displs = {.wide = displs},
                                        .sendtype = sendtype,
                                        .recvbuf = recvbuf,
                                        .recvcount = recvcount,
                                        .recvtype = recvtype,
                                        .root = root,
                                        .comm = comm,
                                        .large = 1});
}
