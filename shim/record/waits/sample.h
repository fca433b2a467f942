/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Samples of blocking collectives: when this rank entered and left. A series holds those of one
 * collective on one communicator. Ranks count its calls alike, and which calls are kept follows
 * from the count alone, so all ranks keep the same ones without a message. The choice looks
 * random: every k-th call would be the same line of a loop with k calls. A full series drops half
 * of its samples, so that they always lie over the whole job. So does the store of those whose
 * communicator is gone, by the communicator.
 *
 * Thread rule: a series is its communicator's, one thread at a time; making and ending one are for
 * any thread.
 * Reading them is for one thread when calls are over.
 */
#ifndef COLLSHIM_SHIM_RECORD_SAMPLE_H
#define COLLSHIM_SHIM_RECORD_SAMPLE_H

#include <stdint.h>

#include "planners/plan/collective.h"
#include "shim/record/sites/call_site_table.h"

enum { SAMPLES = 256, SERIES_MOST = 128, ENDED_MOST = 4096, ENDED_EACH = 16 };

/* By the meaning of a collective: do others wait for this rank in it, does it wait for others? */
enum { SAMPLE_COMES = 1, SAMPLE_WAITS = 2 };

struct sample {
    uint64_t number;            /* of the call in its series, from 1 on */
    uint64_t entry, exit;       /* nanoseconds, this host's monotonic clock */
    uint64_t work;              /* from the end of this thread's collective before until entry */
    uint64_t combining, landed; /* as in struct site_call */
    uint16_t row;               /* of the table of call sites */
    uint8_t role;
};

struct series_key {
    uint64_t comm;       /* the same on all ranks of the communicator */
    uint32_t ranks;      /* of it */
    uint32_t collective; /* enum plan_collective, or SITE_BARRIER */
};

struct series {
    struct series *next; /* of all; borrowed */
    struct series_key key;
    uint64_t calls, mask;
    int n;
    struct sample kept[SAMPLES];
};

/* The caller ends it. NULL: there is no memory, or there are SERIES_MOST already. */
struct series *series_make(const struct series_key *key);

/* Its communicator goes: some of its samples stay, the memory does not. NULL is fine. */
void series_end(struct series *series);

/* All samples, one after the other, from an all-zero place on. NULL: no more. */
struct sample_place {
    const struct series *series;
    int begun, i;
};
const struct sample *sample_next(struct sample_place *at, struct series_key *key);

/* A rank's role in a collective; 0: in one where a rank waits for some others only (Scan,
   Exscan, neighbours), which are not sampled. */
unsigned sample_role(unsigned collective, int is_root);

/* Will the next call be kept, if the series does not become full? */
int series_keeps_next(const struct series *series);

/* One more call; s->number is filled in here. */
void series_add(struct series *series, struct sample s);

#endif
