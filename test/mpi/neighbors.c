/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random calls of the neighbour collectives: neighbors [SEED [CALLS]]
 *
 * On grids, graphs and distributed graphs of all ranks, some of which have no neighbours, or
 * themselves. Blocks lie in any order with gaps between, in which nothing may be written; each
 * rank's type is of its own. Beyond the edge of a grid, blocks stay as they are. In some graphs a
 * rank is a neighbour twice; these calls are the library's, and both blocks hold the same.
 *
 * neighbors SEED CALLS native: for runs in which the library serves all calls.
 * neighbors SEED CALLS skewed: a ring of large halos to the right and small ones to the left. Then
 * come three nonblocking calls of equal ones.
 * neighbors SEED CALLS started: one in three is nonblocking, and one in three persistent. Such a
 * request is started again behind each later call on its communicator, with the data of the first.
 */
#include "test/mpi/large_counts.h"
#include "test/mpi/persistent_calls.h"
#include "test/mpi/typemap.h"

enum {
    MOST_RANKS = 16,
    MOST_BLOCKS = 2 * MOST_RANKS,
    MOST_UNITS = 700,
    WORDS = 2,
    PLACES = 9,
    MOST_CALLS = 4096
};
enum form { ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW, FORMS };
enum how { BLOCKING, NONBLOCKING, PERSISTENT_CALL, HOWS };

static const char *const how_names[HOWS] = {"", ", nonblocking", ", persistent"};

static const char *const form_names[FORMS] = {"allgather", "allgatherv", "alltoall", "alltoallv",
                                              "alltoallw"};

struct place {
    MPI_Comm comm;
    int n[2], rank[2][MOST_BLOCKS]; /* 0: to whom this rank sends, 1: from whom it receives */
    int twice;                      /* some rank of the communicator has a neighbour twice */
};

/* MPICH 4.0.2's own Neighbor_alltoallw leaves out blocks on distributed graphs. */
#ifdef MPICH_VERSION
enum { library_fails_w = 1 };
#else
enum { library_fails_w = 0 };
#endif

static int natively; /* the library serves all calls */
static int started;  /* some calls are not blocking */
static struct place places[PLACES];
static MPI_Datatype gappy;                            /* as long as two ints, with room between */
static int own_moves[MOST_CALLS], served[MOST_CALLS]; /* by call; 1 + its form, or 0: native */

static void take_grid(struct place *p, int dimensions)
{
    for (int d = 0; d < dimensions; d++) {
        int *pair = &p->rank[0][2 * d];

        MPI_Cart_shift(p->comm, d, 1, &pair[0], &pair[1]);
        p->rank[1][2 * d] = pair[0];
        p->rank[1][2 * d + 1] = pair[1];
    }
    p->n[0] = p->n[1] = 2 * dimensions;
}

static void make_grid(struct place *p, int dimensions, int periodic)
{
    int dims[3] = {0}, periods[3] = {periodic, 0, periodic};

    MPI_Dims_create(world_size, dimensions, dims);
    MPI_Cart_create(MPI_COMM_WORLD, dimensions, dims, periods, 0, &p->comm);
    for (int d = 0; d < dimensions; d++)
        p->twice |= periods[d] && dims[d] <= 2;
    take_grid(p, dimensions);
}

/* Each rank and the next one but one, both ways. */
static void make_graph(struct place *p)
{
    int index[MOST_RANKS], edges[2 * MOST_RANKS], n = 0;

    for (int r = 0; r < world_size; r++) {
        edges[n++] = (r + 1) % world_size;
        edges[n++] = (r + world_size - 1) % world_size;
        index[r] = n;
    }
    p->twice = world_size < 3;
    p->n[0] = p->n[1] = 2;
    MPI_Graph_create(MPI_COMM_WORLD, world_size, index, edges, 0, &p->comm);
    memcpy(p->rank[0], edges + 2 * world_rank, 2 * sizeof *edges);
    memcpy(p->rank[1], edges + 2 * world_rank, 2 * sizeof *edges);
}

