/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arguments that MPI ignores on a rank are anything: ignored [SEED [CALLS]]
 *
 * Random calls of every function, form and width (random_call.h). Away from the root, and in place,
 * what has no meaning there is an invalid address, a negative count, and a type that is a
 * number, was freed, or is MPI_DATATYPE_NULL. So are the displacements of empty blocks, the vectors
 * of a rank without neighbours, and all buffers of a rank that passes MPI_PROC_NULL as the root.
 * Last come blocks at absolute displacements on MPI_BOTTOM, of which one rank has none.
 *
 * A library may look at such arguments itself (library_fails). These calls are left out, and named.
 */
#include "test/mpi/large_counts.h"
#include "test/mpi/persistent_calls.h"
#include "test/mpi/random_call.h"

#define FUNCTION static void make_blocking(const struct given *g)
#define CALL(Name, name, ...) MPI_##Name(__VA_ARGS__)
#define COUNT int
#define WIDTH narrow
#include "test/mpi/given_call.h"

#define FUNCTION static void make_blocking_c(const struct given *g)
#define CALL(Name, name, ...) MPI_##Name##_c(__VA_ARGS__)
#define COUNT MPI_Count
#define WIDTH wide
#include "test/mpi/given_call.h"

#define FUNCTION static void make_started(const struct given *g, MPI_Request *q)
#define CALL(Name, name, ...) MPI_I##name(__VA_ARGS__, q)
#define COUNT int
#define WIDTH narrow
#include "test/mpi/given_call.h"

#define FUNCTION static void make_started_c(const struct given *g, MPI_Request *q)
#define CALL(Name, name, ...) MPI_I##name##_c(__VA_ARGS__, q)
#define COUNT MPI_Count
#define WIDTH wide
#include "test/mpi/given_call.h"

#define FUNCTION static void make_persistent(const struct given *g, MPI_Request *q)
#define CALL(Name, name, ...) MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, q)
#define COUNT int
#define WIDTH narrow
#include "test/mpi/given_call.h"

#define FUNCTION static void make_persistent_c(const struct given *g, MPI_Request *q)
#define CALL(Name, name, ...) MPI_##Name##_init_c(__VA_ARGS__, MPI_INFO_NULL, q)
#define COUNT MPI_Count
#define WIDTH wide
#include "test/mpi/given_call.h"

enum form { BLOCKING, STARTED, PERSISTENT_CALL, FORMS };
enum junk { NUMBER, FREED, NULL_HANDLE, JUNK };
enum { PLACES = 3, MOST = 300, HALO = 20000 };

static const char *const form_names[FORMS] = {"blocking", "nonblocking", "persistent"};
static const char *const junk_names[JUNK] = {"a number", "freed", "MPI_DATATYPE_NULL"};
static struct place places[PLACES];
static MPI_Datatype junk_types[JUNK];
#define NOWHERE ((void *)0x1234)

static void make_junk(void)
{
    uintptr_t number = 0x7ffd1234;
    MPI_Datatype freed;

    memcpy(&junk_types[NUMBER], &number, sizeof junk_types[NUMBER]);
    MPI_Type_contiguous(3, MPI_INT, &freed);
    junk_types[FREED] = freed;
    MPI_Type_free(&freed);
    junk_types[NULL_HANDLE] = MPI_DATATYPE_NULL;
}

static void complete_one(MPI_Request *q, int persistent)
{
    if (persistent)
        MPI_Start(q);
    MPI_Wait(q, MPI_STATUS_IGNORE);
    if (persistent)
        MPI_Request_free(q);
}

/* Without persistent functions, or without large counts, the next simpler call. */
static void make(const struct given *g, enum form form, int wide)
{
    MPI_Request q = MPI_REQUEST_NULL;

    if (form == PERSISTENT_CALL && !persistent_calls())
        form = STARTED;
    wide = wide && (form == PERSISTENT_CALL ? persistent_large_counts() : large_counts());
    if (form == BLOCKING)
        wide ? make_blocking_c(g) : make_blocking(g);
    else if (form == STARTED)
        wide ? make_started_c(g, &q) : make_started(g, &q);
    else
        wide ? make_persistent_c(g, &q) : make_persistent(g, &q);
    if (form != BLOCKING)
        complete_one(&q, form == PERSISTENT_CALL);
}

