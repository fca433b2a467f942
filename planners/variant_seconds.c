/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long the library's algorithms take: step by step. In a step every rank sends to one other at
 * most, known by the algorithm's shape, and the busiest rail or rank says how long the step takes.
 * So the rails of a message count, and whether it leaves the node at all: two algorithms may send
 * the same bytes, but one of them sends most to a neighbour.
 *
 * Not in it: protocols, segments that overlap, processors. Allgathers of 16 KiB per rank, emulated,
 * 4 x 4 at 25 Mbit/s, affine, Open MPI 4.1.4, one call each on a busy machine; ms:
 *
 *              emulated   model
 *   neighbor         38      42
 *   ring             71      79
 *   bruck           108      79
 *   doubling        110      63
 *   linear          293    1069     its broadcast is linear with larger calls alone
 *
 *   bench/run --grid --collectives allgather --sizes 16K --rate 25mbit
 *
 * Rejected: formulas of bytes over one rate. They took a rank's rail for any rank's, and put an
 * Allgather first that sends all blocks to all ranks from one of them.
 */
#include <math.h>

#include "planners/cost.h"
#include "planners/variants.h"

enum { MOST_RAILS = 64, MOST_SAMPLES = 16, MOST_NODES = 32 };

/* The sender and the receiver of each step. Ranks count from the root. */
enum pairing {
    NEXT,      /* r to r + distance, around */
    EXCHANGE,  /* r with r ^ distance; distance is a power of two */
    BESIDE,    /* even ranks with the next one, or (distance 2) with the one before */
    BELOW,     /* of 2 x distance ranks, the first to the middle one */
    CHILD,     /* r to 2 r + distance, in a binary tree */
    FROM_ROOT, /* the root to all, one by one */
    ALL        /* all to all, at once */
};

struct step {
    enum pairing pairing;
    int distance;
    double bytes; /* of a message */
};

struct scene {
    const struct topo *t;
    int ranks, root;
    double total;         /* bytes, as of plan_variant_seconds */
    double latency[2];    /* s: of a message inside a node; between nodes */
    double rail;          /* bytes/s, where the topology does not say */
    double flow;          /* most of one connection; infinite: no limit is known */
    double local;         /* bytes/s of a rank inside its node */
    double segment_bytes; /* of the variant; total: whole messages */
};

static double or_else(double value, double otherwise)
{
    return value > 0 ? value : otherwise;
}

static struct scene scene_of(const struct plan_variant *v, const struct plan_request *q,
                             uint64_t total)
{
    const struct topo *t = q->topo;
    struct scene m = {
        .t = t,
        .ranks = t->nranks,
        .root = plan_is(q->collective, PLAN_ROOTED) ? q->root : 0,
        .total = (double)total,
        .latency = {cost_local_latency(t) + COST_MESSAGE_S, cost_rail_latency(t) + COST_MESSAGE_S},
        .rail = cost_rail_rate(t),
        .flow = or_else(t->link[TOPO_LINK_FLOW].bw_bytes_per_s, INFINITY),
        .local = cost_local_rate(q)};

    m.segment_bytes = v->segment > 0 && v->segment < m.total ? v->segment : m.total;
    return m;
}

/* The rank that r sends to, or -1; both as they count from the root. */
static int sends_to(const struct scene *m, const struct step *s, int r)
{
    int d = s->distance, n = m->ranks, to = -1;

    switch (s->pairing) {
    case NEXT:
        return (r + d) % n;
    case EXCHANGE:
        to = r ^ d;
        break;
    case BESIDE:
        return n % 2 ? (r + 1) % n : d == 2 ? (r + (r % 2 ? 1 : n - 1)) % n : r ^ 1;
    case BELOW:
        to = r % (2 * d) == 0 ? r + d : -1;
        break;
    case CHILD:
        to = 2 * r + d;
        break;
    case FROM_ROOT:
    case ALL:
        break;
    }
    return to < n ? to : -1;
}

