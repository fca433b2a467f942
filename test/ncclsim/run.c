/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A piece of work on its stream: the collectives one after the other, then all sends and receives
 * at the same time (messages.c). Ranks compare what they were asked to do before a byte moves; what
 * differs fails the communicator for all of them.
 *
 * Modelled time (links.c): a collective is rings through all ranks, one for each link of a host.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/ncclsim/work.h"

static const char *const kind_names[] = {
    [KIND_ALLREDUCE] = "AllReduce",
    [KIND_ALLGATHER] = "AllGather",
    [KIND_REDUCESCATTER] = "ReduceScatter",
    [KIND_BROADCAST] = "Broadcast",
    [KIND_REDUCE] = "Reduce",
    [KIND_ALLTOALL] = "AlltoAll",
    [KIND_GATHER] = "Gather",
    [KIND_SCATTER] = "Scatter",
    [KIND_SEND] = "Send",
    [KIND_RECV] = "Recv",
};

static const size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

int type_exists(int type)
{
    return type >= 0 && type < ncclNumTypes;
}

size_t type_bytes(int type)
{
    return sizes[type];
}

/* Elements of a rank's input and output, in counts of the call. */
static const struct {
    char all_in, all_out;   /* one count per rank */
    char root_in, root_out; /* only the root has one */
    char passes;
} shapes[] = {
    [KIND_ALLREDUCE] = {0, 0, 0, 0, 2},     [KIND_ALLGATHER] = {0, 1, 0, 0, 1},
    [KIND_REDUCESCATTER] = {1, 0, 0, 0, 1}, [KIND_BROADCAST] = {0, 0, 1, 0, 1},
    [KIND_REDUCE] = {0, 0, 0, 1, 1},        [KIND_ALLTOALL] = {1, 1, 0, 0, 1},
    [KIND_GATHER] = {0, 1, 0, 1, 1},        [KIND_SCATTER] = {1, 0, 1, 0, 1},
    [KIND_SEND] = {0, 0, 0, 0, 0},          [KIND_RECV] = {0, 0, 0, 0, 0},
};

static uint64_t bytes_in(const struct ncclComm *c, const struct post *p)
{
    if (p->kind == KIND_RECV || (shapes[p->kind].root_in && p->root != c->rank))
        return 0;
    return p->count * type_bytes(p->type) * (shapes[p->kind].all_in ? (uint64_t)c->nranks : 1);
}

static uint64_t bytes_out(const struct ncclComm *c, const struct post *p)
{
    if (p->kind == KIND_SEND || (shapes[p->kind].root_out && p->root != c->rank))
        return 0;
    return p->count * type_bytes(p->type) * (shapes[p->kind].all_out ? (uint64_t)c->nranks : 1);
}

static int same_call(const struct post *a, const struct post *b)
{
    return a->kind == b->kind && a->type == b->type && a->op == b->op && a->root == b->root &&
           a->count == b->count;
}

/* On a communicator that both have, both must have come equally far. */
static int same_order(const struct post *a, const struct post *b)
{
    for (int i = 0; i < a->nothers; i++)
        for (int j = 0; j < b->nothers; j++)
            if (a->others[i].board == b->others[j].board &&
                a->others[i].issued != b->others[j].issued)
                return 0;
    return 1;
}

static int compare_posts(struct ncclComm *c)
{
    struct board *b = c->board;
    const struct post *mine = &b->post[c->rank];

    for (int r = 0; r < c->nranks; r++) {
        const struct post *p = &b->post[r];

        if (!same_call(mine, p)) {
            board_fail(
                b, ncclInvalidUsage,
                "rank %d calls %s of %llu elements of type %d, op %d, root %d; rank %d %s of "
                "%llu, type %d, op %d, root %d",
                c->rank, kind_names[mine->kind], (unsigned long long)mine->count, mine->type,
                mine->op, mine->root, r, kind_names[p->kind], (unsigned long long)p->count, p->type,
                p->op, p->root);
            return -1;
        }
        if (!same_order(mine, p)) {
            board_fail(b, ncclInvalidUsage,
                       "ranks %d and %d issue the operations of two communicators in another order",
                       c->rank, r);
            return -1;
        }
    }
    return 0;
}

static void combine_ranks(struct ncclComm *c, const struct held *h, uint64_t first)
{
    struct board *b = c->board;
    const void *src[SIM_RANKS];
    uint64_t scale[SIM_RANKS];
    int op = h->call.post.op;

    for (int r = 0; r < c->nranks; r++) {
        src[r] = b->slot[r] + first * type_bytes(h->call.post.type);
        scale[r] = b->post[r].scale;
    }
    combine(h->call.post.type, op, src, c->nranks, h->call.post.count,
            op >= ncclNumOps_dummy ? scale : NULL, h->out);
}

