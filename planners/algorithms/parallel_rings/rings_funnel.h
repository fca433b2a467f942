/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collecting inside a node along trees (rings_trees.h), up instead of down. A local rank combines
 * its children's contributions to another rank's share with its own, and sends the result to its
 * parent. rings_collect.c handles the data that arrives at the share's own rank.
 */
#ifndef COLLSHIM_PLANNERS_RINGS_FUNNEL_H
#define COLLSHIM_PLANNERS_RINGS_FUNNEL_H

#include "planners/algorithms/parallel_rings/rings_stage.h"
#include "planners/plan/tracked.h"

struct funnel {
    struct shares *s;                /* borrowed */
    const struct rings_trees *trees; /* borrowed */
    struct tracked ops;
    uint64_t *at;  /* [size] owned: where what this rank has for a root is, from `from` on */
    uint64_t from; /* in scratch */
    uint64_t slot_bytes;
};

/* Will use slots * slot_bytes of scratch, from `from` on. 0 or -ENOMEM; close in either case. */
int funnel_open(struct funnel *f, struct plan_builder *b, struct shares *s,
                const struct rings_trees *trees, uint64_t from);

/* Send the contributions of this rank, and of the node's ranks below it, to the others' shares of
   the unit that is cut. readers: receives the operations that read the input, by vector bytes, or
   NULL. */
void funnel_give(struct funnel *f, int unit, int slot, enum plan_buffer input,
                 struct arrivals *readers);

/* 0 or -ENOMEM: a dependency could not be noted. */
int funnel_close(struct funnel *f);

#endif
