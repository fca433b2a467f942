/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program's view from its first call on: the preload's own decisions, against the library's own
 * choice, call by call in pairs, on a fresh communicator. Answers two questions: is any size slower
 * once the preload has settled, and what did settling cost?
 */
#ifndef BENCH_SETTLE_H
#define BENCH_SETTLE_H

#include "algorithms.h"
#include "stats.h"
#include "sweep.h"

struct bench_settled {
    const struct bench_collective *row;
    size_t bytes;
    int calls;                          /* of each contender */
    struct bench_stats native, settled; /* us; of all native calls, of the preload's later ones */
    double behind;                      /* settled / native - 1, of the medians */
    double cost; /* of the first 40 calls, as excess over as many native calls, in parts of 200
                    native calls */
    double
        noise; /* the same of later calls, as many at a time, at the most; their mean taken off */
    double bound_us; /* 0: not known */
    int verified;
};

enum { BENCH_SETTLE_CALLS = 200 }; /* against which the cost is counted */
/* The calls in which a guard makes most of its trials. More calls would add only noise of the
   machine, up to a tenth of 200 calls' time. */
enum { BENCH_TRIAL_CALLS = 40 };

/*
 * Collective over the job. auto_algorithm: the library's own choice; comm: the preload's, fresh or
 * used by smaller sizes of this collective. The number of pairs is that of --settle. It is lower
 * (but at least 80) if they take longer than limit_s, and up to ten times higher if they take less
 * than 4 s. Returns 0, -EOVERFLOW or -ENOMEM, the same on all ranks.
 */
int bench_settle_size(const struct bench_run *run, const struct bench_collective *row,
                      const struct bench_algorithm *auto_algorithm, MPI_Comm comm, size_t bytes,
                      struct bench_settled *result);

/* A contender that has the job to itself, in us. */
struct bench_lone {
    const struct bench_collective *row;
    const char *name; /* borrowed */
    size_t bytes;
    int calls;
    double first, early;        /* the first call; the mean of the first 40, or of all if fewer */
    struct bench_stats settled; /* of the last quarter */
    int verified;
};

/*
 * As bench_settle_size, but all calls are of that contender: the library's own choice on its
 * communicator, or on comm what the application calls, if auto_algorithm is NULL. There are as many
 * calls as --settle says, or fewer (but at least 24) if they take longer than limit_s.
 */
int bench_settle_lone(const struct bench_run *run, const struct bench_collective *row,
                      const struct bench_algorithm *auto_algorithm, MPI_Comm comm, size_t bytes,
                      struct bench_lone *result);

void bench_settle_lone_print(FILE *out, const struct bench_lone *result, int first);
int bench_settle_lone_json(FILE *out, const struct bench_run *run, const struct bench_lone *result);

/* A line per size; heading first if it is the first. */
void bench_settle_print(FILE *out, const struct bench_settled *result, int first);
/* Returns 0 or -EIO. */
int bench_settle_json(FILE *out, const struct bench_run *run, const struct bench_settled *result);

#endif