static int gets_from(const struct scene *m, const struct step *s, int r)
{
    int d = s->distance, n = m->ranks;

    switch (s->pairing) {
    case NEXT:
        return (r + n - d % n) % n;
    case EXCHANGE:
    case BESIDE:
        return n % 2 && s->pairing == BESIDE ? (r + n - 1) % n : sends_to(m, s, r);
    case BELOW:
        return r % (2 * d) == d ? r - d : -1;
    case CHILD:
        return r >= d && (r - d) % 2 == 0 ? (r - d) / 2 : -1;
    case FROM_ROOT:
    case ALL:
        break;
    }
    return -1;
}

/* A rank's bytes in a step: to and from other nodes, and inside its own. */
struct flow {
    double out, in, local;
};

static void add_message(const struct scene *m, const struct step *s, int node, int peer,
                        double *far, double *local)
{
    if (peer < 0)
        return;
    int foreign = m->t->rank[(peer + m->root) % m->ranks].node != node;
    *(foreign ? far : local) += s->bytes;
}

/* rank: as it counts in the communicator. */
static struct flow flow_of(const struct scene *m, const struct step *s, int rank)
{
    int node = m->t->rank[rank].node, r = (rank - m->root + m->ranks) % m->ranks;
    int beside = topo_node_size(m->t, node), at_root = m->t->rank[m->root].node == node;
    struct flow f = {0};

    if (s->pairing == ALL) {
        f.out = f.in = s->bytes * (m->ranks - beside);
        f.local = s->bytes * (beside - 1);
    } else if (s->pairing == FROM_ROOT) {
        f.out = r ? 0 : s->bytes * (m->ranks - beside);
        f.in = r && !at_root ? s->bytes : 0;
        f.local = r ? (at_root ? s->bytes : 0) : s->bytes * (beside - 1);
    } else {
        double in = 0;

        add_message(m, s, node, sends_to(m, s, r), &f.out, &f.local);
        add_message(m, s, node, gets_from(m, s, r), &f.in, &in);
        f.local = in > f.local ? in : f.local;
    }
    return f;
}

/* Seconds of a node's rails, by rail, and of all of them for ranks that use all. */
struct rails {
    double out[MOST_RAILS], in[MOST_RAILS], all_out, all_in;
};

static double rate_of(const struct scene *m, int node, int rail, enum topo_way way)
{
    return or_else(topo_rail_rate(m->t, node, rail, way), m->rail);
}

static double node_rate(const struct scene *m, int node, enum topo_way way)
{
    double sum = 0;

    for (int i = 0; i < m->t->nrails; i++)
        sum += rate_of(m, node, i, way);
    return sum;
}

static void load_rails(const struct scene *m, int node, int rank, const struct flow *f,
                       struct rails *r)
{
    int rail = m->t->rank[rank].rail;