/* The arguments of a call, all of them right. */
static struct given give(const struct call *c)
{
    struct given g = {.what = (int)c->what, .root = c->root, .comm = c->at->comm};
    int mine = c->narrow.count[c->at->rank],
        sends_own = c->what == ALLGATHERV || c->what == GATHERV;

    for (int i = 0; i < 2; i++) {
        g.n[i] = (i ? c->what == SCATTERV : sends_own) ? mine : c->n;
        g.narrow[i].count = c->narrow.count;
        g.narrow[i].displ = c->narrow.displ;
        g.narrow[i].byte_displ = c->narrow.byte_displ[i];
        g.wide[i].count = c->wide.count;
        g.wide[i].displ = c->wide.displ;
        g.wide[i].byte_displ = c->wide.byte_displ[i];
        g.type[i] = c->type[i];
        g.types[i] = c->types[i];
    }
    int in_place = call_is_in_place(c) && c->what != BCAST;
    g.buffer[0] = in_place && !call_scatters(c) ? MPI_IN_PLACE : c->in;
    g.buffer[1] = in_place && call_scatters(c) ? MPI_IN_PLACE : c->out;
    return g;
}

/* Nothing of the side has a meaning here, but for MPI_IN_PLACE. */
static void spoil_side(struct given *g, int side, enum junk junk)
{
    if (g->buffer[side] != MPI_IN_PLACE)
        g->buffer[side] = NOWHERE;
    g->n[side] = -5;
    g->narrow[side].count = g->narrow[side].displ = g->narrow[side].byte_displ = NOWHERE;
    g->wide[side].count = NOWHERE;
    g->wide[side].displ = g->wide[side].byte_displ = NOWHERE;
    g->type[side] = junk_types[junk];
    g->types[side] = NOWHERE;
}

/* Nowhere in particular. */
static void spoil_empty_blocks(struct call *c)
{
    for (int r = 0; r < c->at->size; r++) {
        if (c->narrow.count[r])
            continue;
        c->narrow.displ[r] = -77777;
        c->wide.displ[r] = -((MPI_Aint)1 << 40);
        for (int i = 0; i < 2; i++) {
            c->narrow.byte_displ[i][r] = 77777;
            c->wide.byte_displ[i][r] = (MPI_Aint)1 << 40;
        }
    }
}

static void spoil(struct given *g, const struct call *c, enum junk junk)
{
    int in_place = call_is_in_place(c) && c->what != BCAST;
    int away = c->at->rank != c->root;

    if (kinds[c->what].sums) { /* one count and one type serve both sides */
        if ((c->what == REDUCE && away) || (c->what == EXSCAN && !c->at->rank && !in_place))
            g->buffer[1] = NOWHERE;
        return;
    }
    if (in_place)
        spoil_side(g, call_scatters(c), junk);
    if (kinds[c->what].to_root && away)
        spoil_side(g, 1, junk);
    if (kinds[c->what].from_root && c->what != BCAST && away)
        spoil_side(g, 0, junk);
}

/* Does the library itself look at arguments that MPI ignores in such a call, or fail in it anyway?
 */
static int library_fails(const struct call *c, enum form form, enum junk junk)
{
#ifdef OPEN_MPI
    return c->what == ALLTOALL && c->in_place && form != BLOCKING && junk == NUMBER;
#else /* MPICH cuts long blocks by each rank's own type, and reads beyond long vectors */
    (void)form, (void)junk;
    return c->n > MOST && (c->what == ALLGATHERV || (c->what == REDUCE && c->in_place));
#endif
}

