/* SPDX-License-Identifier: BSD-3-Clause */
/* The words of NCCLSIM: "near=GB/s far=GB/s" gives links inside a host and between hosts a rate. */
#include <stdlib.h>
#include <string.h>

#include "test/ncclsim/work.h"

static uint64_t log2_up(uint64_t n)
{
    uint64_t log = 0;

    while ((uint64_t)1 << log < n)
        log++;
    return log;
}

/* The number behind a name; 0 without. */
static double number_of(const char *name)
{
    const char *text = getenv("NCCLSIM"), *at = text ? strstr(text, name) : NULL;

    return at ? strtod(at + strlen(name), NULL) : 0;
}

int sim_version(void)
{
    int set = (int)number_of("version=");

    return set ? set : NCCL_VERSION_CODE;
}

/*
 * A ring for each link of a host (ncclTopoCompute, graph/search.cc, v2.28.9-1, finds a channel for
 * each NIC), of which a host has as many as ranks here; "rings=1": NCCL knows of one. Inside a host
 * all rings share a rank's links. Rings of unequal hosts are as many as the smallest has.
 */
double links_ring_rate(const struct board *b, int nranks)
{
    int least = nranks, rings = (int)number_of("rings=");
    double far = links_far_rate(), near = links_near_rate();

    for (int r = 0; r < nranks; r++) {
        int here = 0;

        for (int k = 0; k < nranks; k++)
            here += !links_are_far(b, r, k);
        least = here < least ? here : least;
    }
    if (least == nranks || !(far > 0))
        return near;
    far *= rings > 0 && rings < least ? rings : least;
    return near > 0 && near < far ? near : far;
}

static uint64_t count_hosts(const struct board *b, int nranks)
{
    uint64_t hosts = 0;

    for (int r = 0; r < nranks; r++) {
        int first = 1;

        for (int k = 0; k < r; k++)
            first &= links_are_far(b, r, k);
        hosts += (uint64_t)first;
    }
    return hosts;
}

/* A tree of hosts: each of two halves goes up through a host and down again; one has two below it.
 */
uint64_t links_tree_bytes(const struct board *b, int nranks, uint64_t bytes)
{
    uint64_t hosts = count_hosts(b, nranks);

    return hosts < 2 ? UINT64_MAX : hosts == 2 ? bytes : bytes + bytes / 2;
}

/*
 * A collective's time besides its bytes: the latencies of NCCL's own tuning (graph/tuning.cc,
 * v2.28.9-1), of the better of its protocols, in ns. A ring has a step for each rank, of which one
 * for each host is over the network; a tree of an Allreduce goes up and down again.
 */
uint64_t links_latency_ns(const struct board *b, int nranks, int passes, int has_tree)
{
    enum { BASE = 6600, NEAR = 600, FAR = 2700 }; /* LL */
    uint64_t hosts = count_hosts(b, nranks), steps = (uint64_t)passes * (uint64_t)(nranks - 1);
    uint64_t far, ring, tree;

    far = hosts > 1 ? (uint64_t)passes * hosts : 0;
    far = far < steps ? far : steps;
    ring = BASE + (steps - far) * NEAR + far * FAR;
    tree = BASE + 2 * (((uint64_t)nranks / hosts - 1) * NEAR + log2_up(hosts) * FAR);
    return has_tree && tree < ring ? tree : ring;
}

double links_near_rate(void)
{
    return number_of("near=");
}

double links_far_rate(void)
{
    return number_of("far=");
}

uint64_t links_ns(uint64_t bytes, double rate)
{
    return rate > 0 ? (uint64_t)((double)bytes / rate) : 0;
}

int links_are_far(const struct board *b, int from, int to)
{
    return b->member[from].host != b->member[to].host;
}
