/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A schedule in rounds, for libraries that move messages in groups: all messages of a group are
 * under way at the same time, and a group ends when all of them have arrived (NCCL). What is done
 * between two rounds is local: copies, and combining what has come.
 *
 * Rounds are the same on all ranks: a message is in the same one where it is sent and where it is
 * received, which is why all ranks' plans are needed. A round may therefore wait for nothing but
 * earlier rounds, and cannot hang. Combining, too: what comes to be combined goes to a place of its
 * own, so that all of a round's can come at once, and those of one place are combined in one pass;
 * passes that have nothing to do with each other in one launch.
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

/* What a group and a launch between two groups cost, whatever they carry: rough, of NCCL between
 * nodes and of a driver. They decide how finely a schedule is cut, not what is right. */
#define ROUND_GROUP_S 6e-6
#define ROUND_LAUNCH_S 3e-6

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
    uint64_t chunk_bytes; /* what it is cut by, and what its links say of that */
    uint32_t fast_chunks, taper;
    uint64_t scratch_bytes;        /* the plan's, and places for what arrives to be combined */
    const struct round_step *step; /* owned, [nsteps] in order */
};

/* What moves in one round over one queue: a chunk, and more over links that are faster. */
struct rounds_links {
    const int32_t *group; /* [nranks] borrowed: between ranks of one group links are fast */
    uint32_t fast_chunks; /* at least 1: chunks over these in the time of one over the others */
    uint32_t taper;       /* the first and the last piece of what is cut: so many to a chunk */
    int shared; /* a rank's messages share its links: no more of them in a round than these
                   carry in the time of a chunk, those first whose links have most to do.
                   Without: whatever is ready moves, in fewer rounds */
    double bytes_per_s[2];  /* of a rank each way: to its group, and beyond */
    uint32_t most_messages; /* that a rank sends and receives in a round; 0: any number, or at least
                               2 */
};

/*
 * The steps of plan[rank]. plan: those of all ranks, for the same request and all in one form (in
 * place or not); borrowed, not needed afterwards. Returns 0 and *rounds_p (free with
 * rounds_free()), -ENOMEM, or -EINVAL if the plans do not fit together.
 */
int rounds_build(const struct plan *const *plan, int nranks, int rank,
                 const struct rounds_links *links, struct rounds **rounds_p);
void rounds_free(struct rounds *r); /* NULL is fine */

#endif
