/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/call/library.h"

#include <stdint.h>
#include <stdlib.h>

#include "shim/mpi/api/outlay.h"
#include "shim/mpi/api/process.h"
#include "shim/mpi/call/device.h"
#include "shim/record/counts/count.h"
#include "transports/base/host_memory.h"

enum { MOST_BUFFERS = 2 };

/* A buffer's stretch in device memory, and its image. */
struct image {
    const struct library_buffer *buffer;
    const char *user;
    struct cuda_place place;
    struct layout_span span;
    char *at; /* owned; NULL: the buffer is not on a device */
};

int library_peers(MPI_Comm comm)
{
    int n = 0, inter = 0;

    if (comm == MPI_COMM_NULL || mpi.Comm_test_inter(comm, &inter) != MPI_SUCCESS)
        return 0;
    if (inter)
        mpi.Comm_remote_size(comm, &n);
    else
        mpi.Comm_size(comm, &n);
    return n;
}

int library_is_root(MPI_Comm comm, int root)
{
    int rank = -1, inter = 0;

    if (comm == MPI_COMM_NULL)
        return 0;
    mpi.Comm_test_inter(comm, &inter);
    if (inter)
        return root == MPI_ROOT ? 1 : root == MPI_PROC_NULL ? -1 : 0;
    mpi.Comm_rank(comm, &rank);
    return rank == root;
}

MPI_Count library_times(MPI_Count count, int n)
{
    MPI_Count product;

    return count < 0 || __builtin_mul_overflow(count, n, &product) ? -1 : product;
}

int library_buffers(struct library_buffer *list, const struct library_buffer *send,
                    const struct library_buffer *receive)
{
    int n = 0, reads = send && *send->argument != MPI_IN_PLACE;

    if (reads) {
        list[n] = *send;
        list[n++].reads = 1;
    }
    if (receive && *receive->argument != MPI_IN_PLACE) {
        list[n] = *receive;
        list[n].reads = send && !reads;
        list[n++].writes = 1;
    }
    return n;
}

/* Block i: its layout, its elements, its distance from the buffer. Without elements, nothing is
   asked. Returns 0, or -1 as for layout_of. */
static int block_of(const struct library_buffer *b, int i, struct layout *l, MPI_Count *count,
                    MPI_Aint *offset)
{
    MPI_Aint displ = displs_given(b->displs) ? displs_at(b->displs, i) : 0;

    *count = counts_given(b->counts) ? counts_at(b->counts, i) : b->count;
    *offset = 0;
    if (!*count)
        return 0;
    if (*count < 0 || layout_of(b->types ? b->types[i] : b->type, l) < 0)
        return -1;
    *offset = displ * (MPI_Aint)(b->types ? 1 : l->extent);
    return 0;
}

/* The range of the whole buffer's data. Returns 1, or 0: there is none, or the library judges it.
 */
static int span_of(const struct library_buffer *b, struct layout_span *span)
{
    struct layout_span one;
    struct layout l;
    MPI_Count count;
    MPI_Aint offset;
    int any = 0;

    for (int i = 0; i < b->n; i++) {
        if (block_of(b, i, &l, &count, &offset) < 0)
            return 0;
        if (!count || !l.size)
            continue;
        if (layout_span_of(&l, count, &one) < 0)
            return 0;
        one.from += offset;
        one.to += offset;
        span->from = any && span->from < one.from ? span->from : one.from;
        span->to = any && span->to > one.to ? span->to : one.to;
        any = 1;
    }
    return any;
}

/* Make an image if the buffer is on a device, and show it. It is empty if the data cannot be read:
   the rank takes part all the same, or others would wait. Returns an MPI code; at NULL with an
   error: there is nothing to show. */
static int show(struct image *m, const struct library_buffer *b)
{
    int rc = MPI_SUCCESS;

    *m = (struct image){.buffer = b, .user = *b->argument};
    if (!span_of(b, &m->span) || !cuda_place_of(m->user + m->span.from, &m->place))
        return MPI_SUCCESS;
    size_t bytes = (size_t)(m->span.to - m->span.from);
    m->at = calloc(1, bytes);
    if (!m->at)
        return MPI_ERR_NO_MEM;
    if (m->place.after && bytes > m->place.after)
        rc = MPI_ERR_BUFFER; /* it does not end where it began */
    else if (b->reads && cuda_move(&m->place, m->at, m->user + m->span.from, bytes) < 0)
        rc = MPI_ERR_OTHER;
    *b->argument = m->at - m->span.from;
    return rc;
}

/* Bring what the library has written to the device, and nothing else. */
static int bring_back(const struct image *m)
{
    const struct library_buffer *b = m->buffer;
    struct layout l;
    MPI_Count count;
    MPI_Aint offset;
    int rc = MPI_SUCCESS;

    for (int i = 0; rc == MPI_SUCCESS && i < b->n; i++) {
        if (block_of(b, i, &l, &count, &offset) < 0)
            return MPI_ERR_TYPE; /* it was asked before */
        if (!count || !l.size)
            continue;
        const char *from = m->at - m->span.from + offset;
        char *to = (char *)(uintptr_t)m->user + offset;
        size_t bytes = (size_t)(count * l.size);
        if (l.dense) {
            rc = cuda_move(&m->place, to, from, bytes) ? MPI_ERR_OTHER : MPI_SUCCESS;
            continue;
        }
        char *packed = host_memory_take(bytes);
        rc = packed ? device_pack(&l, from, count, packed, MPI_COMM_SELF) : MPI_ERR_NO_MEM;
        if (rc == MPI_SUCCESS)
            rc = device_unpack(&l, packed, to, count, MPI_COMM_SELF);
        host_memory_give(packed);
    }
    return rc;
}

int library_call_with_images(const struct mpi_call *call)
{
    struct library_buffer list[MOST_BUFFERS] = {{0}};
    struct image image[MOST_BUFFERS] = {{0}};
    int n, shown = 0, failed = MPI_SUCCESS, hidden = 0, rc = MPI_SUCCESS;

    n = library_peers(call->comm) ? call->buffers(call, list) : 0;
    for (; shown < n; shown++) {
        int code = show(&image[shown], &list[shown]);
        failed = failed ? failed : code;
        hidden |= code && !image[shown].at;
    }
    if (!hidden)
        rc = call->native(call);
    for (int i = 0; i < shown; i++) {
        *list[i].argument = image[i].user;
        if (rc == MPI_SUCCESS && !failed && image[i].at && list[i].writes)
            failed = bring_back(&image[i]);
        free(image[i].at);
    }
    if (failed == MPI_SUCCESS || rc != MPI_SUCCESS)
        return rc;
    mpi.Comm_call_errhandler(call->comm, failed);
    return failed;
}

int library_serves(const struct mpi_call *call, enum reason why)
{
    count_native(call->collective, why);
    if (why != REASON_UNPAID)
        return library_call(call);
    double began = count_now();
    int rc = library_call(call);
    if (rc == MPI_SUCCESS)
        outlay_note(call->comm, (count_now() - began) * (1 + call->passed));
    return rc;
}
