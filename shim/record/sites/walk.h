/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stack, by libunwind, which is opened at run time: the preload links libc alone, and machines
 * without it lose no more than the callers' names.
 */
#ifndef COLLSHIM_SHIM_RECORD_WALK_H
#define COLLSHIM_SHIM_RECORD_WALK_H

#include <stddef.h>
#include <stdint.h>

struct walk_frame {
    uintptr_t ip;    /* a return address */
    uintptr_t cfa;   /* the stack pointer there */
    uintptr_t ip_at; /* where on the stack ip was found; 0: not known */
};

/* Open the library. Again: nothing. One thread. */
void walk_open(void);

/*
 * Frames from the one of return address ip and stack pointer cfa outwards, that one first. At most
 * `most`, and at most 24 further in are passed. Returns how many; 0: no libunwind, or it did not
 * find that one.
 */
int walk_frames(uintptr_t ip, uintptr_t cfa, struct walk_frame *frame, int most);

#endif
