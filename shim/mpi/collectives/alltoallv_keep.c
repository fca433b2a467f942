/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that outlive their start. The communicator's next call changes the memory in which its
   neighbours and sizes are kept, and the program may free types and vectors once the call has
   returned. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/mpi/choose/alltoallv_matrix.h"
#include "shim/mpi/choose/gate.h"
#include "shim/mpi/collectives/alltoallv.h"
#include "shim/mpi/comm/comm.h"
#include "shim/mpi/later/late_sizes.h"
#include "shim/mpi/later/nonblocking.h"

/* Neighbours, and where their blocks lie. In place, nothing of the send side is significant. */
static void keep_blocks(struct alltoallv_side *s, int size, char **room)
{
    int n = blocks_of(s, size);

    if (s->buffer == MPI_IN_PLACE)
        return;
    if (counts_given(s->counts)) {
        s->blocks = vectors_keep(s->counts, s->displs, n, *room);
        *room += (size_t)n * VECTORS_EACH;
    }
    if (s->peer)
        s->peer = memcpy(*room, s->peer, (size_t)n * sizeof *s->peer);
    *room += ((size_t)n * sizeof *s->peer + 7) / 8 * 8;
}

/* Layouts of an odd side's blocks, with types that the program cannot free. Returns an MPI code. */
static int keep_layouts(struct alltoallv_side *s, int size, struct call_owned *owned, char **room)
{
    int n = s->odd ? blocks_of(s, size) : 0, rc = MPI_SUCCESS;
    struct layout *own = (struct layout *)*room;

    *room += (size_t)n * sizeof *own;
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++) {
        MPI_Datatype *kept = &owned->types[owned->ntypes];

        *kept = MPI_DATATYPE_NULL;
        if (!count_of(s, i))
            continue;
        rc = layout_of(s->types[i], &own[i]) < 0 ? MPI_ERR_TYPE : layout_keep(&own[i], kept);
        owned->ntypes += *kept != MPI_DATATYPE_NULL;
    }
    s->own = n ? own : NULL;
    return rc;
}

int alltoallv_keep(struct alltoallv_arguments *a, struct mpi_call *call,
                   struct alltoallv_matrix *own)
{
    struct call_owned *owned = &call->owned;
    struct alltoallv_side *s = &a->send, *r = &a->receive;
    size_t n = (size_t)a->size, line = n + MATRIX_EXTRA;
    size_t blocks = (size_t)(blocks_of(s, a->size) + blocks_of(r, a->size));
    size_t odd =
        (size_t)((s->odd ? blocks_of(s, a->size) : 0) + (r->odd ? blocks_of(r, a->size) : 0));
    size_t bytes =
        odd * sizeof(struct layout) + (2 * line + n * line + 3 * blocks + 2) * sizeof *own->sends;
    char *rest = calloc(1, bytes + odd * sizeof *owned->types);

    owned->room = rest;
    owned->lacks_room = 1;
    if (!rest)
        return 0;
    owned->types = (MPI_Datatype *)(rest + bytes);
    if (keep_layouts(s, a->size, owned, &rest) || keep_layouts(r, a->size, owned, &rest)) {
        mpi_call_drop(call);
        owned->room = NULL;
        owned->ntypes = 0;
        s->own = r->own = NULL;
        return 0;
    }
    own->sends = (uint64_t *)rest;
    own->receives = own->sends + line;
    own->matrix = own->receives + line;
    rest = (char *)(own->matrix + n * line);
    keep_blocks(s, a->size, &rest);
    keep_blocks(r, a->size, &rest);
    owned->lacks_room = 0;
    return 1;
}

/* An late_sizes_fill. */
static int fill_told(struct mpi_comm *c, struct mpi_call *call, uint64_t *told)
{
    struct alltoallv_arguments *a = (struct alltoallv_arguments *)(uintptr_t)call->arguments;
    struct alltoallv_matrix rows = {.sends = a->sends, .receives = a->receives, .matrix = told};

    if (matrix_verdict(&rows, c->size, &call->total))
        return -EINVAL;
    call->request.demand = told;
    alltoallv_fill(a, call, &rows);
    return MPI_SUCCESS;
}

/* The type of all blocks, which the program may free. An odd side's are kept with its layouts.
   Returns an MPI code. */
static int keep_type(struct late_sizes *u, struct alltoallv_side *s)
{
    return s->odd ? MPI_SUCCESS : late_sizes_keep(u, &s->layout.type);
}

/* Own copies of all that the call goes by; this rank's row is in the matrix. Returns an MPI code.
 */
static int keep_all(struct alltoallv_arguments *a, struct mpi_call *call, const struct mpi_comm *c,
                    struct late_sizes *u, struct alltoallv_matrix *own)
{
    size_t line = (size_t)a->size + MATRIX_EXTRA;
    enum reason wrong;
    int rc = MPI_SUCCESS;

    alltoallv_join(a);
    if (!u || !alltoallv_keep(a, call, own))
        return MPI_ERR_NO_MEM;
    a->sends = own->sends;
    a->receives = own->receives;
    wrong = alltoallv_describe(a, own);
    matrix_claim(own, a->size, c->rank, wrong);
    memcpy(own->matrix + (size_t)c->rank * line, own->sends, line * sizeof *own->sends);
    if (!wrong)
        rc = keep_type(u, &a->receive);
    return !wrong && rc == MPI_SUCCESS && a->send.buffer != MPI_IN_PLACE ? keep_type(u, &a->send)
                                                                         : rc;
}

enum reason alltoallv_start(struct alltoallv_arguments *a, struct mpi_call *call, int *rc)
{
    struct late_sizes *u = NULL;
    struct matrix_call r = {0};
    struct alltoallv_matrix own = {0};
    struct mpi_comm *c = NULL;
    enum reason why = (a->send.peer ? matrix_begin_known : matrix_begin_once)(&r, a->comm, a->size,
                                                                              a->collective);

    if (!why)
        c = mpi_gate_agreed(call, a->size, &why);
    if (!why && a->send.peer && !a->single && !(c->matrix && c->matrix->single))
        why = REASON_UNJUDGED;
    if (!why)
        why = late_sizes_judge(c, call, NO_ROOT, (size_t)a->size + MATRIX_EXTRA,
                               matrix_balances(a->comm, a->collective), &u);
    if (why)
        return why;
    int lacks = keep_all(a, call, c, u, &own) != MPI_SUCCESS;
    late_sizes_tells(u, own.matrix, fill_told);
    *rc = nonblocking_start_late(c, call, u, lacks);
    return REASON_NONE;
}