static void deliver(struct ncclComm *c, const struct held *h)
{
    struct board *b = c->board;
    const struct post *p = &h->call.post;
    uint64_t bytes = p->count * type_bytes(p->type), rank = (uint64_t)c->rank;

    if (!bytes_out(c, p))
        return;
    switch (p->kind) {
    case KIND_ALLREDUCE:
    case KIND_REDUCE:
        combine_ranks(c, h, 0);
        break;
    case KIND_REDUCESCATTER:
        combine_ranks(c, h, rank * p->count);
        break;
    case KIND_BROADCAST:
        memcpy(h->out, b->slot[p->root], bytes);
        break;
    case KIND_SCATTER:
        memcpy(h->out, b->slot[p->root] + rank * bytes, bytes);
        break;
    default: /* one block from each */
        for (int r = 0; r < c->nranks; r++)
            memcpy(h->out + (uint64_t)r * bytes,
                   b->slot[r] + (p->kind == KIND_ALLTOALL ? rank * bytes : 0), bytes);
    }
}

static uint64_t run_collective(struct ncclComm *c, struct held *h, uint64_t start)
{
    struct board *b = c->board;
    struct post *p = &b->post[c->rank];
    uint64_t in = bytes_in(c, &h->call.post), ns = start, links;
    double rate = links_ring_rate(b, c->nranks);
    int passes = shapes[h->call.post.kind].passes;

    *p = h->call.post;
    p->ns = start;
    if (h->scalar)
        memcpy(&p->scale, h->scalar, type_bytes(p->type));
    if (in > SIM_SLOT_BYTES)
        board_fail(b, ncclInternalError, "%s of more than %llu bytes: beyond this stand-in",
                   kind_names[p->kind], (unsigned long long)SIM_SLOT_BYTES);
    else
        memcpy(b->slot[c->rank], h->in, in);
    if (board_meet(c, &b->work) < 0 || compare_posts(c) < 0)
        return start;
    deliver(c, h);
    for (int r = 0; r < c->nranks; r++)
        ns = b->post[r].ns > ns ? b->post[r].ns : ns;
    if (rate > 0)
        ns += links_latency_ns(b, c->nranks, passes, p->kind == KIND_ALLREDUCE);
    links = p->count * type_bytes(p->type) * (uint64_t)(c->nranks - 1) * (uint64_t)passes;
    if (!shapes[p->kind].all_in && !shapes[p->kind].all_out)
        links /= (uint64_t)c->nranks;
    if (p->kind == KIND_ALLREDUCE) {
        uint64_t tree = links_tree_bytes(b, c->nranks, p->count * type_bytes(p->type));

        links = tree < links ? tree : links;
    }
    board_meet(c, &b->work); /* no rank writes the slots or posts before all have read them */
    return ns + links_ns(links, rate);
}

/* The whole ------------------------------------------------------------------------------------ */

static void drop(struct work *w)
{
    for (int i = 0; i < w->n; i++) {
        sim_done(w->held[i].in_hold);
        sim_done(w->held[i].out_hold);
        sim_done(w->held[i].scalar_hold);
    }
    free(w);
}

static uint64_t run(void *data, uint64_t start)
{
    struct work *w = data;
    struct ncclComm *c = w->comm;
    unsigned turns = 0;
    int messages = 0, ok = 1;

    /* one after the other, on any streams */
    while (__atomic_load_n(&c->done, __ATOMIC_ACQUIRE) != w->ticket)
        if (board_pause(c, &turns) < 0 && __atomic_load_n(&c->aborted, __ATOMIC_ACQUIRE))
            break;
    for (int i = 0; ok && i < w->n; i++) {
        if (held_is_message(&w->held[i]))
            messages = 1;
        else
            start = run_collective(c, &w->held[i], start);
        ok = !__atomic_load_n(&c->board->failed, __ATOMIC_ACQUIRE) &&
             !__atomic_load_n(&c->aborted, __ATOMIC_ACQUIRE);
    }
    if (ok && messages)
        start = messages_run(w, start);
    drop(w);
    __atomic_add_fetch(&c->done, 1, __ATOMIC_RELEASE);
    return start;
}

static ncclResult_t hold(struct ncclComm *c, struct held *h)
{
    const struct post *p = &h->call.post;
    uint64_t in = bytes_in(c, p), out = bytes_out(c, p);
    const struct redop *op = &h->call.redop;

    if (op->used) {
        h->call.post.scale = op->scale;
        if (op->device_scalar)
            h->scalar = sim_use(op->device_scalar, type_bytes(p->type), c->device, &h->scalar_hold);
    }
    if (in)
        h->in = sim_use(h->call.send, in, c->device, &h->in_hold);
    if (out)
        h->out = sim_use(h->call.recv, out, c->device, &h->out_hold);
    if ((in && !h->in) || (out && !h->out))
        return comm_error(c, ncclInvalidArgument, "%s: a buffer of no use to device %d",
                          kind_names[p->kind], c->device);
    return ncclSuccess;
}

