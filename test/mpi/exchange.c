/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random calls of Alltoallv and Alltoallw: exchange [SEED [CALLS [HOW]]]
 *
 *   mixed   each rank describes its data by types of its own; Alltoallw's are alike on a side, or
 *           predefined
 *   odd     the same, and some of Alltoallw's are neither
 *   plain   predefined types only, for runs in which the library serves calls: MPICH 4.0.2's own
 *           Alltoallv in place truncates messages where ranks have types of their own
 *   started as odd; half of the calls are nonblocking, and their types are freed before they end.
 *           Under Open MPI 4 it needs the shim (prepare)
 *   large   large skewed calls alone
 *   phases  many small calls, then large skewed ones, then demands that change from call to call
 *
 * Blocks lie in any order with gaps between; some pairs, rows and columns are empty, some messages
 * large. Half of the calls go through the names with large counts, where the library has them.
 */
#include "test/mpi/image.h"
#include "test/mpi/large_counts.h"
#include "test/mpi/places.h"

enum { MOST_RANKS = 16, MOST_MEMBERS = 3, SHAPES = 12 };
enum way { VECTOR, BY_TYPE_ALIKE, BY_TYPE_PLAIN, BY_TYPE_ODD, WAYS };

/*
 * MPICH 4.0.2 itself aborts with "Message truncated" in some Alltoallw in place whose pairs have
 * types of their own (MPIR_Alltoallw_intra_pairwise_sendrecv_replace).
 */
#ifdef MPICH_VERSION
enum { library_fails_odd_in_place = 1 };
#else
enum { library_fails_odd_in_place = 0 };
#endif

static long expected;
static int all_plain, some_odd, some_started;

/* Values that are equal on all ranks of a call. */
struct shape {
    enum kind member[MOST_MEMBERS];
    int nmembers, common; /* common divides all units: types may be so long */
    int units[MOST_RANKS][MOST_RANKS];
};

/* Blocks of one side, each of a type. */
struct side {
    struct typemap own[MOST_RANKS];
    int nown;
    const struct typemap *type[MOST_RANKS];
    int count[MOST_RANKS];
    MPI_Aint at[MOST_RANKS]; /* bytes */
    int displ[MOST_RANKS];   /* the arguments for MPI */
    struct image m[2];       /* passed; what it should be afterwards */
};

struct call {
    uint64_t number;
    enum way way;
    struct shape shape;
    int in_place, large, started;
    struct draw own;
    MPI_Comm comm;
    int rank, size;
    struct side send, receive;

    /* Its arguments: they outlive the start of a nonblocking one. */
    MPI_Datatype types[2][MOST_RANKS];
    MPI_Count large_count[2][MOST_RANKS];
    MPI_Aint large_displ[2][MOST_RANKS];
    MPI_Request request;
};

static int draw_units(struct draw *d, int kind_of_shape)
{
    switch (kind_of_shape) {
    case 0:
        return draw_below(d, 60);
    case 1:
        return draw_below(d, 3) ? 0 : draw_below(d, 200);
    case 2:
        return draw_below(d, 12) ? draw_below(d, 20) : 6000; /* a few large ones */
    default:
        return draw_below(d, 2);
    }
}

static struct shape draw_shape(uint64_t id, int symmetric)
{
    struct draw d = draw_from(1, id);
    struct shape s = {.nmembers = 1 + draw_below(&d, MOST_MEMBERS),
                      .common = 1 + draw_below(&d, 3)};
    int kind_of_shape = draw_below(&d, 4), no_row = draw_below(&d, 2 * MOST_RANKS),
        no_column = draw_below(&d, 2 * MOST_RANKS);

    for (int i = 0; i < s.nmembers; i++)
        s.member[i] = (enum kind)draw_below(&d, KINDS);
    for (int from = 0; from < MOST_RANKS; from++)
        for (int to = 0; to < MOST_RANKS; to++) {
            int units = s.common * draw_units(&d, kind_of_shape);

            s.units[from][to] = from == no_row || to == no_column ? 0 : units;
        }
    for (int from = 0; symmetric && from < MOST_RANKS; from++)
        for (int to = 0; to < from; to++)
            s.units[from][to] = s.units[to][from];
    return s;
}

