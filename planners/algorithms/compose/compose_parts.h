/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of HiCCL's composition (sections III and IV), each in a file of its own:
 *
 *   compose_shape.c   the optimization space: hierarchy, library, stripe, ring, pipeline (IV-A)
 *   compose_stripe.c  how a primitive is divided among the rails of its root's node (IV-C)
 *   compose_factor.c  a stripe, factorised over ring and tree into point-to-point hops (IV-B, IV-D)
 *   compose_emit.c    the hops of one rank as operations, in an order all ranks share (IV-E)
 *   tracked.h         the fence: which operations must wait for which bytes (III-C)
 *   compose.c         which primitives a collective is composed of (III-B, III-C, Table II)
 *
 * HiCCL counts ranks in an order that follows the hierarchy and wants groups of equal size. Here a
 * rank has an address in the hierarchy: a number whose digits, the first level's first, say
 * which group it is in at each level. Where a node holds fewer ranks than the largest one, several
 * addresses are one rank, so everything above the addresses is as regular as in the paper.
 */
#ifndef COLLSHIM_PLANNERS_COMPOSE_PARTS_H
#define COLLSHIM_PLANNERS_COMPOSE_PARTS_H

#include "planners/plan/collective.h"
#include "planners/plan/plan.h"

enum { COMPOSE_LEVELS = 8 };

/* The positions of a collective's compositions in their table; see compose.c. */
enum compose_steps { COMPOSE_SINGLE, COMPOSE_MULTI, COMPOSE_ROOTED, COMPOSE_CHOICES };

/*
 * Traits of a composition that its defaults depend on, or 0. One primitive alone is striped over a
 * node, unless the recipe says otherwise; many use all rails anyway. Same order: several ranks
 * combine the same data, so they must do it in one order, or sums would differ between ranks.
 */
enum { COMPOSE_ONE = 1, COMPOSE_SAME_ORDER = 2 };

/* A recipe, applied to a topology. */
struct compose_shape {
    const struct topo *t; /* borrowed */
    int levels;
    uint64_t factor[COMPOSE_LEVELS];
    uint64_t width[COMPOSE_LEVELS + 1]; /* addresses of a group below so many levels; [0]: of all */
    uint8_t library[COMPOSE_LEVELS]; /* index of a struct compose_library; 0 where none is named */
    int by_node;     /* the last level's groups are the nodes, which may differ in size */
    int *order;      /* [nranks] owned: the rank at an address; NULL where by_node */
    int *place;      /* [nranks] inside order: the address of a rank */
    int ring_levels; /* so many levels, from the first, form the ring; 0: no ring */
    uint64_t ring;   /* groups on the ring; 1: none */
    uint64_t
        *weight; /* [nranks] owned: what a rank's rail can carry; NULL where all rails are equal */
    int stripe;
    int stripe_depth; /* the root's group at this depth carries the stripes */
    int pipeline;     /* 0: not named */
    enum compose_steps steps;
    int same_order; /* no ring and no stripes then */
};

/* A library (transport) that a level may name. auto: the one that the transports find best for a
   peer. A hop belongs to the level at which its two ranks' groups differ. mpi inside a node is
   tags from PLAN_NETWORK_TAG on, which transports/engine/route.c hands to MPI. shm is shared memory
   if the node's ranks have it, otherwise MPI. */
struct compose_library {
    const char *name;
    int inside_node; /* it cannot cross nodes */
    int network;     /* the network's transport, also inside a node */
};

/*
 * Read q->recipe against q's topology. steps: what it means not to name them. nature: each
 * composition's trait.
 * Returns 0 (close it), or -EINVAL with one line in why (may be NULL if why_size is 0), or -ENOMEM.
 */
int compose_shape_open(struct compose_shape *s, const struct plan_request *q,
                       enum compose_steps steps, const uint8_t nature[COMPOSE_CHOICES], char *why,
                       size_t why_size);
void compose_shape_close(struct compose_shape *s);

/* The rank at an address, the address of a rank, and whether that address is its rank's own. */
int compose_rank_at(const struct compose_shape *s, uint64_t address);
uint64_t compose_address(const struct compose_shape *s, int rank);
/* The library of the level that links two ranks: the first at which their groups differ. */
const struct compose_library *compose_library_between(const struct compose_shape *s, int a, int b);
int compose_is_own(const struct compose_shape *s, uint64_t address);

/* Primitives: M(root, leaves) and R(leaves, root) of III-A. */
enum compose_kind { COMPOSE_MULTICAST, COMPOSE_REDUCTION };
enum { COMPOSE_EVERYONE = -1 }; /* as the leaf */

