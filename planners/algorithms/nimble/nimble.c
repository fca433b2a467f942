/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A piece of a message that goes one way is a stream: from the sender over up to two relays to the
 * receiver. All ranks know all streams and put them in one order: by the distance from the sender's
 * rank to the receiver's, then by sender. So in each stretch of the order every rank sends to one
 * other and receives from one other, and two ranks seldom send to each other at the same time.
 *
 * Memory and the number of messages under way are bounded. A rank begins its stream number j of a
 * role (sender, receiver, relay) when number j - DEPTH of that role has ended. Receivers take more
 * at a time: what comes over slow rails must begin early, or it ends last and alone. Ranks and
 * queues wait only for streams that are earlier in the order. The earliest unfinished stream never
 * waits for another one, so there is no deadlock.
 *
 * A relay keeps one area of bytes per stream under way. A stream longer than that passes through it
 * in several operations: the next one's bytes arrive where the last one's have left, chunk by
 * chunk. There is no other flow control. The number of operations is bounded (PASSES) by letting
 * the area grow with the stream.
 *
 * The paper keeps a message's pieces in order with a reassembly queue at the receiver. Here every
 * piece has its place in the output, so the order in which pieces arrive means nothing.
 */
#include "planners/algorithms/nimble/nimble.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    TAGS = 32,        /* queues between two ranks, so that one slow stream does not hold up all */
    DEPTH = 16,       /* streams under way per sender and per relay */
    RECEIVES = 64,    /* per receiver */
    AREA_CHUNKS = 8,  /* of a relay's area at least */
    PASSES = 64,      /* of a stream through an area at most */
    MOST_RANKS = 1024 /* each rank plans for all pairs */
};

/* One stream in which this rank has a part. */
struct stream {
    uint32_t distance; /* from sender to receiver, the first part of the order */
    uint32_t number;   /* of the piece: the second */
    uint64_t offset;   /* in the message */
    const struct balance_piece *piece;
};

/* A send from a relay's area, and the one before it that left more of its bytes. */
struct use {
    uint64_t bytes;
    uint32_t op, before; /* before: number + 1, or 0 */
};

struct work {
    const struct plan_request *q;
    struct plan_builder *b;
    struct stream *stream; /* [n] owned */
    uint32_t n;
    uint64_t *row, *column;      /* [nranks] owned: where messages begin in input and output */
    uint32_t *tag;               /* [2 * nranks] owned: hops so far to and from each rank */
    uint64_t area[DEPTH], areas; /* scratch: sizes, then places, of the relay's areas */
    uint32_t sent[DEPTH], received[RECEIVES]; /* the last operations of the last streams */
    struct use *use;                          /* [passes by this relay] owned */
    uint32_t nuses, last_use[DEPTH];          /* of each area: number + 1, or 0 */
    uint32_t nsent, nreceived, nrelayed;
};

static uint64_t demand(const struct plan_request *q, int from, int to)
{
    return q->demand[(size_t)from * (size_t)q->topo->nranks + (size_t)to];
}

static int involves(const struct balance_piece *p, int rank)
{
    return p->from == rank || p->to == rank || p->out_relay == rank || p->in_relay == rank;
}

