/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/settled.h"

#include "shim/decide/count.h"
#include "shim/mpi/comm.h"
#include "shim/mpi/library.h"
#include "shim/mpi/mpi_gate.h"
#include "shim/mpi/predefined.h"
#include "shim/mpi/serve.h"

int settled_any;

/* A place for such calls, among SETTLED_KEPT. */
static unsigned place_of(const struct settled_like *l)
{
    _Static_assert(SETTLED_KEPT == 1 << (64 - 61), "the three highest bits");
    uint64_t mixed = (uintptr_t)l->native + 31 * (uint64_t)l->count[0] + 7 * (uint64_t)l->count[1] +
                     (uintptr_t)l->type[1] + 3 * (uintptr_t)l->op + (uint64_t)l->root;

    return mixed * 0x9e3779b97f4a7c15u >> 61; /* numbers that differ in low bits are spread */
}

static int is_like(const struct settled *k, const struct mpi_call *call,
                   const struct settled_call *s)
{
    const struct settled_like *a = &k->like, *b = &s->like;

    return a->native == b->native && k->total == call->total && a->count[0] == b->count[0] &&
           a->count[1] == b->count[1] && a->type[0] == b->type[0] && a->type[1] == b->type[1] &&
           a->op == b->op && a->root == b->root && k->in_place == (s->own == MPI_IN_PLACE);
}

/* Has data an address, and is no buffer within the other? Else the library may refuse the call.
   reach: as in struct settled_line. */
static int have_places(const void *own, const void *all, uint64_t reach)
{
    uintptr_t at = (uintptr_t)own, other = (uintptr_t)all;

    if (!own || !reach)
        return own && own != MPI_IN_PLACE;
    return all && all != MPI_IN_PLACE && (own == MPI_IN_PLACE || at < other || at - other >= reach);
}

static void note_site(const struct settled *k)
{
    site_note_native(k->collective, k->why);
    site_note_bytes(k->total);
}

int settled_is_passing(MPI_Comm *comm, const struct settled_like *like, const void *own,
                       const void *all)
{
    struct mpi_comm *c = mpi_comm_last(*comm);

    if (!c)
        return 0;
    unsigned place = place_of(like);
    struct settled_line *l = &c->lines.line[place];
    if (!l->left || l->native != like->native || l->count[0] != like->count[0] ||
        l->count[1] != like->count[1] || l->type[0] != like->type[0] ||
        l->type[1] != like->type[1] || l->op != like->op || l->root != like->root ||
        !have_places(own, all, l->reach) || mpi_is_inside() || cuda_present())
        return 0;
    l->left--;
    l->last = ++c->lines.calls;
    if (!l->counter) {
        *comm = c->lines.by[place];
        mpi_enter();
        return 1;
    }
    __atomic_fetch_add(l->counter, 1, __ATOMIC_RELAXED);
    if (site_now.cfa) /* a report is wanted */
        note_site(&c->settled[place]);
    return 1;
}

static int handle(MPI_Comm comm, int rc)
{
    if (rc != MPI_SUCCESS)
        mpi.Comm_call_errhandler(comm, rc);
    return rc;
}

int settled_end_by(MPI_Comm comm, int rc)
{
    mpi_leave();
    return handle(comm, rc);
}

static void count_by_variant(struct mpi_comm *c, const struct settled *k, uint32_t calls,
                             uint32_t last)
{
    variants_use(c, k->place, last);
    count_rerouted_again(k->collective, &k->variant->row, k->total, calls);
}

/* Count the calls that passed. What is left to a line stays. */
static void count_passed(struct mpi_comm *c)
{
    struct settled_lines *all = &c->lines;

    if (!all->calls)
        return;
    for (uint32_t open = all->open; open; open &= open - 1) {
        int i = __builtin_ctz(open);
        uint32_t passed = all->given[i] - all->line[i].left;

        if (passed && !all->line[i].counter)
            count_by_variant(c, &c->settled[i], passed, all->line[i].last);
        if (passed)
            guard_passed(&c->guard, c->settled[i].entry, passed, all->line[i].last);
        all->given[i] = all->line[i].left;
    }
    c->guard.calls += all->calls;
    all->calls = 0;
}

/* No call passes by this place any more. */
static void close_line(struct mpi_comm *c, unsigned place)
{
    c->lines.given[place] = c->lines.line[place].left = 0;
    c->lines.open &= ~(1u << place);
}

void settled_flush(struct mpi_comm *c)
{
    count_passed(c);
    while (c->lines.open)
        close_line(c, (unsigned)__builtin_ctz(c->lines.open));
}

/* Let as many calls like that in this place pass as the guard leaves alone. Those of an entry have
   them together, so the line of the last one has them all. */
