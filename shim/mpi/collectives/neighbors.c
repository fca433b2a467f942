/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/collectives/neighbors.h"

#include <stdlib.h>

#include "shim/decide/base/thread_own.h"
#include "shim/mpi/api/attribute.h"

static int keyval = MPI_KEYVAL_INVALID;

static struct neighbors unknown = {.unknown = 1};
#define last THREAD_OWN(neighbors, struct attribute_seen)

static void side_free(struct neighbors_side *s)
{
    free(s->rank);
    free(s->counts);
    free(s->displs);
}

static void neighbors_free(struct neighbors *nb)
{
    if (!nb)
        return;
    side_free(&nb->to);
    side_free(&nb->from);
    free(nb);
}

static int forget(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)extra;
    attribute_gone();
    neighbors_free(value);
    return MPI_SUCCESS;
}

int neighbors_open(void)
{
    return mpi.Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &keyval, NULL);
}

void neighbors_close(void)
{
    if (keyval != MPI_KEYVAL_INVALID)
        mpi.Comm_free_keyval(&keyval);
}

/* Room for n of them. Returns 1, or 0: out of memory. */
static int side_make(struct neighbors_side *s, int n)
{
    size_t room = (size_t)n + 1; /* vectors of no elements are given all the same */

    s->n = n;
    s->rank = calloc(room, sizeof *s->rank);
    s->counts = calloc(room, sizeof *s->counts);
    s->displs = calloc(room, sizeof *s->displs);
    return s->rank && s->counts && s->displs;
}

/* In each dimension the one before and the one behind; the same on both sides. */
static int take_grid(MPI_Comm comm, struct neighbors *nb)
{
    int dimensions;

    nb->is_grid = 1;
    if (mpi.Cartdim_get(comm, &dimensions) != MPI_SUCCESS || !side_make(&nb->to, 2 * dimensions) ||
        !side_make(&nb->from, 2 * dimensions))
        return 0;
    for (int d = 0; d < dimensions; d++) {
        int *pair = nb->to.rank + 2 * d;

        if (mpi.Cart_shift(comm, d, 1, &pair[0], &pair[1]) != MPI_SUCCESS)
            return 0;
        nb->twice |= pair[0] == pair[1] && pair[0] != MPI_PROC_NULL;
        nb->from.rank[2 * d] = pair[0];
        nb->from.rank[2 * d + 1] = pair[1];
    }
    return 1;
}

static int take_graph(MPI_Comm comm, struct neighbors *nb)
{
    int rank, n;

    return mpi.Comm_rank(comm, &rank) == MPI_SUCCESS &&
           mpi.Graph_neighbors_count(comm, rank, &n) == MPI_SUCCESS && side_make(&nb->to, n) &&
           side_make(&nb->from, n) &&
           mpi.Graph_neighbors(comm, rank, n, nb->to.rank) == MPI_SUCCESS &&
           mpi.Graph_neighbors(comm, rank, n, nb->from.rank) == MPI_SUCCESS;
}

static int take_distributed_graph(MPI_Comm comm, struct neighbors *nb)
{
    int from, to, weighted;

    if (mpi.Dist_graph_neighbors_count(comm, &from, &to, &weighted) != MPI_SUCCESS ||
        !side_make(&nb->from, from) || !side_make(&nb->to, to))
        return 0;
    int *weights = calloc((size_t)from + (size_t)to + 1, sizeof *weights);
    int rc = weights ? mpi.Dist_graph_neighbors(comm, from, nb->from.rank, weights, to, nb->to.rank,
                                                weights + from)
                     : MPI_ERR_NO_MEM;

    free(weights);
    return rc == MPI_SUCCESS;
}

void neighbors_degrees(MPI_Comm comm, int *to, int *from)
{
    int kind, rank, n = 0, weighted, rc = MPI_SUCCESS;

    *to = *from = 0;
    if (comm == MPI_COMM_NULL || mpi.Topo_test(comm, &kind) != MPI_SUCCESS || kind == MPI_UNDEFINED)
        return;
    if (kind == MPI_DIST_GRAPH) {
        rc = mpi.Dist_graph_neighbors_count(comm, from, to, &weighted);
    } else if (kind == MPI_CART) {
        rc = mpi.Cartdim_get(comm, &n);
        *to = *from = 2 * n;
    } else {
        rc = mpi.Comm_rank(comm, &rank);
        rc = rc ? rc : mpi.Graph_neighbors_count(comm, rank, &n);
        *to = *from = n;
    }
    if (rc != MPI_SUCCESS)
        *to = *from = 0;
}

/* A mark per rank. Returns 1 if one is there twice, or if memory is short. */
static int has_twice(const struct neighbors_side *s, int size)
{
    unsigned char *seen = calloc((size_t)size, 1);
    int twice = !seen;

    for (int i = 0; !twice && i < s->n; i++)
        if (s->rank[i] >= 0 && s->rank[i] < size) {
            twice = seen[s->rank[i]];
            seen[s->rank[i]] = 1;
        }
    free(seen);
    return twice;
}

static struct neighbors *neighbors_make(MPI_Comm comm)
{
    int kind, size, found = 0;

    if (mpi.Topo_test(comm, &kind) != MPI_SUCCESS || kind == MPI_UNDEFINED ||
        mpi.Comm_size(comm, &size) != MPI_SUCCESS)
        return NULL;
    struct neighbors *nb = calloc(1, sizeof *nb);
    if (nb)
        found = kind == MPI_CART    ? take_grid(comm, nb)
                : kind == MPI_GRAPH ? take_graph(comm, nb)
                                    : take_distributed_graph(comm, nb);
    if (found && !nb->is_grid)
        nb->twice = has_twice(&nb->to, size) || has_twice(&nb->from, size);
    if (found && attribute_set(comm, keyval, nb))
        return nb;
    neighbors_free(nb);
    return &unknown;
}

struct neighbors *neighbors_of(MPI_Comm comm)
{
    struct neighbors *nb = attribute_find(comm, keyval, &last);

    return nb ? nb : neighbors_make(comm);
}
