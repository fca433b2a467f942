/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The steps of a lane's ranks, one per node. Each byte is combined in the same way in every place,
 * so all ranks end with the same bits. In a ring and with halving it is combined in one place. With
 * doubling both partners combine the same two operands.
 */
#include <errno.h>
#include <stdlib.h>

#include "planners/algorithms/lane/lanes_stage.h"

/* A lane under way on this rank. */
struct walk {
    struct lane_work *w;
    int nodes, node;
    int most; /* largest power of two in nodes */
    struct share lane;
    enum plan_buffer now; /* where this rank has the lane */
};

static int largest_power(int nodes)
{
    int most = 1;

    while (2 * most <= nodes)
        most *= 2;
    return most;
}

static struct walk walk_begin(struct lane_work *w, struct share lane, enum plan_buffer from)
{
    int nodes = w->q->topo->nnodes;

    return (struct walk){.w = w,
                         .nodes = nodes,
                         .node = w->l.node,
                         .most = largest_power(nodes),
                         .lane = lane,
                         .now = from};
}

/* The rank that has the lane on that node; the own rank if memory is missing to tell. */
static int partner(struct walk *k, int node)
{
    int rank = lanes_rank(&k->w->l, k->lane, node);

    if (rank < 0) {
        k->w->error = rank;
        return k->w->q->rank;
    }
    return rank;
}

static void send_part(struct walk *k, int rank, int tag, enum plan_buffer src, struct share part)
{
    tracked_send(&k->w->ops, rank, tag, lanes_spot(k->w, src, part.from), part.to - part.from);
}

static void take_part(struct walk *k, int rank, struct share part)
{
    tracked_recv(&k->w->ops, rank, LANES_RESULT, lanes_spot(k->w, PLAN_OUTPUT, part.from),
                 part.to - part.from);
}

static void combine_part(struct walk *k, int rank, enum plan_buffer src, enum plan_buffer dst,
                         struct share part)
{
    tracked_recv_reduce(&k->w->ops, rank, LANES_COMBINE, lanes_spot(k->w, src, part.from),
                        lanes_spot(k->w, dst, part.from), part.to - part.from);
}

static enum plan_buffer other_buffer(enum plan_buffer b)
{
    return b == PLAN_OUTPUT ? PLAN_SCRATCH : PLAN_OUTPUT;
}

/*
 * Doubling sends all it has while it combines it with what comes, so that the result must go
 * elsewhere: to and fro between output and scratch. In one buffer both partners would wait for each
 * other. It begins where the last step ends in the output.
 */
enum plan_buffer lanes_allreduce_start(const struct lane_work *w)
{
    int most = largest_power(w->q->topo->nnodes), steps = __builtin_ctz((unsigned)most);
    int extra = w->l.node >= most;

    return w->inter == LANES_RECURSIVE_DOUBLING && !extra && steps % 2 ? PLAN_SCRATCH : PLAN_OUTPUT;
}

/* In place and alone on the node, the lane may lie where doubling must not begin. */
static void start_at(struct walk *k, enum plan_buffer start)
{
    if (k->now == PLAN_INPUT || k->now == start)
        return;
    tracked_copy(&k->w->ops, 0, lanes_spot(k->w, k->now, k->lane.from),
                 lanes_spot(k->w, start, k->lane.from), k->lane.to - k->lane.from);
    k->now = start;
}

static void doubling(struct walk *k)
{
    enum plan_buffer to = other_buffer(lanes_allreduce_start(k->w));

    start_at(k, other_buffer(to));
    for (int bit = 1; bit < k->most; bit *= 2, to = other_buffer(to)) {
        int rank = partner(k, k->node ^ bit);

        send_part(k, rank, LANES_COMBINE, k->now, k->lane);
        combine_part(k, rank, k->now, to, k->lane);
        k->now = to;
    }
}

static struct share half(const struct walk *k, struct share of, int upper)
{
    size_t grain = k->w->q->grain;
    uint64_t middle = of.from + (of.to - of.from) / grain / 2 * grain;

    return upper ? (struct share){middle, of.to} : (struct share){of.from, middle};
}

/* Halve with partners ever farther away, then collect the halves again in the opposite order. */
static void halving(struct walk *k)
{
    struct share kept[32];
    int n = 0;

    kept[0] = k->lane;
    for (int bit = 1; bit < k->most; bit *= 2, n++) {
        int rank = partner(k, k->node ^ bit), upper = !!(k->node & bit);

        kept[n + 1] = half(k, kept[n], upper);
        send_part(k, rank, LANES_COMBINE, k->now, half(k, kept[n], !upper));
        combine_part(k, rank, k->now, PLAN_OUTPUT, kept[n + 1]);
        k->now = PLAN_OUTPUT;
    }
    for (; n > 0; n--) {
        int bit = 1 << (n - 1), rank = partner(k, k->node ^ bit);

        send_part(k, rank, LANES_RESULT, PLAN_OUTPUT, kept[n]);
        take_part(k, rank, half(k, kept[n - 1], !(k->node & bit)));
    }
}

/* The part of a lane that begins its way round at node i. */
static struct share ring_part(const struct walk *k, int i)
{
    uint64_t elements = (k->lane.to - k->lane.from) / k->w->q->grain, n = (uint64_t)k->nodes;
    uint64_t part = (uint64_t)((i % k->nodes + k->nodes) % k->nodes);
    uint64_t first = elements / n * part + (part < elements % n ? part : elements % n);
    uint64_t length = elements / n + (part < elements % n);

    return (struct share){k->lane.from + first * k->w->q->grain,
                          k->lane.from + (first + length) * k->w->q->grain};
}

