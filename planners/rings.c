/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parallel Rings Allgather: one inter-node ring per local rank, so that every rail
 * of a node carries traffic in both directions all the time, overlapped with an
 * intra-node exchange (linear, for nodes in which any two ranks are linked).
 * Algorithm 1 of papers/parallel-rings-allgather.txt, with two differences.
 *
 * The paper gives ring l the blocks of local rank l, which needs as many ranks on
 * every node and equal blocks. Here every node cuts the data of each origin node
 * into one share per local rank, in proportion to the rails, and local rank l
 * receives and forwards share l. With equal blocks and equal nodes share l is the
 * block of local rank l, and the schedule is the paper's; with uneven nodes, uneven
 * blocks or a slow rail all rails still finish at the same time.
 *
 * The paper forwards whole blocks, step by step. Here a chunk is forwarded, to the
 * right and to the local peers, as soon as it has arrived.
 */
#include "planners/rings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LANE_RING, LANE_LOCAL, LANE_COPY };

/* Bytes [from, to) of a node's blocks, laid end to end by local index. */
struct share {
    uint64_t from, to;
};

/* How one node of the ring cuts the data of an origin node: rank l's share is [cut[l], cut[l + 1]). */
struct cutter {
    int size;         /* ranks of the node */
    uint64_t *weight; /* [size + 1] owned: sums of the ranks' rail weights, from 0 */
    uint64_t *cut;    /* [size + 1] inside weight: the cuts of the current origin */
};

/* A piece of a share that lies in one block. */
struct segment {
    int rank;        /* whose block */
    uint64_t offset; /* in that block */
    uint64_t length;
    struct share at; /* the same bytes, as the share counts them */
};

struct arrival {
    struct share at;
    uint32_t op;
};

struct rings {
    const struct plan_request *q;
    const struct topo *t;
    struct plan_builder *b;
    int node, local;          /* where this rank is */
    int left, right;          /* neighbour nodes; the own node if it is alone */
    uint64_t *offset;         /* [nranks] owned: each block in the packed output; NULL: equal blocks */
    struct cutter cutter[3];  /* owned */
    struct cutter *by_left, *by_here, *by_right; /* into cutter; one for all where nodes are alike */
    struct arrival *arrival;  /* [arrivals] owned: what the current origin's operations wait for */
    int arrivals;
};

/* What a rank's rail can carry, as a weight. Ranks that share a rail share its rate. */
static uint64_t rail_weight(const struct topo *t, int node, int local)
{
    int rail = t->rank[topo_node_rank(t, node, local)].rail;
    uint64_t sharing = 1;

    if (rail < 0 || !(t->rail[rail].bw_bytes_per_s >= 1))
        return 1;
    for (int l = 0; l < topo_node_size(t, node); l++)
        sharing += l != local && t->rank[topo_node_rank(t, node, l)].rail == rail;
    return (uint64_t)t->rail[rail].bw_bytes_per_s / sharing + 1;
}

static int cutter_init(struct cutter *c, const struct topo *t, int node)
{
    c->size = topo_node_size(t, node);
    c->weight = malloc(2 * (size_t)(c->size + 1) * sizeof *c->weight);
    if (!c->weight)
        return -ENOMEM;
    c->cut = c->weight + c->size + 1;
    c->weight[0] = 0;
    for (int l = 0; l < c->size; l++)
        c->weight[l + 1] = c->weight[l] + rail_weight(t, node, l);
    return 0;
}

static int cutters_alike(const struct cutter *a, const struct cutter *b)
{
    return a->size == b->size &&
           !memcmp(a->weight, b->weight, (size_t)(a->size + 1) * sizeof *a->weight);
}

static uint64_t node_block(const struct rings *r, int node, int local)
{
    return plan_block_bytes(r->q, topo_node_rank(r->t, node, local));
}

/*
 * Cut the data of node `origin`. A cut that falls close to a border between two blocks
 * moves there: slivers of blocks would cost messages and balance nothing.
 */
static void cut_origin(const struct rings *r, struct cutter *c, int origin)
{
    int blocks = topo_node_size(r->t, origin), block = 0;
    uint64_t total = 0, border = 0, next = node_block(r, origin, 0);

    for (int l = 0; l < blocks; l++)
        total += node_block(r, origin, l);
    for (int l = 0; l <= c->size; l++)
        c->cut[l] = (uint64_t)((unsigned __int128)total * c->weight[l] / c->weight[c->size]);
    for (int l = 1; l < c->size; l++) {
        uint64_t before = c->cut[l] - c->cut[l - 1], after = c->cut[l + 1] - c->cut[l];
        uint64_t close = (before < after ? before : after) / 32;

        while (next <= c->cut[l] && block + 1 < blocks) {
            border = next;
            next += node_block(r, origin, ++block);
        }
        if (c->cut[l] - border <= close)
            c->cut[l] = border;
        else if (next > c->cut[l] && next - c->cut[l] <= close)
            c->cut[l] = next;
    }
}

