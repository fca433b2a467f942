/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nonblocking collectives: nonblocking [SEED [ROUNDS]]
 *
 * A round starts several calls on several communicators, all of random functions, sizes, types and
 * places. It makes blocking calls and messages beside them. It completes all in one of MPI's forms,
 * each rank in an order of its own. Types are freed once the call has started. Expected values are
 * the test's own, and what lies between elements must stay.
 */
#include "test/mpi/completion.h"
#include "test/mpi/large_counts.h"

enum { MOST_RANKS = 8, MOST = 300, MOST_LARGE = 20000, AT_ONCE = 9, COMMS = 4, ANY = -1, GAP = -7 };

enum what {
    IALLGATHER,
    IALLGATHERV,
    IALLREDUCE,
    IREDUCE,
    IREDUCE_SCATTER,
    IREDUCE_SCATTER_BLOCK,
    ISCAN,
    IEXSCAN,
    IBCAST,
    IGATHER,
    IGATHERV,
    ISCATTER,
    ISCATTERV,
    IALLTOALL,
    IALLTOALLV,
    IALLTOALLW,
    WHATS
};

/* A rank's bytes to send and receive: one block or one for each rank; of a root, or of all. A sum
   is of all ranks (1), of those up to this one (2), or of those before it (3). asks: the ranks
   have to tell each other sizes. It is then never rerouted (1), or not under verify (2). */
static const struct {
    const char *name;
    int gives_each, gets_each, from_root, to_root, sums, vector, asks;
} kinds[WHATS] = {
    [IALLGATHER] = {"iallgather", 0, 1, 0, 0, 0, 0, 0},
    [IALLGATHERV] = {"iallgatherv", 0, 1, 0, 0, 0, 1, 0},
    [IALLREDUCE] = {"iallreduce", 0, 0, 0, 0, 1, 0, 0},
    [IREDUCE] = {"ireduce", 0, 0, 0, 1, 1, 0, 0},
    [IREDUCE_SCATTER] = {"ireduce_scatter", 1, 0, 0, 0, 1, 1, 0},
    [IREDUCE_SCATTER_BLOCK] = {"ireduce_scatter_block", 1, 0, 0, 0, 1, 0, 0},
    [ISCAN] = {"iscan", 0, 0, 0, 0, 2, 0, 0},
    [IEXSCAN] = {"iexscan", 0, 0, 0, 0, 3, 0, 0},
    [IBCAST] = {"ibcast", 0, 0, 1, 0, 0, 0, 0},
    [IGATHER] = {"igather", 0, 1, 0, 1, 0, 0, 0},
    [IGATHERV] = {"igatherv", 0, 1, 0, 1, 0, 1, 2},
    [ISCATTER] = {"iscatter", 1, 0, 1, 0, 0, 0, 0},
    [ISCATTERV] = {"iscatterv", 1, 0, 1, 0, 0, 1, 2},
    [IALLTOALL] = {"ialltoall", 1, 1, 0, 0, 0, 0, 0},
    [IALLTOALLV] = {"ialltoallv", 1, 1, 0, 0, 0, 1, 2},
    [IALLTOALLW] = {"ialltoallw", 1, 1, 0, 0, 0, 1, 1},
};

struct place {
    MPI_Comm comm;
    int rank, size;
};

struct call {
    enum what what;
    const struct place *at;
    uint64_t key;
    int n, root, in_place;
    int gap[2]; /* ints between elements of input and output, on this rank */
    MPI_Datatype type[2];
    int count[MOST_RANKS], displ[MOST_RANKS], byte_displ[2][MOST_RANKS];
    MPI_Datatype types[2][MOST_RANKS];
    int wide; /* started by its _c name */
    MPI_Count wide_count[MOST_RANKS];
    MPI_Aint wide_displ[MOST_RANKS], wide_byte_displ[2][MOST_RANKS];
    int *in, *out;
    size_t room; /* ints in each */
};

static struct place places[COMMS];
static long expected_started;