/* The kind of what goes from one rank to another where each pair has its own. */
static enum kind kind_of_pair(const struct call *c, int from, int to)
{
    if (c->in_place && from > to)
        return kind_of_pair(c, to, from);
    return (enum kind)(mix(c->number * 1000 + (uint64_t)(from * MOST_RANKS + to)) % KINDS);
}

/*
 * The shim serves nonblocking calls of a communicator that has had a blocking one. Open MPI 4.1.4
 * must serve none: after its own Ialltoallv in place, with a type of its own on each of three
 * ranks, the communicator's next nonblocking exchange never ends.
 */
static void prepare(void)
{
    int any = 0;

    for (int p = 0; p < PLACES; p++)
        MPI_Bcast(&any, 1, MPI_INT, 0, place_comm[p]);
}

/* Types of a side, and how many elements of which go to or come from each rank. */
static void draw_types(struct call *c, struct side *s, int receives)
{
    const struct shape *shape = &c->shape;
    int per_element = 1;

    s->nown = c->way == BY_TYPE_PLAIN || c->way == BY_TYPE_ODD ? c->size : 1;
    for (int i = 0; i < s->nown; i++) {
        int from = receives ? i : c->rank, to = receives ? c->rank : i;

        if (c->way == BY_TYPE_PLAIN) {
            s->own[i] = typemap_kind(kind_of_pair(c, from, to));
        } else if (all_plain) {
            s->own[i] = typemap_kind(shape->member[0]);
        } else {
            per_element = draw_below(&c->own, 2) ? shape->common : 1;
            s->own[i] = typemap_draw(&c->own, shape->member, shape->nmembers, per_element);
        }
        for (int r = s->nown > 1 ? i : 0; r < (s->nown > 1 ? i + 1 : c->size); r++) {
            s->type[r] = &s->own[i];
            s->count[r] =
                (receives ? shape->units[r][c->rank] : shape->units[c->rank][r]) / per_element;
        }
    }
}

/* Blocks in some order, with some room between. */
static void place_blocks(struct call *c, struct side *s)
{
    int order[MOST_RANKS], tidy = draw_below(&c->own, 2), next = 0;
    MPI_Aint end = 0;

    shuffle(&c->own, order, c->size);
    for (int i = 0; i < c->size; i++) {
        int r = tidy ? i : order[i], room = tidy ? 0 : draw_below(&c->own, 3);

        if (s->nown == 1) { /* in elements, to suit both functions */
            s->displ[r] = next;
            s->at[r] = next * s->type[r]->extent;
            next += s->count[r] + room;
        } else { /* in bytes; a map may begin below its address */
            struct bounds b = {0, 0};

            bounds_cover(&b, s->type[r], 0, s->count[r]);
            s->at[r] = (end - b.low + 15) / 16 * 16 + 16 * room;
            end = s->at[r] + b.high;
        }
        if (c->way != VECTOR)
            s->displ[r] = (int)s->at[r];
    }
}

static void make_images(struct call *c, struct side *s)
{
    struct bounds b = {0, 1};

    for (int r = 0; r < c->size; r++)
        bounds_cover(&b, s->type[r], s->at[r], s->count[r]);
    for (int i = 0; i < 2; i++)
        s->m[i] = image_make(&b);
}

static void write_blocks(const struct call *c, struct side *s, int image, int received)
{
    for (int r = 0; r < c->size; r++)
        image_write(&s->m[image], s->type[r], s->at[r], s->count[r], c->number,
                    received ? r * MOST_RANKS + c->rank : c->rank * MOST_RANKS + r);
}

