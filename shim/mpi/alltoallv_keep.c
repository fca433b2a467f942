/* SPDX-License-Identifier: BSD-3-Clause */
/* The communicator's next call changes what its neighbours and sizes are kept in, and the program
   may free a type once the call has returned. */
#include <stdlib.h>
#include <string.h>

#include "shim/mpi/alltoallv.h"
#include "shim/mpi/rows.h"

/* A copy of the vector, at *room, which then lies behind it. */
static void *keep(const void *vector, size_t bytes, char **room)
{
    void *copy = memcpy(*room, vector, bytes);

    *room += (bytes + 7) / 8 * 8;
    return copy;
}

/* Neighbours, and the sizes of their blocks, which the communicator's next call changes. */
static void keep_peers(struct side *s, char **room)
{
    size_t n = s->peer ? (size_t)s->n : 0;

    if (!s->peer)
        return;
    s->peer = keep(s->peer, n * sizeof *s->peer, room);
    if (s->counts.wide)
        s->counts.wide = keep(s->counts.wide, n * sizeof *s->counts.wide, room);
    if (s->displs.wide)
        s->displs.wide = keep(s->displs.wide, n * sizeof *s->displs.wide, room);
}

/* Layouts of an odd side's blocks, with types that the program cannot free. Returns an MPI code. */
static int keep_layouts(struct side *s, int size, struct mpi_call *call, char **room)
{
    int n = s->odd ? blocks_of(s, size) : 0, rc = MPI_SUCCESS;
    struct layout *own = (struct layout *)*room;

    *room += (size_t)n * sizeof *own;
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++) {
        MPI_Datatype *kept = &call->types[call->ntypes];

        *kept = MPI_DATATYPE_NULL;
        if (!count_of(s, i))
            continue;
        rc = layout_of(s->types[i], &own[i]) < 0 ? MPI_ERR_TYPE : layout_keep(&own[i], kept);
        call->ntypes += *kept != MPI_DATATYPE_NULL;
    }
    s->own = n ? own : NULL;
    return rc;
}

int alltoallv_keep(struct alltoallv_arguments *a, struct mpi_call *call, struct rows *own)
{
    struct side *s = &a->send, *r = &a->receive;
    size_t n = (size_t)a->size, line = n + 1, peers = (size_t)(s->n + r->n + 2);
    size_t odd =
        (size_t)((s->odd ? blocks_of(s, a->size) : 0) + (r->odd ? blocks_of(r, a->size) : 0));
    size_t bytes =
        odd * sizeof(struct layout) + (2 * line + n * n + 3 * peers) * sizeof *own->sends;
    char *rest = calloc(1, bytes + odd * sizeof *call->types);

    call->room = rest;
    if (!rest)
        return 0;
    call->types = (MPI_Datatype *)(rest + bytes);
    if (keep_layouts(s, a->size, call, &rest) || keep_layouts(r, a->size, call, &rest)) {
        mpi_call_drop(call);
        call->room = NULL;
        call->ntypes = 0;
        s->own = r->own = NULL;
        return 0;
    }
    own->sends = (uint64_t *)rest;
    own->receives = own->sends + line;
    own->matrix = own->receives + line;
    rest = (char *)(own->matrix + n * n);
    keep_peers(s, &rest);
    keep_peers(r, &rest);
    return 1;
}
