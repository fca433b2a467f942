/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/comm.h"

#include <errno.h>
#include <stdlib.h>

#include "shim/decide/count.h"
#include "shim/decide/plan_key.h"
#include "shim/decide/rail_count.h"
#include "shim/decide/rails_level.h"
#include "shim/decide/thread_own.h"
#include "shim/mpi/attribute.h"
#include "shim/mpi/foreign.h"
#include "shim/mpi/comm_setup.h"
#include "shim/mpi/outlay.h"
#include "shim/mpi/quiet.h"
#include "shim/mpi/revoke.h"
#include "transports/cuda_memory.h"

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
    uint32_t used;         /* c->uses when it was last needed */
    int agreed;            /* all ranks have it, and room in their transports */
    int wanted;            /* by the call that is prepared, and not agreed */
    unsigned holders;      /* the cache, and pending calls; any thread counts */
};

static struct mpi_comm out_of_memory = {.verdict = REASON_MEMORY};

/*
 * A library has a fixed stock of communicators (MPICH some 2,000), and each of ours is taken from
 * the application. Its shared memory may be a MiB per rank. So their number is limited.
 */
enum { MOST_AT_ONCE = 64 };
static int at_once; /* any thread counts */

static int take_place(struct mpi_comm *c)
{
    c->placed = __atomic_add_fetch(&at_once, 1, __ATOMIC_RELAXED) <= MOST_AT_ONCE;
    if (!c->placed)
        __atomic_sub_fetch(&at_once, 1, __ATOMIC_RELAXED);
    return c->placed;
}

static void leave_place(const struct mpi_comm *c)
{
    if (c->placed)
        __atomic_sub_fetch(&at_once, 1, __ATOMIC_RELAXED);
}

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
    while (c->plans) {
        struct mpi_plan *first = c->plans;
        c->plans = first->next;
        mpi_plan_release(first);
    }
}

/* All that it owns. */
static void empty(struct mpi_comm *c)
{
    for (int i = 0; i < comm_parts_n; i++)
        if (comm_parts[i].drop)
            comm_parts[i].drop(c);
    revoke_unfollow(c);
    __atomic_sub_fetch(&outlay_wanted, c->wants_pair + c->wants_team, __ATOMIC_RELAXED);
    links_part(&c->links);
    ask_close(&c->ask);
    team_close(&c->team);
    for (int i = 0; i < GPUS_KEPT; i++)
        cuda_gpu_close(c->gpu[i]);
    links_close(&c->links);
    topo_free(c->topo);
    free(c->bytes);
    free(c->offset);
    store_rows_free(&c->found);
    leave_place(c);
    variants_free(&c->variants);
    if (c->private_comm != MPI_COMM_NULL)
        mpi.Comm_free(&c->private_comm);
}

void mpi_comm_drop(struct mpi_comm *c)
{
    if (c == &out_of_memory)
        return;
    empty(c);
    free(c->memory);
}

static int on_comm_free(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm;
    (void)keyval;
    (void)extra;
    struct mpi_comm *c = value;

    attribute_gone();
    mpi_comm_drop(c);
    return MPI_SUCCESS;
}

int mpi_comm_open(void)
{
    int rc = MPI_SUCCESS;

    for (int i = 0; i < comm_parts_n && rc == MPI_SUCCESS; i++)
        if (comm_parts[i].open)
            rc = comm_parts[i].open();
    return rc ? rc
              : mpi.Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_comm_free, &mpi_process.keyval,
                                       NULL);
}

void mpi_comm_close(void)
{
    for (int i = 0; i < comm_parts_n; i++)
        if (comm_parts[i].close)
            comm_parts[i].close();
    if (mpi_process.keyval == MPI_KEYVAL_INVALID)
        return;
    if (mpi_comm_find(MPI_COMM_WORLD))
        mpi.Comm_delete_attr(MPI_COMM_WORLD, mpi_process.keyval);
    mpi.Comm_free_keyval(&mpi_process.keyval);
}

void mpi_comm_drain(struct mpi_comm *c)
{
    for (int i = 0; i < comm_parts_n; i++)
        if (comm_parts[i].drain)
            comm_parts[i].drain(c);
}

