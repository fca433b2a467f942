/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Deciding and planning compute in the default floating-point mode, on all ranks alike. A program
 * that rounds upwards on one rank, traps overflows or flushes small numbers would otherwise get
 * another answer there, or a signal. The mode is set where a call leaves the fast path. The
 * program's own arithmetic runs in the program's mode: reductions, and the library's work
 * meanwhile, such as a nonblocking reduction of the program's.
 *
 * Both are for a scope: FLOATS_OURS; or FLOATS_THEIRS; among the declarations of a function. At
 * its end the thread's mode and its flags are as they were before, except for flags and modes that
 * the program's own code has set meanwhile. A jump out of program code leaves the program's mode.
 *
 * Thread rule: any thread, each for itself. Where thread_own is shared, nothing is set.
 */
#ifndef COLLSHIM_SHIM_DECIDE_FLOATS_H
#define COLLSHIM_SHIM_DECIDE_FLOATS_H

#include "shim/decide/base/thread_own.h"
#include "transports/base/float_mode.h"

struct floats_thread {
    struct float_mode program; /* while `ours` */
    int ours;
};

/* Returns 1 if the mode was the program's. */
static inline int floats_enter(void)
{
    struct floats_thread *t = &THREAD_OWN(floats, struct floats_thread);

    if (t->ours || !thread_own_at)
        return 0;
    float_mode_read(&t->program);
    struct float_mode mode = float_mode_default(&t->program);
    float_mode_write(&mode, &t->program);
    t->ours = 1;
    return 1;
}

/* Returns 1 if the mode was ours. */
static inline int floats_leave(void)
{
    struct floats_thread *t = &THREAD_OWN(floats, struct floats_thread);
    struct float_mode now;

    if (!t->ours)
        return 0;
    float_mode_read(&now);
    float_mode_write(&t->program, &now);
    t->ours = 0;
    return 1;
}

/* The program's, in either. */
static inline struct float_mode floats_of_program(void)
{
    const struct floats_thread *t = &THREAD_OWN(floats, struct floats_thread);
    struct float_mode now;

    if (t->ours)
        return t->program;
    float_mode_read(&now);
    return now;
}

/* At the end of a scope. changed: what its beginning returned. */
static inline void floats_end_ours(const int *changed)
{
    if (*changed)
        (void)floats_leave();
}

static inline void floats_end_theirs(const int *changed)
{
    if (*changed)
        (void)floats_enter();
}

#define FLOATS_OURS                                                                                \
    __attribute__((cleanup(floats_end_ours), unused)) const int floats_changed = floats_enter()
#define FLOATS_THEIRS                                                                              \
    __attribute__((cleanup(floats_end_theirs), unused)) const int floats_changed = floats_leave()

#endif
