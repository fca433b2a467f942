/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Correcting the division of the two paths by what they took: from times to the next share.
 *
 * The devices' time is taken to be proportional to their part. So is the host's at first. From the
 * second share on it is a straight line through the last two, because small parts are slow to
 * start. The next share is where the two meet. When the paths end close to each other, the last
 * share of the round is 0, so that two paths stay only if they were faster than one. The share then
 * stays until the paths have drifted apart for some calls. If one path was faster, it stays until
 * the next look; looks become rarer.
 *
 * Calls measure rates better than a benchmark in the job: all ranks work, the size is the right
 * one, and the measurement is free. Without known rates the first share is CORRECT_PROBE. It is so
 * small that it ends long before the devices do, and large enough to be timed. A time is the least
 * of two calls: a disturbance only makes a call longer, and the first call meets cold memory. Every
 * new share is a new plan, so there are few of them.
 *
 * The times are the slowest rank's of each path, agreed on by all ranks (as guard_note's are).
 * Shares are a pure function of them, so all ranks get the same. This file uses no clock and no
 * MPI.
 */
#ifndef COLLSHIM_PLANNERS_COLLABORATIVE_CORRECT_H
#define COLLSHIM_PLANNERS_COLLABORATIVE_CORRECT_H

#include <stdint.h>

enum {
    CORRECT_PROBE = 100, /* of SPLIT_WHOLE (split.h) */
    CORRECT_STEPS = 5,   /* shares that a round tries at most, before none at all */
    CORRECT_CALLS = 2    /* calls with each */
};

struct correction {
    int share;           /* to be used now, of SPLIT_WHOLE through the host */
    int best;            /* of this round */
    double least;        /* seconds of the later path with it */
    double device, host; /* the least of this share's calls */
    int last;            /* the share before, or 0; and its host path's time */
    double last_host;
    uint16_t rest, patience; /* calls until another look where one path was faster */
    uint8_t calls, steps, apart, settled;
};

/* Begin with that share; 0: with CORRECT_PROBE. SPLIT_WHOLE stays, because there is no second path.
 */
void correction_begin(struct correction *c, int share);

/* Begin with a share that was settled before, perhaps in another job: it stays like one settled
   here. */
void correction_resume(struct correction *c, int share);

/* A call with c->share took its paths so long; > 0, but 0 of a host path without a share. Returns 1
   if c->share has changed. */
int correction_note(struct correction *c, double device_seconds, double host_seconds);

#endif
