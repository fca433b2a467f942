/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When an exchange of unequal messages (Alltoallv) is looked at, and when it is rerouted. A rank
 * knows what it sends and receives itself; all else costs a message. So a communicator is
 *   - inactive: calls run natively without a word, but now and then one asks: are the sizes large,
 *     and would balancing help? After each question in vain the next 1, 2, 4 ... 64 calls pass;
 *   - active: each call tells all ranks who sends how much, and is rerouted (if the guard agrees).
 *
 * To become active balancing must be predicted to gain a tenth, to stay so a twentieth. The state
 * changes at most once in WATCH_WINDOW calls, and where it does not last two windows the next
 * question comes later; so demands that change from call to call cannot make it oscillate. It ends
 * too where most calls of a window run natively all the same; where they do because the library was
 * measured to be as fast, it rests for long, and a new attempt ends with its first such call.
 *
 * All of it follows from agreed values and the number of calls, and is the same on all ranks. The
 * memory is one word: nothing to allocate, nothing that could fail on one rank. No MPI, no clock.
 */
#ifndef COLLSHIM_SHIM_DECIDE_WATCH_H
#define COLLSHIM_SHIM_DECIDE_WATCH_H

#include <stdint.h>

enum { WATCH_WINDOW = 8, WATCH_MOST_WAIT = 64, WATCH_REST = 256 };

/* All zero at first. */
struct watch {
    uint32_t wait : 9;   /* inactive: calls that pass before the next question */
    uint32_t level : 3;  /* questions in vain so far, up to a limit */
    uint32_t active : 1; /* calls are exchanged */
    uint32_t left : 4;   /* active: calls of the window */
    uint32_t vain : 4;   /* active: calls of the window that ran natively all the same */
    uint32_t slower : 1; /* active: one of them because it was measured */
    uint32_t fresh : 1;  /* active: since this call */
    uint32_t seen : 1;   /* the caller's */
    uint32_t foreign : 1;
};

enum watch_turn {
    WATCH_PASS,    /* run natively */
    WATCH_ASK,     /* ask how large it is, and if it is large, what balancing would gain */
    WATCH_EXCHANGE /* tell all ranks who sends how much */
};

/* What this call does; counts it. */
enum watch_turn watch_turn(struct watch *w);

/* Is it time for a prediction, if the call is not too small to be worth any? */
int watch_wants_prediction(const struct watch *w);

/* How busy the busiest link would be; 0: not known. Returns whether to reroute now. */
int watch_predicted(struct watch *w, double direct, double balanced);

/* The call that was asked about or exchanged ran natively: it was too small, or the like. */
void watch_was_vain(struct watch *w);

/* It ran natively because the library was measured to be as fast. */
void watch_was_slower(struct watch *w);

#endif
