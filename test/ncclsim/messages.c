/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All sends and receives of a piece of work at the same time, by a pipe for each pair of ranks. A
 * header goes ahead of a message's bytes: what differs from it fails the communicator.
 *
 * Modelled time (links.c): they share each rank's link either way.
 */
#include <string.h>

#include "test/ncclsim/work.h"

/* The header in front of a message's bytes. */
struct header {
    uint64_t bytes, ns;
    int type, registered;
};

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

/*
 * All peers of a rank inside its host share the channels that a message has. It has as many as the
 * pair of ranks with the fewest (ncclTopoComputeP2pChannels, graph/paths.cc;
 * ncclP2pChannelBaseForRound, channel.h, v2.28.9-1). So it has one or a few blocks of a kernel, of
 * some 20 GB/s each (assumed; 14 over the network: P2P_PER_CHANNEL_NET_BW of 2.29).
 */
static double near_rate(const struct ncclComm *c)
{
    const double channel = 20;
    double rate = links_near_rate(), most = plans_channels(c) * channel;

    return rate < most ? rate : most;
}

/* A group is a kernel that waits for its peers, and between hosts for proxies too (assumed). */
static uint64_t group_ns(const struct work *w)
{
    enum { NEAR = 8000, FAR = 20000 };
    int far = 0;

    for (int r = 0; r < w->comm->nranks; r++)
        far |= links_are_far(w->comm->board, r, w->comm->rank);
    if (!(links_near_rate() > 0) && !(links_far_rate() > 0))
        return 0;
    return far ? FAR : NEAR;
}

/* When a rank's links are through with all it sends, or gets. */
static uint64_t busy(const struct work *w, int kind)
{
    uint64_t near = 0, far = 0, a, b;

    for (int i = 0; i < w->n; i++) {
        const struct held *h = &w->held[i];

        if (h->call.post.kind != kind || h->call.peer == w->comm->rank)
            continue;
        if (links_are_far(w->comm->board, w->comm->rank, h->call.peer))
            far += h->bytes;
        else
            near += h->bytes;
    }
    a = links_ns(near, near_rate(w->comm));
    b = links_ns(far, links_far_rate());
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
 * Before 2.28.7 addWorkBatchToPlan (enqueue.cc, v2.28.3-1) fills a batch with all messages at hand:
 * if ranks have different peers the batches differ, and the proxies of connections that PXN shares
 * wait for each other. Since 2.28.7 a batch is of one fixed set of peers on all ranks. Here a group
 * is regular if it is a single message each way, or an exchange with all ranks.
 */
static int would_hang(const struct work *w)
{
    const struct ncclComm *c = w->comm;
    int several_hosts = 0;

    for (int r = 0; r < c->nranks; r++)
        several_hosts |= links_are_far(c->board, r, c->rank);
    for (int kind = KIND_SEND; several_hosts && kind <= KIND_RECV; kind++) {
        int peers = count_peers(w, kind);

        if (peers > 1 && peers < c->nranks - 1)
            return sim_version() < 22807;
    }
    return 0;
}

/* The plan that is under way. */
static int first_plan(const struct work *w)
{
    int first = 0;

    for (int i = 0; i < w->n; i++)
        if (held_is_message(&w->held[i]) && !is_complete(&w->held[i]) &&
            (!first || w->held[i].plan < first))
            first = w->held[i].plan;
    return first;
}

static uint64_t moved_so_far(const struct work *w)
{
    uint64_t moved = 0;

    for (int i = 0; i < w->n; i++)
        moved += w->held[i].moved + w->held[i].announced;
    return moved;
}

/*
 * After a look at all messages, which began when `seen` looks of all ranks had moved something: is
 * every rank in messages, and none has anything to move? A rank whose look moved nothing says so
 * with that number, which holds until one moves something.
 */
static int is_deadlock(const struct work *w, uint64_t seen, int moved)
{
    struct ncclComm *c = w->comm;
    struct board *b = c->board;

    if (moved)
        __atomic_add_fetch(&b->moved, 1, __ATOMIC_ACQ_REL);
    __atomic_store_n(&b->stuck[c->rank], moved ? 0 : seen + 1, __ATOMIC_RELEASE);
    for (int r = 0; r < c->nranks; r++)
        if (__atomic_load_n(&b->stuck[r], __ATOMIC_ACQUIRE) != seen + 1)
            return 0;
    if (__atomic_load_n(&b->moved, __ATOMIC_ACQUIRE) != seen)
        return 0;
    board_fail(
        b, ncclInternalError,
        "rank %d: every rank waits for a message that another has in a later plan: NCCL hangs",
        c->rank);
    return 1;
}

uint64_t messages_run(struct work *w, uint64_t start)
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
    start += group_ns(w);
    sends = start + busy(w, KIND_SEND);
    end = start + busy(w, KIND_RECV);
    end = end > sends ? end : sends;
    for (int i = 0; i < w->n; i++) {
        struct held *h = &w->held[i];
        struct header header = {
            .ns = sends, .type = h->call.post.type, .registered = h->registered};

        if (!held_is_message(h))
            continue;
        left++;
        header.bytes = h->bytes;
        if (h->call.post.kind == KIND_SEND)
            memcpy(h->header, &header, sizeof header);
    }
    plans_cut(w);
    while (left > 0) {
        char held_up[2][SIM_RANKS] = {{0}}; /* messages between two ranks keep their order */
        int plan = first_plan(w);
        uint64_t seen = __atomic_load_n(&c->board->moved, __ATOMIC_ACQUIRE);
        uint64_t before = moved_so_far(w);

        left = 0;
        for (int i = 0; i < w->n; i++) {
            struct held *h = &w->held[i];
            int recv = h->call.post.kind == KIND_RECV;

            if (!held_is_message(h) || is_complete(h))
                continue;
            left++;
            if (h->plan != plan)
                continue;
            if (held_up[recv][h->call.peer])
                continue;
            held_up[recv][h->call.peer] = 1;
            if (!recv)
                move_send(c, h);
            else if (move_recv(c, h) < 0)
                return start;
        }
        if (left > 0 && is_deadlock(w, seen, moved_so_far(w) != before))
            return start;
        if (left > 0 && board_pause(c, &turns) < 0)
            return start;
    }
    __atomic_store_n(&c->board->stuck[c->rank], 0, __ATOMIC_RELEASE);
    for (int i = 0; i < w->n; i++) {
        struct header header;

        memcpy(&header, w->held[i].header, sizeof header);
        if (w->held[i].call.post.kind == KIND_RECV && header.ns > end)
            end = header.ns;
    }
    return end;
}