/* An event from one stream to the other. */
static int order(void *from, void *to)
{
    const struct cuda_calls *cu = sim_cuda();
    CUevent e;

    if (from == to)
        return 0;
    if (cu->EventCreate(&e, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS ||
        cu->EventRecord(e, from) != CUDA_SUCCESS || cu->StreamWaitEvent(to, e, 0) != CUDA_SUCCESS)
        return -1;
    cu->EventDestroy(e);
    return 0;
}

/* Take the work's place among the communicator's, and its memory. */
static ncclResult_t issue(struct work *w)
{
    struct ncclComm *c = w->comm;
    ncclResult_t bad = ncclSuccess;

    for (int i = 0; i < w->n && !bad; i++) {
        struct held *h = &w->held[i];

        h->call.post.nothers = comm_others(c, h->call.post.others);
        if (!held_is_message(h))
            __atomic_store_n(&c->collectives, c->collectives + 1, __ATOMIC_RELEASE);
        bad = hold(c, h);
    }
    w->ticket = c->issued;
    if (!bad)
        __atomic_store_n(&c->issued, c->issued + 1, __ATOMIC_RELEASE);
    return bad;
}

static struct work *work_new(struct ncclComm *c, int n)
{
    struct work *w = calloc(1, sizeof *w + (size_t)n * sizeof w->held[0]);

    if (!w)
        abort(); /* a test's process, out of memory */
    w->comm = c;
    w->n = n;
    return w;
}

/* A launch of the graph that the work was captured in: the same calls, once more. */
static void *again(void *data)
{
    const struct work *captured = data;
    struct work *w = work_new(captured->comm, captured->n);

    for (int i = 0; i < w->n; i++) {
        w->held[i].call = captured->held[i].call;
        w->held[i].registered = captured->held[i].registered;
    }
    if (comm_check(w->comm, "a graph's launch") || issue(w)) {
        drop(w);
        return NULL;
    }
    return w;
}

static int is_captured(void *stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

    sim_cuda()->StreamIsCapturing(stream, &status);
    return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

static ncclResult_t no_stream(struct ncclComm *c)
{
    return comm_error(c, ncclUnhandledCudaError, "a stream that is not of device %d", c->device);
}

/* As the call finds it: what is registered later changes nothing. */
static void note_registered(struct work *w, int captured)
{
    for (int i = 0; i < w->n; i++) {
        const struct call *call = &w->held[i].call;

        if (held_is_message(&w->held[i]))
            w->held[i].registered =
                comm_is_registered(w->comm, call->post.kind == KIND_SEND ? call->send : call->recv,
                                   call->post.count * type_bytes(call->post.type), captured);
    }
}

/* The work is the stream's from here on. */
static ncclResult_t submit_to(void *stream, struct work *w)
{
    struct ncclComm *c = w->comm;
    ncclResult_t bad;

    note_registered(w, is_captured(stream));
    if (is_captured(stream))
        return sim_capture(stream, c->device, run, again, w) ? no_stream(c) : ncclSuccess;
    bad = issue(w);
    if (!bad && sim_submit(stream, c->device, run, w)) {
        __atomic_store_n(&c->issued, c->issued - 1, __ATOMIC_RELEASE);
        bad = no_stream(c);
    }
    if (bad)
        drop(w);
    return bad;
}

/* The first call's stream runs the work; the others' earlier work goes before it, their later work
 * after it. */
static ncclResult_t submit(struct work *w)
{
    int n = w->n, unordered = 0;
    ncclResult_t bad;
    void **stream = malloc((size_t)n * sizeof *stream), *first = w->held[0].call.stream;

    if (!stream)
        abort();
    for (int i = 0; i < n; i++)
        stream[i] = w->held[i].call.stream;
    for (int i = 0; i < n; i++)
        unordered |= order(stream[i], first);
    bad = unordered ? no_stream(w->comm) : submit_to(first, w);
    if (unordered)
        drop(w);
    for (int i = 0; i < n && !bad; i++)
        order(first, stream[i]);
    free(stream);
    return bad;
}

ncclResult_t run_launch(struct ncclComm *c, struct call *calls)
{
    ncclResult_t bad;
    struct work *w;
    int n = 0;

    for (struct call *call = calls; call; call = call->next)
        n++;
    w = work_new(c, n);
    n = 0;
    for (struct call *call = calls, *next; call; call = next) {
        next = call->next;
        w->held[n++].call = *call;
        free(call);
    }
    sim_cuda()->CtxPushCurrent(c->context);
    bad = submit(w);
    sim_cuda()->CtxPopCurrent(NULL);
    return bad;
}
