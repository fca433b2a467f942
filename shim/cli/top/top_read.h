/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One reading of the counters that processes of this node share (shim/record/counts/live.h). Any
 * program of that user may have written the counters, so nothing of them is trusted beyond its
 * bounds.
 *
 * Thread rule: one thread.
 */
#ifndef COLLSHIM_SHIM_CLI_TOP_READ_H
#define COLLSHIM_SHIM_CLI_TOP_READ_H

#include <sys/types.h>

#include "shim/record/counts/live_layout.h"

/* One backend's counters in one process. Texts hold no control characters. */
struct top_counters {
    pid_t pid, parent;
    unsigned uid;
    int nccl;       /* else MPI */
    int rank, size; /* -1, 0: not known */
    char job[64];   /* the scheduler's number; without one, the launcher's process, or its own */
    const char *scheduler; /* NULL: none */
    char program[256];
    dev_t device; /* which file it is */
    ino_t inode;
    int fd;        /* its number in that process */
    int ended;     /* the counters are no longer its own; only where wanted */
    int has_roll;  /* of the size that this build knows */
    int here;      /* ranks of the job on this node, by its launcher; 0: not known */
    double when;   /* seconds, monotonic */
    char host[64]; /* as the process has it */
    struct live_counts counts;
};

/* Why counters that are there are not shown. */
enum top_skip { TOP_FOREIGN, TOP_GARBAGE, TOP_MANY, TOP_SKIPS };

struct top_reading {
    struct top_counters *list; /* owned; by job, then process */
    int n, room;
    struct {
        int n;
        pid_t pid;        /* of the first */
        char version[32]; /* of collshim there; "": not known */
    } skipped[TOP_SKIPS];
    int closed; /* processes of others, whose files this user cannot see */
    int with_ended;
};

/* wanted: a job's number, a process, or a launcher; NULL: all. with_ended: also processes behind
   MPI_Finalize. Returns 0, or -1 with errno. The caller frees it with top_free, also then. */
int top_read(struct top_reading *r, const char *wanted, int with_ended);
void top_free(struct top_reading *r);

/* The same process's counters in another reading, borrowed; NULL: they are not there. */
const struct top_counters *top_same(const struct top_reading *r, const struct top_counters *c);

/* Is there such a process, and may its files be seen? uid: its user's. */
enum top_access { TOP_ABSENT, TOP_CLOSED, TOP_OPEN };
enum top_access top_may_see(const char *pid, unsigned *uid);

#endif