/* Small enough to be summed over all ranks. */
static int value(const struct call *c, int from, int to, size_t i)
{
    return (int)(mix(c->key + ((uint64_t)(from + 1) * 64 + (uint64_t)(to + 1)) * MOST_LARGE + i) %
                 1000000);
}

/* Where block b begins, in elements. Blocks of a vector that is reduced have no displacements. */
static size_t begin_of(const struct call *c, int b)
{
    size_t at = 0;

    if (!kinds[c->what].vector)
        return (size_t)b * (size_t)c->n;
    if (!kinds[c->what].sums)
        return (size_t)c->displ[b];
    for (int i = 0; i < b; i++)
        at += (size_t)c->count[i];
    return at;
}

static int length_of(const struct call *c, int b)
{
    return kinds[c->what].vector ? c->count[b] : c->n;
}

/* An int, and behind it as many ints that belong to no element. */
static MPI_Datatype make_type(int gap)
{
    MPI_Datatype type;

    if (!gap)
        return MPI_INT;
    MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)(sizeof(int) * (size_t)(1 + gap)), &type);
    MPI_Type_commit(&type);
    return type;
}

static void free_types(struct call *c)
{
    for (int i = 0; i < 2; i++)
        if (c->gap[i])
            MPI_Type_free(&c->type[i]);
}

/* Does this rank give data, does it get any? */
static int gives(const struct call *c)
{
    return !kinds[c->what].from_root || c->at->rank == c->root;
}

static int gets(const struct call *c)
{
    return !kinds[c->what].to_root || c->at->rank == c->root;
}

/* Is the own contribution where the result will be? */
static int is_in_place(const struct call *c)
{
    if (c->what == IBCAST)
        return 1;
    if (kinds[c->what].from_root || kinds[c->what].to_root)
        return c->in_place && c->at->rank == c->root;
    return c->in_place;
}

/* Write what this rank contributes: into the input, or, in place, where MPI wants it. */
static void fill(struct call *c)
{
    int each = kinds[c->what].gives_each, in_place = is_in_place(c), rank = c->at->rank;
    int scatters = c->what == ISCATTER || c->what == ISCATTERV;
    int *to = in_place && !scatters ? c->out : c->in;
    size_t step = 1 + (size_t)c->gap[in_place && !scatters];

    for (size_t i = 0; i < c->room; i++)
        c->in[i] = c->out[i] = GAP;
    if (!gives(c))
        return;
    for (int b = 0; b < (each ? c->at->size : 1); b++) {
        int own_block = in_place && kinds[c->what].gets_each && !each;
        size_t from = each ? begin_of(c, b) : own_block ? begin_of(c, rank) : 0;

        for (int i = 0; i < length_of(c, each ? b : rank); i++)
            to[(from + (size_t)i) * step] = value(c, rank, each ? b : ANY, (size_t)i);
    }
}

/* So many ranks, the first. */
static int summed(const struct call *c)
{
    return kinds[c->what].sums == 1 ? c->at->size : c->at->rank + (kinds[c->what].sums == 2);
}

static int wanted(const struct call *c, int block, int i)
{
    int to = kinds[c->what].gives_each ? c->at->rank : ANY, sum = 0;

    if (kinds[c->what].from_root)
        return value(c, c->root, to, (size_t)i);
    if (!kinds[c->what].sums)
        return value(c, block, to, (size_t)i);
    for (int r = 0; r < summed(c); r++)
        sum += value(c, r, to, (size_t)i);
    return sum;
}

