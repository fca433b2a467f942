/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the ranks of a node pass on what one of them holds: for each local rank a tree over all local
 * ranks, rooted there. Source: Parallel Rings, section III (Figure 4, Table I, Algorithm 2), for
 * any number of ranks and sockets.
 */
#ifndef COLLSHIM_PLANNERS_RINGS_TREES_H
#define COLLSHIM_PLANNERS_RINGS_TREES_H

#include "config/topo/topo.h"

/* INTRA(enum name, text in a recipe) */
#define RINGS_INTRA(INTRA)                                                                         \
    INTRA(LINEAR, "linear")                                                                        \
    INTRA(BINOMIAL_DOUBLING, "binomial_doubling")                                                  \
    INTRA(BINOMIAL_HALVING, "binomial_halving")                                                    \
    INTRA(KNOMIAL, "knomial")                                                                      \
    INTRA(RECURSIVE_DOUBLING, "recursive_doubling")                                                \
    INTRA(SOCKETS, "sockets")

/*
 * linear               everybody gets it from the root
 * binomial_doubling    in step s the first 2^s ranks pass it on over a distance of 2^s
 * binomial_halving     likewise, the longest distance first
 * knomial              halving with k - 1 receivers a step
 * recursive_doubling   pairs exchange all they have, over distances 1, 2, 4 ...; ranks beyond the
 *                      largest power of two hand in to, and get from, one below it
 * sockets              one rank of each other socket gets it and passes it on inside its socket;
 *                      different roots use different ranks. Contributions go the other way: they
 *                      are combined in their socket before they cross. On two sockets of two this
 *                      is the paper's Algorithm 2 without its steps
 */
enum rings_intra {
#define INTRA(id, text) RINGS_##id,
    RINGS_INTRA(INTRA)
#undef INTRA
        RINGS_INTRA_COUNT
};

struct rings_trees {
    enum rings_intra intra;
    int size;    /* ranks of the node */
    int *parent; /* [size * size] owned: the sender of the root's data to `local`, at root * size +
                    local; -1 at the root. Receives, sends and tags follow from it */
    int *depth;  /* [size * size] inside parent: how often it was passed on; 0 at the root */
};

static inline int rings_parent(const struct rings_trees *w, int root, int local)
{
    return w->parent[root * w->size + local];
}

static inline int rings_depth(const struct rings_trees *w, int root, int local)
{
    return w->depth[root * w->size + local];
}

/* k: of knomial, at least 2. 0 or -ENOMEM; close in either case. */
int rings_trees_open(struct rings_trees *w, const struct topo *t, int node, enum rings_intra intra,
                     int k);
void rings_trees_close(struct rings_trees *w);

/* Does the node have sockets with several ranks, and a link between them that is not known to be
   as fast as the inside? Then `sockets` is worth its second hop. */
int rings_sockets_matter(const struct topo *t, int node);

#endif
