/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Alltoallv and MPI_Alltoallw, and what is behind the neighbour collectives. The ranks agree on
 * the matrix of sizes first (alltoallv_matrix.h). In place, the receiving side describes both
 * sides, and the data is copied aside first.
 *
 * Alltoallw is counted as alltoallv. Where the types of a side differ, but are all packed as they
 * lie, its blocks are bytes; otherwise each has a layout of its own.
 */
#include "shim/mpi/collectives/alltoallv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/decide/base/floats.h"
#include "shim/mpi/api/wrappers.h"
#include "shim/mpi/call/library.h"
#include "shim/mpi/call/refused.h"
#include "shim/mpi/choose/alltoallv_matrix.h"
#include "shim/mpi/choose/gate.h"
#include "shim/mpi/collectives/grid.h"
#include "shim/mpi/comm/comm.h"
#include "shim/mpi/later/nonblocking.h"
#include "shim/record/counts/count.h"

static struct library_buffer buffer_of(const struct alltoallv_side *s, int peers)
{
    return (struct library_buffer){.argument = (const void **)(uintptr_t)&s->buffer,
                                   .n = counts_given(s->counts) ? peers : 0,
                                   .counts = s->counts,
                                   .displs = s->displs,
                                   .type = s->type,
                                   .types = s->types};
}

static int alltoallv_buffers(const struct mpi_call *call, struct library_buffer *list)
{
    const struct alltoallv_arguments *a = call->arguments;
    int peers = library_peers(a->comm);
    struct library_buffer send = buffer_of(&a->send, peers),
                          receive = buffer_of(&a->receive, peers);

    return library_buffers(list, &send, &receive);
}

/* Bytes for each of so many ranks (bytes may be NULL) and of all. 0, or -1: the library should
   judge them. */
static int sizes_of(const struct alltoallv_side *s, int size, uint64_t *bytes, uint64_t *sum)
{
    uint64_t element = 0, block;
    int n = blocks_of(s, size), asked = 0;

    *sum = 0;
    if (n && !counts_given(s->counts))
        return -1;
    for (int r = 0; bytes && r < size; r++)
        bytes[r] = 0;
    for (int i = 0; i < n; i++) {
        MPI_Count count = count_of(s, i);

        if (count && (s->types || !asked++) &&
            bytes_of(1, s->types ? s->types[i] : s->type, &element) < 0)
            return -1;
        if (count < 0 || __builtin_mul_overflow((uint64_t)count, element, &block) ||
            block > MOST_BYTES - *sum)
            return -1;
        if (bytes && peer_of(s, i) != MPI_PROC_NULL)
            bytes[peer_of(s, i)] = block;
        *sum += block;
    }
    return 0;
}

/* One layout for blocks of one type or several, if there is one. Types without elements are not
   looked at. */
static enum reason join_types(struct alltoallv_side *s, int size)
{
    struct layout l;
    int first = -1, all_dense = 1, n = blocks_of(s, size);

    s->layout = (struct layout){.type = MPI_BYTE, .size = 1, .extent = 1, .dense = 1};
    for (int i = 0; i < n; i++) {
        if (!count_of(s, i) || (first >= 0 && (!s->types || s->types[i] == s->types[first])))
            continue;
        if (layout_of(s->types ? s->types[i] : s->type, &l) < 0)
            return REASON_ARGUMENTS;
        all_dense &= l.dense;
        s->mixed |= first >= 0;
        if (first < 0) {
            s->layout = l;
            first = i;
        }
    }
    s->odd = s->mixed && !all_dense;
    if (s->mixed)
        s->layout = (struct layout){.type = MPI_BYTE, .size = 1, .extent = 1, .dense = all_dense};
    return REASON_NONE;
}

void alltoallv_join(struct alltoallv_arguments *a)
{
    if (a->receive.types)
        join_types(&a->receive, a->size);
    if (a->send.types && a->send.buffer != MPI_IN_PLACE)
        join_types(&a->send, a->size);
}

/* Fill in sizes and layout. REASON_NONE, or why this rank cannot serve the call. */
static enum reason describe_side(struct alltoallv_side *s, int n, uint64_t *bytes)
{
    uint64_t sum;

    return sizes_of(s, n, bytes, &sum) < 0 ? REASON_ARGUMENTS : join_types(s, n);
}