static void call_begin(struct call *c, uint64_t number)
{
    struct draw d = draw_from(3, number);

    memset(c, 0, sizeof *c);
    c->number = number;
    c->comm = place_comm[draw_below(&d, PLACES)];
    c->way = draw_below(&d, 2) ? VECTOR : (enum way)draw_below(&d, some_odd ? WAYS : BY_TYPE_ODD);
    c->in_place = draw_below(&d, 4) == 0 && !(library_fails_odd_in_place && c->way == BY_TYPE_ODD);
    c->shape = draw_shape((uint64_t)draw_below(&d, SHAPES), c->in_place);
    c->large = draw_below(&d, 2) && large_counts();
    c->started = some_started && draw_below(&d, 2);
    c->own = draw_from(number + 10, (uint64_t)world_rank);
    MPI_Comm_rank(c->comm, &c->rank);
    MPI_Comm_size(c->comm, &c->size);
    draw_types(c, &c->receive, 1);
    place_blocks(c, &c->receive);
    make_images(c, &c->receive);
    draw_types(c, &c->send, 0);
    place_blocks(c, &c->send);
    make_images(c, &c->send);
    write_blocks(c, &c->send, 0, 0);
    write_blocks(c, &c->send, 1, 0);
    if (c->in_place)
        write_blocks(c, &c->receive, 0, 0);
    write_blocks(c, &c->receive, 1, 1);
}

