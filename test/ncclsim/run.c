/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A piece of work on its stream: the collectives one after the other, then all sends and receives
 * at the same time. Ranks compare what they were asked to do before a byte moves; what differs
 * fails the communicator for all of them.
 *
 * Modelled time: NCCLSIM="near=GB/s far=GB/s" gives links inside a host and between hosts a rate. A
 * collective is a ring through all ranks; sends and receives share each rank's link either way.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/ncclsim/ncclsim.h"

struct held {
    struct call call;
    char *in, *out;
    void *in_hold, *out_hold, *scalar_hold;
    const void *scalar;
    /* of KIND_SEND and KIND_RECV */
    uint64_t moved, bytes, announced; /* bytes of data; of the header */
    int registered;                   /* its buffer is, since it was called */
    char header[64];
};

struct work {
    struct ncclComm *comm;
    uint64_t ticket;
    int n;
    struct held held[];
};

/* What goes ahead of a message's bytes. */
struct header {
    uint64_t bytes, ns;
    int type, registered;
};

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

/* Rates, bytes/ns; 0: links take no time. Other numbers likewise. */
static double rate_of(const char *name)
{
    const char *text = getenv("NCCLSIM"), *at = text ? strstr(text, name) : NULL;

    return at ? strtod(at + strlen(name), NULL) : 0;
}

int sim_version(void)
{
    int set = (int)rate_of("version=");

    return set ? set : NCCL_VERSION_CODE;
}

static double near_rate(void)
{
    return rate_of("near=");
}

static double far_rate(void)
{
    return rate_of("far=");
}

static uint64_t duration(uint64_t bytes, double rate)
{
    return rate > 0 ? (uint64_t)((double)bytes / rate) : 0;
}

static int is_far(const struct board *b, int from, int to)
{
    return b->member[from].host != b->member[to].host;
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
    double rate = near_rate();

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
    for (int r = 0; r < c->nranks; r++) {
        ns = b->post[r].ns > ns ? b->post[r].ns : ns;
        if (is_far(b, r, c->rank))
            rate = far_rate();
    }
    links = p->count * type_bytes(p->type) * (uint64_t)(c->nranks - 1) *
            (uint64_t)shapes[p->kind].passes;
    if (!shapes[p->kind].all_in && !shapes[p->kind].all_out)
        links /= (uint64_t)c->nranks;
    board_meet(c, &b->work); /* nobody writes the slots or posts before all have read them */
    return ns + duration(links, rate);
}

/* Messages ----------------------------------------------------------------------------------- */

static uint64_t pipe_write(struct pipe *p, const char *from, uint64_t bytes)
{
    uint64_t at = p->written,
             room = SIM_PIPE_BYTES - (at - __atomic_load_n(&p->read, __ATOMIC_ACQUIRE));
    uint64_t n = bytes < room ? bytes : room;

    for (uint64_t done = 0, part; done < n; done += part) {
        uint64_t place = (at + done) % SIM_PIPE_BYTES;
        part = n - done < SIM_PIPE_BYTES - place ? n - done : SIM_PIPE_BYTES - place;
        memcpy(p->bytes + place, from + done, part);
    }
    __atomic_store_n(&p->written, at + n, __ATOMIC_RELEASE);
    return n;
}

static uint64_t pipe_read(struct pipe *p, char *to, uint64_t bytes)
{
    uint64_t at = p->read, there = __atomic_load_n(&p->written, __ATOMIC_ACQUIRE) - at;
    uint64_t n = bytes < there ? bytes : there;

    for (uint64_t done = 0, part; done < n; done += part) {
        uint64_t place = (at + done) % SIM_PIPE_BYTES;
        part = n - done < SIM_PIPE_BYTES - place ? n - done : SIM_PIPE_BYTES - place;
        memcpy(to + done, p->bytes + place, part);
    }
    __atomic_store_n(&p->read, at + n, __ATOMIC_RELEASE);
    return n;
}

static int is_complete(const struct held *h)
{
    return h->announced == sizeof(struct header) && h->moved == h->bytes;
}

static void move_send(struct ncclComm *c, struct held *h)
{
    struct pipe *p = &c->board->pipe[c->rank][h->call.peer];

    if (h->announced < sizeof(struct header))
        h->announced +=
            pipe_write(p, h->header + h->announced, sizeof(struct header) - h->announced);
    if (h->announced == sizeof(struct header))
        h->moved += pipe_write(p, h->in + h->moved, h->bytes - h->moved);
}

/*
 * Each side looks for its own buffer (addP2pToPlan, enqueue.cc, v2.28.9-1: "We require users
 * registering buffers on both sides"; ncclRegisterP2pIpcBuffer and ncclRegisterP2pNetBuffer,
 * sendrecv_reg.cc). With one side alone the kernels wait for a pointer that never comes, or the
 * data is lost (prims_simple.h). Here it is an error.
 */
static void one_sided(struct ncclComm *c, const struct held *h)
{
    board_fail(c->board, ncclInternalError,
               "rank %d receives %llu bytes from rank %d, and the buffer of the %s alone is "
               "registered: NCCL hangs or loses them",
               c->rank, (unsigned long long)h->bytes, h->call.peer,
               h->registered ? "receiver" : "sender");
}