/* In place a reduction to blocks leaves more than its block undefined. */
static void check(const struct call *c, const char *form)
{
    int each = kinds[c->what].gets_each, scatters = kinds[c->what].from_root && c->what != IBCAST;
    size_t step = 1 + (size_t)c->gap[1];

    if (!gets(c) || (scatters && is_in_place(c)) || (kinds[c->what].sums && !summed(c)))
        return;
    for (int b = 0; b < (each ? c->at->size : 1); b++) {
        size_t from = each ? begin_of(c, b) : 0;

        for (int i = 0; i < length_of(c, each ? b : c->at->rank); i++) {
            const int *got = c->out + (from + (size_t)i) * step;

            if (*got != wanted(c, b, i) || (step > 1 && got[1] != GAP)) {
                fail("%s of %d on %d ranks, root %d%s, completed by %s: element %d of block %d is "
                     "%d, expected %d, %s behind it",
                     kinds[c->what].name, c->n, c->at->size, c->root,
                     c->in_place ? ", in place" : "", form, i, b, *got, wanted(c, b, i),
                     step > 1 && got[1] != GAP ? "overwritten" : "nothing");
                return;
            }
        }
    }
}

static void start(struct call *c, MPI_Request *request)
{
    int n = c->n, mine = c->count[c->at->rank], *count = c->count, *displ = c->displ;
    MPI_Datatype s = c->type[0], r = c->type[1];
    MPI_Comm comm = c->at->comm;
    const void *in = is_in_place(c) ? MPI_IN_PLACE : c->in;
    void *own = is_in_place(c) ? MPI_IN_PLACE : c->out; /* of a scatter */

    switch (c->what) {
    case IALLGATHER:
        MPI_Iallgather(in, n, s, c->out, n, r, comm, request);
        break;
    case IALLGATHERV:
        MPI_Iallgatherv(in, mine, s, c->out, count, displ, r, comm, request);
        break;
    case IALLREDUCE:
        MPI_Iallreduce(in, c->out, n, MPI_INT, MPI_SUM, comm, request);
        break;
    case IREDUCE:
        MPI_Ireduce(in, c->out, n, MPI_INT, MPI_SUM, c->root, comm, request);
        break;
    case IREDUCE_SCATTER:
        MPI_Ireduce_scatter(in, c->out, count, MPI_INT, MPI_SUM, comm, request);
        break;
    case IREDUCE_SCATTER_BLOCK:
        MPI_Ireduce_scatter_block(in, c->out, n, MPI_INT, MPI_SUM, comm, request);
        break;
    case ISCAN:
        MPI_Iscan(in, c->out, n, MPI_INT, MPI_SUM, comm, request);
        break;
    case IEXSCAN:
        MPI_Iexscan(in, c->out, n, MPI_INT, MPI_SUM, comm, request);
        break;
    case IBCAST:
        MPI_Ibcast(c->out, n, r, c->root, comm, request);
        break;
    case IGATHER:
        MPI_Igather(in, n, s, c->out, n, r, c->root, comm, request);
        break;
    case IGATHERV:
        MPI_Igatherv(in, mine, s, c->out, count, displ, r, c->root, comm, request);
        break;
    case ISCATTER:
        MPI_Iscatter(c->in, n, s, own, n, r, c->root, comm, request);
        break;
    case ISCATTERV:
        MPI_Iscatterv(c->in, count, displ, s, own, mine, r, c->root, comm, request);
        break;
    case IALLTOALL:
        MPI_Ialltoall(in, n, s, c->out, n, r, comm, request);
        break;
    case IALLTOALLV:
        MPI_Ialltoallv(in, count, displ, s, c->out, count, displ, r, comm, request);
        break;
    default:
        MPI_Ialltoallw(in, count, c->byte_displ[0], c->types[0], c->out, count, c->byte_displ[1],
                       c->types[1], comm, request);
    }
}

