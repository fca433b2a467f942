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
    struct load_link *rail; /* [nnodes * nrails] owned: node n's rail r at n * nrails + r */
    double *local;          /* [nnodes] owned: bytes between ranks of the node */
};

/* An empty account. 0 or -ENOMEM; free with load_free. */
int load_open(const struct topo *t, struct load *l);
/* Add what one rank's plan sends. */
void load_add(struct load *l, const struct topo *t, const struct plan *p);
void load_free(struct load *l);

/*
 * The time the busiest rail needs, in seconds, or in bytes of one rail where rates are
 * unknown (all equal then).
 */
double load_time(const struct load *l, const struct topo *t);

/*
 * The bound in the same unit: no schedule is faster. 0 on one node. HiCCL, Table III, for any
 * shape: allgather(v) and reduce-scatter: all other nodes' blocks must enter (leave) each node;
 * bcast and reduce: the vector must enter (leave) each node; allreduce: 2 (nodes - 1) vectors must
 * cross in all, which is the least if they are spread over the nodes as their rails allow.
 */
double load_bound(const struct plan_request *q);

#endif