static void ring(struct walk *k)
{
    int right = partner(k, (k->node + 1) % k->nodes);
    int left = partner(k, (k->node + k->nodes - 1) % k->nodes);

    for (int step = 0; step < k->nodes - 1; step++) {
        send_part(k, right, LANES_COMBINE, step ? PLAN_OUTPUT : k->now,
                  ring_part(k, k->node - step));
        combine_part(k, left, k->now, PLAN_OUTPUT, ring_part(k, k->node - step - 1));
    }
    for (int step = 0; step < k->nodes - 1; step++) {
        send_part(k, right, LANES_RESULT, PLAN_OUTPUT, ring_part(k, k->node + 1 - step));
        take_part(k, left, ring_part(k, k->node - step));
    }
    k->now = PLAN_OUTPUT;
}

/* Nodes beyond the largest power of two hand in what they have and get the result. */
static void with_extra_nodes(struct walk *k, void (*among_powers)(struct walk *))
{
    int extra = k->nodes - k->most;

    if (k->node >= k->most) {
        int rank = partner(k, k->node - k->most);

        send_part(k, rank, LANES_COMBINE, k->now, k->lane);
        take_part(k, rank, k->lane);
        return;
    }
    if (k->node >= extra) {
        among_powers(k);
        return;
    }
    int rank = partner(k, k->node + k->most);
    enum plan_buffer start = lanes_allreduce_start(k->w);

    combine_part(k, rank, k->now, start, k->lane);
    k->now = start;
    among_powers(k);
    send_part(k, rank, LANES_RESULT, PLAN_OUTPUT, k->lane);
}

void lanes_allreduce(struct lane_work *w, struct share lane, enum plan_buffer from)
{
    struct walk k = walk_begin(w, lane, from);

    if (k.nodes == 1)
        start_at(&k, PLAN_OUTPUT);
    else if (w->inter == LANES_RING)
        ring(&k);
    else
        with_extra_nodes(&k, w->inter == LANES_RABENSEIFNER ? halving : doubling);
}

/*
 * Binomial trees over the nodes, counted from the root's: the parent is found by clearing the
 * lowest bit, and the farthest child, which has the most below it, comes first.
 */
static int tree_node(const struct walk *k, int from_root)
{
    return (k->w->q->topo->rank[k->w->q->root].node + from_root) % k->nodes;
}

static int from_root(const struct walk *k)
{
    return (k->node + k->nodes - k->w->q->topo->rank[k->w->q->root].node) % k->nodes;
}

/* The distance to the farthest child that there may be. */
static int farthest(const struct walk *k, int me)
{
    int bit = me ? (me & -me) / 2 : k->most;

    return bit;
}

void lanes_bcast(struct lane_work *w, struct share lane)
{
    struct walk k = walk_begin(w, lane, PLAN_OUTPUT);
    int me = from_root(&k);

    if (me)
        take_part(&k, partner(&k, tree_node(&k, me & (me - 1))), lane);
    for (int bit = farthest(&k, me); bit > 0; bit /= 2)
        if (me + bit < k.nodes)
            send_part(&k, partner(&k, tree_node(&k, me + bit)), LANES_RESULT, PLAN_OUTPUT, lane);
}

enum plan_buffer lanes_reduce(struct lane_work *w, struct share lane, enum plan_buffer from,
                              enum plan_buffer to)
{
    struct walk k = walk_begin(w, lane, from);
    int me = from_root(&k), most = farthest(&k, me);

    for (int bit = 1; bit <= most; bit *= 2)
        if (me + bit < k.nodes) {
            combine_part(&k, partner(&k, tree_node(&k, me + bit)), k.now, to, lane);
            k.now = to;
        }
    if (me)
        send_part(&k, partner(&k, tree_node(&k, me & (me - 1))), LANES_COMBINE, k.now, lane);
    return k.now;
}

/* A step costs as much as so many bytes, where the rails' rates and latencies are not known. */
enum { STEP_BYTES = 16 << 10 };
enum { DIRECT_NODES = 16 }; /* beyond, each would have too many others at once */
enum { RING_NODES = 512 };  /* beyond, a plan has too many operations */
/* Where bytes count, a half waits for the one before, and a part of a ring hardly does: 4 rails of
   200 Gbit/s, 16 and 32 nodes, 8 MiB ... 2 GiB take 1.03 to 1.28 times as long (modelled). */
static const double halves_wait = 1.2;

enum lanes_inter lanes_inter_default(const struct plan_request *q)
{
    const struct topo *t = q->topo;
    const struct topo_link *rail = &t->rail[0];
    double step = rail->latency_ns > 0 && rail->bw_bytes_per_s > 0
                      ? rail->latency_ns * 1e-9 * rail->bw_bytes_per_s
                      : STEP_BYTES;
    double n = t->nnodes, p = largest_power(t->nnodes), steps = __builtin_ctz((unsigned)p);
    double m = (double)q->nbytes * n / t->nranks, extra = n > p ? 2 * (step + m) : 0;
    double time[LANES_INTERS] = {
        [LANES_RING] = 2 * (n - 1) * (step + m / n),
        [LANES_RECURSIVE_DOUBLING] = steps * (step + m) + extra,
        [LANES_RABENSEIFNER] = 2 * steps * step + halves_wait * 2 * m * (p - 1) / p + extra,
    };
    int best = LANES_RECURSIVE_DOUBLING;

    _Static_assert(LANES_RING == 0, "the loop may begin behind it");
    for (int i = t->nnodes > RING_NODES; i < LANES_DIRECT; i++)
        if (time[i] < time[best])
            best = i;
    if (t->rate && t->nnodes > 2 && t->nnodes <= DIRECT_NODES && best != LANES_RECURSIVE_DOUBLING)
        best = LANES_DIRECT;
    return (enum lanes_inter)best;
}
