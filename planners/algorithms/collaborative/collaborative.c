/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each slice has its own copy queues. In one queue the slices would come down one after the other,
 * and the ranks would combine in turns instead of together.
 *
 * The device path is the direct exchange, which uses all links between the GPUs of a node. For two
 * GPUs it is the paper's pairwise exchange with one change. In the paper both ranks combine
 * everything; here each rank combines half and sends the result. That moves the same bytes, and
 * both ranks have the same result. device=ring is for GPUs whose links form one.
 */
#include "planners/algorithms/collaborative/collaborative.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "planners/algorithms/collaborative/split.h"
#include "planners/links/cost.h"
#include "planners/plan/recipe.h"
#include "planners/plan/tracked.h"

/* Tags between ranks, a pair for each path; and of copies, one per slice for each direction. */
enum tag { HAND_IN = 0, HAND_OUT = 1, DEVICE = 0, HOST = 2 };

enum device_way { DIRECT, RING };

enum { MOST_GPUS = 8 };

struct work {
    const struct plan_request *q;
    struct tracked ops;
    enum plan_buffer own; /* where the rank's contribution is */
    int n, rank;
};

/* A part of the vector on its path: where its bytes are, and where they are combined. */
struct part {
    uint64_t bytes;
    struct spot from, to;
    enum tag tags;
};

/* ---- slices ---- */

static uint64_t cut(const struct work *w, const struct part *p, int slice)
{
    uint64_t quantum = split_quantum(w->q), quanta = p->bytes / quantum, n = (uint64_t)w->n;
    uint64_t s = (uint64_t)slice;

    return slice == w->n ? p->bytes : (quanta / n * s + quanta % n * s / n) * quantum;
}

static uint64_t slice_bytes(const struct work *w, const struct part *p, int slice)
{
    return cut(w, p, slice + 1) - cut(w, p, slice);
}

static struct spot slice_at(const struct work *w, struct spot base, const struct part *p, int slice)
{
    base.at += cut(w, p, slice);
    return base;
}

/* ---- one part ---- */

static int peer_at(const struct work *w, int turn)
{
    return (w->rank + turn) % w->n;
}

/* Every rank with every other: send each peer its slice, combine the own one, send that to all. */
static void exchange_directly(struct work *w, const struct part *p)
{
    struct spot mine = slice_at(w, p->to, p, w->rank), now = slice_at(w, p->from, p, w->rank);
    uint64_t bytes = slice_bytes(w, p, w->rank);

    for (int turn = w->n - 1; turn > 0; turn--)
        tracked_send(&w->ops, peer_at(w, turn), p->tags + HAND_IN,
                     slice_at(w, p->from, p, peer_at(w, turn)),
                     slice_bytes(w, p, peer_at(w, turn)));
    for (int turn = 1; turn < w->n; turn++, now = mine)
        tracked_recv_reduce(&w->ops, peer_at(w, turn), p->tags + HAND_IN, now, mine, bytes);
    for (int turn = w->n - 1; turn > 0; turn--)
        tracked_send(&w->ops, peer_at(w, turn), p->tags + HAND_OUT, mine, bytes);
    for (int turn = 1; turn < w->n; turn++)
        tracked_recv(&w->ops, peer_at(w, turn), p->tags + HAND_OUT,
                     slice_at(w, p->to, p, peer_at(w, turn)), slice_bytes(w, p, peer_at(w, turn)));
}

/* Slices go round: combined at each rank the first time, kept the second. Rank r starts with
   slice r. */
static void exchange_in_ring(struct work *w, const struct part *p)
{
    int right = peer_at(w, 1), left = peer_at(w, w->n - 1);

    for (int step = 0; step < 2 * (w->n - 1); step++) {
        int combining = step < w->n - 1, tag = p->tags + (combining ? HAND_IN : HAND_OUT);
        int out = peer_at(w, 2 * w->n - step), in = peer_at(w, 2 * w->n - step - 1);
        struct spot to = slice_at(w, p->to, p, in);

        tracked_send(&w->ops, right, tag, slice_at(w, step ? p->to : p->from, p, out),
                     slice_bytes(w, p, out));
        if (combining)
            tracked_recv_reduce(&w->ops, left, tag, slice_at(w, p->from, p, in), to,
                                slice_bytes(w, p, in));
        else
            tracked_recv(&w->ops, left, tag, to, slice_bytes(w, p, in));
    }
}

static void device_path(struct work *w, uint64_t bytes, enum device_way way)
{
    struct part p = {bytes, {w->own, 0}, {PLAN_OUTPUT, 0}, DEVICE};

    (way == RING ? exchange_in_ring : exchange_directly)(w, &p);
}

static void host_path(struct work *w, uint64_t at, uint64_t bytes)
{
    struct part p = {bytes, {PLAN_HOST, 0}, {PLAN_HOST, 0}, HOST};

    for (int s = 0; s < w->n; s++)
        tracked_copy(&w->ops, s, slice_at(w, (struct spot){w->own, at}, &p, s),
                     slice_at(w, p.from, &p, s), slice_bytes(w, &p, s));
    exchange_directly(w, &p);
    for (int s = 0; s < w->n; s++)
        tracked_copy(&w->ops, w->n + s, slice_at(w, p.to, &p, s),
                     slice_at(w, (struct spot){PLAN_OUTPUT, at}, &p, s), slice_bytes(w, &p, s));
}

/* ---- recipe ---- */