static struct share share_of(const struct cutter *c, int local)
{
    return (struct share){c->cut[local], c->cut[local + 1]};
}

static struct share common(struct share a, struct share b)
{
    struct share c = {a.from > b.from ? a.from : b.from, a.to < b.to ? a.to : b.to};

    return c.from < c.to ? c : (struct share){0, 0};
}

/*
 * Take the next piece off the front of *rest, a share of origin's data: 0 when nothing is
 * left. Sender and receiver cut a share alike, because both cut at the blocks' borders.
 */
static int next_segment(const struct rings *r, int origin, struct share *rest, struct segment *s)
{
    uint64_t start = 0;

    if (rest->from >= rest->to)
        return 0;
    for (int l = 0; l < topo_node_size(r->t, origin); l++) {
        uint64_t bytes = node_block(r, origin, l);

        if (rest->from < start + bytes) {
            uint64_t end = rest->to < start + bytes ? rest->to : start + bytes;
            *s = (struct segment){.rank = topo_node_rank(r->t, origin, l),
                                  .offset = rest->from - start,
                                  .length = end - rest->from,
                                  .at = {rest->from, end}};
            rest->from = end;
            return 1;
        }
        start += bytes;
    }
    return 0;
}

static uint64_t output_offset(const struct rings *r, const struct segment *s)
{
    uint64_t block = r->offset ? r->offset[s->rank] : (uint64_t)s->rank * r->q->nbytes;

    return block + s->offset;
}

/* Send a segment: from the input if it is this rank's own, else from the output once it is there. */
static void send_segment(struct rings *r, int peer, int lane, const struct segment *s)
{
    if (s->rank == r->q->rank && !r->q->in_place) {
        plan_send(r->b, peer, lane, PLAN_INPUT, s->offset, s->length);
        return;
    }
    plan_send(r->b, peer, lane, PLAN_OUTPUT, output_offset(r, s), s->length);
    for (int a = 0; a < r->arrivals; a++)
        if (common(r->arrival[a].at, s->at).to)
            plan_after(r->b, r->arrival[a].op);
}

static void note_arrival(struct rings *r, const struct segment *s, uint32_t op)
{
    r->arrival[r->arrivals++] = (struct arrival){s->at, op};
}

/* The local peers, each rank starting with another one, so that nobody is everybody's first. */
static int local_peer(const struct rings *r, int turn)
{
    int size = topo_node_size(r->t, r->node);

    return (r->local + turn) % size;
}

static void send_to_peers(struct rings *r, int origin, struct share share)
{
    struct segment s;

    while (next_segment(r, origin, &share, &s))
        for (int turn = 1; turn < topo_node_size(r->t, r->node); turn++)
            send_segment(r, topo_node_rank(r->t, r->node, local_peer(r, turn)), LANE_LOCAL, &s);
}

static void receive_from_peers(struct rings *r, int origin)
{
    for (int turn = 1; turn < topo_node_size(r->t, r->node); turn++) {
        int peer = local_peer(r, turn);
        struct share share = share_of(r->by_here, peer);
        struct segment s;

        while (next_segment(r, origin, &share, &s))
            plan_recv(r->b, topo_node_rank(r->t, r->node, peer), LANE_LOCAL, PLAN_OUTPUT,
                      output_offset(r, &s), s.length);
    }
}

/* The paper's local message exchange: every rank of the node gets every block of the node. */
static void exchange_own_blocks(struct rings *r)
{
    uint64_t start = 0;

    for (int l = 0; l < topo_node_size(r->t, r->node); l++) {
        uint64_t bytes = node_block(r, r->node, l);
        struct segment s = {.rank = topo_node_rank(r->t, r->node, l),
                            .length = bytes,
                            .at = {start, start + bytes}};

        start += bytes;
        if (l == r->local)
            send_to_peers(r, r->node, s.at);
        else
            note_arrival(r, &s,
                         plan_recv(r->b, s.rank, LANE_LOCAL, PLAN_OUTPUT, output_offset(r, &s),
                                   s.length));
    }
    if (!r->q->in_place) {
        struct segment own = {.rank = r->q->rank};
        plan_copy(r->b, LANE_COPY, PLAN_INPUT, 0, PLAN_OUTPUT, output_offset(r, &own),
                  plan_block_bytes(r->q, r->q->rank));
    }
}

