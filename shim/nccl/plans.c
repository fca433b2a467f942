/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Schedules of a communicator: built from all ranks' plans, given memory and kernels, and used only
 * once every rank has said that it has them.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "shim/nccl/comm.h"
#include "shim/nccl/scratch.h"

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

/* How much faster the links inside a node are, shared among the peers there, than a rail. */
static uint32_t fast_chunks(const struct topo *t)
{
    enum { USUAL = 2, MOST = 8 };
    double inside = t->link[TOPO_LINK_NVLINK].bw_bytes_per_s, rail = t->rail[0].bw_bytes_per_s;
    int peers = (t->nranks + t->nnodes - 1) / t->nnodes - 1;
    double ratio = inside > 0 && rail > 0 && peers > 0 ? inside / rail / peers : USUAL;

    return ratio < 1 ? 1 : ratio > MOST ? MOST : (uint32_t)(ratio + 0.5);
}

static int build_rounds(const struct plan_request *q, const struct plan_algorithm *a,
                        struct rounds **rounds)
{
    int nranks = q->topo->nranks, rc = 0;
    struct plan **plan = calloc((size_t)nranks, sizeof *plan);
    int32_t *group = calloc((size_t)nranks, sizeof *group);
    struct rounds_links links = {group, fast_chunks(q->topo), q->demand != NULL};

    if (!plan || !group) {
        free(plan);
        free(group);
        return -ENOMEM;
    }
    for (int r = 0; r < nranks && !rc; r++) {
        struct plan_request theirs = *q;

        theirs.rank = r;
        group[r] = q->topo->rank[r].node;
        rc = a->build(&theirs, &plan[r]);
    }
    if (!rc)
        rc = rounds_build((const struct plan *const *)plan, nranks, q->rank, &links, rounds);
    for (int r = 0; r < nranks; r++)
        plan_free(plan[r]);
    free(plan);
    free(group);
    return rc;
}

/* A graph uses it as long as the communicator is there. Without memory to note it, it is lost. */
static void keep_scratch(struct comm *c)
{
    struct comm_kept *kept = malloc(sizeof *kept);

    if (!kept)
        return;
    *kept = (struct comm_kept){c->kept, c->scratch, c->scratch_bytes, c->last};
    c->kept = kept;
}

/* Room for the schedule and, behind it, for an output that must not be written in place. */
static int make_room(struct comm *c, uint64_t bytes)
{
    uint64_t got;
    char *more;

    if (bytes <= c->scratch_bytes)
        return 1;
    more = scratch_take(c->cu, bytes, &got);
    if (!more)
        return 0;
    if (c->in_a_graph)
        keep_scratch(c);
    else
        scratch_give(c->context, c->scratch, c->scratch_bytes, c->last);
    c->last = NULL;
    c->in_a_graph = 0;
    c->scratch = more;
    c->scratch_bytes = got;
    return 1;
}

static int make_ready(struct comm *c, const struct plan_request *q, const struct plan_algorithm *a,
                      struct rounds **rounds)
{
    int combines = q->grain > 1;

    if (build_rounds(q, a, rounds))
        return 0;
    if (!make_room(c, (*rounds)->scratch_bytes + q->nbytes))
        return 0;
    if (!c->last && c->cu->EventCreate(&c->last, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
        return 0;
    if (!c->reducer)
        c->reducer = reducer_of(c->cu, c->context);
    return !combines || c->reducer;
}

static size_t demand_bytes(const struct plan_request *q)
{
    return (size_t)q->topo->nranks * (size_t)q->topo->nranks * sizeof *q->demand;
}

static int is_for(const struct comm_plan *p, const struct plan_request *q,
                  const struct plan_algorithm *a)
{
    return p->algorithm == a && p->recipe == q->recipe && p->collective == q->collective &&
           p->nbytes == q->nbytes && p->chunk_bytes == q->chunk_bytes && p->grain == q->grain &&
           p->root == q->root && !p->demand == !q->demand &&
           (!q->demand || !memcmp(p->demand, q->demand, demand_bytes(q)));
}

void comm_plan_clear(struct comm_plan *p)
{
    rounds_free(p->rounds);
    free(p->demand);
    *p = (struct comm_plan){0};
}

/* An entry for the request in that one's place. Returns 0, or -1 without memory for it. */
static int describe(struct comm_plan *p, const struct plan_request *q,
                    const struct plan_algorithm *a, uint64_t used)
{
    comm_plan_clear(p);
    *p = (struct comm_plan){.algorithm = a,
                            .recipe = q->recipe,
                            .collective = q->collective,
                            .nbytes = q->nbytes,
                            .chunk_bytes = q->chunk_bytes,
                            .grain = q->grain,
                            .root = q->root,
                            .used = used};
    if (!q->demand)
        return 0;
    p->demand = malloc(demand_bytes(q));
    if (!p->demand)
        return -1;
    memcpy(p->demand, q->demand, demand_bytes(q));
    return 0;
}

int comm_has_rounds(const struct comm *c, const struct plan_request *q,
                    const struct plan_algorithm *a)
{
    for (const struct comm_plan *p = c->plan; p < c->plan + COMM_PLANS; p++)
        if (is_for(p, q, a))
            return p->rounds != NULL;
    return 0;
}

const struct rounds *comm_rounds(struct comm *c, struct plan_request *q,
                                 const struct plan_algorithm *a)
{
    struct comm_plan *oldest = &c->plan[0];
    int ready;

    q->topo = c->topo;
    q->rank = c->rank;
    for (struct comm_plan *p = c->plan; p < c->plan + COMM_PLANS; p++) {
        if (is_for(p, q, a)) {
            p->used = ++c->plans_used;
            return p->rounds;
        }
        oldest = p->used < oldest->used ? p : oldest;
    }
    ready = describe(oldest, q, a, ++c->plans_used) == 0 && make_ready(c, q, a, &oldest->rounds);
    if (!comm_all(c, ready)) {
        rounds_free(oldest->rounds);
        oldest->rounds = NULL;
    }
    return oldest->rounds;
}
