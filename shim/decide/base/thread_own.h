/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A backend's variables of each thread. They lie in libcollshim.so, which the loader knows when
 * the program starts. A backend is opened later, and its own would take of the small stock of
 * static thread-local memory that the C library keeps for such libraries. A program's plugins may
 * need all of that. Rejected: the general model, because each use calls the dynamic linker.
 *
 * Memory in libcollshim.so is at the same distance from the thread pointer in every thread, so a
 * use costs one load and one addition. All is zero at first. Any thread.
 */
#ifndef COLLSHIM_SHIM_DECIDE_THREAD_OWN_H
#define COLLSHIM_SHIM_DECIDE_THREAD_OWN_H

#include <stddef.h>

#include "shim/preload/backend.h"

/* A row for each variable: its owner, and its bytes at most. */
#define THREAD_OWN_ROWS(ROW)                                                                       \
    ROW(site, 64)                                                                                  \
    ROW(sampled, 24)                                                                               \
    ROW(comm, 24)                                                                                  \
    ROW(sizes, 24)                                                                                 \
    ROW(neighbors, 24)                                                                             \
    ROW(reduction, 80)                                                                             \
    ROW(inside, 8)                                                                                 \
    ROW(pending, 8)                                                                                \
    ROW(attribute, 8)                                                                              \
    ROW(foreign, 24)                                                                               \
    ROW(floats, 16)

struct thread_own {
#define ROW(owner, bytes) _Alignas(8) char owner[bytes];
    THREAD_OWN_ROWS(ROW)
#undef ROW
};
_Static_assert(sizeof(struct thread_own) <= BACKEND_THREAD_BYTES, "libcollshim.so has room");

/* Distance from the thread pointer, as the preload tells it. 0: this is no backend, and all threads
   share thread_own_shared. */
extern ptrdiff_t thread_own_at;
extern struct thread_own thread_own_shared;

static inline struct thread_own *thread_own(void)
{
    ptrdiff_t at = thread_own_at;

    return at ? (struct thread_own *)(void *)((char *)backend_thread_pointer() + at)
              : &thread_own_shared;
}

/* The owner's variable, an lvalue of that type. */
#define THREAD_OWN(owner, type)                                                                    \
    (*(type *)(void *)(thread_own()->owner +                                                       \
                       0 * sizeof(char[sizeof(type) <= sizeof thread_own()->owner ? 1 : -1])))

#endif
