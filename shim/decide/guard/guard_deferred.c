/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/decide/guard/guard_deferred.h"

enum { MOST_PAUSE = 4096, PARTS = 16 };

/* Calls until the clock is asked first. */
static uint32_t first_pause(const struct guard_clock *c)
{
    return c->lag > GUARD_PAUSE ? c->lag : GUARD_PAUSE;
}

void guard_deferred_begin(struct guard_clock *c)
{
    c->pause = c->waited = first_pause(c);
}

int guard_deferred_wants_more(const struct guard_entry *e)
{
    return !e->evidence.rounds && e->slots.rounds < GUARD_ROUNDS;
}

/* Twice as long until that is GUARD_DEFERRED_ASK calls more. */
static uint32_t without_lag(uint32_t waited)
{
    uint32_t part = waited / PARTS;

    return part > GUARD_DEFERRED_ASK     ? part
           : waited > GUARD_DEFERRED_ASK ? GUARD_DEFERRED_ASK
                                         : waited;
}

void guard_deferred_wait(struct guard_clock *c)
{
    uint32_t more = c->lag > GUARD_PAUSE ? c->lag / PARTS : without_lag(c->waited);

    c->pause = more < MOST_PAUSE ? more : MOST_PAUSE;
    c->waited += c->pause;
}

/* The lag is what was waited, or somewhat less, which the next round tries. */
void guard_deferred_learn(struct guard_clock *c)
{
    uint32_t most = MOST_PAUSE;

    c->lag = c->waited - c->waited / PARTS;
    if (c->lag > most)
        c->lag = most;
}

int guard_deferred_is_over(const struct guard_entry *e)
{
    return e->clock.deferred && !e->verdict.known &&
           e->calls + 2 * GUARD_ROUND + first_pause(&e->clock) > GUARD_DEFERRED_CALLS;
}
