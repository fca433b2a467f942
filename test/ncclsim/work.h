/* SPDX-License-Identifier: BSD-3-Clause */
/* A piece of work on a stream, as run.c and messages.c share it. */
#ifndef COLLSHIM_NCCLSIM_WORK_H
#define COLLSHIM_NCCLSIM_WORK_H

#include "test/ncclsim/ncclsim.h"

struct held {
    struct call call;
    char *in, *out;
    void *in_hold, *out_hold, *scalar_hold;
    const void *scalar;
    /* of KIND_SEND and KIND_RECV */
    uint64_t moved, bytes, announced; /* bytes of data; of the header */
    int registered;                   /* its buffer is, since it was called */
    int plan;                         /* from 1: which kernel carries it (plans.c) */
    char header[64];
};

struct work {
    struct ncclComm *comm;
    uint64_t ticket;
    int n;
    struct held held[];
};

static inline int held_is_message(const struct held *h)
{
    return h->call.post.kind == KIND_SEND || h->call.post.kind == KIND_RECV;
}

/* Move all messages of the work, which begins at `start`, ns. Returns when it ends, or start if it
 * fails. */
uint64_t messages_run(struct work *w, uint64_t start);

/* Plans (plans.c): cut the messages into them. Returns how many there are. */
int plans_cut(struct work *w);
/* Channels of each message. */
int plans_channels(const struct ncclComm *c);

/* Links (links.c): rates in bytes/ns, and how long bytes take, ns. Rate 0: no time. */
double links_near_rate(void);
double links_far_rate(void);
uint64_t links_ns(uint64_t bytes, double rate);
/* A collective's bytes through all ranks; and its time besides. 0 without rates. */
double links_ring_rate(const struct board *b, int nranks);
uint64_t links_tree_bytes(const struct board *b, int nranks, uint64_t bytes);
uint64_t links_latency_ns(const struct board *b, int nranks, int passes, int has_tree);
/* Are two ranks on different hosts? */
int links_are_far(const struct board *b, int from, int to);

#endif
