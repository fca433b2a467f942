/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every rank learns the whole placement by one Allgather of its node's lowest rank; the rest is
 * counted locally, in the same order everywhere. Nothing assumes that nodes hold equal numbers
 * of ranks or that ranks are consecutive.
 */
#include "shape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct place {
    int lowest; /* rank */
    char name[MPI_MAX_PROCESSOR_NAME];
};

static void find_place(const struct bench_mpi *mpi, MPI_Comm comm, int rank, struct place *mine)
{
    MPI_Comm node;
    int length;

    mpi->Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    mpi->Allreduce(&rank, &mine->lowest, 1, MPI_INT, MPI_MIN, node);
    mpi->Comm_free(&node);
    memset(mine->name, 0, sizeof(mine->name));
    MPI_Get_processor_name(mine->name, &length);
}

static void number(struct bench_shape *shape, const struct place *places)
{
    for (int r = 0; r < shape->ranks; r++) {
        int node = places[r].lowest == r ? shape->nodes++ : shape->node_of[places[r].lowest];

        if (places[r].lowest == r)
            memcpy(shape->names[node], places[r].name, sizeof(places[r].name));
        shape->node_of[r] = node;
        shape->local_of[r] = shape->on_node[node]++;
    }
}

int bench_shape_make(const struct bench_mpi *mpi, MPI_Comm comm, struct bench_shape *shape)
{
    struct place mine, *places;
    size_t n;

    memset(shape, 0, sizeof(*shape));
    MPI_Comm_rank(comm, &shape->rank);
    MPI_Comm_size(comm, &shape->ranks);
    n = (size_t)shape->ranks;
    places = calloc(n, sizeof(*places));
    shape->node_of = calloc(n, sizeof(int));
    shape->local_of = calloc(n, sizeof(int));
    shape->on_node = calloc(n, sizeof(int));
    shape->names = calloc(n, sizeof(*shape->names));
    if (!places || !shape->node_of || !shape->local_of || !shape->on_node || !shape->names) {
        free(places);
        bench_shape_free(shape);
        return -ENOMEM;
    }
    find_place(mpi, comm, shape->rank, &mine);
    mpi->Allgather(&mine, sizeof(mine), MPI_BYTE, places, sizeof(mine), MPI_BYTE, comm);
    number(shape, places);
    free(places);
    return 0;
}

void bench_shape_free(struct bench_shape *shape)
{
    free(shape->node_of);
    free(shape->local_of);
    free(shape->on_node);
    free(shape->names);
    memset(shape, 0, sizeof(*shape));
}

int bench_shape_rank(const struct bench_shape *shape, int node, int local)
{
    for (int r = 0; r < shape->ranks; r++) {
        if (shape->node_of[r] == node && shape->local_of[r] == local)
            return r;
    }
    return -1;
}

void bench_shape_print(const struct bench_shape *shape, FILE *out)
{
    for (int n = 0; n < shape->nodes; n++) {
        fprintf(out, "placement: node %d (%s): ranks", n, shape->names[n]);
        for (int r = 0; r < shape->ranks; r++) {
            if (shape->node_of[r] == n)
                fprintf(out, " %d", r);
        }
        fputc('\n', out);
    }
}