/* By the names of MPI 4.0. */
static void start_wide(struct call *c, MPI_Request *request)
{
    MPI_Count n = c->n, mine = c->count[c->at->rank], *count = c->wide_count;
    MPI_Aint *displ = c->wide_displ;
    MPI_Datatype s = c->type[0], r = c->type[1];
    MPI_Comm comm = c->at->comm;
    const void *in = is_in_place(c) ? MPI_IN_PLACE : c->in;
    void *own = is_in_place(c) ? MPI_IN_PLACE : c->out; /* of a scatter */

    switch (c->what) {
    case IALLGATHER:
        MPI_Iallgather_c(in, n, s, c->out, n, r, comm, request);
        break;
    case IALLGATHERV:
        MPI_Iallgatherv_c(in, mine, s, c->out, count, displ, r, comm, request);
        break;
    case IALLREDUCE:
        MPI_Iallreduce_c(in, c->out, n, MPI_INT, MPI_SUM, comm, request);
        break;
    case IREDUCE:
        MPI_Ireduce_c(in, c->out, n, MPI_INT, MPI_SUM, c->root, comm, request);
        break;
    case IREDUCE_SCATTER:
        MPI_Ireduce_scatter_c(in, c->out, count, MPI_INT, MPI_SUM, comm, request);
        break;
    case IREDUCE_SCATTER_BLOCK:
        MPI_Ireduce_scatter_block_c(in, c->out, n, MPI_INT, MPI_SUM, comm, request);
        break;
    case ISCAN:
        MPI_Iscan_c(in, c->out, n, MPI_INT, MPI_SUM, comm, request);
        break;
    case IEXSCAN:
        MPI_Iexscan_c(in, c->out, n, MPI_INT, MPI_SUM, comm, request);
        break;
    case IBCAST:
        MPI_Ibcast_c(c->out, n, r, c->root, comm, request);
        break;
    case IGATHER:
        MPI_Igather_c(in, n, s, c->out, n, r, c->root, comm, request);
        break;
    case IGATHERV:
        MPI_Igatherv_c(in, mine, s, c->out, count, displ, r, c->root, comm, request);
        break;
    case ISCATTER:
        MPI_Iscatter_c(c->in, n, s, own, n, r, c->root, comm, request);
        break;
    case ISCATTERV:
        MPI_Iscatterv_c(c->in, count, displ, s, own, mine, r, c->root, comm, request);
        break;
    case IALLTOALL:
        MPI_Ialltoall_c(in, n, s, c->out, n, r, comm, request);
        break;
    case IALLTOALLV:
        MPI_Ialltoallv_c(in, count, displ, s, c->out, count, displ, r, comm, request);
        break;
    default:
        MPI_Ialltoallw_c(in, count, c->wide_byte_displ[0], c->types[0], c->out, count,
                         c->wide_byte_displ[1], c->types[1], comm, request);
    }
}

/* Draws that all ranks of the communicator make alike, and then some of this rank's own. */
static void draw_call(struct call *c, struct draw *d)
{
    struct draw own = draw_from(d->state, (uint64_t)world_rank + 100);
    int large = !draw_below(d, 12), blocks;

    c->what = (enum what)draw_below(d, WHATS);
    c->at = &places[draw_below(d, COMMS)];
    c->key = (uint64_t)draw_below(d, 1 << 30) << 24;
    c->n = draw_below(d, 15) ? 1 + draw_below(d, large ? MOST_LARGE : MOST) : 0;
    c->root = (int)((uint64_t)draw_below(d, 1 << 20) % (uint64_t)c->at->size);
    c->in_place = !draw_below(d, 3) && c->what != IBCAST;
    int ragged = c->what != IALLTOALLV && c->what != IALLTOALLW;
    size_t at = 0;
    for (int r = 0; r < c->at->size; r++) {
        c->count[r] =
            ragged && c->n ? c->n - (r * 7 + (int)(c->key >> 24)) % (c->n < 9 ? c->n : 9) : c->n;
        c->displ[r] = (int)at;
        at += (size_t)c->count[r] + (kinds[c->what].sums ? 0 : 2);
    }
    for (int i = 0; i < 2; i++) {
        c->gap[i] = kinds[c->what].sums ? 0 : draw_below(&own, 3) % 2;
        c->type[i] = make_type(c->gap[i]);
    }
    for (int r = 0; r < c->at->size; r++)
        for (int i = 0; i < 2; i++) {
            c->types[i][r] = c->type[i];
            c->byte_displ[i][r] = c->displ[r] * (int)sizeof(int) * (1 + c->gap[i]);
            c->wide_byte_displ[i][r] = c->byte_displ[i][r];
            c->wide_count[r] = c->count[r];
            c->wide_displ[r] = c->displ[r];
        }
    c->wide = draw_below(d, 3) == 0 && large_counts();
    blocks = c->at->size;
    c->room = 2 * (size_t)(c->n + 2) * (size_t)blocks;
    c->in = malloc(c->room * sizeof *c->in);
    c->out = malloc(c->room * sizeof *c->out);
    if (!c->in || !c->out)
        abort();
    fill(c);
}

