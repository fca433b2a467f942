/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ranks that wait in one job, and those they wait for. On each communicator the ranks' last
 * calls are compared by their numbers. A rank is late if it has not made the call that others wait
 * in. The ones to blame are late and wait in no collective themselves.
 *
 * Thread rule: one thread.
 */
#ifndef COLLSHIM_SHIM_CLI_VERDICT_H
#define COLLSHIM_SHIM_CLI_VERDICT_H

#include "shim/cli/stuck/roll_call.h"

enum stuck_why {
    STUCK_NOT,       /* no rank waits */
    STUCK_ALL_IN,    /* all ranks have made the call */
    STUCK_LATE,      /* ranks have not made it */
    STUCK_DIFFERENT, /* ranks have made another one: in that order the worse */
};

/* One process on one communicator. */
struct stuck_member {
    const struct stuck_process *process; /* borrowed */
    const struct stuck_line *line;       /* borrowed */
    int blamed;
};

struct stuck_group {
    struct stuck_member *member; /* [n], borrowed from struct verdict; by rank */
    int n;
    enum stuck_why why;
    uint64_t number;           /* of the call that it is about */
    int waiting, late, absent; /* ranks; absent: no process of theirs was found */
    double age;                /* seconds, of the one that waits longest */
};

struct verdict {
    const struct stuck_process *process; /* borrowed: of one job */
    int n;
    struct stuck_member *members; /* owned */
    struct stuck_group *group;    /* [groups] owned; the worst first */
    int groups;
    char *waits; /* [n] owned: the process waits in a call that others have not made */
    int size;    /* ranks of the job; 0: not known */
    int absent;  /* of these, without a process here */
    int gone;    /* they have ended: as many processes are missing on hosts that were asked */
    const char *gone_host; /* of all of them; NULL: several, or not known */
    double left; /* seconds until something will have waited for as long as it may; HUGE_VAL: no
                    rank waits */
    int stuck;   /* it has */
};

/* patience: seconds for which ranks may wait; ranks that compute get ten times that. Returns 0, or
   -1: no memory. End with verdict_free, also then. */
int verdict_of(struct verdict *v, const struct stuck_process *list, int n, double patience);
void verdict_free(struct verdict *v);

/* The call of that number, or NULL: it was not made, or is forgotten. */
const struct stuck_call *stuck_call_at(const struct stuck_line *l, uint64_t number);

/* Does it take processor time? */
int stuck_is_busy(const struct stuck_process *p);
int stuck_is_stopped(const struct stuck_process *p);

/* Print it (verdict_show.c). name: of the job. */
void verdict_print(FILE *f, const struct verdict *v);

#endif
