/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators in which a random program makes its calls; one is made anew now and then. */
#ifndef COLLSHIM_TEST_MPI_PLACES_H
#define COLLSHIM_TEST_MPI_PLACES_H

#include "test/mpi/harness.h"

enum place { WORLD, DUPLICATE, PARITY, REVERSED, RECREATED, SELF, PLACES };
static MPI_Comm place_comm[PLACES];

/* All ranks or those of a parity, in an order that follows from id. */
static MPI_Comm some_order(uint64_t id)
{
    struct draw d = draw_from(2, id);
    MPI_Comm comm;

    MPI_Comm_split(MPI_COMM_WORLD, draw_below(&d, 2) * (world_rank % 2),
                   (world_rank + draw_below(&d, world_size)) % world_size, &comm);
    return comm;
}

static void places_make(void)
{
    place_comm[WORLD] = MPI_COMM_WORLD;
    place_comm[SELF] = MPI_COMM_SELF;
    MPI_Comm_dup(MPI_COMM_WORLD, &place_comm[DUPLICATE]);
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, 0, &place_comm[PARITY]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &place_comm[REVERSED]);
    place_comm[RECREATED] = some_order(0);
}

/* Before call number i. */
static void places_renew(int i)
{
    if (i % 10 != 9)
        return;
    MPI_Comm_free(&place_comm[RECREATED]);
    place_comm[RECREATED] = some_order((uint64_t)i);
}

static void places_free(void)
{
    for (int p = 0; p < PLACES; p++)
        if (p != WORLD && p != SELF)
            MPI_Comm_free(&place_comm[p]);
}

#endif
