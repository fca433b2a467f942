/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Factorisation (HiCCL, sections IV-B to IV-D): a multicast becomes striping, ring and tree, in
 * this order. Stripe j of a root is carried from an address of the root's group, one per stripe.
 * Each hop replaces one digit of the carrier's address by the leaf's: first those of the ring's
 * levels, then one level after the other. With the last digit the data is at the leaf. So hops
 * between nodes stay on a rail, and each rank finds its parent and children from two addresses
 * alone.
 *
 * Where leaves are a sparse set, a hop is made if a leaf lies behind it. Leaves behind one are a
 * range of addresses, so both of its ends find the same answer.
 *
 * The paper's striping sends a stripe back to the root it came from, and draws those arrows dashed
 * because they can be omitted; they are omitted here.
 */
#include <errno.h>
#include <stdlib.h>

#include "planners/algorithms/compose/compose_parts.h"

int compose_role_open(struct compose_role *role, const struct compose_shape *s)
{
    uint64_t most = 2; /* a carrier, the next on the ring */

    for (int l = 0; l < s->levels; l++)
        most += s->factor[l];
    *role = (struct compose_role){.child = malloc(most * sizeof *role->child)};
    return role->child ? 0 : -ENOMEM;
}

void compose_role_close(struct compose_role *role)
{
    free(role->child);
}

/* The first `depth` digits of one address, the rest of another. */
static uint64_t mix(const struct compose_shape *s, uint64_t head, uint64_t tail, int depth)
{
    return head - head % s->width[depth] + tail % s->width[depth];
}

/* Depths at which a path can rest: 0 (the carrier), the ring's or the first level's, and on. */
static int next_depth(const struct compose_shape *s, int depth)
{
    return depth ? depth + 1 : s->ring_levels ? s->ring_levels : 1;
}

/* To one leaf the path takes one step along the ring: groups without a leaf are pruned (IV-B). */
static void follow_path(const struct compose_shape *s, uint64_t from, int root, int leaf, int me,
                        struct compose_role *role)
{
    uint64_t to = compose_address(s, leaf);
    uint32_t time = 0;
    int here = root;

    for (int depth = 0; depth <= s->levels; depth = next_depth(s, depth), time++) {
        int next = compose_rank_at(s, mix(s, to, from, depth));

        if (next == here)
            continue;
        if (next == me)
            role->parent = (struct compose_hop){here, time, 0};
        if (here == me)
            role->child[role->nchildren++] = (struct compose_hop){next, time, 0};
        here = next;
    }
}

uint64_t compose_passes(const struct compose_shape *s, int root, int leaf)
{
    uint64_t to = compose_address(s, leaf), bits = 1ull << root % 64;

    for (int j = 0; j < compose_stripes(s, root, leaf); j++) {
        uint64_t from = compose_carrier(s, root, leaf, j);

        for (int depth = 0; depth <= s->levels; depth = next_depth(s, depth))
            bits |= 1ull << compose_rank_at(s, mix(s, to, from, depth)) % 64;
    }
    return bits;
}

/* A stripe of a primitive: the address that carries it, and the addresses that get it from the root
   itself although a hop to it would lead there. */
struct stripe {
    const struct compose_shape *s;
    const struct compose_primitive *p;
    uint64_t from, by_root, by_root_end;
};

static struct stripe stripe_of(const struct compose_shape *s, const struct compose_primitive *p,
                               int number)
{
    struct stripe w = {s, p, compose_carrier(s, p->root, p->leaf, number), 0, 0};
    uint64_t root = compose_address(s, p->root);
    int depth = 0;

    while (compose_rank_at(s, mix(s, root, w.from, depth)) != p->root)
        depth++;
    w.by_root = root - root % s->width[depth];
    w.by_root_end = w.by_root + s->width[depth];
    return w;
}