static void open_line(struct mpi_comm *c, unsigned place)
{
    const struct settled *k = &c->settled[place];
    const struct settled_like *like = &k->like;

    for (uint32_t open = c->lines.open; open; open &= open - 1)
        if (c->settled[__builtin_ctz(open)].entry == k->entry)
            close_line(c, (unsigned)__builtin_ctz(open));
    if (like->count[0] > INT32_MAX || like->count[1] > INT32_MAX || k->reach > UINT32_MAX)
        return;
    __atomic_store_n(&settled_any, 1, __ATOMIC_RELAXED);
    c->lines.by[place] = k->place ? k->place->comm : MPI_COMM_NULL;
    c->lines.open |= 1u << place;
    c->lines.given[place] = guard_alone(&c->guard.entry[k->entry]);
    c->lines.line[place] = (struct settled_line){
        .native = like->native,
        .type = {like->type[0], like->type[1]},
        .op = like->op,
        .counter = k->variant ? NULL : &counters.live.native[k->collective][k->why],
        .count = {(int32_t)like->count[0], (int32_t)like->count[1]},
        .root = like->root,
        .left = c->lines.given[place],
        .reach = (uint32_t)k->reach};
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
    variants_use(c, k->place, 0);
    mpi_enter();
    int rc = serve_variant(c, k->variant, k->place, call);
    mpi_leave();
    return handle(call->comm, rc);
}

/* Does the call differ from the library's at most by its communicator? A report wants each call's
   time by its algorithm. */
static int can_pass(const struct settled *k, const struct mpi_call *call)
{
    return !k->variant || (k->place && !call->native_alike && !settings_want_report());
}

int settled_again(struct mpi_call *call, const struct settled_call *s, int *rc)
{
    struct mpi_comm *c;

    call->settled = call->nonblocking ? NULL : s;
    if (call->nonblocking || !gate_bytes(call->total) || mpi_is_inside() ||
        !(c = mpi_comm_last(call->comm)) || c->verdict)
        return 0;
    if (c->due.entry) /* all ranks conclude first, also those that keep no call like this one */
        return 0;
    unsigned place = place_of(&s->like);
    const struct settled *k = &c->settled[place];
    if (k->never || !is_like(k, call, s) || !have_places(s->own, s->all, k->reach))
        return 0;
    count_passed(c);
    struct guard_entry *e = guard_entry_at(&c->guard, k->entry, k->key);
    if (!holds(k, e) || !guard_settled(e))
        return 0;
    guard_found(&c->guard, k->entry);
    if (can_pass(k, call))
        open_line(c, place);
    *rc = k->variant ? by_variant(c, k, call) : by_library(k, call);
    return 1;
}

/* Predefined types mean the same for ever. */
static int is_lasting(MPI_Datatype type)
{
    struct predefined p;

    return type == MPI_DATATYPE_NULL || predefined_of(type, &p);
}

static int has_both(const struct mpi_comm *c, const struct settled_call *s)
{
    return s->buffers == SETTLED_BOTH || (s->buffers == SETTLED_AT_ROOT && c->rank == s->like.root);
}

/* Does the call go the same way every time? A variant's bytes must lie where they are. A type that
   MPI ignores on this rank may be no type at all. */
static int can_stay(const struct mpi_comm *c, const struct mpi_call *call,
                    const struct plan_variant *v)
{
    const struct settled_call *s = call->settled;
    int in_place = s->own == MPI_IN_PLACE, sends = s->buffers != SETTLED_OWN && !in_place;
    int packed = call->output.dense && (!sends || call->input.dense);

    return (in_place || is_lasting(s->like.type[0])) &&
           (!has_both(c, s) || is_lasting(s->like.type[1])) &&
           (!v || !call->native_alike || packed);
}

void settled_keep(struct mpi_comm *c, const struct mpi_call *call, const struct plan_variant *v,
                  enum reason why)
{
    const struct settled_call *s = call->settled;
    struct settled *k = s ? &c->settled[place_of(&s->like)] : NULL;

    if (!s || call->wrong || !gate_bytes(call->total) || (k->never && is_like(k, call, s)))
        return;
    *k = (struct settled){.like = s->like,
                          .collective = call->collective,
                          .total = call->total,
                          .reach = has_both(c, s) ? call->total : 0,
                          .in_place = s->own == MPI_IN_PLACE,
                          .never = !can_stay(c, call, v),
                          .why = why,
                          .variant = v,
                          .place = v ? variants_place(c, v) : NULL};
    k->entry = guard_index(&c->guard, call->collective, PLAN_IN_HOST, call->total, &k->key);
}
