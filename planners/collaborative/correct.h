/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Correcting the division of the two paths by what they took: from times to the next share.
 *
 * The devices' time is taken to be proportional to their part. So is the host's at first, and from
 * the second share on it is a straight line through the last two: small parts take a while to begin
 * and would make it seem slow. The next share is where the two meet. When the paths end close to
 * each other, the last share of the round is none at all, so that two paths are kept only where
 * they were seen to be faster than one. Then it is left alone until they have drifted apart for a
 * while; and where one path was faster, until it is time to look again, which becomes rarer.
 *
 * Calls measure rates better than a benchmark in the job could: all ranks are at work, in the size
 * that counts, and it costs nothing. Without known rates the first share is CORRECT_PROBE: so
 * little that it is done long before the devices are, so nothing is lost by trying, and yet enough
 * to be timed. A time is the least of two calls: what disturbs a call only makes it longer, and the
 * first one meets cold memory. Every new share is a new plan, so there are few of them.
 *
 * The times are the slowest rank's of each path, agreed on by all ranks (as guard_note's are); then
 * all ranks get the same shares, being a pure function of them. No clock and no MPI in here.
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

/* Begin with that share; 0: with CORRECT_PROBE. SPLIT_WHOLE stays, for want of a second path. */
void correction_begin(struct correction *c, int share);

/* Begin with a share that was settled before, perhaps in another job: it stays like one settled
   here. */
void correction_resume(struct correction *c, int share);

/* A call with c->share took its paths so long; > 0, but 0 of a host path without a share. Returns 1
   if c->share has changed. */
int correction_note(struct correction *c, double device_seconds, double host_seconds);

#endif