/* Any ranks, in any order; `again` in 10 edges are there twice. */
static void make_distributed(struct place *p, uint64_t id, int again)
{
    struct draw d = draw_from(5, id);
    int edges[MOST_RANKS][MOST_RANKS], order[MOST_RANKS], zero[MOST_BLOCKS] = {0};

    for (int from = 0; from < world_size; from++)
        for (int to = 0; to < world_size; to++) {
            edges[from][to] = draw_below(&d, 3) == 0;
            if (edges[from][to] && draw_below(&d, 10) < again)
                edges[from][to] = 2;
            p->twice |= edges[from][to] > 1;
        }
    shuffle(&d, order, world_size);
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < world_size; i++)
            for (int k = 0; k < (side ? edges[order[i]][world_rank] : edges[world_rank][order[i]]);
                 k++)
                p->rank[side][p->n[side]++] = order[i];
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, p->n[1], p->rank[1], zero, p->n[0], p->rank[0],
                                   zero, MPI_INFO_NULL, 0, &p->comm);
}

static void make_places(void)
{
    make_grid(&places[0], 1, 1);
    make_grid(&places[1], 1, 0);
    make_grid(&places[2], 2, 0);
    make_grid(&places[3], 2, 1);
    make_grid(&places[4], 3, 0);
    make_graph(&places[5]);
    make_distributed(&places[6], 1, 0);
    make_distributed(&places[7], 2, 0);
    make_distributed(&places[8], 3, 3);
}

/* One side of a call, as it is passed and as it should be afterwards. */
struct side {
    int n, count[MOST_BLOCKS], displ[MOST_BLOCKS], stride; /* in elements, of `stride` ints */
    int each; /* of the one block, or of equal blocks: also where there are none */
    MPI_Datatype type;
    size_t ints;
    int *got, *want;
};

struct call {
    uint64_t number;
    enum form form;
    enum how how;
    const struct place *place;
    int large, shape;
    struct side side[2];
    MPI_Datatype types[2][MOST_BLOCKS];
    MPI_Aint at[2][MOST_BLOCKS], displ[2][MOST_BLOCKS];
    MPI_Count count[2][MOST_BLOCKS];
    MPI_Request request;
};

static struct call *live[PLACES]; /* a persistent one of each communicator, or NULL */
static int starts[MOST_CALLS], is_started[MOST_CALLS];
static int met[PLACES]; /* a call has told its ranks each other's sizes */

/* Two ranks in a line may send each other blocks of two sizes; in a longer one MPI allows one size.
 */
static int differ(const struct call *c)
{
    return world_size == 2 && c->place == &places[1];
}

/* Pairs of ints that one rank sends to another. */
static int units_of(const struct call *c, int from, int to)
{
    uint64_t key = c->form == ALLTOALLV || c->form == ALLTOALLW ? (uint64_t)(from * MOST_RANKS + to)
                   : c->form == ALLGATHERV || differ(c)         ? (uint64_t)from
                                                                : 0;
    int units = (int)(mix(c->number * 1000 + key) % MOST_UNITS);

    return c->shape == 1 && units % 3 ? 0 : c->shape == 2 ? units % 2 : units;
}

static int word(const struct call *c, int from, int to, int i)
{
    int gathers = c->form <= ALLGATHERV;

    return (int)(mix(c->number * 77 + (uint64_t)(from * MOST_RANKS + (gathers ? 0 : to))) %
                 100000) +
           i * 7;
}

/* Blocks in some order, with room between, unless they are to lie one behind the other. */
static void lay_out(struct call *c, struct draw *own, int which)
{
    struct side *s = &c->side[which];
    int gathered = which == 0 && c->form <= ALLGATHERV, next = 0, order[MOST_BLOCKS];
    int free_order = which ? c->form != ALLGATHER && c->form != ALLTOALL : c->form >= ALLTOALLV;

    s->n = c->place->n[which];
    s->type = draw_below(own, 2) ? gappy : MPI_INT;
    s->stride = s->type == gappy ? 2 * WORDS : 1;
    s->each = units_of(c, which && differ(c) ? 1 - world_rank : world_rank, 0) *
              (s->type == gappy ? 1 : WORDS);
    shuffle(own, order, s->n);
    for (int i = 0; i < s->n; i++) {
        int b = free_order ? order[i] : i, peer = c->place->rank[which][b];
        int from = which ? peer : world_rank, to = which ? world_rank : peer;
        int units = units_of(c, from == MPI_PROC_NULL ? 0 : from, to == MPI_PROC_NULL ? 0 : to);

        s->count[b] = c->form == ALLGATHER || c->form == ALLTOALL
                          ? s->each
                          : units * (s->type == gappy ? 1 : WORDS);
        s->displ[b] = next;
        next += gathered ? 0 : s->count[b] + (free_order ? draw_below(own, 3) : 0);
    }
    if (gathered)
        next = s->each;
    s->ints = (size_t)next * (size_t)s->stride + 1;
    s->got = malloc(s->ints * sizeof *s->got);
    s->want = malloc(s->ints * sizeof *s->want);
    if (!s->got || !s->want)
        abort();
    for (size_t i = 0; i < s->ints; i++)
        s->got[i] = s->want[i] = -1;
}