static void one_call(int number)
{
    struct draw d = draw_from(21, (uint64_t)number); /* equal on all ranks */
    enum form form = (enum form)draw_below(&d, FORMS);
    enum junk junk = (enum junk)draw_below(&d, JUNK);
    struct call c;
    char how[64];

    call_draw(&c, places, PLACES, draw_below(&d, 8) ? draw_below(&d, 3) ? MOST : 9 : MOST_LARGE,
              &d);
    c.key = (uint64_t)draw_below(&d, 1 << 30) << 24;
    call_fill(&c);
    snprintf(how, sizeof how, "%s, what is ignored is %s", form_names[form], junk_names[junk]);
    if (!library_fails(&c, form, junk)) {
        struct given g = give(&c);

        spoil_empty_blocks(&c);
        spoil(&g, &c, junk);
        make(&g, form, draw_below(&d, 3) == 0);
        call_check(&c, how);
    }
    call_free_types(&c);
    call_free(&c);
}

/* A rank in the root's group that is not the root: its buffers are nowhere; Open MPI 4 and
   MPICH 5 look at counts and types. */
static void beside_the_root(enum form form, int wide)
{
    MPI_Comm inter = between_halves();
    int low = world_rank < (world_size + 1) / 2, peers, in, out;

    MPI_Comm_remote_size(inter, &peers);
    for (int what = REDUCE; what <= BCAST; what += BCAST - REDUCE) {
        struct given g = {.what = what,
                          .buffer = {&in, &out},
                          .n = {1, 1},
                          .type = {MPI_INT, MPI_INT},
                          .root = low ? world_rank ? MPI_PROC_NULL : MPI_ROOT : 0,
                          .comm = inter};

        if (g.root == MPI_PROC_NULL)
            g.buffer[0] = g.buffer[1] = NOWHERE;
        in = out = 7;
        make(&g, form, wide);
        int want = what == REDUCE && !world_rank ? 7 * peers : 7;
        if (out != want)
            fail("%s beside the root, %s: %d, expected %d", collective_names[what],
                 form_names[form], out, want);
    }
    MPI_Comm_free(&inter);
}

/* A ring of all ranks but the last, which has no neighbours. */
static struct {
    MPI_Comm comm;
    int n, to, from; /* n: 1, or 0 of the last */
} ring;

static void make_ring(void)
{
    int m = world_size - 1, one = 1;

    ring.n = world_rank < m;
    ring.to = (world_rank + 1) % m;
    ring.from = (world_rank + m - 1) % m;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, ring.n, &ring.from, &one, ring.n, &ring.to, &one,
                                   MPI_INFO_NULL, 0, &ring.comm);
}

/* missing: the last rank's vectors of no entries are not there at all, or their counts alone. */
enum missing { ALL_MISSING, COUNTS_MISSING, TYPES_MISSING, ALL_NOWHERE, MISSING };

static void one_halo(int what, enum form form, int wide, enum missing missing, int number)
{
    static int in[HALO], out[HALO];
    const int count = HALO, displ = 0;
    const MPI_Count wide_count = HALO;
    const MPI_Aint wide_displ = 0;
    const MPI_Datatype type = MPI_INT;
    struct given g = {.what = what,
                      .buffer = {in, out},
                      .n = {HALO, HALO},
                      .type = {MPI_INT, MPI_INT},
                      .comm = ring.comm};
    void *junk = missing == ALL_NOWHERE ? NOWHERE : NULL;

#ifdef OPEN_MPI /* it refuses these calls */
    if (missing != ALL_NOWHERE && (form == PERSISTENT_CALL || what == NEIGHBOR_ALLGATHERV))
        return;
#endif

    int has_displs = ring.n || missing == COUNTS_MISSING || missing == TYPES_MISSING;
    int has_counts = ring.n || missing == TYPES_MISSING;
    for (int side = 0; side < 2; side++) {
        g.narrow[side].count = has_counts ? &count : junk;
        g.narrow[side].displ = has_displs ? &displ : junk;
        g.wide[side].count = has_counts ? &wide_count : junk;
        g.wide[side].displ = g.wide[side].byte_displ = has_displs ? &wide_displ : junk;
        g.types[side] = ring.n ? &type : junk;
        if (!ring.n)
            g.buffer[side] = NOWHERE;
    }
    for (int i = 0; i < HALO; i++) {
        in[i] = world_rank * 1000 + i + number;
        out[i] = -1;
    }
    make(&g, form, wide);
    int want = ring.n ? ring.from * 1000 + number : -1;
    if (out[0] != want || (ring.n && out[HALO - 1] != want + HALO - 1))
        fail("neighbour collective %d, %s, missing %d: %d, expected %d", what - COLLECTIVES,
             form_names[form], missing, out[0], want);
}

