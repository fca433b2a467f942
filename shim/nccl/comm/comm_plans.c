/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nccl/comm/comm_plans.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/hash.h"
#include "planners/rounds/pace.h"
#include "shim/nccl/call/scratch.h"
#include "shim/nccl/comm/agree.h"
#include "shim/nccl/comm/connect.h"
#include "shim/nccl/comm/rails.h"

/* The kernels of a context are loaded once and stay. */
static struct cuda_reducer *reducer_of(const struct cuda_calls *cu, CUcontext context)
{
    static struct loaded {
        struct loaded *next;
        CUcontext context;
        struct cuda_reducer *reducer;
    } * list;
    static pthread_mutex_t one_by_one = PTHREAD_MUTEX_INITIALIZER;
    struct loaded *l;

    pthread_mutex_lock(&one_by_one);
    for (l = list; l && l->context != context; l = l->next)
        ;
    if (!l && (l = calloc(1, sizeof *l))) {
        l->context = context;
        if (cuda_reducer_create(cu, &l->reducer))
            l->reducer = NULL;
        l->next = list;
        list = l;
    }
    pthread_mutex_unlock(&one_by_one);
    return l ? l->reducer : NULL;
}

int nccl_comm_has_kernels(struct nccl_comm *c)
{
    if (!c->device.reducer)
        c->device.reducer = reducer_of(c->cu, c->device.context);
    return c->device.reducer != NULL;
}

/* A graph uses it as long as the communicator is there. Without memory to note it, it is lost. */
static void keep_scratch(struct nccl_scratch *s)
{
    struct nccl_comm_kept *kept = malloc(sizeof *kept);

    if (!kept)
        return;
    *kept = (struct nccl_comm_kept){s->kept, s->at, s->bytes, s->order.last};
    s->kept = kept;
}

static void give_scratch(const struct nccl_comm *c)
{
    const struct nccl_scratch *s = &c->scratch;

    scratch_give(c->device.context, s->at, s->bytes, s->order.last);
}

/*
 * A share of the device's free memory, less the memory that NCCL needs for new connections. The
 * program allocates later, and must find memory.
 */
static int is_affordable(const struct nccl_comm *c, uint64_t bytes, uint64_t connections)
{
    enum { SHARE = 8, CHANNEL_BYTES = 10 << 20, NEAR_CHANNELS = 32 };
    uint64_t channels = c->topo->nnodes > 1 ? (uint64_t)c->channels : NEAR_CHANNELS;
    uint64_t beside = connections * channels * CHANNEL_BYTES;
    size_t left = 0, all = 0;

    if (c->cu->MemGetInfo(&left, &all) != CUDA_SUCCESS || !all)
        return 1;
    if (bytes > c->scratch.bytes && bytes > (left + c->scratch.bytes) / SHARE)
        return 0;
    return !connections || bytes + beside <= left + c->scratch.bytes;
}

static int make_room(struct nccl_comm *c, uint64_t bytes)
{
    struct nccl_scratch *s = &c->scratch;
    uint64_t got;
    char *more;

    bytes += CONNECT_BYTES;
    if (bytes <= s->bytes)
        return 1;
    more = scratch_take(c->cu, bytes, &got);
    if (!more)
        return 0;
    if (s->order.in_a_graph)
        keep_scratch(s);
    else
        give_scratch(c);
    s->order.last = NULL;
    s->order.in_a_graph = 0;
    s->at = more;
    s->bytes = got;
    return 1;
}