static int in_order(const void *a, const void *b)
{
    const struct stream *x = a, *y = b;

    if (x->distance != y->distance)
        return x->distance < y->distance ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static int list_streams(struct work *w, const struct balance *b)
{
    int nranks = w->q->topo->nranks;
    uint64_t offset = 0;
    uint32_t n = 0;

    for (uint32_t i = 0; i < b->npieces; i++)
        n += (uint32_t)involves(&b->piece[i], w->q->rank);
    w->stream = malloc((n + 1) * sizeof *w->stream);
    if (!w->stream)
        return -ENOMEM;
    for (uint32_t i = 0; i < b->npieces; i++) {
        const struct balance_piece *p = &b->piece[i];
        int new = !i || p[-1].from != p->from || p[-1].to != p->to;

        offset = new ? 0 : offset + p[-1].bytes;
        if (involves(p, w->q->rank))
            w->stream[w->n++] =
                (struct stream){.distance = (uint32_t)((p->to - p->from + nranks) % nranks),
                                .number = i,
                                .offset = offset,
                                .piece = p};
    }
    qsort(w->stream, w->n, sizeof *w->stream, in_order);
    return 0;
}

/* Bytes of a stream that move in one operation; all its ranks cut alike. */
static uint64_t pass_bytes(const struct plan_request *q, const struct balance_piece *p)
{
    uint64_t chunk = q->chunk_bytes, least = AREA_CHUNKS * chunk;
    uint64_t share = (p->bytes + PASSES - 1) / PASSES;

    if (p->out_relay < 0 && p->in_relay < 0)
        return p->bytes;
    share = (share + chunk - 1) / chunk * chunk;
    return share > least ? share : least;
}

static int is_relay(const struct work *w, const struct balance_piece *p)
{
    return p->out_relay == w->q->rank || p->in_relay == w->q->rank;
}

/* Before the next bytes arrive in an area, the bytes sent from there must have left. So the
   operation waits for the last send, for the longer one before it if bytes remain, and so on. */
static void wait_for_area(struct work *w, uint32_t turn, uint64_t bytes)
{
    for (uint32_t i = w->last_use[turn]; i; i = w->use[i - 1].before) {
        plan_after(w->b, w->use[i - 1].op);
        if (w->use[i - 1].bytes >= bytes)
            break;
    }
}

static void note_use(struct work *w, uint32_t turn, uint64_t bytes, uint32_t op)
{
    uint32_t before = w->last_use[turn];

    while (before && w->use[before - 1].bytes <= bytes)
        before = w->use[before - 1].before;
    w->use[w->nuses++] = (struct use){bytes, op, before};
    w->last_use[turn] = w->nuses;
}

/* Areas are used in turn; each is as large as the largest stream needs that comes by it. */
static int lay_out_scratch(struct work *w)
{
    uint32_t n = 0;
    uint64_t uses = 0;

    for (uint32_t i = 0; i < w->n; i++) {
        const struct balance_piece *p = w->stream[i].piece;
        uint64_t bytes = pass_bytes(w->q, p), *area = &w->area[n % DEPTH];

        if (!is_relay(w, p))
            continue;
        uses += (p->bytes + bytes - 1) / bytes;
        bytes = bytes < p->bytes ? bytes : p->bytes;
        *area = bytes > *area ? bytes : *area;
        n++;
    }
    for (int a = 0; a < DEPTH; a++) {
        uint64_t bytes = w->area[a];
        w->area[a] = w->areas;
        w->areas += bytes;
    }
    w->use = malloc((uses + 1) * sizeof *w->use);
    return w->use ? 0 : -ENOMEM;
}

/* The tag of the next hop to (or from) a rank. Both ends count alike. */
static int next_tag(struct work *w, int peer, int incoming)
{
    return (int)(w->tag[2 * peer + incoming]++ % TAGS);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void send_stream(struct work *w, const struct stream *s)
{
    const struct balance_piece *p = s->piece;
    int next = p->out_relay >= 0 ? p->out_relay : p->in_relay >= 0 ? p->in_relay : p->to;
    int tag = next_tag(w, next, 0);
    uint64_t pass = pass_bytes(w->q, p), from = w->row[p->to] + s->offset;
    uint32_t *last = &w->sent[w->nsent++ % DEPTH], before = *last;

    for (uint64_t at = 0; at < p->bytes; at += pass) {
        *last = plan_send(w->b, next, tag, PLAN_INPUT, from + at, least(pass, p->bytes - at));
        if (!at)
            plan_after(w->b, before);
    }
}

static void receive_stream(struct work *w, const struct stream *s)
{
    const struct balance_piece *p = s->piece;
    int before_me = p->in_relay >= 0 ? p->in_relay : p->out_relay >= 0 ? p->out_relay : p->from;
    int tag = next_tag(w, before_me, 1);
    uint64_t pass = pass_bytes(w->q, p), to = w->column[p->from] + s->offset;
    uint32_t *last = &w->received[w->nreceived++ % RECEIVES], before = *last;

    for (uint64_t at = 0; at < p->bytes; at += pass) {
        *last = plan_recv(w->b, before_me, tag, PLAN_OUTPUT, to + at, least(pass, p->bytes - at));
        if (!at)
            plan_after(w->b, before);
    }
}

static void relay_stream(struct work *w, const struct stream *s)
{
    const struct balance_piece *p = s->piece;
    int first = p->out_relay == w->q->rank;
    int previous = first || p->out_relay < 0 ? p->from : p->out_relay;
    int next = first && p->in_relay >= 0 ? p->in_relay : p->to;
    int in = next_tag(w, previous, 1), out = next_tag(w, next, 0);
    uint32_t turn = w->nrelayed++ % DEPTH;
    uint64_t pass = pass_bytes(w->q, p);

    for (uint64_t at = 0; at < p->bytes; at += pass) {
        uint64_t bytes = least(pass, p->bytes - at);
        uint32_t arrived = plan_recv(w->b, previous, in, PLAN_SCRATCH, w->area[turn], bytes);

        wait_for_area(w, turn, bytes);
        note_use(w, turn, bytes, plan_send(w->b, next, out, PLAN_SCRATCH, w->area[turn], bytes));
        plan_after(w->b, arrived);
    }
}

static void add_stream(struct work *w, const struct stream *s)
{
    if (s->piece->from == w->q->rank)
        send_stream(w, s);
    else if (s->piece->to == w->q->rank)
        receive_stream(w, s);
    else
        relay_stream(w, s);
}

static int open_work(struct work *w)
{
    const struct plan_request *q = w->q;
    size_t nranks = (size_t)q->topo->nranks;

    w->row = calloc(nranks, sizeof *w->row);
    w->column = calloc(nranks, sizeof *w->column);
    w->tag = calloc(2 * nranks, sizeof *w->tag);
    w->b = plan_build_begin(q->rank, (int)nranks, q->chunk_bytes);
    if (!w->row || !w->column || !w->tag || !w->b)
        return -ENOMEM;
    for (int r = 1; r < (int)nranks; r++) {
        w->row[r] = w->row[r - 1] + demand(q, q->rank, r - 1);
        w->column[r] = w->column[r - 1] + demand(q, r - 1, q->rank);
    }
    memset(w->sent, 0xff, sizeof w->sent); /* PLAN_NO_OP */
    memset(w->received, 0xff, sizeof w->received);
    return 0;
}

int nimble_build_pieces(const struct plan_request *q, const struct balance *b, const char *name,
                        struct plan **plan_p)
{
    struct work w = {.q = q};
    int rc = open_work(&w);

    if (!rc)
        rc = list_streams(&w, b);
    if (!rc)
        rc = lay_out_scratch(&w);
    if (!rc) {
        plan_copy(w.b, 0, PLAN_INPUT, w.row[q->rank], PLAN_OUTPUT, w.column[q->rank],
                  demand(q, q->rank, q->rank));
        for (uint32_t i = 0; i < w.n; i++)
            add_stream(&w, &w.stream[i]);
        rc = plan_build_finish(w.b, name, plan_input_bytes(q, q->rank),
                               plan_output_bytes(q, q->rank), w.areas, 0, plan_p);
    } else {
        plan_build_discard(w.b);
    }
    free(w.stream);
    free(w.use);
    free(w.row);
    free(w.column);
    free(w.tag);
    return rc;
}

struct balance_options nimble_options(const struct plan_request *q)
{
    struct balance_options o = balance_defaults;

    o.split_bytes = least(o.split_bytes, q->chunk_bytes);
    o.relay_bytes = o.split_bytes / 16;
    return o;
}

/* Messages that share what a rank has inside its node have no link for each pair. */
static int open_net(const struct plan_request *q, struct balance_net *net)
{
    int shared = q->inside_bytes_per_s > 0;
    int rc = balance_net_open(net, q->topo, shared ? BALANCE_SWITCH : BALANCE_AUTO);

    if (!rc && shared)
        balance_net_bound_inside(net, q->inside_bytes_per_s);
    return rc;
}

int nimble_predict(const struct plan_request *q, double *direct, double *balanced)
{
    struct balance_options o = nimble_options(q);
    struct balance_net net;
    struct balance b = {0}, d = {0};
    int rc = open_net(q, &net);

    if (!rc)
        rc = balance_plan(&net, q->demand, &o, &b);
    if (!rc)
        rc = balance_direct(&net, q->demand, &d);
    *balanced = b.congestion;
    *direct = d.congestion;
    balance_free(&d);
    balance_free(&b);
    balance_net_close(&net);
    return rc;
}

/* Splits q->demand, as balance_plan does. */
typedef int (*split_demand)(const struct plan_request *q, const struct balance_net *net,
                            struct balance *b);

static int split_balanced(const struct plan_request *q, const struct balance_net *net,
                          struct balance *b)
{
    struct balance_options o = nimble_options(q);

    return balance_plan(net, q->demand, &o, b);
}

static int split_evenly(const struct plan_request *q, const struct balance_net *net,
                        struct balance *b)
{
    return balance_uniform(net, q->demand, b);
}

static int split_nothing(const struct plan_request *q, const struct balance_net *net,
                         struct balance *b)
{
    return balance_direct(net, q->demand, b);
}

static int build(const struct plan_request *q, split_demand split, const char *name,
                 struct plan **plan_p)
{
    struct balance_net net;
    struct balance b = {0};

    if (!q->demand)
        return -ENOTSUP;
    int rc = open_net(q, &net);
    if (!rc)
        rc = split(q, &net, &b);
    if (!rc)
        rc = nimble_build_pieces(q, &b, name, plan_p);
    balance_free(&b);
    balance_net_close(&net);
    return rc;
}

static int build_balanced(const struct plan_request *q, struct plan **plan_p)
{
    return build(q, split_balanced, plan_nimble.name, plan_p);
}

static int build_striped(const struct plan_request *q, struct plan **plan_p)
{
    return build(q, split_evenly, plan_striped.name, plan_p);
}

static int build_pairwise(const struct plan_request *q, struct plan **plan_p)
{
    return build(q, split_nothing, plan_pairwise.name, plan_p);
}

/* The most that one rank receives. Some columns at a time, as many as a cache line holds. */
static uint64_t most_received(const uint64_t *demand, size_t n)
{
    enum { COLUMNS = 8 };
    uint64_t most = 0;

    for (size_t first = 0; first < n; first += COLUMNS) {
        size_t end = first + COLUMNS < n ? first + COLUMNS : n;
        uint64_t sum[COLUMNS] = {0};

        for (size_t from = 0; from < n; from++)
            for (size_t to = first; to < end; to++)
                sum[to - first] += from == to ? 0 : demand[from * n + to];
        for (size_t i = 0; i < COLUMNS; i++)
            most = sum[i] > most ? sum[i] : most;
    }
    return most;
}

unsigned nimble_skew(const uint64_t *demand, int nranks)
{
    size_t n = (size_t)nranks;
    uint64_t most = most_received(demand, n), all = 0;
    unsigned skew = 0;

    for (size_t from = 0; from < n; from++) {
        uint64_t sent = 0;

        for (size_t to = 0; to < n; to++)
            sent += from == to ? 0 : demand[from * n + to];
        all += sent;
        most = sent > most ? sent : most;
    }
    for (uint64_t mean = all / n + 1; most / 2 >= mean; most /= 2)
        skew++;
    return skew;
}

static const char *balanced_pays(const struct plan_request *q)
{
    size_t nranks = (size_t)q->topo->nranks;
    uint64_t split = nimble_options(q).split_bytes;

    if (nranks > MOST_RANKS)
        return "planning for all pairs of so many ranks takes too long";
    for (size_t i = 0; q->demand && i < nranks * nranks; i++)
        if (q->demand[i] > split && i % (nranks + 1))
            return NULL;
    return "no message is long enough to be split";
}

static const char *striped_pays(const struct plan_request *q)
{
    (void)q;
    return "balancing is never slower";
}

static const char *pairwise_pays(const struct plan_request *q)
{
    (void)q;
    return "the library sends direct too";
}

enum {
    EXCHANGES = 1u << COLL_ALLTOALLV | 1u << COLL_NEIGHBOR_ALLGATHER | 1u << COLL_NEIGHBOR_ALLTOALL
};

const struct plan_algorithm plan_nimble = {
    .name = "nimble",
    .collectives = EXCHANGES,
    .description = "messages split over relays and rails so that no link is busier than need be",
    .source = "NIMBLE, sections IV-B and IV-C",
    .pays = balanced_pays,
    .build = build_balanced,
};

const struct plan_algorithm plan_striped = {
    .name = "striped",
    .collectives = EXCHANGES,
    .description = "every message between nodes cut alike over all rails",
    .source = "striping, as libraries with several rails do it",
    .pays = striped_pays,
    .build = build_striped,
};

const struct plan_algorithm plan_pairwise = {
    .name = "pairwise",
    .collectives = EXCHANGES,
    .description = "every message direct, to one rank after the other",
    .source = "the usual pairwise exchange",
    .pays = pairwise_pays,
    .build = build_pairwise,
};
