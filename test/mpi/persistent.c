/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Persistent collectives: persistent [SEED [ROUNDS [native]]]
 *
 * Each communicator has several requests, of random functions, sizes, types and places. A round
 * writes new data and starts some of them, by MPI_Start or MPI_Startall. Each rank has an order of
 * its own, but one for the library's own requests, since MPICH matches them by it. The round makes
 * blocking and nonblocking calls and messages on the same communicators. It completes the requests
 * in one of MPI's forms, among null and inactive ones. Now and then a request is freed, inactive,
 * and another one made. Types are freed once the request is made, unless `native` says the library
 * serves. Open MPI 4 does not survive it then, and MPI_Request_get_status of MPICH 4 never finds
 * its own persistent collectives done. Expected values are the test's own, and what lies between
 * elements must stay.
 */
#include "test/mpi/harness.h"
#include "test/mpi/persistent_calls.h"

enum { MOST_RANKS = 8, MOST = 300, MOST_LARGE = 20000, ALL = 10, COMMS = 3, ANY = -1, GAP = -7 };

enum what {
    ALLGATHER,
    ALLGATHERV,
    ALLREDUCE,
    REDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    SCAN,
    EXSCAN,
    BCAST,
    GATHER,
    GATHERV,
    SCATTER,
    SCATTERV,
    ALLTOALL,
    ALLTOALLV,
    ALLTOALLW,
    WHATS
};

/* A rank gives and gets one block, or one for each rank, from a root or to it, or all. A sum is of
   all ranks (1), of those up to this one (2), or of those before it (3). */
static const struct {
    const char *name;
    int gives_each, gets_each, from_root, to_root, sums, vector;
} kinds[WHATS] = {
    [ALLGATHER] = {"Allgather_init", 0, 1, 0, 0, 0, 0},
    [ALLGATHERV] = {"Allgatherv_init", 0, 1, 0, 0, 0, 1},
    [ALLREDUCE] = {"Allreduce_init", 0, 0, 0, 0, 1, 0},
    [REDUCE] = {"Reduce_init", 0, 0, 0, 1, 1, 0},
    [REDUCE_SCATTER] = {"Reduce_scatter_init", 1, 0, 0, 0, 1, 1},
    [REDUCE_SCATTER_BLOCK] = {"Reduce_scatter_block_init", 1, 0, 0, 0, 1, 0},
    [SCAN] = {"Scan_init", 0, 0, 0, 0, 2, 0},
    [EXSCAN] = {"Exscan_init", 0, 0, 0, 0, 3, 0},
    [BCAST] = {"Bcast_init", 0, 0, 1, 0, 0, 0},
    [GATHER] = {"Gather_init", 0, 1, 0, 1, 0, 0},
    [GATHERV] = {"Gatherv_init", 0, 1, 0, 1, 0, 1},
    [SCATTER] = {"Scatter_init", 1, 0, 1, 0, 0, 0},
    [SCATTERV] = {"Scatterv_init", 1, 0, 1, 0, 0, 1},
    [ALLTOALL] = {"Alltoall_init", 1, 1, 0, 0, 0, 0},
    [ALLTOALLV] = {"Alltoallv_init", 1, 1, 0, 0, 0, 1},
    [ALLTOALLW] = {"Alltoallw_init", 1, 1, 0, 0, 0, 1},
};

struct place {
    MPI_Comm comm;
    int rank, size;
};

struct call {
    enum what what;
    const struct place *at;
    uint64_t key; /* of the round's data */
    int n, root, in_place;
    int gap[2]; /* ints between elements of input and output, on this rank */
    MPI_Datatype type[2];
    int count[MOST_RANKS], displ[MOST_RANKS], byte_displ[2][MOST_RANKS];
    MPI_Datatype types[2][MOST_RANKS];
    int *in, *out;
    size_t room; /* ints in each */
    int rerouted, keeps_types;
    MPI_Request request;
};

static struct place places[COMMS];
static struct call calls[ALL];
static long expected_started, expected_made;
static int natively;

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

/* An int, and a gap of as many ints behind it. */
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

/* Is the own contribution where the result will be? */
static int is_in_place(const struct call *c)
{
    if (c->what == BCAST)
        return 1;
    if (kinds[c->what].from_root || kinds[c->what].to_root)
        return c->in_place && c->at->rank == c->root;
    return c->in_place;
}

static int scatters(const struct call *c)
{
    return c->what == SCATTER || c->what == SCATTERV;
}

