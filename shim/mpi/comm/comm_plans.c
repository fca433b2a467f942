/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/comm/comm_plans.h"

#include <errno.h>
#include <stdlib.h>

#include "shim/decide/base/plan_key.h"
#include "shim/record/counts/rail_count.h"

enum { PLANS_KEPT = 16, DEMANDS_KEPT = 4 }; /* a matrix is large, and seldom comes back */

struct built {
    struct plan *plan;
    struct engine *engine;
    struct load_link crossing; /* bytes that it moves to and from other nodes */
};

struct mpi_plan {
    struct mpi_plan *next;
    struct plan_key key;   /* but for in_place */
    struct built built[2]; /* owned: in place or not; at least one */
    uint32_t used;         /* c->plans.uses when it was last needed */
    int agreed;            /* all ranks have it, and room in their transports */
    int wanted;            /* by the call that is prepared, and not agreed */
    unsigned holders;      /* the cache, and pending calls; any thread counts */
};

static void unbuild(struct built *b)
{
    engine_free(b->engine);
    plan_free(b->plan);
    *b = (struct built){0};
}

void mpi_plan_release(struct mpi_plan *p)
{
    if (!p || __atomic_sub_fetch(&p->holders, 1, __ATOMIC_ACQ_REL))
        return;
    unbuild(&p->built[0]);
    unbuild(&p->built[1]);
    plan_key_clear(&p->key);
    free(p);
}

void mpi_comm_forget_plans(struct mpi_comm *c)
{
    while (c->plans.list) {
        struct mpi_plan *first = c->plans.list;
        c->plans.list = first->next;
        mpi_plan_release(first);
    }
}

/* The request by which all ranks know the plan: they may differ in being in place. Returns which of
   the plan's forms serves it here. */
static int key_of(const struct plan_request *q, struct plan_request *key)
{
    *key = *q;
    key->in_place = 0;
    return plan_in_place(q, q->rank);
}

static struct mpi_plan *find_plan(const struct mpi_plans *plans, const struct plan_request *key,
                                  const struct plan_algorithm *a)
{
    struct mpi_plan *p = plans->list;

    while (p && !plan_key_is(&p->key, key, a, 0))
        p = p->next;
    return p;
}

/* Those of its kind that were not used for the longest time are freed if there are too many. Ranks
   have the same agreed ones, in the same order. A call in slices keeps all of its plans. */
static void forget_oldest(struct mpi_plans *plans, int demand, int agreed)
{
    int most = demand ? DEMANDS_KEPT : PLANS_KEPT + settings.cfg.ppg - 1, kept;
    struct mpi_plan **oldest = NULL;

    do {
        kept = 0;
        for (struct mpi_plan **at = &plans->list; *at; at = &(*at)->next) {
            struct mpi_plan *p = *at;

            if ((p->key.request.demand != NULL) != demand || p->agreed != agreed)
                continue;
            if (!kept++ || !oldest || p->used <= (*oldest)->used)
                oldest = at;
        }
        if (kept > most) {
            struct mpi_plan *p = *oldest;

            *oldest = p->next;
            mpi_plan_release(p);
        }
    } while (kept > most + 1);
}

/* Builders tell -ENOTSUP before they need memory. So nothing else takes any before that. */
static int build(struct mpi_comm *c, const struct plan_request *q, const struct plan_algorithm *a,
                 struct built *b)
{
    int rc = a->build(q, &b->plan);

    if (!rc)
        rc = engine_create(b->plan, c->links.use, &b->engine);
    if (!rc)
        b->crossing = load_crossing(c->topo, b->plan);
    return rc;
}

static int make_plan(struct mpi_comm *c, const struct plan_request *q,
                     const struct plan_algorithm *a, struct mpi_plan **made)
{
    struct plan_request key;
    struct built built = {0};
    int form = key_of(q, &key), rc = build(c, q, a, &built);
    struct mpi_plan *p = rc ? NULL : calloc(1, sizeof *p);

    if (!p || plan_key_set(&p->key, &key, a, 0)) {
        unbuild(&built);
        free(p);
        return rc ? rc : -ENOMEM;
    }
    p->built[form] = built;
    p->holders = 1;
    rail_count_planned(c->topo, c->rank);
    *made = p;
    return 0;
}

