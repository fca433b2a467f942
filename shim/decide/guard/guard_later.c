/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/decide/guard/guard_later.h"

enum { MOST_PAUSE = 4096, PARTS = 16 };

void guard_later_begin(struct guard_entry *e)
{
    e->pause = e->waited = e->lag > GUARD_PAUSE ? e->lag : GUARD_PAUSE;
}

int guard_later_wants_more(const struct guard_entry *e)
{
    return !e->evidence.rounds && e->rounds < GUARD_ROUNDS;
}

/* Twice as long until that is GUARD_LATER_ASK calls more. */
static uint32_t without_lag(uint32_t waited)
{
    uint32_t part = waited / PARTS;

    return part > GUARD_LATER_ASK ? part : waited > GUARD_LATER_ASK ? GUARD_LATER_ASK : waited;
}

void guard_later_wait(struct guard_entry *e)
{
    uint32_t more = e->lag > GUARD_PAUSE ? e->lag / PARTS : without_lag(e->waited);

    e->pause = more < MOST_PAUSE ? more : MOST_PAUSE;
    e->waited += e->pause;
}

/* The lag is what was waited, or somewhat less, which the next round tries. */
void guard_later_learn(struct guard_entry *e)
{
    uint32_t most = MOST_PAUSE;

    e->lag = e->waited - e->waited / PARTS;
    if (e->lag > most)
        e->lag = most;
}

int guard_later_is_over(const struct guard_entry *e)
{
    uint32_t wait = e->lag > GUARD_PAUSE ? e->lag : GUARD_PAUSE;

    return e->later && !e->verdict.known && e->calls + 2 * GUARD_ROUND + wait > GUARD_LATER_CALLS;
}
