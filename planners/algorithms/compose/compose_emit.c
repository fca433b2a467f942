/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One rank's part of the factorised primitives, as operations. All ranks put their operations in
 * one common order: by step, by time along the path, by primitive, by stripe. So both ends of a
 * queue agree on it. Every operation waits for earlier ones only, so there is no deadlock.
 *
 * The fence (III-C) and the stages of the pipeline (IV-E) are dependencies by bytes. Buffers are
 * cut at all borders of operations, and each piece knows its last writer and the readers since. An
 * operation waits for those, chunk by chunk, and for nothing else: no stage begins for all ranks.
 *
 * A tag between two ranks has receives of one kind. So what arrives to be combined has its own. A
 * rank that only passes a reduction on has nothing to combine it with: it receives.
 *
 * A reduction combines on arrival, child after child in the order of their times: that order is the
 * plan's, so bits do not depend on the order of arrival.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "planners/algorithms/compose/compose_parts.h"
#include "planners/plan/tracked.h"

/* An operation to be, and its place in the common order. */
struct compose_move {
    int step;
    uint32_t time;
    int root, leaf, stripe;
    uint32_t turn; /* among those equal so far */
    int peer;
    int combined; /* as it arrives */
    enum plan_kind kind;
    struct spot src, dst;
    uint64_t length;
};

struct compose_emit {
    const struct plan_request *q;
    const struct compose_shape *s;
    const struct compose_ground *ground;
    struct compose_role role;
    struct compose_move *move; /* [room] owned */
    size_t moves, room;
    uint64_t scratch_bytes;
    int step;
    const struct compose_step *places;
    int failed;
};

struct compose_emit *compose_emit_open(const struct plan_request *q, const struct compose_shape *s,
                                       const struct compose_ground ground[COMPOSE_FRESH],
                                       uint64_t scratch_bytes)
{
    struct compose_emit *e = calloc(1, sizeof *e);

    if (!e || compose_role_open(&e->role, s)) {
        free(e);
        return NULL;
    }
    e->q = q;
    e->s = s;
    e->ground = ground;
    e->scratch_bytes = scratch_bytes;
    return e;
}

void compose_emit_close(struct compose_emit *e)
{
    if (!e)
        return;
    compose_role_close(&e->role);
    free(e->move);
    free(e);
}

void compose_emit_step(struct compose_emit *e, int step, const struct compose_step *places)
{
    e->step = step;
    e->places = places;
}

static void add(struct compose_emit *e, struct compose_move m)
{
    if (e->moves == e->room) {
        size_t room = e->room ? 2 * e->room : 256;
        struct compose_move *larger = realloc(e->move, room * sizeof *larger);

        if (!larger) {
            e->failed = 1;
            return;
        }
        e->move = larger;
        e->room = room;
    }
    m.step = e->step;
    m.turn = (uint32_t)e->moves;
    e->move[e->moves++] = m;
}

static struct spot spot_of(const struct compose_emit *e, uint8_t place, uint64_t position)
{
    const struct compose_ground *g = &e->ground[place];

    return (struct spot){g->buffer, position - g->start + g->at};
}

/* A place on the way, for these bytes. */
static struct spot spot_between(struct compose_emit *e, uint64_t position, uint64_t bytes)
{
    if (e->places->via != COMPOSE_FRESH)
        return spot_of(e, e->places->via, position);
    uint64_t at = e->scratch_bytes;
    e->scratch_bytes += bytes;
    return (struct spot){PLAN_SCRATCH, at};
}

/* An operation of a stripe, to be completed by its sides. */
static struct compose_move move_of(const struct compose_emit *e, const struct compose_primitive *p,
                                   int stripe, const struct compose_hop *hop, uint64_t bytes)
{
    uint32_t limit = compose_time_limit(e->s);

    return (struct compose_move){
        .time = 1 + (p->kind == COMPOSE_REDUCTION ? limit - hop->time : hop->time),
        .root = p->root,
        .leaf = p->leaf,
        .stripe = stripe,
        .peer = hop->peer,
        .length = bytes};
}

static void operate(struct compose_emit *e, struct compose_move m, enum plan_kind kind,
                    struct spot from, struct spot to)
{
    m.kind = kind;
    m.src = from;
    m.dst = to;
    add(e, m);
}

/* Received data is combined with `with`, if there is such data. */
static void take(struct compose_emit *e, struct compose_move m, struct spot with, struct spot to)
{
    operate(e, m, with.buffer == PLAN_NONE ? PLAN_RECV : PLAN_RECV_REDUCE, with, to);
}

static void give(struct compose_emit *e, struct compose_move m, struct spot from)
{
    operate(e, m, PLAN_SEND, from, (struct spot){PLAN_NONE, 0});
}

