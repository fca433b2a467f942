/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A binomial tree over the ranks of MPI_COMM_WORLD, for agreements inside MPI_Init. Ranks that have
 * not loaded collshim are left out of it: no message goes to them. Such a gap cuts the tree in
 * parts, and each part has a root of its own.
 *
 * Messages travel on MPI_COMM_WORLD, point to point. No receive of the application can take them:
 * each is received before the receiver's MPI_Init returns, and messages between two ranks keep
 * their order. A value is a few KiB at most.
 *
 * Thread rule: the thread in MPI_Init.
 */
#ifndef COLLSHIM_SHIM_MPI_TREE_H
#define COLLSHIM_SHIM_MPI_TREE_H

#include <mpi.h>
#include <stddef.h>

enum { TREE_CHILDREN = 31 };

struct tree {
    int parent; /* -1: this rank is the root of its part */
    int nchildren;
    int child[TREE_CHILDREN];
};

/*
 * This rank's place. has: is that rank to be talked to? It gives both ends of an edge the same
 * answer; NULL: all are. Returns the neighbour that is not, or -1 if all are.
 */
int tree_open(struct tree *t, int rank, int size, int (*has)(int rank));

/* One message, with little load on the processor while it is awaited. Return an MPI code. */
int tree_send(const void *value, size_t bytes, int to, MPI_Comm comm);
int tree_receive(void *value, size_t bytes, int from, MPI_Comm comm);

/* From the leaves up: `combine` folds a child's value into this rank's. Returns an MPI code. */
int tree_up(const struct tree *t, void *value, size_t bytes,
            void (*combine)(void *value, const void *child));

/* From the root of a part down: all ranks of it get the root's value. Returns an MPI code. */
int tree_down(const struct tree *t, void *value, size_t bytes);

#endif