static struct call_block block_of(const struct alltoallv_side *s, int i)
{
    MPI_Count step = s->types ? 1 : s->layout.extent;
    int r = peer_of(s, i);

    if (r == MPI_PROC_NULL)
        return (struct call_block){0};

    struct call_block b = {
        .user = (char *)((uintptr_t)s->buffer + (uintptr_t)(displs_at(s->blocks.displs, i) * step)),
        .count = s->mixed ? (MPI_Count)(s->at[r + 1] - s->at[r]) : counts_at(s->blocks.counts, i),
        .packed = s->at[r]};
    if (s->odd) { /* join_types has found types without a layout */
        MPI_Count count = counts_at(s->blocks.counts, i);

        b.is_own = count && (s->own || layout_of(s->types[i], &b.own) == 0);
        if (s->own)
            b.own = s->own[i];
        b.count = b.is_own && b.own.size ? count : 0;
    }
    return b;
}

/* All blocks as one, where they lie one behind the other. */
static struct call_block alltoallv_all_blocks(const struct alltoallv_side *s, int n)
{
    return (struct call_block){.user = s->start,
                               .count = s->layout.size ? (MPI_Count)s->at[n] / s->layout.size : 0};
}

/* From the sizes of blocks to where they start; and do they lie as packed ones do? */
static void place(struct alltoallv_side *s, int n, uint64_t *at)
{
    uint64_t next = 0;

    for (int i = 0; i <= n; i++) {
        uint64_t bytes = i < n ? at[i] : 0;

        at[i] = next;
        next += bytes;
    }
    s->at = at;
    s->start = NULL;
    for (int i = 0; s->layout.dense && i < blocks_of(s, n); i++) {
        struct call_block b = block_of(s, i);

        if (!b.count)
            continue;
        if (!s->start)
            s->start = (char *)((uintptr_t)b.user - b.packed);
        if ((uintptr_t)b.user - (uintptr_t)s->start != b.packed) {
            s->start = NULL;
            return;
        }
    }
}

static struct call_block alltoallv_output_block(const struct mpi_call *call, int i)
{
    const struct alltoallv_arguments *a = call->arguments;

    return a->receive.start ? alltoallv_all_blocks(&a->receive, a->size) : block_of(&a->receive, i);
}

static struct call_block input_block(const struct mpi_call *call, int i)
{
    const struct alltoallv_arguments *a = call->arguments;

    return block_of(a->send.buffer == MPI_IN_PLACE ? &a->receive : &a->send, i);
}

void alltoallv_fill(struct alltoallv_arguments *a, struct mpi_call *call,
                    const struct alltoallv_matrix *rows)
{
    struct alltoallv_side *in = &a->send, *out = &a->receive;

    place(out, a->size, rows->receives);
    call->output.layout = out->layout;
    call->output.block = alltoallv_output_block;
    call->output.dense = out->start != NULL;
    call->output.n = out->start ? 1 : blocks_of(out, a->size);
    call->output.held = NO_BLOCK;
    if (in->buffer == MPI_IN_PLACE)
        in = out;
    else
        place(in, a->size, rows->sends);
    call->input.layout = in->layout;
    call->input.stage = in == out || !in->start;
    if (in->start) {
        call->input.block = alltoallv_all_blocks(in, a->size);
    } else {
        call->input.n = blocks_of(in, a->size);
        call->input.blocks = input_block;
    }
}

enum reason alltoallv_describe(struct alltoallv_arguments *a, const struct alltoallv_matrix *rows)
{
    int in_place = a->send.buffer == MPI_IN_PLACE;
    enum reason why = a->cannot;

    if (!why)
        why = describe_side(&a->receive, a->size, rows->receives);

    if (!why && !in_place)
        why = describe_side(&a->send, a->size, rows->sends);
    for (int i = 0; in_place && !why && i < a->size; i++)
        rows->sends[i] = rows->receives[i];
    return why;
}

static enum reason alltoallv_ask(const struct alltoallv_arguments *a, const struct matrix_call *r,
                                 struct mpi_call *call)
{
    uint64_t sent, received;
    int wrong = sizes_of(&a->receive, a->size, NULL, &received) < 0;

    if (a->send.buffer == MPI_IN_PLACE)
        sent = received;
    else
        wrong |= sizes_of(&a->send, a->size, NULL, &sent) < 0;
    call->passed = matrix_passed(r);
    return matrix_ask(r,
                      a->cannot ? a->cannot
                      : wrong   ? REASON_ARGUMENTS
                                : REASON_NONE,
                      sent, received, &call->total);
}