static void halos(int rounds)
{
    int number = 0;

    for (int i = 0; i < rounds && !failures; i++)
        for (int what = NEIGHBOR_ALLGATHER; what < GIVEN_FUNCTIONS; what++)
            for (int form = 0; form < FORMS; form++)
                for (int missing = 0; missing < MISSING; missing++)
                    one_halo(what, (enum form)form, i % 2, (enum missing)missing, number++);
}

/* Absolute displacements, in bytes, on MPI_BOTTOM. The last rank has no element. */
static void at_bottom(int what, enum form form, int number)
{
    static int in[HALO], out[HALO];
    int counts[2][MOST_RANKS] = {{0}}, neighbors = what == NEIGHBOR_ALLTOALLW;
    MPI_Count wide_counts[2][MOST_RANKS] = {{0}};
    MPI_Aint at[2][MOST_RANKS] = {{0}};
    MPI_Datatype types[MOST_RANKS];
    struct given g = {.what = what,
                      .buffer = {MPI_BOTTOM, MPI_BOTTOM},
                      .types = {types, types},
                      .comm = neighbors ? ring.comm : places[0].comm};

    for (int i = 0; i < MOST_RANKS; i++)
        types[i] = MPI_INT;
    for (int side = 0; side < 2; side++) {
        int slot = neighbors ? 0 : side ? ring.from : ring.to;

        MPI_Get_address(side ? out : in, &at[side][slot]);
        wide_counts[side][slot] = counts[side][slot] = ring.n ? HALO : 0;
        g.narrow[side].count = counts[side];
        g.wide[side].count = wide_counts[side];
        g.wide[side].byte_displ = at[side];
    }
    for (int i = 0; i < HALO; i++) {
        in[i] = world_rank * 1000 + i + number;
        out[i] = -1;
    }
    make(&g, form, !neighbors);
    int want = ring.n ? ring.from * 1000 + number : -1;
    if (out[0] != want || (ring.n && out[HALO - 1] != want + HALO - 1))
        fail("%s on MPI_BOTTOM, %s: %d, expected %d",
             neighbors ? "Neighbor_alltoallw" : "Alltoallw_c", form_names[form], out[0], want);
}

int main(int argc, char **argv)
{
    int calls = argc > 2 ? atoi(argv[2]) : 300, code;

    MPI_Init(&argc, &argv);
    test_began("ignored", argc, argv);
    if (world_size > MOST_RANKS || world_size < 3)
        MPI_Abort(MPI_COMM_WORLD, 2);
    places_make(places, PLACES);
    make_junk();
    make_ring();
    for (int i = 0; i < calls && !failures; i++)
        one_call(i);
    for (int form = 0; form < FORMS; form++)
        for (int wide = 0; wide < 2; wide++)
            beside_the_root((enum form)form, wide);
    halos(4);
    for (int i = 0; i < 24 && !failures; i++) {
        at_bottom(NEIGHBOR_ALLTOALLW, (enum form)(i % FORMS), i);
        if (MPI_VERSION >= 4) /* else displacements go through ints */
            at_bottom(ALLTOALLW, (enum form)(i % FORMS), i);
    }
    MPI_Comm_free(&ring.comm);
    for (int i = 0; i < PLACES; i++)
        MPI_Comm_free(&places[i].comm);
    code = test_ended();
    MPI_Finalize();
    return code;
}
