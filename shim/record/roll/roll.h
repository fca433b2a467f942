/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writing the roll. A handle of the library (a communicator, a request) leads to its line.
 *
 * Thread rule: any thread; MPI and NCCL let one thread at a time call on a communicator. A reader
 * that sees a state twice, some time apart, has read a whole call in between.
 */
#ifndef COLLSHIM_SHIM_RECORD_ROLL_H
#define COLLSHIM_SHIM_RECORD_ROLL_H

#include "shim/record/roll/roll_layout.h"

extern struct roll *roll; /* NULL: not kept */

/* Is it to be kept, by the settings? */
int roll_is_wanted(void);

/* Keep it there, in memory that is all 0; NULL: no more. One thread. */
void roll_place(struct roll *memory);

/* The line of a handle; NULL: it has none. *known: the handle is, or there is no room for others.
   Only while the roll is kept. */
struct roll_line *roll_find(uintptr_t handle, int *known);

/* A line for a handle. id 0, or no room: the handle is known, and has no line. Any thread, one at a
   time for a handle. */
struct roll_line *roll_add(uintptr_t handle, uint64_t id, int size, int rank);

/* The handle is gone. */
void roll_drop(uintptr_t handle);

/* A call begins: l may be NULL. Returns l. */
static inline struct roll_line *roll_enter(struct roll_line *l, struct roll_call call)
{
    if (l) {
        call.number = l->state / 2 + 1;
        l->call[call.number % ROLL_CALLS] = call;
        __atomic_store_n(&l->state, 2 * call.number + (call.form != ROLL_STARTED),
                         __ATOMIC_RELEASE);
    }
    return l;
}

static inline void roll_leave(struct roll_line *l)
{
    if (l)
        __atomic_store_n(&l->state, l->state & ~1ull, __ATOMIC_RELEASE);
}

/* The call site of a function that returns to `from`; cfa: as of caller_site. Addresses that came
   before are found by one look, unless a binding of MPI is there. */
enum { ROLL_SEEN = 256 };
extern uint64_t roll_seen[ROLL_SEEN]; /* 2^16 * address + site */
uint16_t roll_new_site(const void *from, const char *cfa);
static inline uint16_t roll_site(const void *from, const char *cfa)
{
    uintptr_t address = (uintptr_t)from;
    uint64_t seen =
        __atomic_load_n(&roll_seen[(address ^ address >> 8) % ROLL_SEEN], __ATOMIC_RELAXED);

    return seen >> 16 == address ? (uint16_t)seen : roll_new_site(from, cfa);
}

#endif