/* The sizes that the call goes by: of a persistent one, a copy. A rank without memory for it has
   the communicator's, as any other call (nonblocking_room). */
static struct alltoallv_matrix keep_rows(struct alltoallv_arguments *a, struct mpi_call *call,
                                         const struct alltoallv_matrix *rows)
{
    size_t n = (size_t)a->size;
    struct alltoallv_matrix own = *rows;

    if (call->persistent && alltoallv_keep(a, call, &own)) {
        memcpy(own.sends, rows->sends, n * sizeof *own.sends);
        memcpy(own.receives, rows->receives, n * sizeof *own.receives);
        memcpy(own.matrix, rows->matrix, n * n * sizeof *own.matrix);
    }
    return own;
}

/* All that precedes a reroute. REASON_NONE and *c, or why the call runs natively, on all ranks
   alike; *rc: an MPI code if it failed. */
static enum reason get_ready(struct alltoallv_arguments *a, struct matrix_call *r,
                             struct mpi_call *call, struct mpi_comm **c, int *rc)
{
    enum reason why = r->action == EXCHANGE_ASK ? alltoallv_ask(a, r, call) : REASON_NONE;
    struct alltoallv_matrix *rows;

    if (why || !(*c = mpi_gate_agreed(call, a->size, &why)) || !(rows = matrix_of(*c, &why)))
        return why;
    *rc = matrix_exchange(*c, alltoallv_describe(a, rows), &call->total, &why);
    rows->single |= *rc == MPI_SUCCESS && !why && a->send.peer;
    if (*rc != MPI_SUCCESS || why || (why = matrix_gate(r, call->total)))
        return why;
    call->request.demand = rows->matrix;
    why = matrix_judge(r, *c, &call->request);
    if (!why) {
        struct alltoallv_matrix kept = keep_rows(a, call, rows);

        call->request.demand = kept.matrix;
        alltoallv_fill(a, call, &kept);
        call->begun = count_now() - rows->seconds;
    }
    return why;
}

/* The same of a nonblocking call whose sizes all ranks know. On success, *wrong: an MPI code, if
   this rank cannot serve the call. */
static enum reason get_ready_alone(struct alltoallv_arguments *a, struct mpi_call *call,
                                   struct mpi_comm **c, int *wrong)
{
    uint64_t sends = 0, receives = 0, most;
    enum reason why = REASON_NONE;
    struct alltoallv_matrix own;

    if (bytes_of(counts_at(a->send.counts, 0), a->send.type, &sends) < 0 ||
        bytes_of(counts_at(a->receive.counts, 0), a->receive.type, &receives) < 0 ||
        bytes_of_all(sends > receives ? sends : receives, a->send.n, &most) < 0)
        return REASON_ARGUMENTS;
    if (gate_bytes(most))
        return REASON_SMALL;
    if (!(*c = mpi_gate_agreed(call, a->size, &why)))
        return why;
    if (!(*c)->matrix)
        return REASON_UNJUDGED;
    own = *(*c)->matrix; /* where memory lacks (nonblocking_room) */
    alltoallv_keep(a, call, &own);
    if (grid_demand(a->comm, a->size, sends, receives, own.matrix) < 0)
        why = REASON_ARGUMENTS;
    if (!why)
        why = matrix_total(own.matrix, a->size, &call->total);
    if (why) {
        mpi_call_drop(call);
        return why;
    }
    call->request.demand = own.matrix;
    *wrong = alltoallv_describe(a, &own) ? MPI_ERR_TYPE : MPI_SUCCESS;
    if (!*wrong)
        alltoallv_fill(a, call, &own);
    return why;
}

static int refused_of(const struct alltoallv_side *s, int function, enum refused_side side,
                      int size)
{
    return refused_blocks(function, side, s->buffer, s->counts, s->displs, blocks_of(s, size),
                          s->type, s->types);
}

static int has_elements(const struct alltoallv_side *s, int size)
{
    for (int i = 0; i < blocks_of(s, size); i++)
        if (counts_at(s->counts, i))
            return 1;
    return 0;
}