enum { SPLIT, DEVICE_WAY, KEYS };
static const char *const ways[] = {"direct", "ring", NULL};
static const struct recipe_key keys[KEYS] = {
    [SPLIT] = {.name = "split"}, [DEVICE_WAY] = {.name = "device", .words = ways}};

struct recipe {
    int share; /* of SPLIT_WHOLE through the host; -1: the best */
    enum device_way way;
};

/* A percentage with at most two decimals as hundredths, or -EINVAL. */
static int read_share(const struct recipe_value *v)
{
    int share = 0, decimals = -1; /* -1: before the point */

    for (size_t i = 0; i < v->length; i++) {
        char c = v->text[i];

        if (c == '.' && decimals < 0 && i)
            decimals = 0;
        else if (c < '0' || c > '9' || decimals == 2 || share > SPLIT_WHOLE)
            return -EINVAL;
        else {
            share = 10 * share + (c - '0');
            decimals += decimals >= 0;
        }
    }
    for (int d = decimals < 0 ? 0 : decimals; d < 2 && share <= SPLIT_WHOLE; d++)
        share *= 10;
    return decimals && share <= SPLIT_WHOLE ? share : -EINVAL;
}

static int read_recipe(const struct plan_request *q, struct recipe *r, char *why, size_t why_size)
{
    struct recipe_value v[KEYS] = {{0}};
    int rc = recipe_read(q->recipe, keys, KEYS, v, why, why_size);

    if (rc)
        return rc;
    r->way = (enum device_way)v[DEVICE_WAY].number;
    r->share = v[SPLIT].text ? read_share(&v[SPLIT]) : -1;
    if (!v[SPLIT].text || r->share >= 0)
        return 0;
    snprintf(why, why_size,
             "split=%.*s: must be the percentage that goes through the host, 0 to 100 with at "
             "most two decimals",
             (int)v[SPLIT].length, v[SPLIT].text);
    return -EINVAL;
}

static uint64_t host_bytes(const struct plan_request *q, const struct recipe *r)
{
    return r->share < 0 ? split_best(q) : split_bytes(q, r->share);
}

uint64_t collaborative_host_bytes(const struct plan_request *q)
{
    struct recipe r;

    return read_recipe(q, &r, NULL, 0) ? 0 : host_bytes(q, &r);
}

int collaborative_share(const char *recipe)
{
    struct plan_request q = {.recipe = recipe};
    struct recipe r;

    return read_recipe(&q, &r, NULL, 0) || r.way != DIRECT ? -1 : r.share;
}

/* ---- the row ---- */

static int collaborative_accepts(const struct plan_request *q, char *why, size_t why_size)
{
    struct recipe r;

    return read_recipe(q, &r, why, why_size);
}

static int collaborative_build(const struct plan_request *q, struct plan **plan_p)
{
    struct work w = {.q = q,
                     .own = q->in_place ? PLAN_OUTPUT : PLAN_INPUT,
                     .n = q->topo->nranks,
                     .rank = q->rank};
    struct recipe r;

    if (read_recipe(q, &r, NULL, 0))
        return -ENOTSUP;
    w.ops.b = plan_build_begin(q->rank, q->topo->nranks, q->chunk_bytes);
    if (!w.ops.b)
        return -ENOMEM;
    uint64_t host = w.n > 1 ? host_bytes(q, &r) : 0, device = q->nbytes - host;
    if (w.n == 1)
        tracked_copy(&w.ops, 0, (struct spot){w.own, 0}, (struct spot){PLAN_OUTPUT, 0}, device);
    else
        device_path(&w, device, r.way);
    host_path(&w, device, host);
    if (tracked_close(&w.ops)) {
        plan_build_discard(w.ops.b);
        return -ENOMEM;
    }
    return plan_build_finish(w.ops.b, plan_collaborative.name, plan_input_bytes(q, q->rank),
                             plan_output_bytes(q, q->rank), 0, host, plan_p);
}

static const char *collaborative_pays(const struct plan_request *q)
{
    const struct topo *t = q->topo;

    if (q->memory != PLAN_ON_DEVICE)
        return "the buffers are in host memory";
    if (t->nnodes > 1)
        return "ranks are on several nodes";
    if (t->nranks < 2)
        return "there is one rank";
    if (t->nranks > MOST_GPUS)
        return "there are more GPUs than have links to each other";
    for (int a = 0; a < t->nranks; a++) {
        if (t->rank[a].gpu < 0)
            return "a rank has no GPU";
        for (int b = 0; b < a; b++)
            if (t->rank[b].gpu == t->rank[a].gpu)
                return "ranks share a GPU";
    }
    return NULL;
}

static double collaborative_cost(const struct plan_request *q)
{
    struct recipe r;

    if (collaborative_pays(q)) /* right there too, and not what it is for */
        return INFINITY;
    if (read_recipe(q, &r, NULL, 0))
        r = (struct recipe){.share = -1};
    return split_seconds(q, host_bytes(q, &r)) + cost_messages(q);
}

const struct plan_algorithm plan_collaborative = {
    .name = "collaborative",
    .collectives = 1u << COLL_ALLREDUCE,
    .description = "GPUs of a node: a part over their own links, the rest through the host "
                   "(split=PERCENT, device=...)",
    .source = "Collaborative Bandwidth-Efficient Intra-Node Allreduce, multi-path heterogeneous "
              "pairwise exchange",
    .pays = collaborative_pays,
    .cost = collaborative_cost,
    .accepts = collaborative_accepts,
    .build = collaborative_build,
};
