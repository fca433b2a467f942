/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Correcting the division of the two paths by what they took: from times to the next share.
 *
 * Each path's time is taken to be proportional to its part, so one pair of times says where both
 * would end together. The share goes there once, and then half of the way, since times are noisy
 * and no path is quite proportional. It is left alone when the paths end close to each other, and
 * opened again when they have drifted apart for a while. A time is the least of a few calls: what
 * disturbs a call only makes it longer, and the first one meets cold memory. Every new share is a
 * new plan, so there are few of them: a round of corrections ends on the best share it has seen.
 *
 * The times are the slowest rank's of each path, agreed on by all ranks (as guard_note's are); then
 * all ranks get the same shares, being a pure function of them. No clock and no MPI in here.
 */
#ifndef COLLSHIM_PLANNERS_COLLABORATIVE_CORRECT_H
#define COLLSHIM_PLANNERS_COLLABORATIVE_CORRECT_H

#include <stdint.h>

enum {
    CORRECT_STEPS = 6, /* shares that a round tries at most */
    CORRECT_CALLS = 3  /* calls with each */
};

struct correction {
    int share;           /* to be used now, of SPLIT_WHOLE through the host (split.h) */
    int best;            /* of this round */
    double least;        /* seconds of the later path with it */
    double device, host; /* the least of this share's calls */
    uint8_t calls, steps, apart, settled;
};

/* Begin with that share. 0 or SPLIT_WHOLE is one path alone: there is nothing to correct, ever. */
void correction_begin(struct correction *c, int share);

/* A call with c->share took its paths so long, > 0 each. Returns 1 if c->share has changed. */
int correction_note(struct correction *c, double device_seconds, double host_seconds);

#endif
