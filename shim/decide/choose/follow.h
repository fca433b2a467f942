/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rails that change while a job runs. Each rank compares the time of a rerouted call with the usual
 * time of such calls on the slowest rank. Every few calls all ranks agree, by one small reduction,
 * on how much slower than usual the last two calls were, on the rank that waited most. Other calls
 * add no message. Agreements cost at most a 400th of the calls' time. Two slow calls in a row make
 * all ranks measure their rails anew. Noise slows single calls, and a rail all of them: so each
 * measurement without a change asks for one more slow agreement in a row, up to five. Calls hardly
 * use a rail that is planned as slow, so a probe of a few bytes tests from time to time whether it
 * still is. Measurements that find no change come ever further apart, and so do those of rails that
 * change often. follow.c has the costs of noise and of a flapping rail.
 *
 * All ranks make the same calls and hear the same numbers, so all are at the same point. No MPI, no
 * clock. Thread rule: the communicator's: one thread at a time.
 */
#ifndef COLLSHIM_SHIM_DECIDE_FOLLOW_H
#define COLLSHIM_SHIM_DECIDE_FOLLOW_H

#include <stdint.h>

enum { FOLLOW_KINDS = 32, FOLLOW_LEAST_APART = 3, FOLLOW_VALUES = 4 };

/* All zero at first. */
struct follow {
    struct follow_kind {
        uint32_t key;
        uint8_t agreed, fast; /* agreements that told of it, the first few; the last one told of
                                 less than is usual */
        double usual;         /* seconds of the slowest rank by the caller's measure of work */
    } of[FOLLOW_KINDS];
    double ratio[2]; /* of the last call and the one before: time through the usual; 0: not known */
    double now;      /* seconds of the last call by its work */
    double seconds;  /* of the calls since the last agreement */
    double agreement; /* seconds that the last one took here */
    double per_call;  /* agreed: seconds of a call before the last agreement */
    uint32_t key;     /* of the last call */
    uint32_t calls;   /* in all */
    uint32_t since;   /* the last agreement */
    uint32_t apart;   /* calls from one agreement to the next */
    uint32_t rest;    /* calls that pass before rails are measured again */
    uint32_t quiet;   /* calls without a change until changes count as rare again */
    uint32_t probe;   /* calls that pass before the next probe; */
    uint32_t probing; /* from one to the next; 0: all rails are equal */
    uint8_t vain;     /* measurements without a change, one after the other */
    uint8_t slow;     /* agreements in a row that told of slow calls */
    uint8_t changes;  /* that came soon one after the other */
    double beyond;    /* times the least, when a measurement found no change; 0: never */
    double least_of;  /* the last call's time through the least, if its kind is new; else 0 */
};

/* Is it not known yet what calls of that kind usually take? */
int follow_is_new(const struct follow *f, uint32_t key);

/* A call has ended that was rerouted; key: of what kind, not 0; work: what its time is proportional
   to, such as bytes. least: seconds that its rails need for it, as they are planned; 0: not known.
   That stands for what is usual while a kind is new, or the first calls would make slow rails
   usual. */
void follow_call(struct follow *f, uint32_t key, double seconds, double work, double least);

/* Is it time for an agreement? Asked behind each call. */
int follow_due(const struct follow *f);

/* This rank's values, of which all ranks get the largest. */
void follow_tell(const struct follow *f, double value[FOLLOW_VALUES]);

/* The agreed values; agreement: seconds that agreeing took here. The result is the next action of
   all ranks: */
enum follow_answer { FOLLOW_ON, FOLLOW_PROBE, FOLLOW_MEASURE };
enum follow_answer follow_hear(struct follow *f, const double value[FOLLOW_VALUES],
                               double agreement);

/* Probed: no rail was faster than it is planned. cost: seconds that it took, agreed. */
void follow_probed(struct follow *f, double cost);

/* Measured, which takes `cost` seconds. changed: the plans are to be made anew. unequal: rails are
   not all equal now. probe: seconds that a probe will take. All are equal on all ranks. */
void follow_measured(struct follow *f, int changed, int unequal, double cost, double probe);

#endif
