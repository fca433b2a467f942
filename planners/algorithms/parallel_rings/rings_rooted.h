/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gather and scatter through all rails of the root's node: each local rank of the root's node holds
 * its share (shares.h) of every remote node's unit. It receives the share through its own rail and
 * sends it on to the root, or the other way round. A remote rank whose rail would be late leaves a
 * part of its block to the rails beside it.
 */
#ifndef COLLSHIM_PLANNERS_RINGS_ROOTED_H
#define COLLSHIM_PLANNERS_RINGS_ROOTED_H

#include "planners/links/shares.h"
#include "planners/plan/collective.h"
#include "planners/plan/plan.h"

/*
 * Add this rank's part of q, a gather(v) or scatter(v). s: the shares as the root sees them, that
 * is opened for q->root. Uses scratch from 0 on; *scratch_bytes: a few shares for any number of
 * nodes, or the bytes that a remote rank's rail takes for others. Returns 0 or -ENOMEM; other
 * errors stay in the builder.
 */
int rings_rooted(struct plan_builder *b, struct shares *s, const struct plan_request *q,
                 uint64_t *scratch_bytes);

#endif