static void copy(struct compose_emit *e, struct spot from, struct spot to, uint64_t bytes)
{
    if (from.buffer != to.buffer || from.at != to.at)
        operate(e, (struct compose_move){.peer = -1, .length = bytes}, PLAN_COPY, from, to);
}

void compose_emit_copy(struct compose_emit *e, enum compose_place from, uint64_t from_at,
                       enum compose_place to, uint64_t to_at, uint64_t bytes)
{
    if (bytes)
        copy(e, spot_of(e, from, from_at), spot_of(e, to, to_at), bytes);
}

/* A child's data for a rank that has none of its own: the first, and others to be combined. */
static void take_for_others(struct compose_emit *e, struct compose_move m, int first,
                            struct spot sum, uint64_t to_at)
{
    struct spot here = first ? sum : spot_between(e, to_at, m.length);

    take(e, m, (struct spot){PLAN_NONE, 0}, here);
    m.peer = -1;
    if (!first)
        operate(e, m, PLAN_REDUCE, here, sum);
}

/*
 * A level's groups in their order, the own among them: groups before it are combined first, apart.
 * So all ranks that form the sum get the same bits. *sum is where the own part is, and then all.
 */
static uint32_t reduce_level(struct compose_emit *e, const struct compose_primitive *p,
                             uint32_t children, struct spot *sum)
{
    const struct compose_hop *child = e->role.child;
    const struct spot mine = spot_of(e, e->places->from, p->from_at);
    uint64_t to_at = p->to_at, bytes = p->bytes;
    uint32_t i = children;
    struct spot part = {PLAN_NONE, 0};

    for (; i && child[i - 1].before && child[i - 1].time == child[children - 1].time; i--) {
        struct spot to = part.buffer == PLAN_NONE ? spot_between(e, to_at, bytes) : part;

        take(e, move_of(e, p, 0, &child[i - 1], bytes), part, to);
        part = to;
    }
    if (part.buffer != PLAN_NONE) {
        struct compose_move m = move_of(e, p, 0, &child[i], bytes);

        m.peer = -1;
        operate(e, m, PLAN_REDUCE, *sum, part);
        *sum = part;
    }
    part = *sum;
    for (; i && !child[i - 1].before && child[i - 1].time == child[children - 1].time; i--) {
        if (part.buffer == mine.buffer && part.at == mine.at)
            *sum = spot_between(e, to_at, bytes);
        take(e, move_of(e, p, 0, &child[i - 1], bytes), part, *sum);
        part = *sum;
    }
    return i;
}

/* As reduce(), in an order that does not depend on the root. */
static void reduce_in_order(struct compose_emit *e, const struct compose_primitive *p)
{
    const struct compose_role *role = &e->role;
    struct spot sum = spot_of(e, e->places->from, p->from_at);

    for (uint32_t i = role->nchildren; i;)
        i = reduce_level(e, p, i, &sum);
    if (role->parent.peer >= 0) {
        give(e, move_of(e, p, 0, &role->parent, p->bytes), sum);
    } else {
        struct compose_hop end = {.peer = -1, .time = 0};

        operate(e, move_of(e, p, 0, &end, p->bytes), PLAN_COPY, sum,
                spot_of(e, e->places->to, p->to_at));
    }
}

/* The leaves' contributions along the tree to the root: those of this rank's children, its own if
   it is a leaf, then on to its parent. */
static void reduce(struct compose_emit *e, const struct compose_primitive *p, int stripe,
                   uint64_t from_at, uint64_t to_at, uint64_t bytes)
{
    const struct compose_role *role = &e->role;
    int combines = compose_has(e->s, p, e->q->rank);
    struct spot mine = spot_of(e, e->places->from, from_at), sum = mine;

    if (role->parent.peer < 0)
        sum = spot_of(e, e->places->to, to_at);
    else if (role->nchildren)
        sum = spot_between(e, to_at, bytes);
    for (uint32_t i = role->nchildren; i-- > 0; mine = sum) {
        struct compose_move m = move_of(e, p, stripe, &role->child[i], bytes);

        m.combined = combines;
        if (combines)
            take(e, m, mine, sum);
        else
            take_for_others(e, m, i == role->nchildren - 1, sum, to_at);
    }
    if (role->parent.peer >= 0) {
        struct compose_move m = move_of(e, p, stripe, &role->parent, bytes);

        m.combined = compose_has(e->s, p, m.peer);
        give(e, m, mine);
    } else if (!role->nchildren && combines)
        copy(e, mine, sum, bytes);
}