static void receive_from_left(struct rings *r, int origin)
{
    for (int l = 0; l < r->by_left->size; l++) {
        struct share share = common(share_of(r->by_left, l), share_of(r->by_here, r->local));
        struct segment s;

        while (next_segment(r, origin, &share, &s))
            note_arrival(r, &s,
                         plan_recv(r->b, topo_node_rank(r->t, r->left, l), LANE_RING, PLAN_OUTPUT,
                                   output_offset(r, &s), s.length));
    }
}

static void send_to_right(struct rings *r, int origin)
{
    for (int l = 0; l < r->by_right->size; l++) {
        struct share share = common(share_of(r->by_right, l), share_of(r->by_here, r->local));
        struct segment s;

        while (next_segment(r, origin, &share, &s))
            send_segment(r, topo_node_rank(r->t, r->right, l), LANE_RING, &s);
    }
}

static void plan_all(struct rings *r)
{
    int nodes = r->t->nnodes, origin = r->node;

    for (int step = 0; step < nodes; step++, origin = (origin + nodes - 1) % nodes) {
        cut_origin(r, r->by_here, origin);
        if (r->by_left != r->by_here)
            cut_origin(r, r->by_left, origin);
        if (r->by_right != r->by_here)
            cut_origin(r, r->by_right, origin);
        r->arrivals = 0;
        if (step == 0)
            exchange_own_blocks(r);
        else
            receive_from_left(r, origin);
        if (step < nodes - 1) /* the right neighbour is not the origin */
            send_to_right(r, origin);
        if (step > 0) {
            send_to_peers(r, origin, share_of(r->by_here, r->local));
            receive_from_peers(r, origin);
        }
    }
}

/* Where unequal blocks start; 0 or -ENOMEM. Equal blocks need no table. */
static int find_offsets(struct rings *r)
{
    uint64_t next = 0;

    if (!r->q->bytes)
        return 0;
    r->offset = malloc((size_t)r->t->nranks * sizeof *r->offset);
    if (!r->offset)
        return -ENOMEM;
    for (int i = 0; i < r->t->nranks; i++) {
        r->offset[i] = next;
        next += r->q->bytes[i];
    }
    return 0;
}

/* A node's largest size bounds the pieces of one share: a cut and a border each add one. */
static int most_arrivals(const struct topo *t)
{
    int most = 1;

    for (int n = 0; n < t->nnodes; n++)
        if (topo_node_size(t, n) > most)
            most = topo_node_size(t, n);
    return 2 * most + 2;
}

static int rings_build(const struct plan_request *q, struct plan **plan_p)
{
    const struct topo *t = q->topo;
    int node = t->rank[q->rank].node, rc = -ENOMEM;
    struct rings r = {.q = q,
                      .t = t,
                      .node = node,
                      .local = t->rank[q->rank].local,
                      .left = (node + t->nnodes - 1) % t->nnodes,
                      .right = (node + 1) % t->nnodes};

    r.b = plan_build_begin(q->rank, t->nranks, q->chunk_bytes);
    r.arrival = malloc((size_t)most_arrivals(t) * sizeof *r.arrival);
    if (!r.b || !r.arrival || find_offsets(&r) < 0 || cutter_init(&r.cutter[0], t, r.left) < 0 ||
        cutter_init(&r.cutter[1], t, r.node) < 0 || cutter_init(&r.cutter[2], t, r.right) < 0)
        goto out;
    r.by_here = &r.cutter[1];
    r.by_left = cutters_alike(&r.cutter[0], r.by_here) ? r.by_here : &r.cutter[0];
    r.by_right = cutters_alike(&r.cutter[2], r.by_here) ? r.by_here : &r.cutter[2];
    plan_all(&r);
    rc = plan_build_finish(r.b, plan_rings.name, q->in_place ? 0 : plan_block_bytes(q, q->rank),
                           plan_total_bytes(q), 0, plan_p);
    r.b = NULL;
out:
    for (int i = 0; i < 3; i++)
        free(r.cutter[i].weight);
    free(r.offset);
    free(r.arrival);
    plan_build_discard(r.b);
    return rc;
}

static const char *rings_pays(const struct plan_request *q)
{
    const struct topo *t = q->topo;

    if (t->nnodes < 2)
        return "all ranks share a node";
    for (int n = 0; n < t->nnodes; n++)
        if (topo_node_size(t, n) > 1)
            return NULL;
    return "one rank per node leaves no rail idle";
}

const struct plan_algorithm plan_rings = {
    .name = "parallel_rings",
    .collectives = 1u << PLAN_ALLGATHER | 1u << PLAN_ALLGATHERV,
    .description = "one inter-node ring per local rank, pipelined with a linear intra-node exchange",
    .source = "Parallel Rings Allgather, Algorithm 1",
    .pays = rings_pays,
    .build = rings_build,
};
