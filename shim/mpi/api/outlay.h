/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rent or buy: may a communicator pay for something that only later calls earn? Before its ranks
 * meet, calls are the library's, and are timed. The ranks meet once the calls have taken 32 times
 * as long as meeting takes (COLLSHIM_TEST_SHARE), so meeting costs a thirty-second of the calls at
 * most, at any number of them. Rails are measured by the same share of the bytes that have crossed
 * them (load.h).
 *
 * Clocks differ from rank to rank, so the ranks ask each other: two small Allreduces, one for the
 * time, and one for how long the first took. That comes before a call, behind 64 large calls or
 * 16 MiB of them, and then as often as these have doubled, or later if the answer tells so. A
 * communicator that never gets there sends no message.
 *
 * The way of paying is the ski-rental rule (Karlin, Manasse, Rudolph, Sleator 1988).
 *
 * All that is kept is one number, an attribute of the communicator, so remembering needs no memory.
 * Bytes are equal on all ranks; the time is the rank's own until they ask.
 *
 * Thread rule: any; as for the collective itself, one thread at a time per communicator.
 */
#ifndef COLLSHIM_SHIM_MPI_OUTLAY_H
#define COLLSHIM_SHIM_MPI_OUTLAY_H

#include <mpi.h>
#include <stdint.h>

#include "planners/choose/registry.h"

/* Meeting takes a millisecond, and as long as so many small Allreduces on the communicator
   (real, one host; emulated, 4 hosts). */
enum { OUTLAY_MEETING_US = 1000, OUTLAY_MEETING = 16 };

/* At MPI_Init, and before the library's MPI_Finalize. Returns an MPI code. */
int outlay_open(void);
void outlay_close(void);

/* The fraction of the time of calls like this that setting up may cost; 1: it need not pay, since
   no guard judges such calls. */
double outlay_share(enum plan_collective c);

/*
 * One more call of so many bytes on a communicator whose ranks have not met. Are they to meet now?
 * Collective over comm, of n ranks; the same on all.
 */
int outlay_pays(MPI_Comm comm, int n, enum plan_collective c, uint64_t total);

/* The ranks could not meet. Once the bytes have doubled they are to try again. The same on all. */
void outlay_later(MPI_Comm comm);

/* The call was the library's, and took so long. Local. */
void outlay_note(MPI_Comm comm, double seconds);

/* A nonblocking call would have been rerouted, had the ranks met. Remembers that. Local; the same
   on all ranks. */
void outlay_want_meeting(MPI_Comm comm);

/* Is that so, and was it not asked before? outlay_wanted counts all that nonblocking calls want of
   the next blocking one: look only where it is not 0. Any thread counts. */
extern int outlay_wanted;
int outlay_meeting_is_wanted(MPI_Comm comm);

#endif