/* Word i of a block. */
static int place_of(const struct side *s, int block, int i)
{
    int at = s->displ[block] * s->stride;

    return s->type == gappy ? at + i / WORDS * s->stride + i % WORDS * 2 : at + i;
}

static void write_blocks(struct call *c, int which)
{
    struct side *s = &c->side[which];

    for (int b = 0; b < s->n; b++) {
        int peer = c->place->rank[which][b];
        int from = which ? peer : world_rank, to = which ? world_rank : peer;

        for (int i = 0; peer != MPI_PROC_NULL && i < WORDS * units_of(c, from, to); i++) {
            s->want[place_of(s, b, i)] = word(c, from, to, i);
            if (!which)
                s->got[place_of(s, b, i)] = word(c, from, to, i);
        }
    }
}

#define CALL(name, suffix, ...)                                                                    \
    (c->how == BLOCKING ? MPI_Neighbor_##name##suffix(__VA_ARGS__)                                 \
     : c->how == NONBLOCKING                                                                       \
         ? MPI_Ineighbor_##name##suffix(__VA_ARGS__, &c->request)                                  \
         : MPI_Neighbor_##name##_init##suffix(__VA_ARGS__, MPI_INFO_NULL, &c->request))

static int call_narrow(struct call *c)
{
    const struct side *s = &c->side[0], *r = &c->side[1];
    MPI_Comm comm = c->place->comm;

    switch (c->form) {
    case ALLGATHER:
        return CALL(allgather, , s->got, s->each, s->type, r->got, r->each, r->type, comm);
    case ALLGATHERV:
        return CALL(allgatherv, , s->got, s->each, s->type, r->got, r->count, r->displ, r->type,
                    comm);
    case ALLTOALL:
        return CALL(alltoall, , s->got, s->each, s->type, r->got, r->each, r->type, comm);
    case ALLTOALLV:
        return CALL(alltoallv, , s->got, s->count, s->displ, s->type, r->got, r->count, r->displ,
                    r->type, comm);
    default:
        return CALL(alltoallw, , s->got, s->count, c->at[0], c->types[0], r->got, r->count,
                    c->at[1], c->types[1], comm);
    }
}

static int call_large(struct call *c)
{
    const struct side *s = &c->side[0], *r = &c->side[1];
    MPI_Count sends = s->each, receives = r->each;
    MPI_Comm comm = c->place->comm;

    switch (c->form) {
    case ALLGATHER:
        return CALL(allgather, _c, s->got, sends, s->type, r->got, receives, r->type, comm);
    case ALLGATHERV:
        return CALL(allgatherv, _c, s->got, sends, s->type, r->got, c->count[1], c->displ[1],
                    r->type, comm);
    case ALLTOALL:
        return CALL(alltoall, _c, s->got, sends, s->type, r->got, receives, r->type, comm);
    case ALLTOALLV:
        return CALL(alltoallv, _c, s->got, c->count[0], c->displ[0], s->type, r->got, c->count[1],
                    c->displ[1], r->type, comm);
    default:
        return CALL(alltoallw, _c, s->got, c->count[0], c->at[0], c->types[0], r->got, c->count[1],
                    c->at[1], c->types[1], comm);
    }
}

static void check(const struct call *c, int which)
{
    const struct side *s = &c->side[which];

    for (size_t i = 0; i < s->ints; i++)
        if (s->got[i] != s->want[i]) {
            fail("seed %llu call %llu (%s%s%s, place %d): %s int %zu is %d, expected %d",
                 (unsigned long long)test_seed, (unsigned long long)c->number, form_names[c->form],
                 c->large ? ", large" : "", how_names[c->how], (int)(c->place - places),
                 which ? "received" : "sent", i, s->got[i], s->want[i]);
            return;
        }
}

/* Does this rank send anything? */
static int moves(const struct call *c)
{
    int any = 0;

    for (int b = 0; b < c->side[0].n; b++)
        any |= c->place->rank[0][b] != MPI_PROC_NULL && c->side[0].count[b] > 0;
    return any;
}

/* Open MPI reads the arrays of a call at its start alone, and programs rely on that. */
static void spoil(struct call *c)
{
#ifdef OPEN_MPI
    for (int which = 0; which < 2; which++) {
        struct side *s = &c->side[which];

        memset(s->count, 0x55, sizeof s->count);
        memset(s->displ, 0x55, sizeof s->displ);
        memset(c->count[which], 0x55, sizeof c->count[which]);
        memset(c->displ[which], 0x55, sizeof c->displ[which]);
        memset(c->at[which], 0x55, sizeof c->at[which]);
    }
#else
    (void)c;
#endif
}

static void call_free(struct call *c)
{
    if (c && c->how == PERSISTENT_CALL)
        MPI_Request_free(&c->request);
    for (int which = 0; c && which < 2; which++) {
        free(c->side[which].got);
        free(c->side[which].want);
    }
    free(c);
}

/* Start it, with nothing received yet, and let it end. */
static void call_again(struct call *c)
{
    struct side *r = &c->side[1];

    for (size_t i = 0; i < r->ints; i++)
        r->got[i] = -1;
    MPI_Start(&c->request);
    MPI_Wait(&c->request, MPI_STATUS_IGNORE);
    starts[c->number]++;
    check(c, 0);
    check(c, 1);
}

/* The call has returned: its result, and the persistent one's of its place. */
static void call_end(struct call *c)
{
    struct call **other = &live[c->place - places];

    if (c->how == NONBLOCKING)
        MPI_Wait(&c->request, MPI_STATUS_IGNORE);
    if (c->how != PERSISTENT_CALL) {
        check(c, 0);
        check(c, 1);
        call_free(c);
    } else {
        call_free(*other);
        *other = c;
    }
    if (*other)
        call_again(*other);
}

static void call_run(uint64_t number)
{
    struct draw d = draw_from(3, number), own = draw_from(number + 10, (uint64_t)world_rank);
    struct call *c = calloc(1, sizeof *c);

    if (!c)
        abort();
    c->number = number;
    c->form = (enum form)draw_below(&d, FORMS);
    c->place = &places[draw_below(&d, PLACES)];
    if (c->form == ALLTOALLW && library_fails_w && c->place >= &places[natively ? 6 : 8])
        c->form = ALLTOALLV;
    c->shape = draw_below(&d, 3);
    c->large = draw_below(&d, 2) && large_counts();
    c->how = started ? (enum how)draw_below(&d, HOWS) : BLOCKING;
    for (int which = 0; which < 2; which++) {
        struct side *s = &c->side[which];

        lay_out(c, &own, which);
        write_blocks(c, which);
        for (int b = 0; b < s->n; b++) {
            c->types[which][b] = s->type;
            c->at[which][b] = s->displ[b] * s->stride * (MPI_Aint)sizeof(int);
            c->count[which][b] = s->count[b];
            c->displ[which][b] = s->displ[b];
        }
    }
    own_moves[number] = moves(c);
    /* In a graph, ranks know from an earlier call of the communicator that none is there twice. */
    int known = c->how != NONBLOCKING || c->place <= &places[4] || met[c->place - places];
    served[number] = known && world_size > 1 && !c->place->twice ? 1 + c->form : 0;
    met[c->place - places] |= c->how != NONBLOCKING;
    starts[number] = c->how == NONBLOCKING;
    is_started[number] = c->how != BLOCKING;
    int rc = c->large ? call_large(c) : call_narrow(c);
    if (rc != MPI_SUCCESS)
        fail("seed %llu call %llu: returned %d", (unsigned long long)test_seed,
             (unsigned long long)number, rc);
    spoil(c);
    call_end(c);
}

/* A communicator without a topology is the library's to refuse, and so is what one rank's arguments
   show to be wrong: it gets its error while the others make no call. */
static void wrong_calls(void)
{
    int out[2] = {0}, in[2] = {0};

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (MPI_Neighbor_allgather(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD) == MPI_SUCCESS)
        fail("neighbor_allgather without a topology succeeds");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(places[0].comm, MPI_ERRORS_RETURN);
    if (!world_rank &&
        MPI_Neighbor_alltoall(out, -1, MPI_INT, in, -1, MPI_INT, places[0].comm) == MPI_SUCCESS)
        fail("neighbor_alltoall of less than nothing succeeds");
    MPI_Comm_set_errhandler(places[0].comm, MPI_ERRORS_ARE_FATAL);
}

/* Ints to the right, and a hundredth as many to the left. */
static void skewed(int calls)
{
    enum { MOST = 300000, LEAST = MOST / 100, EACH = MOST / 3 };
    int *out = malloc((MOST + LEAST) * sizeof *out), *in = malloc((MOST + LEAST) * sizeof *in);
    int counts[2][2] = {{LEAST, MOST}, {MOST, LEAST}}, displs[2][2] = {{0, LEAST}, {0, MOST}};
    int left = (world_rank + world_size - 1) % world_size, right = (world_rank + 1) % world_size;

    if (!out || !in)
        abort();
    for (int k = 0; k < calls; k++) {
        for (int i = 0; i < MOST + LEAST; i++) {
            out[i] = world_rank * 1000003 + k * 101 + i;
            in[i] = -1;
        }
        MPI_Neighbor_alltoallv(out, counts[0], displs[0], MPI_INT, in, counts[1], displs[1],
                               MPI_INT, places[0].comm);
        if (in[0] != left * 1000003 + k * 101 + LEAST ||
            in[MOST - 1] != left * 1000003 + k * 101 + LEAST + MOST - 1 ||
            in[MOST] != right * 1000003 + k * 101)
            fail("skewed call %d: %d, %d and %d", k, in[0], in[MOST - 1], in[MOST]);
    }
    for (int k = 0; k < 3; k++) {
        MPI_Request request;

        in[0] = in[2 * EACH - 1] = -1;
        MPI_Ineighbor_alltoall(out, EACH, MPI_INT, in, EACH, MPI_INT, places[0].comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (in[0] != left * 1000003 + (calls - 1) * 101 + EACH ||
            in[2 * EACH - 1] != right * 1000003 + (calls - 1) * 101 + EACH - 1)
            fail("equal call %d: %d and %d", k, in[0], in[2 * EACH - 1]);
    }
    free(out);
    free(in);
}

static void say_expected(int calls)
{
    long gathers = 0, exchanges = 0, begun = 0;

    MPI_Allreduce(MPI_IN_PLACE, own_moves, calls, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    for (int i = 0; i < calls; i++) {
        if (!own_moves[i] || !served[i])
            continue;
        if (is_started[i])
            begun += starts[i];
        else if (served[i] <= 1 + ALLGATHERV)
            gathers++;
        else
            exchanges++;
    }
    if (!world_rank)
        printf("neighbors: to reroute: neighbor_allgather=%ld neighbor_alltoall=%ld\n"
               "neighbors: to start: nonblocking=%ld\n",
               gathers * world_size, exchanges * world_size, begun * world_size);
}

int main(int argc, char **argv)
{
    int calls = argc > 2 ? atoi(argv[2]) : 200;

    MPI_Init(&argc, &argv);
    test_began("neighbors", argc, argv);
    if (world_size > MOST_RANKS || calls > MOST_CALLS)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Datatype pair;
    MPI_Type_vector(WORDS, 1, 2, MPI_INT, &pair);
    MPI_Type_create_resized(pair, 0, (MPI_Aint)(2 * WORDS * sizeof(int)), &gappy);
    MPI_Type_commit(&gappy);
    int one = 1, sum;
    natively = argc > 3 && !strcmp(argv[3], "native");
    started = argc > 3 && !strcmp(argv[3], "started") && persistent_calls();
    make_places();
    if (argc > 3 && !strcmp(argv[3], "skewed")) {
        skewed(calls);
    } else {
        wrong_calls();
        for (int p = 0; started && p < PLACES; p++) /* the ranks meet */
            MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, places[p].comm);
        for (int i = 0; i < calls; i++)
            call_run((uint64_t)i);
        say_expected(calls);
    }
    for (int p = 0; p < PLACES; p++)
        call_free(live[p]);
    for (int p = 0; p < PLACES; p++)
        MPI_Comm_free(&places[p].comm);
    MPI_Type_free(&pair);
    MPI_Type_free(&gappy);
    int code = test_ended();
    MPI_Finalize();
    return code;
}
