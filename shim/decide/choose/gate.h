/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Is a call worth a look at its communicator? The settings alone decide, the same on all ranks.
 * Inlined, because most calls of a program end here. A backend does the other tests itself.
 */
#ifndef COLLSHIM_SHIM_DECIDE_GATE_H
#define COLLSHIM_SHIM_DECIDE_GATE_H

#include "shim/decide/base/reasons.h"
#include "shim/decide/base/settings.h"

static inline enum reason gate_collective(enum plan_collective c)
{
    const struct choice *choice = &settings.choice[c];

    return choice->native ? REASON_CHOSEN : !choice->served ? REASON_NO_ALGORITHM : REASON_NONE;
}

/* total: bytes of the whole collective. */
static inline enum reason gate_bytes(uint64_t total)
{
    return total < settings.cfg.min_bytes ? REASON_SMALL : REASON_NONE;
}

/* Are all calls of the collective that can be rerouted to be rerouted, at any gain? */
static inline int gate_always(enum plan_collective c)
{
    return !settings.cfg.min_bytes || settings.choice[c].forced || settings.choice[c].variant[0];
}

/* rounds: the order in which it combines changes its result. */
static inline enum reason gate_rounding(int rounds)
{
    return rounds && settings.cfg.exact ? REASON_EXACT : REASON_NONE;
}

#endif