/* The form of an agreed plan that this rank has not needed so far. Its peers do not notice which it
   uses. */
static int add_form(struct mpi_comm *c, const struct plan_request *q,
                    const struct plan_algorithm *a, struct built *b)
{
    int rc = build(c, q, a, b);

    if (!rc && !c->nonblocking.first)
        rc = engine_reserve(b->engine, 0);
    if (rc)
        unbuild(b);
    return rc;
}

int mpi_comm_engine(struct mpi_comm *c, struct plan_request *request,
                    const struct plan_algorithm *a, const struct plan **plan_p,
                    struct engine **engine_p, struct load_link *crossing)
{
    struct mpi_plans *plans = &c->plans;
    struct plan_request key;
    int rc = 0;

    request->topo = c->topo;
    request->rank = c->rank;
    int form = key_of(request, &key);
    struct mpi_plan *p = find_plan(plans, &key, a);
    if (!p && !(rc = make_plan(c, request, a, &p))) {
        p->next = plans->list;
        plans->list = p;
        p->used = plans->uses;
        forget_oldest(plans, key.demand != NULL, 0);
    }
    if (rc == -ENOTSUP)
        return rc;
    plans->unagreed |= !p || !p->agreed;
    if (!p)
        return rc;
    if (plans->preparing || !p->agreed)
        p->used = plans->uses;
    p->wanted = plans->preparing && !p->agreed;
    if (!p->built[form].plan && (rc = add_form(c, request, a, &p->built[form])))
        return rc;
    *plan_p = p->built[form].plan;
    *engine_p = p->built[form].engine;
    *crossing = p->built[form].crossing;
    return rc;
}

void mpi_comm_prepare(struct mpi_comm *c)
{
    c->plans.uses++;
    c->plans.preparing = 1;
    c->plans.unagreed = 0;
    for (struct mpi_plan *p = c->plans.list; p; p = p->next)
        p->wanted = 0;
}

void mpi_comm_prepared(struct mpi_comm *c)
{
    c->plans.preparing = 0;
}

static int reserve(const struct mpi_plan *p)
{
    int rc = 0;

    for (int i = 0; i < 2 && !rc; i++)
        if (p->built[i].engine)
            rc = engine_reserve(p->built[i].engine, 0);
    return rc;
}

int mpi_comm_agree(struct mpi_comm *c, int well, int *rc)
{
    int lacking = 0;

    for (struct mpi_plan *p = c->plans.list; p && well; p = p->next)
        if (p->wanted)
            well = reserve(p) == 0;
    *rc = c->ask.limited ? ask_all(&c->ask, !well, &lacking) : 0;
    if (!c->ask.limited && !well) { /* the others go on: an error of this rank's call */
        *rc = -ENOMEM;
        return 1;
    }
    if (*rc < 0) { /* where memory is too short for the question, all ranks hear of it */
        lacking = 1;
        *rc = 0;
    }
    for (struct mpi_plan *p = c->plans.list; p; p = p->next)
        if (p->wanted && !*rc && !lacking)
            p->agreed = 1;
    forget_oldest(&c->plans, 0, 1);
    forget_oldest(&c->plans, 1, 1);
    return !lacking;
}

int mpi_comm_own_plan(struct mpi_comm *c, const struct plan_request *request,
                      const struct plan_algorithm *a, struct mpi_plan **held,
                      const struct plan **plan_p, struct engine **engine_p)
{
    struct plan_request key;
    int form = key_of(request, &key), rc = make_plan(c, request, a, held);

    if (!rc) {
        *plan_p = (*held)->built[form].plan;
        *engine_p = (*held)->built[form].engine;
    }
    return rc;
}

struct mpi_plan *mpi_comm_hold(struct mpi_comm *c, const struct plan *plan)
{
    struct mpi_plan *p = plan ? c->plans.list : NULL;

    while (p && p->built[0].plan != plan && p->built[1].plan != plan)
        p = p->next;
    if (p)
        __atomic_add_fetch(&p->holders, 1, __ATOMIC_RELAXED);
    return p;
}
