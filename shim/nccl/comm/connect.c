/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nccl/comm/connect.h"

#include <string.h>

#include "shim/nccl/call/use_order.h"
#include "shim/nccl/comm/notes.h"

enum { SENDS = 1, RECEIVES = 2, MESSAGE_BYTES = 4 };
_Static_assert(COMM_RANKS_MOST *MESSAGE_BYTES <= CONNECT_BYTES, "each rank has a place");

/* Messages that connect, in groups. */
struct connecting {
    struct nccl_comm *c;
    CUstream stream;
    char *at; /* a place for each rank; NULL: they are counted alone */
    unsigned char done[COMM_RANKS_MOST];
    uint64_t count;
    int open;
    ncclResult_t result;
};

static void message(struct connecting *k, int peer, int way)
{
    const struct nccl_calls *nccl = &k->c->copy->real;

    if (peer == k->c->rank || k->done[peer] & way || k->result)
        return;
    k->done[peer] |= (unsigned char)way;
    k->count++;
    if (!k->at)
        return;
    if (!k->open)
        k->result = nccl->GroupStart();
    k->open = !k->result;
    if (k->open && way == SENDS)
        k->result = nccl->Send(k->at + k->c->rank * MESSAGE_BYTES, MESSAGE_BYTES, ncclInt8, peer,
                               k->c->handle, (cudaStream_t)k->stream);
    else if (k->open)
        k->result = nccl->Recv(k->at + peer * MESSAGE_BYTES, MESSAGE_BYTES, ncclInt8, peer,
                               k->c->handle, (cudaStream_t)k->stream);
}

static void end_group(struct connecting *k)
{
    ncclResult_t ended = k->open ? k->c->copy->real.GroupEnd() : ncclSuccess;

    k->open = 0;
    k->result = k->result ? k->result : ended;
}

/* In the schedule's own groups: both ends have a message in the same one. */
static void as_in(struct connecting *k, const struct rounds *r)
{
    for (uint32_t i = 0; i < r->nsteps; i++) {
        const struct round_step *s = &r->step[i];

        if (s->kind != ROUND_SEND && s->kind != ROUND_RECV)
            continue;
        message(k, s->peer, s->kind == ROUND_SEND ? SENDS : RECEIVES);
        if (s->closes)
            end_group(k);
    }
}

/* Every rank to every other one, by their distance, in groups that a kernel takes. */
static void to_all(struct connecting *k)
{
    int n = k->c->nranks, each = (int)nccl_comm_most_messages(k->c) / 2;

    for (int d = 1; d < n; d++) {
        message(k, (k->c->rank + d) % n, SENDS);
        message(k, (k->c->rank - d + n) % n, RECEIVES);
        if (d % each == 0)
            end_group(k);
    }
    end_group(k);
}

static struct connecting begin(struct nccl_comm *c, CUstream stream, char *at)
{
    struct connecting k = {.c = c, .stream = stream, .at = at};

    memcpy(k.done, c->traffic.connected, (size_t)c->nranks);
    return k;
}

uint64_t connect_lacking(struct nccl_comm *c, const struct rounds *r, int all)
{
    struct connecting k = begin(c, NULL, NULL);

    if (all)
        to_all(&k);
    else
        as_in(&k, r);
    return k.count;
}

ncclResult_t connect_make(struct nccl_comm *c, const struct rounds *r, int all, CUstream stream)
{
    struct connecting k = begin(c, stream, c->scratch.at + c->scratch.bytes - CONNECT_BYTES);

    if (!connect_lacking(c, r, all))
        return ncclSuccess;
    k.result =
        use_order_begin(c->cu, &c->scratch.order, stream, 0) ? ncclUnhandledCudaError : ncclSuccess;
    if (all)
        to_all(&k);
    else
        as_in(&k, r);
    end_group(&k);
    if (use_order_end(c->cu, &c->scratch.order, stream, 0) && !k.result)
        k.result = ncclUnhandledCudaError;
    memcpy(c->traffic.connected, k.done, (size_t)c->nranks);
    return k.result;
}
