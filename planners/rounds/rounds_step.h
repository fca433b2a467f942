/* SPDX-License-Identifier: BSD-3-Clause */
/* A step of a schedule in rounds, and the links that carry one round. */
#ifndef COLLSHIM_PLANNERS_ROUNDS_STEP_H
#define COLLSHIM_PLANNERS_ROUNDS_STEP_H

#include <stdint.h>

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

#endif