void mpi_comm_renew(MPI_Comm comm)
{
    for (int i = 0; i < comm_parts_n; i++)
        if (comm_parts[i].renew)
            comm_parts[i].renew(comm);
}

#define last THREAD_OWN(comm, struct attribute_seen)

struct mpi_comm *mpi_comm_find(MPI_Comm comm)
{
    return attribute_find(comm, mpi_process.keyval, &last);
}

/* All zero. Most of it is never touched, so calloc need not touch it either. */
static struct mpi_comm *new_state(void)
{
    size_t edge = _Alignof(struct mpi_comm);
    char *memory = calloc(1, sizeof(struct mpi_comm) + edge);

    if (!memory)
        return NULL;
    struct mpi_comm *c = (void *)(memory + (edge - (uintptr_t)memory % edge) % edge);
    c->memory = memory;
    return c;
}

/* Collective over comm. c: all zero, or NULL: there is no memory. own: why this rank cannot go on.
   Returns c, or &out_of_memory. */
static struct mpi_comm *make_state(struct mpi_comm *c, MPI_Comm comm, enum reason own, int *again)
{
    enum reason verdict;
    int size;

    mpi.Comm_size(comm, &size);
    if (c) {
        c->size = size;
        c->private_comm = MPI_COMM_NULL;
        guard_open(&c->guard, 0, count_now);
        mpi.Comm_rank(comm, &c->rank);
        c->bytes = malloc((size_t)size * sizeof *c->bytes);
        c->offset = malloc((size_t)size * sizeof *c->offset);
    }
    if (!c || !c->bytes || !c->offset)
        own = REASON_MEMORY;
    else if (!own && !take_place(c))
        own = REASON_MANY;
    *again = 0;
    verdict = foreign_reason(comm, size);
    if (!verdict)
        verdict = mpi_comm_setup(c, comm, size, own, again);
    if (!c) {
        c = &out_of_memory;
    } else if (verdict) {
        empty(c);
        *c = (struct mpi_comm){
            .memory = c->memory, .verdict = verdict, .private_comm = MPI_COMM_NULL};
    } else {
        guard_spare(&c->guard, rails_even_use(c->topo)); /* as the user's topology says */
        revoke_follow(c, comm);
    }
    return c;
}

struct mpi_comm *mpi_comm_state(MPI_Comm comm)
{
    int again;

    return make_state(new_state(), comm, REASON_NONE, &again);
}

/* Until the ranks have agreed, the attribute is a state that nobody looks at. So a rank that cannot
   remember what they agree on tells the others before. */
struct mpi_comm *mpi_comm_make(MPI_Comm comm)
{
    struct mpi_comm *c = new_state();
    struct quiet quiet;
    int again;

    quiet_begin(&quiet, comm);
    int kept = attribute_set(comm, mpi_process.keyval, c ? c : &out_of_memory);
    make_state(c, comm, kept ? REASON_NONE : REASON_MEMORY, &again);
    quiet_end(&quiet);
    if (!kept && c)
        mpi_comm_drop(c);
    if (!kept || !c)
        return &out_of_memory;
    if (again) {
        mpi.Comm_delete_attr(comm, mpi_process.keyval);
        return NULL;
    }
    return c;
}

int mpi_comm_leave(MPI_Comm comm)
{
    void *value;
    int found = 0, rc = mpi_process.keyval == MPI_KEYVAL_INVALID
                            ? MPI_SUCCESS
                            : mpi.Comm_get_attr(comm, mpi_process.keyval, &value, &found);

    return found && rc == MPI_SUCCESS ? mpi.Comm_delete_attr(comm, mpi_process.keyval) : rc;
}

/* The request by which all ranks know the plan: they may differ in being in place. Returns which of
   the plan's forms serves it here. */
static int key_of(const struct plan_request *q, struct plan_request *key)
{
    *key = *q;
    key->in_place = 0;
    return plan_in_place(q, q->rank);
}

static struct mpi_plan *find_plan(struct mpi_comm *c, const struct plan_request *key,
                                  const struct plan_algorithm *a)
{
    struct mpi_plan *p = c->plans;

    while (p && !plan_key_is(&p->key, key, a, 0))
        p = p->next;
    return p;
}