/* The verdict of this rank's arguments alone (refused.h). */
static int alltoallv_refused(const struct alltoallv_arguments *a)
{
    const struct alltoallv_side *s = &a->send, *r = &a->receive;
    int function = a->by_type ? (int)REFUSED_ALLTOALLW : (int)a->collective;

    if (refused_of(r, function, REFUSED_RECEIVE, a->size))
        return 1;
    if (s->buffer == MPI_IN_PLACE)
        return 0;
    if (refused_of(s, function, REFUSED_SEND, a->size))
        return 1;
    /* For vectors, libraries compare the pointers. */
    return s->buffer == r->buffer && s->counts.narrow == r->counts.narrow &&
           s->counts.wide == r->counts.wide && s->types == r->types && s->type == r->type &&
           has_elements(s, a->size) && refused_alias(function, s->buffer, r->buffer, 0, 1, s->type);
}

static enum reason alltoallv_gate(struct alltoallv_arguments *a, enum plan_collective c)
{
    if (mpi_process.verdict)
        return mpi_process.verdict;
    if (a->comm == MPI_COMM_NULL || mpi.Comm_size(a->comm, &a->size) != MPI_SUCCESS)
        return REASON_ARGUMENTS;
    enum reason why = mpi_gate_call(a->comm, a->size, c);
    return !why && alltoallv_refused(a) ? REASON_ARGUMENTS : why;
}

/* For the report: the skew of this rank's sends, without a message. */
static void monitor(const struct alltoallv_arguments *a)
{
    const struct alltoallv_side *s = a->send.buffer == MPI_IN_PLACE ? &a->receive : &a->send;
    uint64_t bytes, sum = 0, most = 0;
    int rank;

    if (!settings_want_report() || mpi.Comm_rank(a->comm, &rank) != MPI_SUCCESS)
        return;
    for (int i = 0; i < blocks_of(s, a->size); i++) {
        if (peer_of(s, i) == rank || !count_of(s, i) ||
            bytes_of(counts_at(s->counts, i), s->types ? s->types[i] : s->type, &bytes) < 0)
            continue;
        sum += bytes;
        most = bytes > most ? bytes : most;
    }
    count_exchange(COUNT_SENT_BYTES, sum);
    count_exchange(COUNT_HOTTEST_BYTES, most);
}

static void exchange_decided(const struct mpi_call *call, enum reason native)
{
    matrix_end(call->exchange, native);
}

static int alltoallv_failed(const struct mpi_call *call, int rc)
{
    if (call->nonblocking)
        *call->nonblocking = MPI_REQUEST_NULL;
    mpi.Comm_call_errhandler(call->comm, rc);
    return rc;
}

int alltoallv_run(struct alltoallv_arguments *a)
{
    FLOATS_OURS;
    enum plan_collective collective = a->collective;
    struct mpi_call call = mpi_call_begin(collective, a->comm, &a->form, a, sizeof *a,
                                          a->buffers ? a->buffers : alltoallv_buffers);
    struct mpi_comm *c = NULL;
    struct matrix_call r;
    int rc = MPI_SUCCESS, wrong = MPI_SUCCESS;
    enum reason why = alltoallv_gate(a, collective);

    if (!why) {
        monitor(a);
        a->send.blocks = vectors_keep(a->send.counts, a->send.displs, a->size, NULL);
        a->receive.blocks = vectors_keep(a->receive.counts, a->receive.displs, a->size, NULL);
        why = !call.nonblocking ? matrix_begin(&r, a->comm, a->size, collective)
              : call.persistent ? matrix_begin_once(&r, a->comm, a->size, collective)
              : a->grid         ? matrix_begin_known(&r, a->comm, a->size, collective)
                                : alltoallv_start(a, &call, &rc);
    }
    if (why) {
        return library_serves(&call, why);
    }
    if (call.nonblocking && !call.persistent && !a->grid)
        return rc == MPI_SUCCESS ? rc : alltoallv_failed(&call, rc);
    why = call.nonblocking && !call.persistent ? get_ready_alone(a, &call, &c, &wrong)
                                               : get_ready(a, &r, &call, &c, &rc);
    if (rc != MPI_SUCCESS)
        return alltoallv_failed(&call, rc);
    if (why) {
        matrix_end(&r, why);
        return library_serves(&call, why);
    }
    call.decided = exchange_decided;
    call.exchange = &r;
    return (wrong ? mpi_reroute_wrong(c, &call, wrong) : mpi_reroute(c, &call)).rc;
}

#define TEMPLATE "shim/mpi/collectives/alltoallv_wraps.h"
#include "shim/mpi/collectives/forms.h"
