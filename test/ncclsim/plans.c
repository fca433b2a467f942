/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How NCCL cuts a group's messages into plans, one kernel each (scheduleP2pTasksToPlan, enqueue.cc,
 * v2.28.9-1). It goes through the peers by their distance, takes one send and one receive at each,
 * and begins again until all are taken. A plan's arguments have 4 KiB (ncclMaxKernelArgsSize,
 * device.h), which is room for some 250 batches of 16 bytes; where a message's channels may not fit
 * any more, the next plan begins, at distance 0. A rank's plans run one after the other.
 *
 * A message between hosts has NCCL_NCHANNELS_PER_NET_PEER channels, or what
 * ncclTopoComputeP2pChannels finds (paths.cc): 2; since 2.29 a channel for each 14 GB/s of a NIC, 8
 * at most here. The least of any two ranks is for all. Inside a host it is 32, and eight distances
 * share a batch of a channel.
 */
#include <stdlib.h>

#include "test/ncclsim/work.h"

enum { BATCHES = 250, TOGETHER = 8, INSIDE = 32 };

int plans_channels(const struct ncclComm *c)
{
    const char *set = getenv("NCCL_NCHANNELS_PER_NET_PEER");

    for (int r = 0; r < c->nranks; r++)
        if (links_are_far(c->board, r, c->rank))
            return set && atoi(set) > 0 ? atoi(set) : sim_version() < 22900 ? 2 : 8;
    return INSIDE;
}

/* The next of that kind with that peer which is in no plan yet; NULL: none. */
static struct held *next_of(struct work *w, int kind, int peer)
{
    for (int i = 0; i < w->n; i++)
        if (w->held[i].call.post.kind == kind && w->held[i].call.peer == peer && !w->held[i].plan)
            return &w->held[i];
    return NULL;
}

/* Does a message at that distance, the nth of the plan, begin a batch of its own? */
static int is_new_batch(int channels, int distance, int first_of_eight)
{
    return channels != INSIDE || distance % TOGETHER == 0 || first_of_eight;
}

/* Take messages into the plan until it is full. Returns how many it took. */
static int fill(struct work *w, int plan)
{
    int n = w->comm->nranks, rank = w->comm->rank, channels = plans_channels(w->comm);
    int batches = 0, taken = 0, before;

    do {
        int of_eight = -1;

        before = taken;
        for (int distance = 0; distance < n; distance++) {
            struct held *send = next_of(w, KIND_SEND, (rank + distance) % n);
            struct held *recv = next_of(w, KIND_RECV, (rank - distance + n) % n);

            if (!send && !recv)
                continue;
            if (batches + channels > BATCHES)
                return taken;
            if (is_new_batch(channels, distance, of_eight != distance / TOGETHER))
                batches += channels;
            of_eight = distance / TOGETHER;
            if (send)
                send->plan = plan;
            if (recv)
                recv->plan = plan;
            taken += (send != NULL) + (recv != NULL);
        }
    } while (taken > before);
    return taken;
}

int plans_cut(struct work *w)
{
    int plans = 0;

    for (int i = 0; i < w->n; i++)
        w->held[i].plan = 0;
    while (fill(w, plans + 1))
        plans++;
    return plans;
}
