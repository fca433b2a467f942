/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transports of a communicator: MPI point-to-point between nodes, shared memory inside each
 * node where the system and COLLSHIM_TEST_SHM permit it. Opening takes four steps, all of them
 * local. The ranks' messages between the steps are part of their other messages (comm_setup.c).
 */
#ifndef COLLSHIM_SHIM_MPI_LINKS_H
#define COLLSHIM_SHIM_MPI_LINKS_H

#include <mpi.h>

#include "config/topo/topo.h"
#include "transports/base/xport.h"
#include "transports/shm/shm.h"

struct links {
    struct xport mpi, shm, route; /* owned; shm and route only if this rank's node uses them */
    struct xport *use;            /* the engines' transport: one of them */
    int nranks;
    int *member;            /* [nranks] owned: those that share memory with this one, rising,
                               and itself */
    int members;            /* 0: it shares none */
    unsigned char *near;    /* [nranks] owned: the others of them */
    struct shm_offer *node; /* [nranks] owned: their offers, in their order */
};

/* Fill in the library's functions, once, before any other call. */
void links_init(void);

/* First. The offer to the other ranks, of which there are nranks with this one. Returns 1, or 0 if
   there is no memory. */
int links_offer(struct links *l, int nranks, struct shm_offer *offer);

/* Second, when all have heard who is on which node. report: [nranks]. Returns 0, or why this rank's
   node cannot share memory (an errno). */
int links_place(struct links *l, const struct topo *topo, const struct topo_report *report,
                int rank);

/*
 * Third, when all of the node have placed. offer: [nranks] the offers of all. *error: the result of
 * links_place, then why this rank cannot share memory, or 0. private_comm: borrowed. Returns 1, or
 * 0 if there is no memory.
 */
int links_join(struct links *l, MPI_Comm private_comm, const struct shm_offer *offer, int *error);

/* Last, when all have heard each rank's error [nranks]: what this node uses. */
void links_choose(struct links *l, int rank, const int *error);

void links_leave(struct links *l); /* before what its calls used of devices goes (shm.h) */
void links_close(struct links *l); /* all zero is fine */

#endif
