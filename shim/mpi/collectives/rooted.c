/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/collectives/rooted.h"

#include <errno.h>
#include <stdlib.h>

#include "shim/decide/base/floats.h"
#include "shim/mpi/call/library.h"
#include "shim/mpi/call/refused.h"
#include "shim/mpi/choose/gate.h"
#include "shim/mpi/choose/sizes.h"
#include "shim/mpi/comm/comm.h"
#include "shim/mpi/later/late_sizes.h"
#include "shim/mpi/later/nonblocking.h"
#include "shim/record/counts/count.h"

struct call_block rooted_block(const struct mpi_call *call, const struct layout *layout, int i)
{
    const struct rooted *a = call->arguments;

    if (!a->offset)
        return (struct call_block){.user = a->all.buffer + i * a->all.count * layout->extent,
                                   .count = a->all.count,
                                   .packed = (uint64_t)i * call->request.nbytes};
    return (struct call_block){.user =
                                   a->all.buffer + displs_at(a->blocks.displs, i) * layout->extent,
                               .count = counts_at(a->blocks.counts, i),
                               .packed = a->offset[i]};
}

int rooted_is_packed(const struct rooted *a, const struct layout *layout, int n)
{
    return layout->dense &&
           (!a->offset || vectors_are_packed(&a->blocks, n, layout->extent, a->offset));
}

static int rooted_buffers(const struct mpi_call *call, struct library_buffer *list)
{
    const struct rooted *a = call->arguments;
    int root = library_is_root(a->comm, a->root), peers = library_peers(a->comm);
    struct library_buffer all = library_block(
        &a->all.buffer, root == 1 ? library_times(a->all.count, peers) : 0, a->all.type);
    struct library_buffer own = library_block(&a->own.buffer, a->own.count, a->own.type);
    const struct library_buffer *at_root = root == 1 ? &all : NULL;
    const struct library_buffer *here = a->root == MPI_ROOT ? NULL : &own;

    if (root < 0)
        return 0;
    if (counts_given(a->all.counts)) {
        all.n = displs_given(a->all.displs) ? peers : 0;
        all.counts = a->all.counts;
        all.displs = a->all.displs;
    }
    return plan_gathers(a->collective) ? library_buffers(list, here, at_root)
                                       : library_buffers(list, at_root, here);
}

/* Do the own block and its place among all coincide, in a way that the library refuses? At the
   root. */
static int coincides(const struct rooted *a, enum plan_collective c, int rank)
{
    int vector = counts_given(a->all.counts);
    MPI_Count count = vector ? counts_at(a->all.counts, rank) : a->all.count;
    MPI_Count displ = vector ? displs_at(a->all.displs, rank) : rank * count;

    return a->own.type == a->all.type && a->own.count == count &&
           refused_alias(c, a->own.buffer, a->all.buffer, displ, count, a->own.type);
}

/* The verdict of this rank's arguments alone (refused.h), on an intracommunicator that has such a
   root. */
static int rooted_refused(const struct rooted *a, enum plan_collective c, int size, int rank)
{
    enum refused_side own = plan_gathers(c) ? REFUSED_SEND : REFUSED_RECEIVE;
    enum refused_side all = plan_gathers(c) ? REFUSED_RECEIVE : REFUSED_SEND;
    int at_root = rank == a->root, in_place = at_root && a->own.buffer == MPI_IN_PLACE;

    if (!in_place && refused_block(c, own, a->own.buffer, a->own.count, a->own.type))
        return 1;
    if (!at_root)
        return 0;
    if (plan_is(c, PLAN_BY_RANK) ? refused_blocks(c, all, a->all.buffer, a->all.counts,
                                                  a->all.displs, size, a->all.type, NULL)
                                 : refused_block(c, all, a->all.buffer, a->all.count, a->all.type))
        return 1;
    return !in_place && coincides(a, c, rank);
}

/* The same of any communicator: refused calls of the v forms must not be counted (sizes.h). */
static int refused_v(const struct rooted *a, enum plan_collective c)
{
    int size, rank, inter;

    if (mpi_process.verdict || a->comm == MPI_COMM_NULL ||
        mpi.Comm_test_inter(a->comm, &inter) != MPI_SUCCESS || inter ||
        mpi.Comm_size(a->comm, &size) != MPI_SUCCESS ||
        mpi.Comm_rank(a->comm, &rank) != MPI_SUCCESS)
        return 0;
    return a->root < 0 || a->root >= size || rooted_refused(a, c, size, rank);
}