/* Those of its kind that were not used for the longest time are freed if there are too many. Ranks
   have the same agreed ones, in the same order. A call in slices keeps all of its plans. */
static void forget_oldest(struct mpi_comm *c, int demand, int agreed)
{
    int most = demand ? DEMANDS_KEPT : PLANS_KEPT + settings.cfg.ppg - 1, kept;
    struct mpi_plan **oldest = NULL;

    do {
        kept = 0;
        for (struct mpi_plan **at = &c->plans; *at; at = &(*at)->next) {
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
   uses. Without memory for it the rank takes part by the other form. */
static int add_form(struct mpi_comm *c, const struct plan_request *q,
                    const struct plan_algorithm *a, struct built *b)
{
    int rc = build(c, q, a, b);

    if (!rc && !c->pending)
        rc = engine_reserve(b->engine);
    if (rc)
        unbuild(b);
    return rc;
}

int mpi_comm_engine(struct mpi_comm *c, struct plan_request *request,
                    const struct plan_algorithm *a, const struct plan **plan_p,
                    struct engine **engine_p, struct load_link *crossing)
{
    struct plan_request key;
    int rc = 0;

    request->topo = c->topo;
    request->rank = c->rank;
    int form = key_of(request, &key);
    struct mpi_plan *p = find_plan(c, &key, a);
    if (!p && !(rc = make_plan(c, request, a, &p))) {
        p->next = c->plans;
        c->plans = p;
        p->used = c->uses;
        forget_oldest(c, key.demand != NULL, 0);
    }
    if (rc == -ENOTSUP)
        return rc;
    c->unagreed |= !p || !p->agreed;
    if (!p)
        return rc;
    if (c->preparing || !p->agreed)
        p->used = c->uses;
    p->wanted = c->preparing && !p->agreed;
    if (!p->built[form].plan && (rc = add_form(c, request, a, &p->built[form])))
        form = !form;
    *plan_p = p->built[form].plan;
    *engine_p = p->built[form].engine;
    *crossing = p->built[form].crossing;
    return rc;
}

void mpi_comm_prepare(struct mpi_comm *c)
{
    c->uses++;
    c->preparing = 1;
    c->unagreed = 0;
    for (struct mpi_plan *p = c->plans; p; p = p->next)
        p->wanted = 0;
}

void mpi_comm_prepared(struct mpi_comm *c)
{
    c->preparing = 0;
}

static int reserve(const struct mpi_plan *p)
{
    int rc = 0;

    for (int i = 0; i < 2 && !rc; i++)
        if (p->built[i].engine)
            rc = engine_reserve(p->built[i].engine);
    return rc;
}

int mpi_comm_agree(struct mpi_comm *c, int well, int *rc)
{
    int lacking = 0;

    for (struct mpi_plan *p = c->plans; p && well; p = p->next)
        if (p->wanted)
            well = reserve(p) == 0 || (!c->limited && reserve(p) == 0);
    *rc = c->limited ? ask_all(c, !well, &lacking) : 0;
    if (!c->limited && !well) { /* the others go on: an error of this rank's call */
        *rc = -ENOMEM;
        return 1;
    }
    if (*rc < 0) { /* where memory is too short for the question, all ranks hear of it */
        lacking = 1;
        *rc = 0;
    }
    for (struct mpi_plan *p = c->plans; p; p = p->next)
        if (p->wanted && !*rc && !lacking)
            p->agreed = 1;
    forget_oldest(c, 0, 1);
    forget_oldest(c, 1, 1);
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

struct engine *mpi_plan_stand_in(const struct mpi_plan *p, const struct engine *engine)
{
    return p->built[p->built[0].engine == engine].engine;
}

struct mpi_plan *mpi_comm_hold(struct mpi_comm *c, const struct plan *plan)
{
    struct mpi_plan *p = plan ? c->plans : NULL;

    while (p && p->built[0].plan != plan && p->built[1].plan != plan)
        p = p->next;
    if (p)
        __atomic_add_fetch(&p->holders, 1, __ATOMIC_RELAXED);
    return p;
}
