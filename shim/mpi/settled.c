/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/settled.h"

#include "shim/decide/count.h"
#include "shim/mpi/comm.h"
#include "shim/mpi/library.h"
#include "shim/mpi/mpi_gate.h"
#include "shim/mpi/predefined.h"
#include "shim/mpi/serve.h"

static struct settled *place_of(struct mpi_comm *c, const struct mpi_call *call)
{
    uint64_t mixed = (call->total + call->collective) * 0x9e3779b97f4a7c15u;

    return &c->settled[mixed >> 32 & (SETTLED_KEPT - 1)];
}

static int is_like(const struct settled *k, const struct mpi_call *call,
                   const struct settled_call *s)
{
    const struct settled_like *a = &k->like, *b = &s->like;

    return a->native == b->native && k->total == call->total && a->count[0] == b->count[0] &&
           a->count[1] == b->count[1] && a->type[0] == b->type[0] && a->type[1] == b->type[1] &&
           a->op == b->op && a->root == b->root && k->in_place == (s->own == MPI_IN_PLACE);
}

/* Has data an address, and is no buffer within the other? Else the library may refuse the call. */
static int have_places(const struct mpi_comm *c, const struct mpi_call *call,
                       const struct settled_call *s)
{
    uintptr_t own = (uintptr_t)s->own, all = (uintptr_t)s->all;
    int in_place = s->own == MPI_IN_PLACE;

    if (!own)
        return 0;
    if (s->buffers == SETTLED_OWN || (s->buffers == SETTLED_AT_ROOT && c->rank != s->like.root))
        return !in_place;
    return all && s->all != MPI_IN_PLACE && (in_place || own < all || own - all >= call->total);
}

/* Is it still what the guard and the variants have there? */
static int holds(const struct settled *k, const struct guard_entry *e)
{
    if (!e || !k->variant)
        return e && e->best == GUARD_NATIVE;
    return e->best != GUARD_NATIVE && e->reroute[e->best - 1].algorithm == &k->variant->row &&
           (!k->place || variants_place_is(k->place, k->variant));
}

static int by_library(const struct settled *k, const struct mpi_call *call)
{
    count_native(call->collective, k->why);
    return library_call(call);
}

static int by_variant(struct mpi_comm *c, const struct settled *k, struct mpi_call *call)
{
    call->input.dense = call->output.dense = 1; /* for native_alike, see settled_keep */
    variants_use(c, k->place);
    mpi_enter();
    int rc = serve_variant(c, k->variant, k->place, call);
    mpi_leave();
    if (rc != MPI_SUCCESS)
        mpi.Comm_call_errhandler(call->comm, rc);
    return rc;
}

int settled_again(struct mpi_call *call, const struct settled_call *s, int *rc)
{
    struct mpi_comm *c;

    call->settled = call->nonblocking ? NULL : s;
    if (call->nonblocking || !gate_bytes(call->total) || mpi_is_inside() ||
        !(c = mpi_comm_last(call->comm)) || c->verdict)
        return 0;
    const struct settled *k = place_of(c, call);
    if (k->never || !is_like(k, call, s) || !have_places(c, call, s))
        return 0;
    struct guard_entry *e = guard_entry_at(&c->guard, k->entry, k->key);
    if (!holds(k, e) || !guard_settled(e))
        return 0;
    guard_found(&c->guard, k->entry);
    *rc = k->variant ? by_variant(c, k, call) : by_library(k, call);
    return 1;
}

/* Predefined types mean the same for ever. */
static int is_lasting(MPI_Datatype type)
{
    struct predefined p;

    return type == MPI_DATATYPE_NULL || predefined_of(type, &p);
}

/* Does the call go the same way every time? A variant's bytes must lie where they are. */
static int can_stay(const struct mpi_call *call, const struct plan_variant *v)
{
    const struct settled_like *like = &call->settled->like;
    int sends = call->settled->own != MPI_IN_PLACE && like->type[0] != MPI_DATATYPE_NULL;
    int packed = call->output.dense && (!sends || call->input.dense);

    return (!sends || is_lasting(like->type[0])) && is_lasting(like->type[1]) &&
           (!v || !call->native_alike || packed);
}

void settled_keep(struct mpi_comm *c, const struct mpi_call *call, const struct plan_variant *v,
                  enum reason why)
{
    const struct settled_call *s = call->settled;
    struct settled *k = place_of(c, call);

    if (!s || call->wrong || !gate_bytes(call->total) || (k->never && is_like(k, call, s)))
        return;
    *k = (struct settled){.like = s->like,
                          .total = call->total,
                          .in_place = s->own == MPI_IN_PLACE,
                          .never = !can_stay(call, v),
                          .why = why,
                          .variant = v,
                          .place = v ? variants_place(c, v) : NULL};
    k->entry = guard_index(&c->guard, call->collective, PLAN_IN_HOST, call->total, &k->key);
}
