/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A schedule in rounds, for libraries that move messages in groups: all messages of a group are
 * under way at the same time, and a group ends when all of them have arrived (NCCL). Work between
 * two rounds is local: copies, and combinations of received data. Rounds are the same on all ranks:
 * a message has the same round at its sender and its receiver, so all ranks' plans are needed. A
 * round therefore waits for earlier rounds only, and cannot hang. Each contribution has its own
 * place in scratch, so all contributions of a round can arrive at once. Those of one destination
 * are combined in one pass. Independent passes run in one launch.
 *
 * Source: none; list scheduling, one piece per queue and round. Thread rule: pure functions; a
 * finished struct rounds is const.
 */
#ifndef COLLSHIM_PLANNERS_ROUNDS_H
#define COLLSHIM_PLANNERS_ROUNDS_H

#include "planners/plan.h"

enum round_kind {
    ROUND_SEND,   /* src -> peer */
    ROUND_RECV,   /* peer -> dst */
    ROUND_COPY,   /* src -> dst */
    ROUND_REDUCE, /* dst = src op with */
};

enum {
    ROUND_SOURCES = 9, /* that are combined in one pass at most */
    ROUND_PASSES = 4   /* in one launch at most */
};

/* The costs of a group and of a launch between two groups, at any size. They are rough: of NCCL
   between nodes (a kernel, its proxies, the way to a peer and back), and of a driver. An H100 took
   31 us by sockets. They decide how finely a schedule is cut, not whether it is correct. */
#define ROUND_GROUP_S 2e-5
#define ROUND_LAUNCH_S 3e-6
/* Rate of one of NCCL's channels for messages; 17.7 GB/s inside an H100. */
#define ROUND_CHANNEL_BYTES_PER_S 2e10

struct round_place {
    uint64_t offset;
    uint8_t buffer; /* enum plan_buffer */
};

struct round_step {
    uint8_t kind;
    uint8_t opens, closes; /* first, last message of its group; of steps that combine: of a launch,
                              whose passes may run in any order */
    uint8_t begins;        /* a pass: what is behind it there has its dst and length, and that dst
                              for src */
    int32_t peer;          /* of messages */
    struct round_place src, dst, with;
    uint64_t length;
};

struct rounds {
    const char *algorithm; /* borrowed from the plan */
    uint32_t nsteps, ngroups;
    double seconds;       /* that all ranks need, by the links; the same on all ranks */
    double launch_s;      /* of these: groups and launches */
    uint64_t whole_bytes; /* a chunk of so many would cut no message; likewise */
    uint64_t chunk_bytes; /* the cut of messages, and the links' load with it */
    uint32_t fast_chunks, taper;
    uint64_t scratch_bytes;        /* the plan's, and places for contributions */
    const struct round_step *step; /* owned, [nsteps] in order */
};

/* The bytes of one round over one queue: a chunk, and more over faster links. */
struct rounds_links {
    const int32_t *group; /* [nranks] borrowed: between ranks of one group links are fast */
    uint32_t fast_chunks; /* at least 1: chunks over these in the time of one over the others */
    uint32_t taper;       /* the first and the last piece of what is cut: so many to a chunk */
    int shared; /* a rank's messages share its links: a round has no more of them than the links
                   carry in the time of a chunk; those with the busiest links first. Without: every
                   ready message moves, in fewer rounds */
    double bytes_per_s[2];  /* of a rank each way: to its group, and beyond */
    uint32_t most_messages; /* that a rank sends and receives in a round; 0: any number, or at least
                               2 */
};

/*
 * The steps of plan[rank]. plan: those of all ranks, for the same request and all in one form (in
 * place or not); borrowed, not needed afterwards. Returns 0 and *rounds_p (free with
 * rounds_free()), or -ENOMEM. -EINVAL: the plans do not fit together.
 */
int rounds_build(const struct plan *const *plan, int nranks, int rank,
                 const struct rounds_links *links, struct rounds **rounds_p);
void rounds_free(struct rounds *r); /* NULL is fine */

#endif
