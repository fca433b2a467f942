/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/decide/choose/exchange_state.h"

enum { MOST_LEVEL = 7 }; /* at level k the next 2^(k-1) calls pass */
_Static_assert(1 << (MOST_LEVEL - 1) == EXCHANGE_MOST_WAIT, "levels end at the longest wait");

/* Parts of the time of direct messages. */
static const double to_begin = .9, to_stay = .95;

uint32_t exchange_passed(const struct exchange_state *w)
{
    return w->level ? 1u << (w->level - 1) : 0;
}

static void begin_to_wait(struct exchange_state *w)
{
    uint32_t least = !w->active ? 0 : w->slower ? EXCHANGE_REST : EXCHANGE_PERIOD;

    w->level += w->level < MOST_LEVEL;
    uint32_t wait = exchange_passed(w);
    w->wait = wait > least ? wait : least;
    w->active = w->left = w->vain = w->slower = w->fresh = 0;
}

static int mostly_vain(const struct exchange_state *w)
{
    return w->vain > EXCHANGE_PERIOD / 2;
}

enum exchange_action exchange_next(struct exchange_state *w)
{
    if (w->active) {
        w->left -= w->left > 0;
        w->fresh = 0;
        return EXCHANGE_TELL;
    }
    if (!w->wait)
        return EXCHANGE_ASK;
    w->wait--;
    return EXCHANGE_PASS;
}

int exchange_wants_prediction(const struct exchange_state *w)
{
    return !w->active || !w->left;
}

int exchange_predicted(struct exchange_state *w, double direct, double balanced)
{
    double share = w->active ? to_stay : to_begin;

    if (!(balanced <= direct * share) || direct <= 0 || (w->active && mostly_vain(w))) {
        begin_to_wait(w);
        return 0;
    }
    if (w->active)
        w->level = 0; /* it has lasted */
    w->fresh = !w->active;
    w->active = 1;
    w->left = EXCHANGE_PERIOD;
    w->vain = w->slower = 0;
    return 1;
}

static void was_native(struct exchange_state *w, int slower)
{
    if (w->active) {
        w->vain += w->vain < EXCHANGE_PERIOD;
        w->slower |= (unsigned)slower & 1;
        if (!(w->fresh && slower) && (w->left || !mostly_vain(w)))
            return;
    }
    begin_to_wait(w);
}

void exchange_was_vain(struct exchange_state *w)
{
    was_native(w, 0);
}

void exchange_was_slower(struct exchange_state *w)
{
    was_native(w, 1);
}
