/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When ranks look at an exchange of unequal messages (Alltoallv), and when they reroute it. A rank
 * knows its own sends and receives; all else costs a message. So a communicator is
 *   - inactive: calls run natively without a message, but now and then one asks whether sizes are
 *     large, and whether balancing would gain. After each question answered by no, the next 1, 2, 4
 *     ... 64 calls pass;
 *   - active: in each call all ranks tell each other their sizes, and the call is rerouted (if the
 *     guard agrees).
 *
 * A communicator becomes active if the predicted gain of balancing is a tenth, and stays active
 * while it is a twentieth. The state changes at most once in EXCHANGE_PERIOD calls. If it does not
 * last two periods, the next question comes later. So demands that change from call to call cannot
 * make it oscillate. It also ends if most calls of a period run natively. If they do because the
 * library was measured to be as fast, it rests for long, and a new attempt ends with its first such
 * call.
 *
 * All of it follows from agreed values and the number of calls, and is the same on all ranks. The
 * state is one word, so no allocation can fail on one rank. No MPI, no clock.
 */
#ifndef COLLSHIM_SHIM_DECIDE_EXCHANGE_STATE_H
#define COLLSHIM_SHIM_DECIDE_EXCHANGE_STATE_H

#include <stdint.h>

enum { EXCHANGE_PERIOD = 8, EXCHANGE_MOST_WAIT = 64, EXCHANGE_REST = 256 };

/* All zero at first. */
struct exchange_state {
    uint32_t wait : 9;   /* inactive: calls that pass before the next question */
    uint32_t level : 3;  /* questions answered by no so far, up to a limit */
    uint32_t active : 1; /* calls are exchanged */
    uint32_t left : 4;   /* active: calls of the period */
    uint32_t vain : 4;   /* active: calls of the period that ran natively all the same */
    uint32_t slower : 1; /* active: one of them because it was measured */
    uint32_t fresh : 1;  /* active: since this call */
    uint32_t seen : 1;   /* the caller's */
    uint32_t unpaid : 1; /* the caller's: the last question's call was too early, not too small */
};

enum exchange_action {
    EXCHANGE_PASS, /* run natively */
    EXCHANGE_ASK,  /* ask how large it is, and if it is large, what balancing would gain */
    EXCHANGE_TELL  /* tell all ranks who sends how much */
};

/* The action of this call; counts it. */
enum exchange_action exchange_next(struct exchange_state *w);

/* How many calls at least have passed between the last question and this one? */
uint32_t exchange_passed(const struct exchange_state *w);

/* Is it time for a prediction, if the call is not too small to be worth any? */
int exchange_wants_prediction(const struct exchange_state *w);

/* How busy the busiest link would be; 0: not known. Returns whether to reroute now. */
int exchange_predicted(struct exchange_state *w, double direct, double balanced);

/* The call that was asked about or exchanged ran natively: it was too small, or the like. */
void exchange_was_vain(struct exchange_state *w);

/* It ran natively because the library was measured to be as fast. */
void exchange_was_slower(struct exchange_state *w);

#endif