/* The number of leaves below an address. */
static uint32_t leaves_below(const struct compose_primitive *p, uint64_t address)
{
    uint32_t low = 0, high = p->nonly;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (p->only[middle] < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint32_t leaves_in(const struct compose_primitive *p, uint64_t from, uint64_t to)
{
    return leaves_below(p, to) - leaves_below(p, from);
}

/* Does a hop to a group of addresses lead to a leaf? */
static int leads_on(const struct stripe *w, uint64_t from, uint64_t to)
{
    uint32_t others = from <= w->by_root && w->by_root_end <= to
                          ? leaves_in(w->p, w->by_root, w->by_root_end)
                          : 0;

    return !w->p->only || leaves_in(w->p, from, to) > others;
}

/* The same for the ring's groups from that of an address on, so many of them. */
static int ring_leads_on(const struct stripe *w, uint64_t address, uint64_t groups)
{
    const struct compose_shape *s = w->s;
    uint64_t width = s->width[s->ring_levels], first = address / width, end = first + groups;

    return leads_on(w, first * width, (end < s->ring ? end : s->ring) * width) ||
           (end > s->ring && leads_on(w, 0, (end - s->ring) * width));
}

int compose_has(const struct compose_shape *s, const struct compose_primitive *p, int rank)
{
    uint64_t address = compose_address(s, rank);

    if (rank == p->root)
        return !p->root_apart;
    return !p->only || leaves_in(p, address, address + 1);
}

/* How far along the ring an address is from where the stripe starts. */
static uint64_t ring_distance(const struct compose_shape *s, uint64_t from, uint64_t to)
{
    uint64_t width = s->width[s->ring_levels];

    return (to / width + s->ring - from / width) % s->ring;
}

/* The address that holds the stripe in the ring's group of `to`, or that far from it. */
static uint64_t on_ring(const struct compose_shape *s, uint64_t from, uint64_t to, uint64_t further)
{
    uint64_t width = s->width[s->ring_levels];

    return (to / width + further) % s->ring * width + from % width;
}

static struct compose_hop find_parent(const struct stripe *w, int me)
{
    const struct compose_hop none = {-1, 0, 0};
    const struct compose_shape *s = w->s;
    uint64_t from = w->from, address = compose_address(s, me);
    uint64_t distance = ring_distance(s, from, address);

    if (me == w->p->root || (compose_rank_at(s, from) == me && !leads_on(w, 0, s->width[0])))
        return none;
    if (compose_rank_at(s, from) == me)
        return (struct compose_hop){w->p->root, 0, 0};
    for (int depth = s->levels; depth > s->ring_levels; depth--) {
        int before = compose_rank_at(s, mix(s, address, from, depth - 1));
        uint64_t time = distance + (uint64_t)(depth - s->ring_levels);
        uint64_t group = address - address % s->width[depth];

        if (before != me)
            return leads_on(w, group, group + s->width[depth])
                       ? (struct compose_hop){before, (uint32_t)time, 0}
                       : none;
    }
    if (!ring_leads_on(w, address, s->ring - distance))
        return none;
    return (struct compose_hop){compose_rank_at(s, on_ring(s, from, address, s->ring - 1)),
                                (uint32_t)distance, 0};
}

static void add_child(struct compose_role *role, int root, int me, int rank, uint64_t time)
{
    if (rank != root && rank != me)
        role->child[role->nchildren++] = (struct compose_hop){rank, (uint32_t)time, 0};
}

/*
 * The other groups of a level, seen from the rank that has the stripe in its own. Each starts with
 * the group behind its own, so that no group is the first of all others; if order matters, with the
 * last.
 */
static void add_level(const struct stripe *w, int me, int level, struct compose_role *role)
{
    const struct compose_shape *s = w->s;
    uint64_t from = w->from, address = compose_address(s, me), below = s->width[level + 1];
    uint64_t group = address - address % s->width[level], own = (address - group) / below;
    uint64_t time = ring_distance(s, from, address) + 1 + (uint64_t)(level - s->ring_levels);

    for (uint64_t turn = 1; turn <= s->factor[level]; turn++) {
        uint64_t digit = (s->same_order ? s->factor[level] - turn : own + turn) % s->factor[level];
        uint64_t to = group + digit * below + from % below;
        uint32_t n = role->nchildren;

        if (digit == own || (level == s->levels - 1 && !compose_is_own(s, to)) ||
            !leads_on(w, to - to % below, to - to % below + below))
            continue;
        add_child(role, w->p->root, me, compose_rank_at(s, to), time);
        if (role->nchildren > n)
            role->child[n].before = digit < own;
    }
}

static void find_children(const struct stripe *w, int me, struct compose_role *role)
{
    const struct compose_shape *s = w->s;
    int root = w->p->root;
    uint64_t from = w->from, address = compose_address(s, me),
             distance = ring_distance(s, from, address);

    if (me == root && leads_on(w, 0, s->width[0]))
        add_child(role, root, me, compose_rank_at(s, from), 0);
    if (distance + 1 < s->ring && compose_rank_at(s, on_ring(s, from, address, 0)) == me &&
        ring_leads_on(w, on_ring(s, from, address, 1), s->ring - distance - 1))
        add_child(role, root, me, compose_rank_at(s, on_ring(s, from, address, 1)), distance + 1);
    for (int level = s->ring_levels; level < s->levels; level++)
        if (compose_rank_at(s, mix(s, address, from, level)) == me)
            add_level(w, me, level, role);
}

uint32_t compose_time_limit(const struct compose_shape *s)
{
    return (uint32_t)(s->ring + (uint64_t)s->levels + 2);
}

void compose_factorise(const struct compose_shape *s, const struct compose_primitive *p, int stripe,
                       int me, struct compose_role *role)
{
    struct stripe w = stripe_of(s, p, stripe);

    role->nchildren = 0;
    role->parent = (struct compose_hop){-1, 0, 0};
    if (p->leaf != COMPOSE_EVERYONE) {
        follow_path(s, w.from, p->root, p->leaf, me, role);
        return;
    }
    role->parent = find_parent(&w, me);
    find_children(&w, me, role);
}

/*
 * An address of rank `me`, a depth and a stripe: the pairs whose data rest there. A pair that is
 * not striped goes where its stripe 0 would.
 */
struct passing {
    const struct compose_shape *s;
    int me, depth, stripe;
    uint64_t address;
    void (*visit)(void *to, int root, int leaf, int stripe);
    void *to;
};

static void pass_pair(const struct passing *p, uint64_t from, uint64_t root, uint64_t leaf)
{
    const struct compose_shape *s = p->s;
    int source = compose_rank_at(s, root), sink = compose_rank_at(s, leaf), before = source;

    if (source == p->me || sink == p->me || source == sink)
        return;
    if (p->stripe >= compose_stripes(s, source, sink) ||
        compose_carrier(s, source, sink, p->stripe) != from)
        return;
    for (int depth = 0; depth < p->depth; depth = next_depth(s, depth))
        before = compose_rank_at(s, mix(s, leaf, from, depth));
    if (before != p->me)
        p->visit(p->to, source, sink, p->stripe);
}

/* Carriers that share the address's last digits, leaves that share its first. */
static void pass_all(const struct passing *p)
{
    const struct compose_shape *s = p->s;
    uint64_t below = s->width[p->depth], heads = s->width[0] / below;

    for (uint64_t head = 0; head < heads; head++) {
        uint64_t from = head * below + p->address % below;
        uint64_t root = compose_root_of(s, from, p->stripe);

        if (!compose_is_own(s, root))
            continue;
        for (uint64_t tail = 0; tail < below; tail++) {
            uint64_t leaf = p->address - p->address % below + tail;
            if (compose_is_own(s, leaf))
                pass_pair(p, from, root, leaf);
        }
    }
}

void compose_each_passing(const struct compose_shape *s, int me,
                          void (*visit)(void *to, int root, int leaf, int stripe), void *to)
{
    struct passing p = {.s = s, .me = me, .visit = visit, .to = to};
    uint64_t last = s->factor[s->levels - 1], own = compose_address(s, me);
    uint64_t first = own - own % last;

    for (p.depth = 0; p.depth < s->levels; p.depth = next_depth(s, p.depth))
        for (p.address = first; p.address < first + last; p.address++) {
            if (compose_rank_at(s, p.address) != me)
                continue;
            for (p.stripe = 0; p.stripe < s->stripe; p.stripe++)
                pass_all(&p);
        }
}