/* Is it rerouted where all calls are that can be? */
static int is_rerouted(const struct call *c)
{
    const char *mode = getenv("COLLSHIM_MODE");
    int asks = kinds[c->what].asks, compared = mode && !strcmp(mode, "verify");

    return c->n && c->at->size > 1 && (!asks || (asks == 2 && !compared));
}

/* A ring of messages and a blocking collective, while the others are under way. */
static void meanwhile(struct draw *d, int number)
{
    const struct place *p = &places[draw_below(d, COMMS)];
    int right = (p->rank + 1) % p->size, left = (p->rank + p->size - 1) % p->size, got = -1;
    int mine = p->rank + number, sum = 0;

    MPI_Sendrecv(&mine, 1, MPI_INT, right, 3, &got, 1, MPI_INT, left, 3, p->comm,
                 MPI_STATUS_IGNORE);
    if (got != left + number)
        fail("a message beside nonblocking calls holds %d, expected %d", got, left + number);
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, p->comm);
    if (sum != p->size * number + p->size * (p->size - 1) / 2)
        fail("a blocking sum beside nonblocking calls is %d", sum);
}

static void one_round(int number)
{
    struct draw d = draw_from(7, (uint64_t)number); /* equal on all ranks */
    struct draw own = draw_from(11 + (uint64_t)world_rank, (uint64_t)number);
    int n = 1 + draw_below(&d, AT_ONCE), form = draw_below(&d, FORMS);
    struct call *call = calloc((size_t)n, sizeof *call);
    MPI_Request request[AT_ONCE];

    if (!call)
        abort();
    for (int i = 0; i < n; i++) {
        draw_call(&call[i], &d);
        if (call[i].wide)
            start_wide(&call[i], &request[i]);
        else
            start(&call[i], &request[i]);
        free_types(&call[i]);
        expected_started += is_rerouted(&call[i]);
        if (!draw_below(&d, 6))
            meanwhile(&d, number);
    }
    complete(request, n, form, &own);
    for (int i = 0; i < n; i++) {
        check(&call[i], forms[form]);
        free(call[i].in);
        free(call[i].out);
    }
    free(call);
}

/* All ranks; all in reverse; those of even and of odd number; this one alone. The first call on
   each is a blocking one. */
static void make_places(void)
{
    MPI_Comm_dup(MPI_COMM_WORLD, &places[0].comm);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &places[1].comm);
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &places[2].comm);
    MPI_Comm_dup(MPI_COMM_SELF, &places[3].comm);
    for (int i = 0; i < COMMS; i++) {
        int one = 1, sum = 0;

        MPI_Comm_rank(places[i].comm, &places[i].rank);
        MPI_Comm_size(places[i].comm, &places[i].size);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, places[i].comm);
    }
}

int main(int argc, char **argv)
{
    int rounds = argc > 2 ? atoi(argv[2]) : 100, code;
    long all;

    MPI_Init(&argc, &argv);
    test_began("nonblocking", argc, argv);
    if (world_size > MOST_RANKS)
        MPI_Abort(MPI_COMM_WORLD, 2);
    make_places();
    for (int i = 0; i < rounds && !failures; i++)
        one_round(i);
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_free(&places[i].comm);
    MPI_Reduce(&expected_started, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!world_rank)
        printf("nonblocking: to start: nonblocking=%ld\n", all);
    code = test_ended();
    MPI_Finalize();
    return code;
}
