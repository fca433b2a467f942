/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Machines: how long calls of a few contenders take on all ranks, as drawn by chance (README.md
 * says from what) or as recorded. Same seed, same machine.
 */
#ifndef COLLSHIM_BENCH_REGRET_MACHINE_H
#define COLLSHIM_BENCH_REGRET_MACHINE_H

#include <stdint.h>

enum { MOST_ARMS = 5, MOST_CLASSES = 4, MOST_RANKS = 512, FIRST = 200, AFTER = 10000 };
enum { CALLS = FIRST + AFTER };

struct rng {
    uint64_t state;
};
double rng_uniform(struct rng *r); /* 0 <= x < 1 */
double rng_between(struct rng *r, double low, double high);
double rng_log_between(struct rng *r, double low, double high);
double rng_normal(struct rng *r);

enum sizes { SIZES_ONE, SIZES_TWO, SIZES_NEW };

struct machine {
    int arms, ranks, classes;
    double agree;                         /* the time of an agreement, in calls of the best */
    double mean[MOST_CLASSES][MOST_ARMS]; /* of a call, in the library's, slow mode included */
    double fast[MOST_CLASSES][MOST_ARMS]; /* without it */
    double predicted[MOST_ARMS];          /* by the model, of arms 1 ... */
    double cold[MOST_ARMS];               /* the extra time of the first call */
    double noise, rank_noise;             /* standard deviation, as a share: of a call, a rank */
    double hiccup;                        /* share of calls in which some rank has one */
    double slow_share, slow_by;           /* of the arm with two modes */
    int slow_arm;                         /* -1: none */
    int change_at, change_arm;            /* at this call it takes so many times as long */
    double change_by;
    enum sizes sizes;
    int in_turn; /* classes: call by call; else each begins when the one before has had FIRST */
    float level[CALLS];        /* the whole machine: so many times as long */
    const struct trace *trace; /* borrowed; NULL: made up */
    int from;                  /* where in the trace the first call is */
    struct rng rng;            /* for the noise */
};

/* The lines that record.c has written: seconds of two contenders, in turn. */
struct trace {
    const char *name; /* owned */
    int n;
    double (*seconds)[2]; /* owned */
    double (*mean)[2];    /* owned: around that call, with all that was held up */
};

/* Returns 0 or a negative code. Free with trace_free. */
int trace_read(const char *path, struct trace *t);
void trace_free(struct trace *t);

/* A machine that does what was recorded, from a place in it that depends on the seed. */
void machine_replay(struct machine *m, const struct trace *t, uint64_t seed);

void machine_make(struct machine *m, uint64_t seed);

/* The mean time of a call, in the library's. */
double machine_mean(const struct machine *m, int class, int arm, int call);
int machine_best(const struct machine *m, int class, int call);

/* Bytes of call number `call` of that class. */
uint64_t machine_bytes(struct machine *m, int class, int call);

/* Each rank's measurement; cold: on top, for the first call. */
void machine_call(struct machine *m, int class, int arm, int call, double cold, uint64_t bytes,
                  double seconds[MOST_RANKS]);

/* How long all ranks agree, as each of them measures it. */
double machine_agreement(const struct machine *m, int class);

#endif