/* The rest of the call, whose sizes are known. Returns as fill. */
static int complete(struct mpi_comm *c, const struct rooted *a, struct mpi_call *call,
                    rooted_fill fill)
{
    call->request.root = a->root;
    call->request.in_place = c->rank == a->root && a->own.buffer == MPI_IN_PLACE;
    call->output.held = NO_BLOCK;
    call->output.dense = 1; /* where there is none */
    return fill(c, call);
}

static struct mpi_outcome rooted_reroute(struct mpi_comm *c, const struct rooted *a,
                                         struct mpi_call *call, rooted_fill fill)
{
    int wrong = complete(c, a, call, fill);

    return wrong ? mpi_reroute_wrong(c, call, wrong) : mpi_reroute(c, call);
}

static struct mpi_call rooted_call(const struct rooted *a)
{
    return mpi_call_begin(a->collective, a->comm, &a->form, a, sizeof *a, rooted_buffers);
}

int rooted_run(struct rooted *a, rooted_fill fill)
{
    FLOATS_OURS;
    struct mpi_call call = rooted_call(a);
    struct mpi_comm *c = NULL;
    uint64_t block = 0;
    int size, rank;
    enum reason why = mpi_gate_rooted(a->comm, a->root, a->collective, &size, &rank);

    if (!why) {
        int wrong = rank == a->root ? bytes_of(a->all.count, a->all.type, &block)
                                    : bytes_of(a->own.count, a->own.type, &block);

        why = wrong || bytes_of_all(block, size, &call.total) ? REASON_ARGUMENTS
                                                              : gate_size(call.total);
    }
    if (!why && rooted_refused(a, call.collective, size, rank))
        why = REASON_ARGUMENTS;
    if (!why)
        c = mpi_gate_claimed(&call, size, &why);
    if (c) {
        call.request.nbytes = (size_t)block;
        return rooted_reroute(c, a, &call, fill).rc;
    }
    return library_serves(&call, why);
}

/* This rank's knowledge of the sizes. */
static struct sizes_claim claim_of(const struct rooted *a, int rank, int size)
{
    struct sizes_claim claim = {.root = a->root};

    if (rank == a->root) {
        claim.wrong = vectors_sizes(a->all.counts, size, a->all.type, NULL, NULL, &claim.total) < 0;
        if (!claim.wrong && a->own.buffer == MPI_IN_PLACE) {
            claim.wrong = bytes_of(counts_at(a->all.counts, rank), a->all.type, &claim.own) < 0;
            return claim;
        }
    }
    claim.wrong |= bytes_of(a->own.count, a->own.type, &claim.own) < 0;
    return claim;
}

/* A persistent call before its reroute: it asks each time, as it is planned once. Returns its
   communicator and the total, or NULL and why the call runs natively, on all ranks alike. */
static struct mpi_comm *plan_once(const struct rooted *a, struct mpi_call *call, int size, int rank,
                                  enum reason *why)
{
    struct mpi_comm *c = mpi_gate_agreed(call, size, why);

    if (!c)
        return c;
    struct sizes_claim claim = claim_of(a, rank, size);

    *why = sizes_agree_once(a->comm, size, &claim, &call->total);
    return *why ? NULL : c;
}

/* The same of a blocking call, by what is remembered of those before. */
static struct mpi_comm *plan_now(const struct rooted *a, struct mpi_call *call, int size, int rank,
                                 enum reason *why)
{
    struct mpi_comm *c = NULL;

    *why = sizes_ask(a->comm, size);
    if (*why)
        return c;
    struct sizes_claim claim = claim_of(a, rank, size);

    *why = sizes_agree(a->comm, size, call->collective, &claim, &call->total);
    call->passed = sizes_passed(a->comm, call->collective);
    if (!*why && !(c = mpi_gate_agreed(call, size, why)))
        sizes_were_vain(a->comm, call->collective);
    return c;
}

/* Memory of a nonblocking call: all sizes as the root tells them, and what follows from them. */
struct told {
    uint64_t *sizes, *offset;
    size_t *bytes;
};

enum { TOLD_EACH = 2 * sizeof(uint64_t) + sizeof(size_t) };

static struct told told_in(void *room, int size)
{
    uint64_t *words = room;

    return (struct told){words, words + size, (size_t *)(words + 2 * size)};
}