#define CALL(name, ...)                                                                            \
    (c->started ? MPI_Ia##name(__VA_ARGS__, &c->request) : MPI_A##name(__VA_ARGS__))

static int call_large(struct call *c, const void *from, void *into)
{
    MPI_Count(*count)[MOST_RANKS] = c->large_count;
    MPI_Aint(*displ)[MOST_RANKS] = c->large_displ;

    for (int i = 0; i < c->size; i++) {
        count[0][i] = c->send.count[i];
        count[1][i] = c->receive.count[i];
        displ[0][i] = c->send.displ[i];
        displ[1][i] = c->receive.displ[i];
    }
    if (c->way == VECTOR)
        return CALL(lltoallv_c, from, count[0], displ[0], c->types[0][0], into, count[1], displ[1],
                    c->types[1][0], c->comm);
    return CALL(lltoallw_c, from, count[0], displ[0], c->types[0], into, count[1], displ[1],
                c->types[1], c->comm);
}

static int call_mpi(struct call *c)
{
    struct side *s = &c->send, *r = &c->receive;
    const void *from = c->in_place ? MPI_IN_PLACE : image_buffer(&s->m[0]);
    void *into = image_buffer(&r->m[0]);

    for (int i = 0; i < c->size; i++) {
        c->types[0][i] = s->type[i]->type;
        c->types[1][i] = r->type[i]->type;
    }
    if (c->large)
        return call_large(c, from, into);
    if (c->way == VECTOR && c->in_place)
        return CALL(lltoallv, from, NULL, NULL, MPI_DATATYPE_NULL, into, r->count, r->displ,
                    c->types[1][0], c->comm);
    if (c->way == VECTOR)
        return CALL(lltoallv, from, s->count, s->displ, c->types[0][0], into, r->count, r->displ,
                    c->types[1][0], c->comm);
    return CALL(lltoallw, from, s->count, s->displ, c->types[0], into, r->count, r->displ,
                c->types[1], c->comm);
}

/* The types of a side that has been passed to a nonblocking call. */
static void free_types(struct side *s)
{
    for (int i = 0; i < s->nown; i++)
        if (s->own[i].derived) {
            MPI_Type_free(&s->own[i].type);
            s->own[i].derived = 0;
        }
}

static void check(const struct call *c, const char *what, const struct side *s)
{
    int differs;
    MPI_Aint at = image_differs(&s->m[0], &s->m[1], &differs);

    if (differs)
        fail("seed %llu call %llu (way %d%s%s of %d, %d kinds%s): %s wrong at byte %ld: %02x, "
             "expected %02x",
             (unsigned long long)test_seed, (unsigned long long)c->number, (int)c->way,
             c->in_place ? " in place" : "", c->started ? ", started" : "", c->size,
             c->shape.nmembers, c->large ? ", large" : "", what, (long)at,
             s->m[0].byte[at - s->m[0].low], s->m[1].byte[at - s->m[1].low]);
}

static void side_free(struct side *s)
{
    for (int i = 0; i < s->nown; i++)
        typemap_free(&s->own[i]);
    for (int i = 0; i < 2; i++)
        free(s->m[i].byte);
}

static void call_run(struct call *c)
{
    struct side *r = &c->receive;
    int rc = call_mpi(c), moves = 0;

    if (rc != MPI_SUCCESS)
        fail("seed %llu call %llu: returned %d", (unsigned long long)test_seed,
             (unsigned long long)c->number, rc);
    if (c->started) {
        free_types(&c->send);
        free_types(&c->receive);
        MPI_Wait(&c->request, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < c->size; i++)
        image_ignore_padding(&r->m[0], &r->m[1], r->type[i], r->at[i], r->count[i]);
    check(c, "received", r);
    check(c, "sent", &c->send);
    for (int from = 0; from < c->size; from++)
        for (int to = 0; to < c->size; to++)
            moves |= c->shape.units[from][to] > 0;
    expected += moves && c->size > 1 && !c->started;
    side_free(&c->send);
    side_free(&c->receive);
}

/* Ints, packed in rank order: `most` of them to rank hot, `least` to every other. */
static void skewed(int most, int least, int hot)
{
    int counts[2][MOST_RANKS], displs[2][MOST_RANKS], next[2] = {0, 0};

    for (int r = 0; r < world_size; r++) {
        counts[0][r] = r == hot ? most : least;
        counts[1][r] = world_rank == hot ? most : least;
        for (int side = 0; side < 2; side++) {
            displs[side][r] = next[side];
            next[side] += counts[side][r];
        }
    }
    int *sent = malloc(sizeof(int) * (size_t)(next[0] + 1));
    int *got = calloc((size_t)next[1] + 1, sizeof(int));
    for (int r = 0; r < world_size; r++)
        for (int i = 0; i < counts[0][r]; i++)
            sent[displs[0][r] + i] = world_rank * 1000003 + r * 101 + i;
    MPI_Alltoallv(sent, counts[0], displs[0], MPI_INT, got, counts[1], displs[1], MPI_INT,
                  MPI_COMM_WORLD);
    for (int r = 0; r < world_size; r++)
        for (int i = 0; i < counts[1][r]; i++)
            if (got[displs[1][r] + i] != r * 1000003 + world_rank * 101 + i) {
                fail("%d to %d: element %d from %d is %d", most, hot, i, r, got[displs[1][r] + i]);
                break;
            }
    free(sent);
    free(got);
}

static void phases(void)
{
    struct draw d = draw_from(4, 0);

    for (int i = 0; i < 134; i++) /* so that the first large call is one that is asked about */
        skewed(3, 1, i % world_size);
    for (int i = 0; i < 100; i++)
        skewed(150000, 1000, 0);
    for (int i = 0; i < 60; i++)
        skewed(draw_below(&d, 4) ? 60000 : 30, draw_below(&d, 2) * 20000,
               draw_below(&d, world_size));
}

static void large(int calls)
{
    for (int i = 0; i < calls; i++)
        skewed(150000, 1000, 0);
}

/* Wrong on all ranks alike, so that no rank waits: the library answers, and the communicator lives.
 */
static void wrong_calls(void)
{
    int data[MOST_RANKS] = {0}, got[MOST_RANKS], none[MOST_RANKS] = {0}, negative[MOST_RANKS], rc;
    MPI_Datatype no_type[MOST_RANKS];

    for (int i = 0; i < MOST_RANKS; i++) {
        negative[i] = -1;
        no_type[i] = MPI_DATATYPE_NULL;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    rc = MPI_Alltoallv(data, negative, none, MPI_INT, got, negative, none, MPI_INT, MPI_COMM_WORLD);
    if (rc == MPI_SUCCESS)
        fail("alltoallv of less than nothing succeeds");
    rc = MPI_Alltoallw(data, none, none, no_type, got, none, none, no_type, MPI_COMM_WORLD);
    (void)rc; /* libraries differ */
    rc = MPI_Alltoallv(data, none, none, MPI_DATATYPE_NULL, got, none, none, MPI_DATATYPE_NULL,
                       MPI_COMM_WORLD);
    if (rc == MPI_SUCCESS)
        fail("alltoallv of no type succeeds");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* Room for more than what is sent: not legal, but libraries take it. Each block begins where it
   should, and behind it nothing is written. */
static void more_room_than_data(void)
{
    enum { SENT = 2, ROOM = 3 };
    int out[SENT * MOST_RANKS], in[ROOM * MOST_RANKS], counts[2][MOST_RANKS], displs[2][MOST_RANKS];

    for (int r = 0; r < world_size; r++) {
        counts[0][r] = SENT;
        counts[1][r] = r == world_rank ? SENT : ROOM;
        displs[0][r] = SENT * r;
        displs[1][r] = ROOM * r;
        for (int i = 0; i < SENT; i++)
            out[SENT * r + i] = 100 * world_rank + 10 * r + i;
        for (int i = 0; i < ROOM; i++)
            in[ROOM * r + i] = -1;
    }
    MPI_Alltoallv(out, counts[0], displs[0], MPI_INT, in, counts[1], displs[1], MPI_INT,
                  MPI_COMM_WORLD);
    for (int r = 0; r < world_size; r++)
        for (int i = 0; i < ROOM; i++)
            if (in[ROOM * r + i] != (i < SENT ? 100 * r + 10 * world_rank + i : -1))
                fail("more room than data: element %d from %d is %d", i, r, in[ROOM * r + i]);
}

/* Blocks that are received into the same place: wrong, and no rank may crash or write elsewhere. */
static void overlapping(void)
{
    enum { EACH = 500 };
    static int sent[EACH * MOST_RANKS], got[EACH + 2];
    int counts[MOST_RANKS], displs[MOST_RANKS], same[MOST_RANKS] = {0};

    for (int r = 0; r < world_size; r++) {
        counts[r] = EACH;
        displs[r] = r * EACH;
    }
    got[0] = got[EACH + 1] = 77;
    MPI_Alltoallv(sent, counts, displs, MPI_INT, got + 1, counts, same, MPI_INT, MPI_COMM_WORLD);
    if (got[0] != 77 || got[EACH + 1] != 77)
        fail("overlapping blocks: bytes beside them were written");
    expected += world_size > 1;
}

static void between_groups(void)
{
    int low = world_rank < (world_size + 1) / 2, others;
    int out[MOST_RANKS], in[MOST_RANKS], counts[MOST_RANKS], displs[MOST_RANKS];

    if (world_size == 1)
        return;
    MPI_Comm inter = between_halves();
    MPI_Comm_remote_size(inter, &others);
    for (int r = 0; r < others; r++) {
        out[r] = world_rank;
        in[r] = -1;
        counts[r] = 1;
        displs[r] = r;
    }
    MPI_Alltoallv(out, counts, displs, MPI_INT, in, counts, displs, MPI_INT, inter);
    for (int r = 0; r < others; r++)
        if (in[r] != r + (low ? (world_size + 1) / 2 : 0))
            fail("between groups: element %d is %d", r, in[r]);
    MPI_Comm_free(&inter);
}

int main(int argc, char **argv)
{
    int calls = argc > 2 ? atoi(argv[2]) : 300;
    const char *how = argc > 3 ? argv[3] : "mixed";
    static struct call c;
    long all;

    MPI_Init(&argc, &argv);
    test_began("exchange", argc, argv);
    if (world_size > MOST_RANKS)
        MPI_Abort(MPI_COMM_WORLD, 2);
    all_plain = !strcmp(how, "plain");
    some_started = !strcmp(how, "started");
    some_odd = some_started || !strcmp(how, "odd");
    if (!strcmp(how, "phases")) {
        phases();
        calls = 0;
    } else if (!strcmp(how, "large")) {
        large(calls);
        calls = 0;
    } else {
        between_groups();
        wrong_calls();
        overlapping();
        more_room_than_data();
    }
    places_make();
    for (int i = 0; i < calls; i++) {
        places_renew(i);
        if (some_started)
            prepare();
        call_begin(&c, (uint64_t)i);
        call_run(&c);
    }
    places_free();
    MPI_Reduce(&expected, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!world_rank)
        printf("exchange: to reroute: alltoallv=%ld\n", all);
    int code = test_ended();
    MPI_Finalize();
    return code;
}