/* Data as they are, from one rank on to others. */
static void pass_on(struct compose_emit *e, const struct compose_primitive *p, int stripe,
                    const struct compose_hop *before, const struct compose_hop *after,
                    uint32_t nafter, uint64_t from_at, uint64_t to_at, uint64_t bytes)
{
    int last = p->leaf == COMPOSE_EVERYONE ? compose_has(e->s, p, e->q->rank) : !nafter;
    struct spot here = spot_of(e, e->places->from, from_at);

    if (before) {
        here = last ? spot_of(e, e->places->to, to_at) : spot_between(e, to_at, bytes);
        take(e, move_of(e, p, stripe, before, bytes), (struct spot){PLAN_NONE, 0}, here);
    }
    for (uint32_t i = 0; i < nafter; i++)
        give(e, move_of(e, p, stripe, &after[i], bytes), here);
}

void compose_emit_stripe(struct compose_emit *e, const struct compose_primitive *p, int stripe)
{
    const struct compose_role *role = &e->role;
    uint64_t grain = e->q->grain, elements = p->bytes / grain;
    uint64_t from = grain * compose_cut(e->s, p->root, p->leaf, stripe, elements);
    uint64_t bytes = grain * compose_cut(e->s, p->root, p->leaf, stripe + 1, elements) - from;
    const struct compose_hop *parent;

    if (!bytes)
        return;
    compose_factorise(e->s, p, stripe, e->q->rank, &e->role);
    parent = role->parent.peer < 0 ? NULL : &role->parent;
    if (!parent && !role->nchildren &&
        (p->kind == COMPOSE_MULTICAST || p->leaf >= 0 || p->root != e->q->rank))
        return;
    if (e->s->same_order)
        reduce_in_order(e, p);
    else if (p->leaf == COMPOSE_EVERYONE && p->kind == COMPOSE_REDUCTION)
        reduce(e, p, stripe, p->from_at + from, p->to_at + from, bytes);
    else if (p->kind == COMPOSE_REDUCTION)
        pass_on(e, p, stripe, role->nchildren ? role->child : NULL, parent, parent != NULL,
                p->from_at + from, p->to_at + from, bytes);
    else
        pass_on(e, p, stripe, parent, role->child, role->nchildren, p->from_at + from,
                p->to_at + from, bytes);
}

/* The common order. */
static int by_order(const void *a, const void *b)
{
    const struct compose_move *x = a, *y = b;
#define ORDER(field)                                                                               \
    if (x->field != y->field)                                                                      \
    return x->field < y->field ? -1 : 1
    ORDER(step);
    ORDER(time);
    ORDER(root);
    ORDER(leaf);
    ORDER(stripe);
    ORDER(turn);
#undef ORDER
    return 0;
}

/* Two tags for each step: all receives of one are of one kind, and none waits behind an earlier
   step's. */
static int tag_of(const struct compose_emit *e, const struct compose_move *m)
{
    int tag = 2 * m->step + m->combined;

    if (m->peer >= 0 && compose_library_between(e->s, e->q->rank, m->peer)->network)
        return PLAN_NETWORK_TAG + tag;
    return tag;
}

/* An operation waits for those before it that touch the same bytes. */
static void append(const struct compose_emit *e, struct tracked *ops, const struct compose_move *m)
{
    int tag = tag_of(e, m);

    switch (m->kind) {
    case PLAN_SEND:
        tracked_send(ops, m->peer, tag, m->src, m->length);
        break;
    case PLAN_RECV:
        tracked_recv(ops, m->peer, tag, m->dst, m->length);
        break;
    case PLAN_COPY:
        tracked_copy(ops, tag, m->src, m->dst, m->length);
        break;
    case PLAN_REDUCE:
        tracked_reduce(ops, tag, m->src, m->dst, m->length);
        break;
    default:
        tracked_recv_reduce(ops, m->peer, tag, m->src, m->dst, m->length);
    }
}

int compose_emit_finish(struct compose_emit *e, uint64_t chunk_bytes, const char *algorithm,
                        struct plan **plan_p)
{
    struct tracked ops = {.b = plan_build_begin(e->q->rank, e->q->topo->nranks, chunk_bytes)};
    int rc = ops.b && !e->failed ? 0 : -ENOMEM;

    if (!rc && e->moves) /* else there is no list */
        qsort(e->move, e->moves, sizeof *e->move, by_order);
    for (size_t i = 0; !rc && i < e->moves; i++)
        append(e, &ops, &e->move[i]);
    int noted = tracked_close(&ops);
    if (rc || noted) {
        plan_build_discard(ops.b);
        return rc ? rc : noted;
    }
    return plan_build_finish(ops.b, algorithm, plan_input_bytes(e->q, e->q->rank),
                             plan_output_bytes(e->q, e->q->rank), e->scratch_bytes, 0, plan_p);
}
