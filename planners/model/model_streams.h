/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The streams that the model moves: one for each pair of queues that meet, and one for each queue
 * that works in memory (COPY, REDUCE, and the combining behind RECV_REDUCE).
 */
#ifndef COLLSHIM_PLANNERS_MODEL_STREAMS_H
#define COLLSHIM_PLANNERS_MODEL_STREAMS_H

#include "planners/model/model_fold.h"
#include "planners/plan/plan.h"

enum { MODEL_DEPTH = 4 /* chunks of a queue in flight (transports/engine/engine.c) */ };

#define MODEL_NONE UINT32_MAX

/* A queue that must be ready for a chunk, and that has it behind it when the chunk is done. */
struct model_side {
    int rank;
    uint32_t queue;
    uint32_t op;   /* the one whose chunk is next; index into the plan's operations */
    uint32_t last; /* one past the queue's last */
    uint8_t ready; /* the next chunk's dependencies are done */
};

struct model_stream {
    struct model_side side[2];
    int nsides;
    int to;          /* rank that gets the bytes; -1: work in memory */
    uint32_t feeds;  /* stream that combines what arrives here, or MODEL_NONE */
    uint32_t fed_by; /* the other way round */
};

struct model_streams {
    struct model_stream *stream; /* [n] owned */
    uint32_t n;
};

/* Pair the queues of the plans of nranks ranks; of node 0's ranks alone if f says how nodes are
   alike, with messages to other nodes as their peers of node 0 get them. 0, -ENOMEM, or -EDEADLK
   where a queue has no match at its peer or the two do not move the same bytes. */
int model_streams_open(const struct plan *const *plan, int nranks, const struct model_fold *f,
                       struct model_streams *s);
void model_streams_close(struct model_streams *s);

/* How many chunks of so many bytes all of them have. */
uint64_t model_streams_chunks(const struct model_streams *s, const struct plan *const *plan,
                              uint64_t chunk);

#endif