/* Write what this rank contributes: into the input, or, in place, where MPI wants it. */
static void fill(struct call *c)
{
    int each = kinds[c->what].gives_each, in_place = is_in_place(c), rank = c->at->rank;
    int *to = in_place && !scatters(c) ? c->out : c->in;
    size_t step = 1 + (size_t)c->gap[in_place && !scatters(c)];

    for (size_t i = 0; i < c->room; i++)
        c->in[i] = c->out[i] = GAP;
    if (kinds[c->what].from_root && rank != c->root)
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

static void check(const struct call *c, int round, const char *form)
{
    int each = kinds[c->what].gets_each;
    size_t step = 1 + (size_t)c->gap[1];

    if ((kinds[c->what].to_root && c->at->rank != c->root) || (scatters(c) && is_in_place(c)) ||
        (kinds[c->what].sums && !summed(c)))
        return;
    for (int b = 0; b < (each ? c->at->size : 1); b++) {
        size_t from = each ? begin_of(c, b) : 0;

        for (int i = 0; i < length_of(c, each ? b : c->at->rank); i++) {
            const int *got = c->out + (from + (size_t)i) * step;

            if (*got != wanted(c, b, i) || (step > 1 && got[1] != GAP)) {
                fail("round %d: %s of %d on %d ranks, root %d%s, completed by %s: element %d of "
                     "block %d is %d, expected %d, %s behind it",
                     round, kinds[c->what].name, c->n, c->at->size, c->root,
                     c->in_place ? ", in place" : "", form, i, b, *got, wanted(c, b, i),
                     step > 1 && got[1] != GAP ? "overwritten" : "nothing");
                return;
            }
        }
    }
}

static void init(struct call *c)
{
    int n = c->n, mine = c->count[c->at->rank], *count = c->count, *displ = c->displ;
    MPI_Datatype s = c->type[0], r = c->type[1];
    MPI_Comm comm = c->at->comm;
    const void *in = is_in_place(c) ? MPI_IN_PLACE : c->in;
    void *own = is_in_place(c) ? MPI_IN_PLACE : c->out; /* of a scatter */
    MPI_Info i = MPI_INFO_NULL;
    MPI_Request *q = &c->request;

    switch (c->what) {
    case ALLGATHER:
        MPI_Allgather_init(in, n, s, c->out, n, r, comm, i, q);
        break;
    case ALLGATHERV:
        MPI_Allgatherv_init(in, mine, s, c->out, count, displ, r, comm, i, q);
        break;
    case ALLREDUCE:
        MPI_Allreduce_init(in, c->out, n, MPI_INT, MPI_SUM, comm, i, q);
        break;
    case REDUCE:
        MPI_Reduce_init(in, c->out, n, MPI_INT, MPI_SUM, c->root, comm, i, q);
        break;
    case REDUCE_SCATTER:
        MPI_Reduce_scatter_init(in, c->out, count, MPI_INT, MPI_SUM, comm, i, q);
        break;
    case REDUCE_SCATTER_BLOCK:
        MPI_Reduce_scatter_block_init(in, c->out, n, MPI_INT, MPI_SUM, comm, i, q);
        break;
    case SCAN:
        MPI_Scan_init(in, c->out, n, MPI_INT, MPI_SUM, comm, i, q);
        break;
    case EXSCAN:
        MPI_Exscan_init(in, c->out, n, MPI_INT, MPI_SUM, comm, i, q);
        break;
    case BCAST:
        MPI_Bcast_init(c->out, n, r, c->root, comm, i, q);
        break;
    case GATHER:
        MPI_Gather_init(in, n, s, c->out, n, r, c->root, comm, i, q);
        break;
    case GATHERV:
        MPI_Gatherv_init(in, mine, s, c->out, count, displ, r, c->root, comm, i, q);
        break;
    case SCATTER:
        MPI_Scatter_init(c->in, n, s, own, n, r, c->root, comm, i, q);
        break;
    case SCATTERV:
        MPI_Scatterv_init(c->in, count, displ, s, own, mine, r, c->root, comm, i, q);
        break;
    case ALLTOALL:
        MPI_Alltoall_init(in, n, s, c->out, n, r, comm, i, q);
        break;
    case ALLTOALLV:
        MPI_Alltoallv_init(in, count, displ, s, c->out, count, displ, r, comm, i, q);
        break;
    default:
        MPI_Alltoallw_init(in, count, c->byte_displ[0], c->types[0], c->out, count,
                           c->byte_displ[1], c->types[1], comm, i, q);
    }
}

/* Draws that all ranks make alike, and then some of this rank's own. */
static void make_call(struct call *c, struct draw *d)
{
    struct draw own = draw_from(d->state, (uint64_t)world_rank + 100);
    int large = !draw_below(d, 12);

    c->what = (enum what)draw_below(d, WHATS);
    c->at = &places[draw_below(d, COMMS)];
    c->n = draw_below(d, 15) ? 1 + draw_below(d, large ? MOST_LARGE : MOST) : 0;
    c->root = (int)((uint64_t)draw_below(d, 1 << 20) % (uint64_t)c->at->size);
    c->in_place = !draw_below(d, 3) && c->what != BCAST;
    int ragged = c->what != ALLTOALLV && c->what != ALLTOALLW && c->n, turn = draw_below(d, 100);
    size_t at = 0;
    for (int r = 0; r < c->at->size; r++) {
        c->count[r] = ragged ? c->n - (r * 7 + turn) % (c->n < 9 ? c->n : 9) : c->n;
        c->displ[r] = (int)at;
        at += (size_t)c->count[r] + (kinds[c->what].sums ? 0 : 2);
    }
    for (int i = 0; i < 2; i++) {
        c->gap[i] = kinds[c->what].sums ? 0 : draw_below(&own, 3) % 2;
        c->type[i] = make_type(c->gap[i]);
        for (int r = 0; r < c->at->size; r++) {
            c->types[i][r] = c->type[i];
            c->byte_displ[i][r] = c->displ[r] * (int)sizeof(int) * (1 + c->gap[i]);
        }
    }
    c->room = 2 * (size_t)(c->n + 2) * (size_t)c->at->size;
    c->in = malloc(c->room * sizeof *c->in);
    c->out = malloc(c->room * sizeof *c->out);
    if (!c->in || !c->out)
        abort();
    init(c);
    c->rerouted = c->n && c->at->size > 1;
    c->keeps_types = natively || (MPI_VERSION < 4 && !c->rerouted);
    if (!c->keeps_types)
        free_types(c);
    expected_made++;
}

static void drop_call(struct call *c)
{
    if (c->keeps_types)
        free_types(c);
    MPI_Request_free(&c->request);
    if (c->request != MPI_REQUEST_NULL)
        fail("MPI_Request_free leaves a request");
    free(c->in);
    free(c->out);
}

/* The last two are for rerouted requests alone: with its own, MPICH's MPI_Testall fails and its
   MPI_Request_get_status never finds them done. */
static const char *const forms[] = {"Wait",    "Waitall",  "Waitany", "Waitsome",          "Test",
                                    "Testany", "Testsome", "Testall", "Request_get_status"};
enum { FORMS = sizeof forms / sizeof *forms, MOST_TAKEN = ALL + 2 };

static void complete_singly(MPI_Request *q, int n, int left, int form)
{
    for (int i = 0; i < n; i++) {
        int done = form == 0 || i >= left;

        while (!done) {
            if (form == 4)
                MPI_Test(&q[i], &done, MPI_STATUS_IGNORE);
            else
                MPI_Request_get_status(q[i], &done, MPI_STATUS_IGNORE);
        }
        MPI_Wait(&q[i], MPI_STATUS_IGNORE);
    }
}

/* left: so many of the n requests, the first, are active. */
static void complete(MPI_Request *q, int n, int left, int form)
{
    int index[MOST_TAKEN], some, done = 0, i;
    MPI_Status status[MOST_TAKEN];

    switch (form) {
    case 1:
        MPI_Waitall(n, q, status);
        break;
    case 2:
        for (; left; left--)
            MPI_Waitany(n, q, &i, MPI_STATUS_IGNORE);
        MPI_Waitany(n, q, &i, MPI_STATUS_IGNORE);
        if (i != MPI_UNDEFINED)
            fail("Waitany finds a request where none is active");
        break;
    case 3:
        for (; left > 0; left -= some)
            MPI_Waitsome(n, q, &some, index, status);
        break;
    case 7:
        while (!done)
            MPI_Testall(n, q, &done, status);
        break;
    case 5:
        while (left) {
            MPI_Testany(n, q, &i, &done, MPI_STATUS_IGNORE);
            left -= done && i != MPI_UNDEFINED;
        }
        break;
    case 6:
        for (; left > 0; left -= some)
            MPI_Testsome(n, q, &some, index, status);
        break;
    default:
        complete_singly(q, n, left, form);
    }
}

/* A ring of messages, a blocking and a nonblocking collective, while the others are under way. */
static void meanwhile(struct draw *d, int number)
{
    const struct place *p = &places[draw_below(d, COMMS)];
    int right = (p->rank + 1) % p->size, left = (p->rank + p->size - 1) % p->size, got = -1;
    int mine = p->rank + number, sum[2] = {0, 0};
    MPI_Request request;

    MPI_Sendrecv(&mine, 1, MPI_INT, right, 3, &got, 1, MPI_INT, left, 3, p->comm,
                 MPI_STATUS_IGNORE);
    if (got != left + number)
        fail("a message beside persistent calls holds %d, expected %d", got, left + number);
    MPI_Iallreduce(&mine, &sum[0], 1, MPI_INT, MPI_SUM, p->comm, &request);
    MPI_Allreduce(&mine, &sum[1], 1, MPI_INT, MPI_SUM, p->comm);
    expected_started += p->size > 1;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2; i++)
        if (sum[i] != p->size * number + p->size * (p->size - 1) / 2)
            fail("a sum beside persistent calls is %d", sum[i]);
}

