/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model: how long one collective takes, from the plans of all ranks and a topology.
 *
 * A fluid simulation, event by event. Every queue of messages is a flow that carries one chunk at a
 * time, in order, from sender to receiver. Flows that are under way at the same time share links
 * max-min fairly: no flow can get more without taking it from one that has less (Bertsekas and
 * Gallager, Data Networks, 6.5.2). A chunk of n bytes is there alpha + n / rate after it started,
 * where alpha is the latency of the link. The next chunk of its queue follows right behind, as in
 * LogGP (Alexandrov and others, SPAA 1995) with o = 0. A chunk starts as soon as both sides could
 * post it (plan.h's dependencies, by bytes). At most MODEL_DEPTH of a queue are in flight, as in
 * the engine.
 *
 * A message crosses these links:
 * - Between nodes: a rail of the sender's node out, and one of the receiver's in. A rank without a
 *   rail of its own spreads over all, as their rates are.
 * - Within a socket, GPU to GPU: a link of that pair alone, at NVLink's rate (the full mesh of the
 *   Parallel Rings paper, figure 2a).
 * - Within a socket otherwise: the sender's port out and the receiver's in, at the rate of shared
 *   memory.
 * - Between sockets: the link of the two sockets in that direction, which all share, and the ends'
 *   ports. Those have shared memory's rate, or PCIe's where the rank has a GPU (figure 2b).
 *
 * COPY, REDUCE and the combining of RECV_REDUCE share the rank's memory, at one rate. A rank that
 * has a GPU is taken to have its data there, all but PLAN_HOST. Copies to and from PLAN_HOST cross
 * PCIe. Its messages go through shared memory, as those of ranks without a GPU do. Combining in it
 * takes the receiving port's time, since one thread does both. A queue is taken to be all of the
 * kind that its first operation is. Links inside a node have the node's own rates.
 *
 * Copies of a rank to PLAN_HOST take turns, a chunk each, as a device's copy engine does them; so
 * do those from it. Their latency is part of the turn.
 *
 * Not in it: processor time per message, incast (a shared link loses nothing by being shared), the
 * switches between nodes, protocol changes with size. So striped rails take the same time in the
 * model, and reach 0.54 to 0.99 of that rate on the emulated cluster. MPICH's polling ranks are
 * slower than any model of links.
 *
 * Beside the emulated cluster, one rail per rank, 4 x 4, 95.6 Mbit/s of goodput; ms:
 *
 *                                       emulated   model   bound
 *   Allgather, 1 MiB per rank                260.9   263.4   263.2
 *   Allgather, 4 MiB per rank               1052.2  1053.1  1053.0
 *   Allreduce, 16 MiB                        526.1   527.0   526.5
 *   Reduce-scatter, 1 MiB per rank           263.5   263.8   263.2
 *   Bcast, 16 MiB, chunks of 32 KiB          349.5   356.6   351.0
 *   Reduce, 16 MiB, chunks of 32 KiB         358.4   356.7   351.0
 *   Bcast and Reduce, 16 MiB, chunks of 256 KiB      395.2 and 396.0 in the model
 *
 *   collshim sim allgather --bytes 1M --topology 'node:4 rank:4 rail:4@95.6Mbit'
 *
 * Pure and deterministic: equal arguments, equal result, to the bit. Thread-safe.
 */
#ifndef COLLSHIM_PLANNERS_MODEL_H
#define COLLSHIM_PLANNERS_MODEL_H

#include "planners/model/model_fold.h"
#include "planners/model/model_links.h"
#include "planners/plan/plan.h"

enum {
    MODEL_CHUNKS = 4000000,      /* with more of them, they are simulated larger */
    MODEL_MOST_CHUNKS = 20000000 /* operations alone are more: refused */
};

struct model_result {
    double seconds;
    uint64_t chunk_bytes; /* as simulated: the plans' times a power of two, see MODEL_CHUNKS */
    uint64_t chunks;
    int nlinks;              /* links that carried anything, the busiest first */
    struct model_link *link; /* [nlinks] owned: free with model_free */
};

/* The share of the time in which the link was busy, 0 .. 1. */
double model_link_busy(const struct model_result *m, const struct model_link *l);

/*
 * Predict the time of the plans, one per rank. rates.h has what the topology leaves open.
 *
 * Where the plans have more than MODEL_CHUNKS chunks, chunks are taken together by twos until they
 * have not (or are whole operations). The pipeline then fills more coarsely, which makes times
 * longer. A few small chunks in flight may not fill a link, so the flow keeps that limit. Where
 * plans cannot run with larger chunks, smaller ones are taken again.
 *
 * Returns 0 and *m, -ENOMEM, -E2BIG (more than MODEL_MOST_CHUNKS operations, or as many queues
 * times rails), or -EDEADLK (these plans never end: the checker says why). On error *m is
 * untouched.
 */
int model_run(const struct topo *t, const struct plan *const *plan, struct model_result *m);

/* The same with at most `chunks` chunks instead of MODEL_CHUNKS, and -ETIME if it takes longer than
   so many simulated seconds. */
int model_run_within(const struct topo *t, const struct plan *const *plan, uint64_t chunks,
                     double seconds, struct model_result *m);
/* The same from the plans of node 0's ranks, where all nodes are alike (model_fold_suits) and their
   plans are in a way of `by`, of which one is enough. */
int model_run_folded(const struct topo *t, const struct plan *const *plan, unsigned by,
                     struct model_result *m);
void model_free(struct model_result *m);

#endif
