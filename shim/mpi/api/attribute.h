/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finding the object of an attribute of ours. If a thread asks for the same communicator again, the
 * library is not called: each call passes here, and a cold call of the library takes a microsecond.
 * With that call in each Gatherv of 1 KiB, 16 ranks on two cores are 5 % slower than natively;
 * without it 3 % (real, this machine). The pointer of a communicator must not change while it
 * lives.
 *
 * Thread rule: any thread; each has its own struct attribute_seen.
 */
#ifndef COLLSHIM_SHIM_MPI_ATTRIBUTE_H
#define COLLSHIM_SHIM_MPI_ATTRIBUTE_H

#include <mpi.h>
#include <stdint.h>

#include "shim/decide/base/thread_own.h"

/* The last lookup of a thread; all zero at first. */
struct attribute_seen {
    MPI_Comm comm;
    unsigned long gone;
    void *value; /* NULL: nothing */
};

/* The value, or NULL if there is none yet, or the communicator is being freed (freeing.h). */
void *attribute_find(MPI_Comm comm, int keyval, struct attribute_seen *last);

/* The same if the thread's last lookup was of it, else NULL: the communicator may be none. */
void *attribute_last(MPI_Comm comm, const struct attribute_seen *last);

/* Returns 1, or 0: there is no memory, or the communicator is being freed. */
int attribute_set(MPI_Comm comm, int keyval, void *value);

/* A number as the value of an attribute, so that remembering needs no memory of ours; 0: there is
   none. keep: as attribute_set. of: of a value that a delete callback is given. */
uintptr_t attribute_number(MPI_Comm comm, int keyval);
int attribute_keep_number(MPI_Comm comm, int keyval, uintptr_t number);
uintptr_t attribute_number_of(void *value);

/* For delete callbacks: a new number takes the place of the value, and the communicator lives on.
 */
#define attribute_replacing THREAD_OWN(attribute, int)

/* From every delete callback: handles come again, so nothing that was seen before holds. */
void attribute_gone(void);

#endif