    if (rail < 0) {
        r->all_out += f->out / node_rate(m, node, TOPO_OUT);
        r->all_in += f->in / node_rate(m, node, TOPO_IN);
    } else {
        r->out[rail % MOST_RAILS] += f->out / rate_of(m, node, rail, TOPO_OUT);
        r->in[rail % MOST_RAILS] += f->in / rate_of(m, node, rail, TOPO_IN);
    }
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Seconds of the busiest rail or rank of a node for n steps at once. *crossed: something does. */
static double node_seconds(const struct scene *m, int node, const struct step *s, int n,
                           int *crossed)
{
    struct rails r = {0};
    double most = 0;

    for (int l = 0; l < topo_node_size(m->t, node); l++) {
        int rank = topo_node_rank(m->t, node, l);
        struct flow sum = {0};

        for (int i = 0; i < n; i++) {
            struct flow f = flow_of(m, &s[i], rank);
            sum.out += f.out;
            sum.in += f.in;
            sum.local += f.local;
        }
        *crossed |= sum.out > 0;
        most = larger(most, sum.local / m->local);
        most = larger(most, larger(sum.out, sum.in) / m->flow);
        if (sum.out > 0 || sum.in > 0)
            load_rails(m, node, rank, &sum, &r);
    }
    for (int i = 0; i < MOST_RAILS && i < m->t->nrails; i++)
        most = larger(most, larger(r.out[i], r.in[i]) + larger(r.all_out, r.all_in));
    return most;
}

/* The same of the busiest node; with_latency: and of a message on its way. Some nodes stand for
   many whose rails are alike, the root's among them. */
static double seconds_of(const struct scene *m, const struct step *s, int n, int with_latency)
{
    const struct topo *t = m->t;
    int apart = t->rate || t->nnodes <= MOST_NODES ? 1 : t->nnodes / MOST_NODES, crossed = 0;
    double most = node_seconds(m, t->rank[m->root].node, s, n, &crossed);

    for (int node = 0; node < t->nnodes; node += apart)
        most = larger(most, node_seconds(m, node, s, n, &crossed));
    return most + (with_latency ? m->latency[crossed] : 0);
}

static double step_seconds(const struct scene *m, enum pairing pairing, int distance, double bytes)
{
    struct step s = {pairing, distance, bytes};
    int one_by_one = pairing == FROM_ROOT || pairing == ALL;

    return seconds_of(m, &s, 1, 1) + (one_by_one ? m->ranks * COST_MESSAGE_S : 0);
}

static int is_power_of_two(int n)
{
    return (n & (n - 1)) == 0;
}

/* In steps whose distances double, and the blocks of a message with them. */
static double doubling(const struct scene *m, enum pairing pairing)
{
    double sum = 0, block = m->total / m->ranks;

    for (int d = 1; d < m->ranks; d *= 2) {
        int blocks = d < m->ranks - d ? d : m->ranks - d;
        sum += step_seconds(m, is_power_of_two(m->ranks) ? pairing : NEXT, d, blocks * block);
    }
    return sum;
}

/* The same distances, but messages halve. */
static double near_halving(const struct scene *m)
{
    double sum = 0;

    for (int d = 1; d < m->ranks; d *= 2)
        sum += step_seconds(m, is_power_of_two(m->ranks) ? EXCHANGE : NEXT, d, m->total / 2 / d);
    return sum;
}

static double full_doubling(const struct scene *m, double bytes)
{
    double sum = is_power_of_two(m->ranks) ? 0 : 2 * step_seconds(m, BESIDE, 1, bytes);

    for (int d = 1; 2 * d <= m->ranks; d *= 2)
        sum += step_seconds(m, EXCHANGE, d, bytes);
    return sum;
}

/* Down a binomial tree: the vector, or the blocks of those below. */
static double binomial(const struct scene *m, int blocks, double bytes)
{
    double sum = 0, block = bytes / m->ranks;

    for (int d = 1; d < m->ranks; d *= 2) {
        int below = d < m->ranks - d ? d : m->ranks - d;
        sum += step_seconds(m, BELOW, d, blocks ? below * block : bytes);
    }
    return sum;
}

/* Segments that follow each other: all bytes on the busiest link, and the depth of a segment. */
static double pipelined(const struct scene *m, const struct step *whole, int n, int depth)
{
    struct step segment[2] = {whole[0], whole[n - 1]};

    segment[0].bytes = segment[1].bytes = m->segment_bytes;
    return seconds_of(m, whole, n, 0) + (depth > 1 ? depth - 1 : 0) * seconds_of(m, segment, n, 1) +
           m->latency[m->t->nnodes > 1];
}

static double tree(const struct scene *m)
{
    struct step children[] = {{CHILD, 1, m->total}, {CHILD, 2, m->total}};

    return m->segment_bytes < m->total ? pipelined(m, children, 2, cost_log2(m->ranks))
                                       : binomial(m, 0, m->total);
}

static double ring(const struct scene *m, double bytes)
{
    return (m->ranks - 1) * step_seconds(m, NEXT, 1, bytes / m->ranks);
}

static double pairwise(const struct scene *m, double bytes)
{
    int steps = m->ranks - 1, samples = steps < MOST_SAMPLES ? steps : MOST_SAMPLES;
    double sum = 0;

    for (int i = 0; i < samples; i++)
        sum += step_seconds(m, NEXT, 1 + (int)((int64_t)steps * i / samples), bytes / m->ranks);
    return sum * steps / samples;
}

/* Blocks double where all ranks get all; where each gets its own, half of them move each time. */
static double bruck(const struct scene *m, enum plan_collective c)
{
    double sum = 0;

    if (plan_is(c, PLAN_SPREADS))
        return doubling(m, NEXT);

    for (int d = 1; d < m->ranks; d *= 2)
        sum += step_seconds(m, NEXT, d, m->total / 2);
    return sum;
}

/* The nodes' first ranks among themselves, and each with the others of its node. */
static double hierarchy(const struct scene *m)
{
    int rail = m->t->rank[topo_node_rank(m->t, 0, 0)].rail;
    double rate = rail < 0 ? node_rate(m, 0, TOPO_OUT) : rate_of(m, 0, rail, TOPO_OUT);

    rate = rate < m->flow ? rate : m->flow;
    return cost_log2(m->t->nnodes) * (m->latency[1] + m->total / rate) + 2 * m->latency[0] +
           2 * m->total / m->local;
}

/* All at one rank. Where all ranks get all of it, from there to each of them. */
static double funnel(const struct scene *m, enum plan_collective c)
{
    int vector = plan_is_vector(c), to_all = !plan_is(c, PLAN_ROOTED);
    double whole = vector || to_all ? step_seconds(m, FROM_ROOT, 0, m->total) : 0;
    double blocks = vector ? 0 : step_seconds(m, FROM_ROOT, 0, m->total / m->ranks);

    return whole + blocks + (vector && to_all ? whole : 0);
}

static double of_shape(const struct plan_variant *v, const struct scene *m)
{
    int bcast = v->collective == COLL_BCAST, reduce = v->collective == COLL_REDUCE;
    int twice = v->collective == COLL_ALLREDUCE ? 2 : 1;
    struct step chain = {NEXT, 1, m->total};
    double first = bcast || reduce ? binomial(m, 1, m->total) : 0; /* it scatters, or gathers */

    switch (v->shape) {
    case VARIANT_RING:
        return first + twice * ring(m, m->total);
    case VARIANT_PAIRED_RING:
        return m->ranks / 4. *
               (step_seconds(m, BESIDE, 1, 2 * m->total / m->ranks) +
                step_seconds(m, BESIDE, 2, 2 * m->total / m->ranks));
    case VARIANT_DOUBLING:
        return first + twice * doubling(m, EXCHANGE);
    case VARIANT_NEAR_HALVING:
        return first + twice * near_halving(m);
    case VARIANT_FULL_DOUBLING:
        return full_doubling(m, m->total);
    case VARIANT_TREE:
        return twice * tree(m);
    case VARIANT_BLOCK_TREE:
        return binomial(m, 1, m->total);
    case VARIANT_PIPELINE:
        return pipelined(m, &chain, 1, m->ranks - 1);
    case VARIANT_HIERARCHY:
        return twice * hierarchy(m);
    case VARIANT_FUNNEL:
        return funnel(m, v->collective);
    case VARIANT_DIRECT:
        return step_seconds(m, ALL, 0, m->total / m->ranks);
    case VARIANT_PAIRWISE:
        return pairwise(m, m->total);
    case VARIANT_BRUCK:
        return bruck(m, v->collective);
    }
    return INFINITY;
}

double plan_variant_seconds(const struct plan_variant *v, const struct plan_request *q,
                            uint64_t total)
{
    struct scene m = scene_of(v, q, total);

    return of_shape(v, &m);
}
