/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators that live for a few calls. Until the ranks of one have met and trials are over, the
 * guard costs some 20 calls of 64 KiB. A program that makes a communicator for every few calls pays
 * that each time. So a process keeps how many calls its last communicators had. If all of them had
 * few, the ranks of a new one meet once it has had twice as many. Calls of 1 MiB or more do not
 * wait: to them, meeting is cheap.
 *
 * Ranks have been in different communicators. So they agree on how long to wait, in the first
 * message of their meeting (comm_setup.h), and a communicator waits once. A communicator whose
 * ranks are to wait has no state until then. The ranks also wait, until the calls have doubled,
 * where none of ours may be made at the moment (numbering.h).
 *
 * Thread rule: any; as for the collective itself, one thread at a time per communicator.
 */
#ifndef COLLSHIM_SHIM_MPI_YOUNG_H
#define COLLSHIM_SHIM_MPI_YOUNG_H

#include <mpi.h>
#include <stdint.h>

#include "shim/decide/reasons.h"

enum { YOUNG_FEW = 32, YOUNG_ENDED = 4, YOUNG_BYTES = 1 << 20 };

/* At MPI_Init, and before the library's MPI_Finalize. Returns an MPI code. */
int young_open(void);
void young_close(void);

/* A communicator's age in calls, this one included, and the age at which its ranks are to meet:
   what this rank knows or, behind their meeting, the most of any. Why they wait. */
struct young {
    uint32_t calls, wait;
    enum reason why;
};

/* One more call on a communicator whose ranks have not met. may_wait: for what other communicators
   teach. Returns whether they are to meet now. Local; the same on all ranks. */
int young_call(MPI_Comm comm, struct young *young, int may_wait);

/* The ranks met and agreed to wait; or to go on: then the communicator's calls are counted with its
   state, from the returned number on. */
void young_waits(MPI_Comm comm, uint32_t until);
uint32_t young_met(MPI_Comm comm);

/* A communicator with a state, and no verdict against it, has ended. */
void young_ended(uint32_t calls);

/* By what ended in this process: 0 unless the last YOUNG_ENDED communicators had few calls each. */
uint32_t young_age_here(void);

#endif
