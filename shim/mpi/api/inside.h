/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Is this thread inside one of our own calls? The library may call intercepted functions there, and
 * these run natively.
 *
 * Thread rule: any thread; each has its own answer.
 */
#ifndef COLLSHIM_SHIM_MPI_INSIDE_H
#define COLLSHIM_SHIM_MPI_INSIDE_H

#include "shim/decide/base/thread_own.h"

/* Until mpi_leave, calls of this thread come from the library or from us. They nest. */
static inline void mpi_enter(void)
{
    THREAD_OWN(inside, int)++;
}

static inline void mpi_leave(void)
{
    THREAD_OWN(inside, int)--;
}

static inline int mpi_is_inside(void)
{
    return THREAD_OWN(inside, int) != 0;
}

/* Around the library's function on the program's own communicator, where the program's error
   handler, operation or attribute function may run. It may make calls, and need not return. So
   nothing is locked there, and nothing that other ranks wait for follows. step_in: with what
   step_out returned. */
static inline int mpi_step_out(void)
{
    int was = THREAD_OWN(inside, int);

    THREAD_OWN(inside, int) = 0;
    return was;
}

static inline void mpi_step_in(int was)
{
    THREAD_OWN(inside, int) = was;
}

#endif
