/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes from rank to rank, timed: measuring rails and probing them share this. */
#ifndef COLLSHIM_SHIM_MPI_RAILS_PASS_H
#define COLLSHIM_SHIM_MPI_RAILS_PASS_H

#include <mpi.h>

#include "config/topo/topo.h"

enum { RAILS_SMALL = 32 << 10, RAILS_LARGE = 256 << 10, RAILS_TIMED = 512 << 10 };
enum { RAILS_BURST = 64 << 10, RAILS_TAG = 0 }; /* and the tag behind it */

/* So many bytes in such pieces, RAILS_TIMED / RAILS_SMALL at most. The first `lead` bytes do not
   count for the rate, since a limiter may let them through at once. */
struct rails_transfer {
    int bytes, piece, lead;
};

struct rails_passed {
    double seconds; /* until all were there */
    double rate;    /* bytes/s behind the first ones */
};

/* To the node `step` further, and there to the local index `shift` further. */
struct rails_way {
    int step, shift;
};
static const struct rails_way rails_next = {1, 0};

struct rails_way rails_opposite(struct rails_way way);
/* A rank's partner that way, among the local indices that both nodes have; MPI_PROC_NULL: there is
   none. The rank is its partner's partner the opposite way. */
int rails_counterpart(const struct topo *t, int rank, struct rails_way way);

/*
 * Send to `to`, and receive as much from `from`; each may be MPI_PROC_NULL. The time ends when the
 * receiver has said that all bytes are there. Bytes that come from `from` meanwhile are no part of
 * it: another slow rail may hold them, and a receiver cannot tell when their sender began. buffer:
 * [2 * RAILS_TIMED]. Returns an MPI code.
 */
int rails_pass_on(MPI_Comm comm, char *buffer, int to, int from, struct rails_transfer x,
                  struct rails_passed *p);

#endif