static void start(MPI_Request *q, int n, struct draw *own)
{
    if (draw_below(own, 2)) {
        MPI_Startall(n, q);
        return;
    }
    for (int i = 0; i < n; i++)
        MPI_Start(&q[i]);
}

static void one_round(int number)
{
    struct draw d = draw_from(7, (uint64_t)number); /* equal on all ranks */
    struct draw own = draw_from(11 + (uint64_t)world_rank, (uint64_t)number);
    int order[ALL], taken = 0, own_only = !natively, form;
    MPI_Request q[MOST_TAKEN];

    if (!draw_below(&d, 3)) {
        struct call *again = &calls[draw_below(&d, ALL)];

        drop_call(again);
        make_call(again, &d);
    }
    for (int i = 0; i < ALL; i++)
        if (draw_below(&d, 2)) {
            int at = calls[i].rerouted && !natively ? draw_below(&own, taken + 1) : taken;

            order[taken++] = order[at];
            order[at] = i;
            calls[i].key = (uint64_t)draw_below(&d, 1 << 30) << 24;
            fill(&calls[i]);
            expected_started += calls[i].rerouted && !natively;
            own_only &= calls[i].rerouted;
        }
    form = draw_below(&d, own_only ? FORMS : FORMS - 2);
    for (int i = 0; i < taken; i++)
        q[i] = calls[order[i]].request;
    start(q, taken, &own);
    q[taken] = MPI_REQUEST_NULL;
    q[taken + 1] = q[taken];
    for (int i = 0, idle = 1; i < ALL && idle; i++) {
        for (int k = 0; k < taken; k++)
            idle &= order[k] != i;
        if (idle && calls[i].rerouted && !natively)
            q[taken + 1] = calls[i].request; /* inactive */
        idle = !idle;
    }
    if (draw_below(&d, 2))
        meanwhile(&d, number);
    complete(q, taken + 2, taken, form);
    for (int i = 0; i < taken; i++) {
        calls[order[i]].request = q[i];
        if (q[i] == MPI_REQUEST_NULL)
            fail("%s takes a persistent request away", forms[form]);
        check(&calls[order[i]], number, forms[form]);
    }
}

/* All ranks; all in reverse; those of even and of odd number. The first call on each is a blocking
   one. */
static void make_places(void)
{
    MPI_Comm_dup(MPI_COMM_WORLD, &places[0].comm);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &places[1].comm);
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &places[2].comm);
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

    struct draw d;
    long all;

    natively = argc > 3;
    MPI_Init(&argc, &argv);
    test_began("persistent", argc, argv);
    if (!persistent_calls()) {
        printf("this mpi.h has no persistent collectives\n");
        MPI_Finalize();
        return EXIT_SKIP;
    }
    if (world_size > MOST_RANKS)
        MPI_Abort(MPI_COMM_WORLD, 2);
    make_places();
    d = draw_from(3, 0);
    for (int i = 0; i < ALL; i++)
        make_call(&calls[i], &d);
    for (int i = 0; i < rounds && !failures; i++)
        one_round(i);
    for (int i = 0; i < ALL; i++)
        drop_call(&calls[i]);
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_free(&places[i].comm);
    MPI_Reduce(&expected_started, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!world_rank)
        printf("persistent: to start: nonblocking=%ld, made=%ld\n", all, expected_made);
    code = test_ended();
    MPI_Finalize();
    return code;
}