/* Returns -1 if what comes is not what is expected. */
static int move_recv(struct ncclComm *c, struct held *h)
{
    struct pipe *p = &c->board->pipe[h->call.peer][c->rank];
    struct header header;

    if (h->announced < sizeof header) {
        h->announced += pipe_read(p, h->header + h->announced, sizeof header - h->announced);
        if (h->announced < sizeof header)
            return 0;
        memcpy(&header, h->header, sizeof header);
        if (header.bytes != h->bytes || header.type != h->call.post.type) {
            board_fail(c->board, ncclInvalidUsage,
                       "rank %d receives %llu bytes of type %d from rank %d, which sends %llu of "
                       "type %d",
                       c->rank, (unsigned long long)h->bytes, h->call.post.type, h->call.peer,
                       (unsigned long long)header.bytes, header.type);
            return -1;
        }
        if (header.registered != h->registered && h->call.peer != c->rank) {
            one_sided(c, h);
            return -1;
        }
    }
    h->moved += pipe_read(p, h->out + h->moved, h->bytes - h->moved);
    return 0;
}

static int is_message(const struct held *h)
{
    return h->call.post.kind == KIND_SEND || h->call.post.kind == KIND_RECV;
}

/* When a rank's links are through with all it sends, or gets. */
static uint64_t busy(const struct work *w, int kind)
{
    uint64_t near = 0, far = 0, a, b;

    for (int i = 0; i < w->n; i++) {
        const struct held *h = &w->held[i];

        if (h->call.post.kind != kind || h->call.peer == w->comm->rank)
            continue;
        if (is_far(w->comm->board, w->comm->rank, h->call.peer))
            far += h->bytes;
        else
            near += h->bytes;
    }
    a = duration(near, near_rate());
    b = duration(far, far_rate());
    return a > b ? a : b;
}

/* To or from how many others? */
static int count_peers(const struct work *w, int kind)
{
    char seen[SIM_RANKS] = {0};
    int n = 0;

    for (int i = 0; i < w->n; i++) {
        const struct call *call = &w->held[i].call;

        if (call->post.kind == kind && call->peer != w->comm->rank)
            n += !seen[call->peer]++;
    }
    return n;
}

/*
 * Before 2.28.7 addWorkBatchToPlan (enqueue.cc, v2.28.3-1) fills a batch with whatever messages
 * there are: where ranks have different peers the batches differ, and the proxies of connections
 * that PXN shares wait for each other. Since 2.28.7 a batch is of one fixed set of peers on all
 * ranks. Here a group is regular if it is a single message each way, or an exchange with all ranks.
 */
static int would_hang(const struct work *w)
{
    const struct ncclComm *c = w->comm;
    int several_hosts = 0;

    for (int r = 0; r < c->nranks; r++)
        several_hosts |= is_far(c->board, r, c->rank);
    for (int kind = KIND_SEND; several_hosts && kind <= KIND_RECV; kind++) {
        int peers = count_peers(w, kind);

        if (peers > 1 && peers < c->nranks - 1)
            return sim_version() < 22807;
    }
    return 0;
}

static uint64_t run_messages(struct work *w, uint64_t start)
{
    struct ncclComm *c = w->comm;
    uint64_t sends, end;
    unsigned turns = 0;
    int left = 0;

    if (would_hang(w)) {
        board_fail(c->board, ncclInternalError,
                   "rank %d: a group of messages with some of the ranks: NCCL before 2.28.7 may "
                   "hang",
                   c->rank);
        return start;
    }
    for (int i = 0; i < w->n; i++)
        w->held[i].bytes = w->held[i].call.post.count * type_bytes(w->held[i].call.post.type);
    sends = start + busy(w, KIND_SEND);
    end = start + busy(w, KIND_RECV);
    end = end > sends ? end : sends;
    for (int i = 0; i < w->n; i++) {
        struct held *h = &w->held[i];
        struct header header = {
            .ns = sends, .type = h->call.post.type, .registered = h->registered};

        if (!is_message(h))
            continue;
        left++;
        header.bytes = h->bytes;
        if (h->call.post.kind == KIND_SEND)
            memcpy(h->header, &header, sizeof header);
    }
    while (left > 0) {
        char held_up[2][SIM_RANKS] = {{0}}; /* messages between two ranks keep their order */

        left = 0;
        for (int i = 0; i < w->n; i++) {
            struct held *h = &w->held[i];
            int recv = h->call.post.kind == KIND_RECV;

            if (!is_message(h) || is_complete(h))
                continue;
            left++;
            if (held_up[recv][h->call.peer])
                continue;
            held_up[recv][h->call.peer] = 1;
            if (!recv)
                move_send(c, h);
            else if (move_recv(c, h) < 0)
                return start;
        }
        if (left > 0 && board_pause(c, &turns) < 0)
            return start;
    }
    for (int i = 0; i < w->n; i++) {
        struct header header;

        memcpy(&header, w->held[i].header, sizeof header);
        if (w->held[i].call.post.kind == KIND_RECV && header.ns > end)
            end = header.ns;
    }
    return end;
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

    /* one after the other, whatever streams they are on */
    while (__atomic_load_n(&c->done, __ATOMIC_ACQUIRE) != w->ticket)
        if (board_pause(c, &turns) < 0 && __atomic_load_n(&c->aborted, __ATOMIC_ACQUIRE))
            break;
    for (int i = 0; ok && i < w->n; i++) {
        if (is_message(&w->held[i]))
            messages = 1;
        else
            start = run_collective(c, &w->held[i], start);
        ok = !__atomic_load_n(&c->board->failed, __ATOMIC_ACQUIRE) &&
             !__atomic_load_n(&c->aborted, __ATOMIC_ACQUIRE);
    }
    if (ok && messages)
        start = run_messages(w, start);
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
        if (!is_message(h))
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

        if (is_message(&w->held[i]))
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
