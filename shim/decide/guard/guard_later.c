/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/decide/guard/guard_later.h"

enum { MOST_PAUSE = 4096, PARTS = 16 };

/* Calls until the clock is asked first. */
static uint32_t first_pause(const struct guard_clock *c)
{
    return c->lag > GUARD_PAUSE ? c->lag : GUARD_PAUSE;
}

void guard_later_begin(struct guard_clock *c)
{
    c->pause = c->waited = first_pause(c);
}

int guard_later_wants_more(const struct guard_entry *e)
{
    return !e->evidence.rounds && e->turns.rounds < GUARD_ROUNDS;
}

/* Twice as long until that is GUARD_LATER_ASK calls more. */
static uint32_t without_lag(uint32_t waited)
{
    uint32_t part = waited / PARTS;

    return part > GUARD_LATER_ASK ? part : waited > GUARD_LATER_ASK ? GUARD_LATER_ASK : waited;
}

void guard_later_wait(struct guard_clock *c)
{
    uint32_t more = c->lag > GUARD_PAUSE ? c->lag / PARTS : without_lag(c->waited);

    c->pause = more < MOST_PAUSE ? more : MOST_PAUSE;
    c->waited += c->pause;
}

/* The lag is what was waited, or somewhat less, which the next round tries. */
void guard_later_learn(struct guard_clock *c)
{
    uint32_t most = MOST_PAUSE;

    c->lag = c->waited - c->waited / PARTS;
    if (c->lag > most)
        c->lag = most;
}

int guard_later_is_over(const struct guard_entry *e)
{
    return e->clock.later && !e->verdict.known &&
           e->calls + 2 * GUARD_ROUND + first_pause(&e->clock) > GUARD_LATER_CALLS;
}
