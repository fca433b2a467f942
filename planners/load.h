/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a collective's plans put on the links, and the least that any plan must.
 *
 * A message between nodes leaves through the sender's rail and enters through the
 * receiver's; a rank without a rail of its own (-1) spreads its traffic over all.
 */
#ifndef COLLSHIM_PLANNERS_LOAD_H
#define COLLSHIM_PLANNERS_LOAD_H

#include "planners/registry.h"

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

/* What one rank's plan moves to and from other nodes. */
struct load_link load_crossing(const struct topo *t, const struct plan *p);

/* Are the rates of all rails known? Else loads and bounds are in bytes of one rail, all equal. */
int load_rates_known(const struct topo *t);

/* The time the busiest rail needs, in seconds, or in bytes of one rail. */
double load_time(const struct load *l, const struct topo *t);

/*
 * The bound in the same unit: no schedule is faster, whatever it does inside the nodes. It is
 * HiCCL's Table III for any placement, root and rails. Per node and way, with R the sum of that
 * way's rates of the rails that its ranks can use, bytes / R where at least so many bytes must
 * cross (own: the node's ranks' blocks together, all: everybody's, g: its ranks, P: all ranks):
 *
 *   collective             enter the node               leave the node
 *   allgather(v)           all - own                    own, once
 *   reduce_scatter(_block) own, combined                all - own, combined by the node
 *   bcast                  the vector, not the root's   the vector, the root's
 *   reduce                 the vector, the root's       the vector, not the root's
 *   allreduce              the vector                   the vector
 *   gather(v)              the root's: all - own        not the root's: own
 *   scatter(v)             not the root's: own          the root's: all - own
 *   alltoall               g (P - g) blocks             g (P - g) blocks
 *
 * The bound is the slowest node's. Allreduce has a second one over all nodes together: each element
 * crosses at least 2 (nodes - 1) times, because making something known to everybody that everybody
 * has a part of takes so many messages (Harary and Schwenk 1974, one-way gossip); so 2 (nodes - 1)
 * vectors / the sum of all R, either way.
 *
 * 0 on one node: what ranks of a node can exchange at once depends on which of them share what (a
 * port, a memory, a mesh), which the topology's link classes do not tell; model.h has assumptions.
 */
double load_bound(const struct plan_request *q);

/*
 * Should the rails' rates be measured before that call? Measuring (shim/mpi/rails.h) lets each rank
 * send 2 MiB to the next node; so a call is worth it if 3/4 MiB at least must cross a rail, by
 * load_bound: an Allgather of 4 MiB in all on 4 nodes of 4 rails. Smaller calls are worth it
 * together, once 64 MiB have crossed: as much again is expected to come, of which measuring is 3 %.
 * It is one rule for all collectives, by what crosses between nodes, the same on all ranks, and
 * once a call is worth it, so are larger ones. *crossed: of the calls asked about before; this one
 * is added. 0 where rates are known and on one node.
 */
int load_worth_measuring(const struct plan_request *q, double *crossed);

#endif
