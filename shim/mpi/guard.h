/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guard: a reroute that does not pay is taken back, by measurement. For each communicator,
 * collective and size class it tries the candidates (the library's own call, and the reroute with
 * one or two chunk sizes) in turn, lets all ranks agree on the fastest, stays with it, and looks
 * again now and then. A new winner must be clearly faster than the old one.
 *
 * All ranks make the same calls in the same order, so all are at the same point of the same
 * trial; they agree on what they have measured before it decides anything.
 * Source: design.md, "Choosing".
 */
#ifndef COLLSHIM_SHIM_MPI_GUARD_H
#define COLLSHIM_SHIM_MPI_GUARD_H

#include <mpi.h>
#include <stdint.h>

#include "planners/registry.h"

enum { GUARD_CANDIDATES = 1 + PLAN_CHUNKS, GUARD_NATIVE = 0 };
enum { GUARD_CLASSES = 32 }; /* powers of two of the collective's bytes, from 4 KiB up */

struct guard_entry {
    double seconds[GUARD_CANDIDATES]; /* the best this rank has measured in this trial */
    uint32_t calls;                   /* since the last decision */
    uint8_t settled, best;
    uint8_t round, next; /* of the trial */
    uint8_t alive;       /* candidates that are still tried, a bit each */
};

/* All of a communicator's entries; all zero at first. Owned by the communicator's state. */
struct guard {
    struct guard_entry entry[COLL_COUNT][GUARD_CLASSES][PLAN_CHUNKS];
};

/* n: how many candidates there are, 2 .. GUARD_CANDIDATES; sizes of one class may differ in that.
 */
struct guard_entry *guard_find(struct guard *g, enum plan_collective c, uint64_t total, int n);

/* Which of n candidates this call shall use. Local, and the same on all ranks. */
int guard_pick(struct guard_entry *e, int n);

/*
 * The call that was picked took so long here. At the end of a round collective over comm (private
 * to the shim). Returns 1 if that settled the entry anew, else 0, or -1 if the library failed.
 */
int guard_note(struct guard_entry *e, int n, int picked, double seconds, MPI_Comm comm);

#endif
