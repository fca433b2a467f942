/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shares: how data that belongs to a node is divided among the rails of another.
 *
 * A collective's data is a vector of blocks, one per rank (some may be empty), packed in rank
 * order. The blocks of one node, laid end to end by local index, are that node's unit. A node that
 * receives, forwards or combines a unit cuts it into shares, one per local rank, in proportion to
 * the rails. Each local rank handles its share. With equal nodes, blocks and rails the share of
 * local rank l is the block of local rank l.
 *
 * Everything here depends only on topology and sizes, so all ranks cut alike.
 */
#ifndef COLLSHIM_PLANNERS_SHARES_H
#define COLLSHIM_PLANNERS_SHARES_H

#include "config/topo/topo.h"

/* The blocks of a vector. */
struct blocks {
    size_t equal;         /* bytes of each, where sizes is NULL */
    const size_t *sizes;  /* [nranks] borrowed */
    const uint64_t *from; /* [nranks] borrowed: where each starts; NULL where all are equal */
};

static inline size_t block_bytes(const struct blocks *b, int rank)
{
    return b->sizes ? b->sizes[rank] : b->equal;
}

static inline uint64_t block_from(const struct blocks *b, int rank)
{
    return b->sizes ? b->from[rank] : (uint64_t)rank * b->equal;
}

/* Bytes [from, to) of a unit. Empty: from >= to. */
struct share {
    uint64_t from, to;
};

/* How one node cuts the current unit: local rank l's share is [cut[l], cut[l + 1]). */
struct cutter {
    int size;         /* ranks of the node */
    uint64_t *weight; /* [size + 1] owned: sums of the ranks' rail weights, from 0 */
    uint64_t *cut;    /* [size + 1] inside weight */
    int equal;        /* it is right for every unit of so many equal blocks; 0: for none */
};

/* Which way a share goes through its rank's rail. The rate of that way counts; of what passes
   through, the slower way's. */
enum share_way { SHARE_OUT, SHARE_IN, SHARE_THROUGH /* in, and out again */ };

/* The weights of a node's ranks; nothing is cut yet. 0 or -ENOMEM; free weight. */
int cutter_open(struct cutter *c, const struct topo *t, int node, enum share_way way);
int cutters_alike(const struct cutter *a, const struct cutter *b);
/* The start of local rank l's share of `total` bytes, by weight and grain alone. */
uint64_t cut_at(const struct cutter *c, uint64_t total, size_t grain, int l);

/* A piece of a share that lies in one block, or in a run of blocks. */
struct share_piece {
    int rank;        /* whose block */
    uint64_t offset; /* in that block */
    uint64_t length;
    struct share at; /* the same bytes, as the unit counts them */
};

/* A rank's place among the rings. */
struct shares {
    const struct topo *t; /* borrowed */
    struct blocks blocks;
    size_t grain;            /* cuts fall on multiples of this: bytes of an element */
    int rank, node, local;   /* this rank */
    int left, right;         /* neighbour nodes; the own node if it is alone */
    struct cutter cutter[3]; /* owned */
    struct cutter *by_left, *by_here,
        *by_right; /* into cutter; one for all where nodes are alike */
    int packed;    /* the unit that was cut last, if its blocks lie side by side in the vector */
};

/* The rate of a rank's rail that way, as a weight: > 0, but for ranks behind t->lanes. Ranks that
   share a rail share its rate; a rank that uses all rails has a share of their sum. */
uint64_t shares_rail_weight(const struct topo *t, int node, int local, enum share_way way);
/* Their sums: weight[l] is that of the node's ranks below l, for l up to the node's size. */
void shares_sum_weights(const struct topo *t, int node, enum share_way way, uint64_t *weight);

/* 0 or -ENOMEM; close in either case. blocks: its arrays must outlive s. */
int shares_open(struct shares *s, const struct topo *t, int rank, struct blocks blocks,
                size_t grain, enum share_way way);
void shares_close(struct shares *s);

/* Cut the unit of node `unit` at the left neighbour, here and at the right neighbour. */
void shares_cut(struct shares *s, int unit);
/* Cut it with c, any node's cutter, in the same way. */
void shares_cut_by(const struct shares *s, struct cutter *c, int unit);

/*
 * The blocks for which every share is its rank's own block. `total` bytes are divided evenly over
 * the nodes, and inside a node by the rails. sizes and from: [nranks], filled in.
 */
int shares_divide(const struct topo *t, uint64_t total, size_t grain, size_t *sizes,
                  uint64_t *from);

static inline struct share share_of(const struct cutter *c, int local)
{
    return (struct share){c->cut[local], c->cut[local + 1]};
}

static inline struct share share_common(struct share a, struct share b)
{
    struct share c = {a.from > b.from ? a.from : b.from, a.to < b.to ? a.to : b.to};

    return c.from < c.to ? c : (struct share){0, 0};
}

/*
 * Take the next piece off the front of *rest, a share of that unit: 0 when nothing is left. A
 * sender and its receiver cut a share alike, because both cut at the blocks' borders.
 */
int share_next(const struct shares *s, int unit, struct share *rest, struct share_piece *piece);
/* The same, but a piece goes on over blocks that lie side by side in the vector; rank and offset
   are its first block's. So fewer operations move as many bytes. */
int share_next_run(const struct shares *s, int unit, struct share *rest, struct share_piece *run);

/* The place of a piece in the packed vector. */
static inline uint64_t share_piece_from(const struct shares *s, const struct share_piece *piece)
{
    return block_from(&s->blocks, piece->rank) + piece->offset;
}

/* The local peers in turn 1 .. size-1. Each rank starts with another one, so that no rank is the
   first of all others. Returns a local index. */
static inline int shares_peer(const struct shares *s, int turn)
{
    return (s->local + turn) % s->by_here->size;
}

static inline int shares_rank_here(const struct shares *s, int local)
{
    return topo_node_rank(s->t, s->node, local);
}

#endif
