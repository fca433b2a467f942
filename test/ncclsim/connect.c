/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The first message between two ranks makes them connect, at the end of its group on the host
 * (p2pTaskAppend, enqueue.cc; ncclTransportP2pSetup, transport.cc, v2.28.9-1). It takes memory of
 * the device for each channel (p2pRecvSetup, transport/p2p.cc: the buffers of all protocols, some
 * 10 MB), and waits for the other rank's host. A rank that has not the memory returns an error, and
 * the other waits for ever: here for some seconds.
 */
#include <time.h>

#include "test/ncclsim/work.h"

enum { SENDS = 1, RECEIVES = 2, CHANNEL_BYTES = 10 << 20, PATIENCE_S = 15 };

/* This rank's side, once. Returns 0, or -1 without memory. */
static int set_up(struct ncclComm *c, int peer, int way)
{
    int64_t bytes = (int64_t)CHANNEL_BYTES * plans_channels(c);

    if (c->connected[peer] & way)
        return 0;
    if (sim_reserve(c->device, bytes))
        return -1;
    c->connections_bytes += bytes;
    c->connected[peer] |= (unsigned char)way;
    __atomic_or_fetch(&c->board->hello[c->rank][peer], (unsigned char)way, __ATOMIC_RELEASE);
    return 0;
}

/* The other side of what this rank has set up. */
static int is_there(const struct ncclComm *c, int peer)
{
    unsigned char theirs = __atomic_load_n(&c->board->hello[peer][c->rank], __ATOMIC_ACQUIRE);
    unsigned char mine = c->connected[peer];

    return (!(mine & SENDS) || theirs & RECEIVES) && (!(mine & RECEIVES) || theirs & SENDS);
}

static ncclResult_t wait_for(struct ncclComm *c, int peer)
{
    time_t begun = time(NULL);
    unsigned turns = 0;

    while (!is_there(c, peer)) {
        if (board_pause(c, &turns) < 0)
            return ncclInternalError;
        if (time(NULL) - begun <= PATIENCE_S)
            continue;
        board_fail(c->board, ncclInternalError,
                   "rank %d connects to rank %d, which does not: NCCL hangs", c->rank, peer);
        return ncclInternalError;
    }
    return ncclSuccess;
}

ncclResult_t comm_connect(struct ncclComm *c, const struct call *calls)
{
    for (const struct call *call = calls; call; call = call->next) {
        int kind = call->post.kind;

        if (call->comm != c || call->peer == c->rank || (kind != KIND_SEND && kind != KIND_RECV))
            continue;
        if (set_up(c, call->peer, kind == KIND_SEND ? SENDS : RECEIVES) < 0)
            return comm_error(c, ncclUnhandledCudaError, "no memory to connect to rank %d",
                              call->peer);
    }
    for (int peer = 0; peer < c->nranks; peer++) {
        ncclResult_t bad = c->connected[peer] ? wait_for(c, peer) : ncclSuccess;

        if (bad)
            return bad;
    }
    return ncclSuccess;
}

void comm_disconnect(struct ncclComm *c)
{
    sim_reserve(c->device, -c->connections_bytes);
    c->connections_bytes = 0;
}
