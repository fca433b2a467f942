/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The load of a collective's plans on the links, and the least load of any plan.
 *
 * A message between nodes leaves through the sender's rail and enters through the
 * receiver's; a rank without a rail of its own (-1) spreads its traffic over all.
 */
#ifndef COLLSHIM_PLANNERS_LOAD_H
#define COLLSHIM_PLANNERS_LOAD_H

#include "planners/plan/collective.h"
#include "planners/plan/plan.h"

struct load_link {
    double in, out; /* bytes */
};

struct load {
    int nnodes, nrails;
    int known;              /* all rates are */
    struct load_link *rail; /* [nnodes * nrails] owned: node n's rail r at n * nrails + r */
    double *local;          /* [nnodes] owned: bytes between ranks of the node */
};

/* An empty account. 0 or -ENOMEM; free with load_free. */
int load_open(const struct topo *t, struct load *l);
/* Add what one rank's plan sends. */
void load_add(struct load *l, const struct topo *t, const struct plan *p);
void load_free(struct load *l);

/* Bytes that one rank's plan moves to and from other nodes. */
struct load_link load_crossing(const struct topo *t, const struct plan *p);

/* Are the rates of all rails known? Else loads and bounds are in bytes of one rail, all equal. */
int load_rates_known(const struct topo *t);

/* The time the busiest rail needs, in seconds, or in bytes of one rail. */
double load_time(const struct load *l, const struct topo *t);

/*
 * The bound in the same unit: no schedule is faster, with any exchange inside the nodes. It is
 * HiCCL's Table III for any placement, root and rails. Per node and way it is bytes / R. R is the
 * sum of that way's rates of the rails that its ranks can use, and bytes are the least that must
 * cross. Below, own is the blocks of the node's ranks together, all those of all ranks, g the
 * node's ranks, P all ranks:
 *
 *   collective             enter the node               leave the node
 *   allgather(v)           all - own                    own, once
 *   reduce_scatter(_block) own, combined                all - own, combined by the node
 *   bcast                  the vector, not the root's   the vector, the root's
 *   reduce                 the vector, the root's       the vector, not the root's
 *   allreduce              the vector                   the vector
 *   scan, exscan           the vector for each run but   the vector for each run but
 *                          that of rank 0                that of the last rank
 *   gather(v)              the root's: all - own        not the root's: own
 *   scatter(v)             not the root's: own          the root's: all - own
 *   alltoall               g (P - g) blocks             g (P - g) blocks
 *
 * A run is a sequence of adjacent ranks of one node. Each run needs the sum before it, and the
 * ranks behind it need its own sum. With ranks in node order a node has one run.
 *
 * The bound is the slowest node's. Allreduce has a second bound over all nodes together. Each
 * element crosses at least 2 (nodes - 1) times: so many messages tell all nodes a value of which
 * each has a part (Harary and Schwenk 1974, one-way gossip). So the bound is 2 (nodes - 1) vectors
 * / the sum of all R, either way.
 *
 * 0 on one node: the rate inside a node depends on shared ports, memory or meshes. The topology's
 * link classes do not describe these; model.h has assumptions.
 */
double load_bound(const struct plan_request *q);

/* Calls so far. All zero at first. */
struct load_crossed {
    double bytes; /* over one rail, all calls together */
    double last;  /* of the last call with equal blocks, which often comes again: */
    size_t nbytes;
    int root;
    enum plan_collective collective;
};

/*
 * Should the rails' rates be measured before that call? Measuring (shim/mpi/rails/rails.h) lets
 * each rank send 2.6 MiB to the next node, 0.8 MiB in its brief form, or a glance of 96 KiB, which
 * finds a rail that is almost gone. Each comes once it sends no more than that share of the bytes
 * that have crossed a rail, by load_bound, in the calls so far. One rule serves all collectives, by
 * the bytes between nodes. It is the same on all ranks. This call is added to c. LOAD_WORTH_NOTHING
 * if rates are known, and on one node.
 */
enum load_worth { LOAD_WORTH_NOTHING, LOAD_WORTH_GLANCE, LOAD_WORTH_BRIEF, LOAD_WORTH_FULL };
enum load_worth load_worth_measuring(const struct plan_request *q, double share,
                                     struct load_crossed *c);

#endif