/* An late_sizes_fill. */
static int fill_told(struct mpi_comm *c, struct mpi_call *call, uint64_t *sizes)
{
    struct rooted *a = (struct rooted *)(uintptr_t)call->arguments;
    struct told t = told_in(call->owned.room, c->size);
    uint64_t total = 0;

    for (int r = 0; r < c->size; r++) {
        if (sizes[r] > MOST_BYTES - total)
            return -EINVAL;
        t.offset[r] = total;
        t.bytes[r] = (size_t)sizes[r];
        total += sizes[r];
    }
    call->total = total;
    call->request.bytes = t.bytes;
    a->offset = t.offset;
    return complete(c, a, call, a->fill);
}

/* The root's sizes. Those that are the library's to judge contradict all others. */
static void tell_sizes(const struct rooted *a, int size, struct told *t)
{
    struct sizes_claim claim = claim_of(a, a->root, size);
    uint64_t total;

    if (!claim.wrong)
        vectors_sizes(a->all.counts, size, a->all.type, t->bytes, NULL, &total);
    for (int r = 0; r < size; r++)
        t->sizes[r] = claim.wrong ? UINT64_MAX : t->bytes[r];
}

/* Types that the application may free once the call has started. */
static int keep_types(struct late_sizes *u, struct rooted *a, int rank)
{
    int rc = rank == a->root ? late_sizes_keep(u, &a->all.type) : MPI_SUCCESS;

    return rc == MPI_SUCCESS && a->own.buffer != MPI_IN_PLACE && a->own.count
               ? late_sizes_keep(u, &a->own.type)
               : rc;
}

/* A nonblocking call. */
static int start_v(struct rooted *a, struct mpi_call *call, rooted_fill fill)
{
    struct late_sizes *u = NULL;
    struct mpi_comm *c = NULL;
    int size, rank;
    enum reason why = mpi_gate_rooted(a->comm, a->root, call->collective, &size, &rank);

    if (!why && (c = mpi_gate_agreed(call, size, &why)))
        why = late_sizes_judge(c, call, a->root, (size_t)size,
                               !!(c->history.rerouted & 1u << call->collective), &u);
    if (why)
        return library_serves(call, why);
    call->owned.room = u ? malloc((size_t)size * (TOLD_EACH + VECTORS_EACH)) : NULL;
    int lacks = !call->owned.room || keep_types(u, a, rank) != MPI_SUCCESS;
    struct told t = told_in(call->owned.room, size);
    if (rank == a->root && !lacks) {
        tell_sizes(a, size, &t);
        a->blocks = vectors_keep(a->all.counts, a->all.displs, size,
                                 (char *)call->owned.room + (size_t)size * TOLD_EACH);
    }
    a->fill = fill;
    late_sizes_tells(u, t.sizes, fill_told);
    int rc = nonblocking_start_late(c, call, u, lacks);
    if (rc != MPI_SUCCESS)
        mpi.Comm_call_errhandler(a->comm, rc);
    return rc;
}

static void sizes_decided(const struct mpi_call *call, enum reason native)
{
    if (native)
        sizes_were_vain(call->comm, call->collective);
}

int rooted_run_v(struct rooted *a, rooted_fill fill)
{
    FLOATS_OURS;
    struct mpi_call call = rooted_call(a);
    struct mpi_comm *c = NULL;
    size_t *bytes;
    uint64_t *offset;
    int size, rank;

    if (refused_v(a, call.collective))
        return library_serves(&call, REASON_ARGUMENTS);
    if (call.nonblocking && !call.persistent)
        return start_v(a, &call, fill);
    if (!call.persistent && sizes_wait(a->comm, call.collective))
        return library_serves(&call, REASON_SIZES);
    enum reason why = mpi_gate_rooted(a->comm, a->root, call.collective, &size, &rank);
    if (!why)
        c = call.persistent ? plan_once(a, &call, size, rank, &why)
                            : plan_now(a, &call, size, rank, &why);
    if (!c)
        return library_serves(&call, why);
    nonblocking_room(c, &call, &bytes, &offset);
    int rc = sizes_share(c, a->root, a->all.counts, a->all.type, bytes, offset);
    if (rc != MPI_SUCCESS) {
        mpi_call_drop(&call);
        mpi.Comm_call_errhandler(a->comm, rc);
        return rc;
    }
    a->blocks = vectors_keep(a->all.counts, a->all.displs, size,
                             rank == a->root ? nonblocking_vectors(c, &call) : NULL);
    a->offset = offset;
    call.request.bytes = bytes;
    call.decided = call.persistent ? NULL : sizes_decided;
    return rooted_reroute(c, a, &call, fill).rc;
}
