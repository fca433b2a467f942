/* SPDX-License-Identifier: BSD-3-Clause */
/* A plan under way: state shared by the stages of a lane schedule. */
#ifndef COLLSHIM_PLANNERS_LANES_STAGE_H
#define COLLSHIM_PLANNERS_LANES_STAGE_H

#include "planners/links/lanes_cut.h"
#include "planners/plan/collective.h"
#include "planners/plan/tracked.h"

/* INTER(enum name, text in a recipe) */
#define LANES_INTER(INTER)                                                                         \
    INTER(RING, "ring")                                                                            \
    INTER(RECURSIVE_DOUBLING, "recursive_doubling")                                                \
    INTER(RABENSEIFNER, "rabenseifner")                                                            \
    INTER(DIRECT, "direct")

/*
 * Over n nodes, for a lane of m bytes, p the largest power of two in n; nodes beyond p hand in to,
 * and get from, one below it, which costs 2 steps and 2 m:
 *
 *   ring                 2 (n - 1) steps,   2 m (n - 1) / n bytes out of each node
 *   recursive_doubling   log2 p steps,      m log2 p bytes
 *   rabenseifner         2 log2 p steps,    2 m (p - 1) / p bytes
 *   direct               2 steps,           2 m (n - 1) / n bytes where nodes are alike
 *
 * `direct` suits nodes of unequal rates (lanes_direct.c).
 */
enum lanes_inter {
#define INTER(id, text) LANES_##id,
    LANES_INTER(INTER)
#undef INTER
        LANES_INTERS
};

/* The plan's tags between two ranks: one per stage and kind of receive. */
enum lanes_tag { LANES_HAND_IN, LANES_COMBINE, LANES_RESULT, LANES_HAND_OUT };

struct lane_work {
    const struct plan_request *q;
    struct tracked ops;
    struct lanes l;
    enum lanes_inter inter;
    uint64_t scratch_bytes;
    int error; /* 0 or -ENOMEM */
};

/* The place of byte `at` of the vector in a buffer: scratch holds the own slice only. */
static inline struct spot lanes_spot(const struct lane_work *w, enum plan_buffer buffer,
                                     uint64_t at)
{
    return (struct spot){buffer, buffer == PLAN_SCRATCH ? at - w->l.mine.from : at};
}

/*
 * Where the nodes' ranks must have combined a slice before lanes_allreduce, if they combine at
 * all: the output, or scratch if that saves a copy.
 */
enum plan_buffer lanes_allreduce_start(const struct lane_work *w);
/* Combine a lane over the nodes, from where it is into the output. */
void lanes_allreduce(struct lane_work *w, struct share lane, enum plan_buffer from);

/* Hand a lane from the root's node to all others, in the output. */
void lanes_bcast(struct lane_work *w, struct share lane);
/* Combine a lane over the nodes towards the root's node: from where it is into `to`. Returns where
   the result is on this rank. */
enum plan_buffer lanes_reduce(struct lane_work *w, struct share lane, enum plan_buffer from,
                              enum plan_buffer to);

/* All of an allgather(v). 0 or -ENOMEM. */
int lanes_allgather(struct lane_work *w);
/* All of a reduce_scatter(_block). 0 or -ENOMEM. */
int lanes_reduce_scatter(struct lane_work *w);
/* All of a scatter(v). 0 or -ENOMEM. */
int lanes_scatter(struct lane_work *w);

/* The slabs in which LANES_DIRECT works. All ranks find the same. */
int lanes_slabs(const struct plan_request *q);

/* All of an allreduce with LANES_DIRECT; w->l is not used. 0 or -ENOMEM. */
int lanes_direct(struct lane_work *w);

/* The way that takes the least time by the table above; `direct` for a few unequal nodes. */
enum lanes_inter lanes_inter_default(const struct plan_request *q);

#endif
