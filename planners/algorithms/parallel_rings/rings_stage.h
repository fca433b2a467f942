/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two stages from which every ring schedule of Parallel Rings is built. Spreading brings each
 * block to all ranks. Collecting is its mirror image: it combines all ranks' contributions to a
 * block on the block's owner.
 */
#ifndef COLLSHIM_PLANNERS_RINGS_STAGE_H
#define COLLSHIM_PLANNERS_RINGS_STAGE_H

#include "planners/algorithms/parallel_rings/arrivals.h"
#include "planners/algorithms/parallel_rings/rings_trees.h"
#include "planners/links/shares.h"

enum rings_tag {
    RINGS_SPREAD,
    RINGS_SPREAD_LOCAL,
    RINGS_COLLECT,
    RINGS_COLLECT_LOCAL,
    RINGS_DELIVER,
    RINGS_RELAY /* and on: what local ranks pass on, two tags per hop, down and up */
};

/*
 * Spread all blocks into the output, where block r belongs at block_from(r). trees: how the ranks
 * of the node pass on their data. Own, made and busy describe this rank's block and the output.
 * own: the buffer of the block, PLAN_INPUT (at 0; it is copied to the output too) or PLAN_OUTPUT
 * (in its place). made: the operations that put it there. It is NULL if the block is there from the
 * start. busy: operations that still read the output, by vector bytes, or NULL. Returns 0 or
 * -ENOMEM; other errors stay in the builder.
 */
int rings_spread(struct plan_builder *b, struct shares *s, const struct rings_trees *trees,
                 enum plan_buffer own, const struct arrivals *made, const struct arrivals *busy);

/*
 * Combine all ranks' vectors (`input`, packed) block by block; block r ends up in rank r's output
 * at out_from. Uses *scratch_bytes of scratch, from 0 on. made: receives the operations that
 * complete this rank's own block, by block bytes, or NULL. readers: receives the operations that
 * read the input, by vector bytes, or NULL. Every byte is combined along one fixed chain, so all
 * bits are the same in every run.
 */
int rings_collect(struct plan_builder *b, struct shares *s, const struct rings_trees *trees,
                  enum plan_buffer input, uint64_t out_from, uint64_t *scratch_bytes,
                  struct arrivals *made, struct arrivals *readers);

#endif