static int nccl_plan_make_ready(struct nccl_comm *c, const struct plan_request *q,
                                const struct plan_algorithm *a, uint64_t beside,
                                const struct rounds *like, struct rounds **rounds)
{
    if (!*rounds && pace_rounds(q, a, like, rounds))
        return 0;
    if (!is_affordable(c, (*rounds)->scratch_bytes + beside,
                       connect_lacking(c, *rounds, q->demand != NULL)) ||
        !make_room(c, (*rounds)->scratch_bytes + beside))
        return 0;
    if (!c->scratch.order.last &&
        c->cu->EventCreate(&c->scratch.order.last, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
        return 0;
    return nccl_comm_has_kernels(c) || !plan_is(q->collective, PLAN_COMBINES);
}

static void nccl_plan_clear(struct nccl_plan *p)
{
    rounds_free(p->rounds);
    plan_key_clear(&p->key);
    *p = (struct nccl_plan){0};
}

/* An entry for the request in that one's place. Returns 0, or -ENOMEM. */
static int nccl_plan_describe(struct nccl_plan *p, const struct plan_request *q,
                              const struct plan_algorithm *a, uint64_t beside, uint64_t used)
{
    nccl_plan_clear(p);
    p->used = used;
    return plan_key_set(&p->key, q, a, beside);
}

static struct nccl_plan *nccl_plan_find(struct nccl_plans *plans, const struct plan_request *q,
                                        const struct plan_algorithm *a, uint64_t beside)
{
    for (struct nccl_plan *p = plans->plan; p < plans->plan + COMM_PLANS; p++)
        if (plan_key_is(&p->key, q, a, beside))
            return p;
    return NULL;
}

int nccl_comm_has_rounds(struct nccl_comm *c, const struct plan_request *q,
                         const struct plan_algorithm *a, uint64_t beside)
{
    const struct nccl_plan *p = nccl_plan_find(&c->plans, q, a, beside);

    return p && p->rounds && p->drop == c->scratch.drops;
}

/* The entry that is given up for a new one. Notes take no more than half of the table, so that ever
 * new sizes do not drive out what is used again and again. */
static struct nccl_plan *oldest(struct nccl_plans *plans)
{
    struct nccl_plan *old = NULL;
    int noted = 0;

    for (struct nccl_plan *p = plans->plan; p < plans->plan + COMM_PLANS; p++)
        noted += p->only_noted;
    for (struct nccl_plan *p = plans->plan; p < plans->plan + COMM_PLANS; p++)
        if (noted < COMM_PLANS / 2 || p->only_noted)
            old = !old || p->used < old->used ? p : old;
    return old;
}

int nccl_comm_came_before(struct nccl_comm *c, const struct plan_request *q,
                          const struct plan_algorithm *a, uint64_t beside)
{
    struct nccl_plan *p = nccl_plan_find(&c->plans, q, a, beside);

    if (p)
        return 1;
    p = oldest(&c->plans);
    nccl_plan_describe(p, q, a, beside, ++c->plans.used);
    p->only_noted = 1;
    return 0;
}

/* Rounds of nearly the same request: these are cut alike, and it is not searched again how. */
static const struct rounds *similar(const struct nccl_plans *plans, const struct plan_request *q,
                                    const struct plan_algorithm *a)
{
    for (const struct nccl_plan *p = plans->plan; p < plans->plan + COMM_PLANS; p++)
        if (p->rounds && plan_key_is_near(&p->key, q, a))
            return p->rounds;
    return NULL;
}

/* The schedule that it is on this rank: on another it could differ if that was without memory. */
static uint64_t what_is(const struct nccl_plan *p, const struct plan_request *q,
                        const struct plan_algorithm *a)
{
    const struct rounds *r = p->rounds;
    uint64_t hash = hash_text(q->nbytes, a->name);

    if (r) {
        hash = hash_bytes(hash, &r->chunk_bytes, sizeof r->chunk_bytes);
        hash = hash_bytes(hash, &r->fast_chunks, sizeof r->fast_chunks);
        hash = hash_bytes(hash, &r->taper, sizeof r->taper);
    }
    return hash_text(hash, q->recipe ? q->recipe : "");
}

/* Connecting waits for the other ranks' hosts, so it starts only once all of them will come. If
   every two ranks are connected, no question is left. */
static int is_connected(struct nccl_comm *c, const struct rounds *r, int to_all, CUstream stream)
{
    if (c->traffic.all_connected)
        return 1;
    if (!nccl_comm_all(c, connect_make(c, r, to_all, stream) == ncclSuccess))
        return 0;
    c->traffic.all_connected = to_all;
    return 1;
}

const struct rounds *nccl_comm_rounds(struct nccl_comm *c, struct plan_request *q,
                                      const struct plan_algorithm *a, uint64_t beside,
                                      CUstream stream)
{
    struct nccl_plan *p = nccl_plan_find(&c->plans, q, a, beside);
    int ready;

    q->topo = c->topo;
    q->rank = c->rank;
    if (p && !p->only_noted && (!p->rounds || p->drop == c->scratch.drops)) {
        p->used = ++c->plans.used;
        return p->rounds;
    }
    if (!p)
        p = oldest(&c->plans);
    ready = p->rounds && plan_key_is(&p->key, q, a, beside);
    if (!ready)
        ready = nccl_plan_describe(p, q, a, beside, ++c->plans.used) == 0;
    p->drop = c->scratch.drops;
    ready = ready && nccl_plan_make_ready(c, q, a, beside, similar(&c->plans, q, a), &p->rounds);
    if (!nccl_comm_all_same(c, ready, what_is(p, q, a)) ||
        !is_connected(c, p->rounds, q->demand != NULL, stream)) {
        rounds_free(p->rounds);
        p->rounds = NULL;
    }
    if (p->rounds)
        p->crossing = nccl_rail_crossing(c, p->rounds);
    return p->rounds;
}

void nccl_comm_drop_scratch(struct nccl_comm *c)
{
    struct nccl_scratch *s = &c->scratch;

    if (s->order.in_a_graph || s->kept || !s->at)
        return;
    s->drops++;
    give_scratch(c);
    s->order.last = NULL;
    s->order.has_run = 0;
    s->at = NULL;
    s->bytes = 0;
}

void nccl_comm_drop_plans(struct nccl_comm *c)
{
    give_scratch(c);
    for (struct nccl_comm_kept *k = c->scratch.kept, *next; k; k = next) {
        next = k->next;
        scratch_give(c->device.context, k->at, k->bytes, k->last);
        free(k);
    }
    for (int i = 0; i < COMM_PLANS; i++)
        nccl_plan_clear(&c->plans.plan[i]);
}