struct compose_primitive {
    uint8_t kind;
    int root;
    int leaf;             /* a rank, or COMPOSE_EVERYONE */
    const uint64_t *only; /* [nonly] borrowed, sorted: addresses of the leaves among everyone,
                             the root not among them; NULL: all */
    uint32_t nonly;
    int root_apart;          /* a reduction to which the root contributes nothing */
    uint64_t from_at, to_at; /* where its bytes are in the vector at either end */
    uint64_t bytes;
};

/* Fill in s->weight; for compose_shape_open. 0 or -ENOMEM. */
int compose_weigh_rails(struct compose_shape *s);

/* Stripes of a primitive: one if its leaf is within the group that would carry them. */
int compose_stripes(const struct compose_shape *s, int root, int leaf);

/* The address that carries a stripe, and the root (as an address) whose stripe an address carries.
 */
uint64_t compose_carrier(const struct compose_shape *s, int root, int leaf, int stripe);
uint64_t compose_root_of(const struct compose_shape *s, uint64_t carrier, int stripe);

/*
 * The first element of a stripe, among that many elements of a primitive. The last stripe is
 * followed by `stripes`, where all end. A carrier with a faster rail takes more.
 */
uint64_t compose_cut(const struct compose_shape *s, int root, int leaf, int stripe,
                     uint64_t elements);

/*
 * A rank's part in one stripe of a multicast: it receives it from a parent and passes it on to
 * children. A reduction is the same tree with its arrows, and its time, reversed.
 */
struct compose_hop {
    int peer;
    uint32_t time;  /* hops before it can begin, about; along each path strictly growing */
    uint8_t before; /* a child whose group stands before the own in the hierarchy */
};

struct compose_role {
    struct compose_hop parent; /* peer -1: none */
    struct compose_hop *child; /* [room for all] owned, by time */
    uint32_t nchildren;
};

/* 0 or -ENOMEM; for any primitive of the shape. */
int compose_role_open(struct compose_role *role, const struct compose_shape *s);
void compose_role_close(struct compose_role *role);

/* More than any time of a hop. */
uint32_t compose_time_limit(const struct compose_shape *s);

/* Is the rank a leaf of a primitive of everyone? The root of a reduction: does it contribute? */
int compose_has(const struct compose_shape *s, const struct compose_primitive *p, int rank);

/* Bits number rank % 64 of all ranks that a primitive to one leaf passes. */
uint64_t compose_passes(const struct compose_shape *s, int root, int leaf);

/* The role of rank `me` in a stripe: hops with no leaf behind them are pruned (IV-B). O(levels),
   and the number of its children. */
void compose_factorise(const struct compose_shape *s, const struct compose_primitive *p, int stripe,
                       int me, struct compose_role *role);

/*
 * Visit the point-to-point stripes of an exchange among all pairs which pass through rank `me`,
 * but do not start or end there. Time is proportional to what `me` does in all.
 */
void compose_each_passing(const struct compose_shape *s, int me,
                          void (*visit)(void *to, int root, int leaf, int stripe), void *to);

/* The places of a step's bytes. */
enum compose_place {
    COMPOSE_INPUT,  /* the caller's data, wherever in place means it is */
    COMPOSE_OUTPUT, /* at their position */
    COMPOSE_KEPT,   /* scratch that one step leaves to the next */
    COMPOSE_FRESH   /* scratch of the primitive's own */
};

/* Places of a step at its sources, on the way, and at its destinations. */
struct compose_step {
    uint8_t pattern; /* of compose.c */
    uint8_t from, via, to;
};

/* A buffer, and the vector position that lies at its `at`: position p is at p - start + at. */
struct compose_ground {
    enum plan_buffer buffer;
    uint64_t start, at;
};

/* This rank's operations, collected before they are put in order. */
struct compose_emit;

/* NULL if out of memory. ground: indexed by enum compose_place, but for COMPOSE_FRESH. */
struct compose_emit *compose_emit_open(const struct plan_request *q, const struct compose_shape *s,
                                       const struct compose_ground ground[COMPOSE_FRESH],
                                       uint64_t scratch_bytes);
void compose_emit_close(struct compose_emit *e); /* NULL is fine */

/* All that follows is of this step; steps are ordered by the bytes they share (the fence). */
void compose_emit_step(struct compose_emit *e, int step, const struct compose_step *places);
/* One stripe of a primitive (nothing if this rank has no part in it). */
void compose_emit_stripe(struct compose_emit *e, const struct compose_primitive *p, int stripe);
/* A copy from one ground to another, at the start of the step. */
void compose_emit_copy(struct compose_emit *e, enum compose_place from, uint64_t from_at,
                       enum compose_place to, uint64_t to_at, uint64_t bytes);
/* Put in order, name dependencies, build. 0 and *plan_p, or -ENOMEM or -EOVERFLOW. */
int compose_emit_finish(struct compose_emit *e, uint64_t chunk_bytes, const char *algorithm,
                        struct plan **plan_p);

#endif
