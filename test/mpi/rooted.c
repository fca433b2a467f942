/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random calls of Gather, Gatherv, Scatter, Scatterv and Alltoall: rooted [SEED [CALLS [HOW]]]
 *
 *   mixed   each rank describes its data by a type of its own
 *   alike   all ranks have one type, for runs in which the library serves calls (differential.c)
 *   plain   and it is a predefined one: MPICH 4.0.2's own Gather truncates derived types
 *   small   many small Gatherv and Scatterv calls, then large ones
 *
 * Where MPI gives arguments a meaning at the root only, other ranks pass nonsense. Half of the
 * calls go through the names with large counts, where the library has them.
 */
#include "test/mpi/image.h"
#include "test/mpi/large_counts.h"
#include "test/mpi/places.h"

enum { SHAPES = 30, MOST_RANKS = 64, MOST_MEMBERS = 3 };
enum what { GATHER, GATHERV, SCATTER, SCATTERV, ALLTOALL, WHATS };

static const char *const what_names[WHATS] = {"gather", "gatherv", "scatter", "scatterv",
                                              "alltoall"};
static long expected[WHATS];
static int all_alike, all_plain;

/* Values that are equal on all ranks of a call. */
struct shape {
    enum kind member[MOST_MEMBERS];
    int nmembers, common; /* common divides all units: types may be so long */
    int unit, units[MOST_RANKS];
};

struct call {
    uint64_t number;
    enum what what;
    struct shape shape;
    int in_place, large, nonsense;
    struct draw own, shared_type;
    MPI_Comm comm;
    int rank, size, root;
    struct typemap one, many; /* of a single block, of all blocks */
    int count[MOST_RANKS], displs[MOST_RANKS];
    int own_count; /* of the single block */
};

static int is_vector(const struct call *c)
{
    return c->what == GATHERV || c->what == SCATTERV;
}

static int units_of(const struct call *c, int rank)
{
    return is_vector(c) ? c->shape.units[rank] : c->shape.unit;
}

static struct shape draw_shape(uint64_t id)
{
    struct draw d = draw_from(1, id);
    struct shape s = {.nmembers = 1 + draw_below(&d, MOST_MEMBERS),
                      .common = 1 + draw_below(&d, 3)};
    int most = draw_below(&d, 8) ? 60 : 1200, kind_of_shape = draw_below(&d, 3);

    for (int i = 0; i < s.nmembers; i++)
        s.member[i] = (enum kind)draw_below(&d, KINDS);
    s.unit = s.common * (draw_below(&d, 6) ? draw_below(&d, most) : 0);
    for (int r = 0; r < MOST_RANKS; r++)
        s.units[r] =
            s.common * (kind_of_shape == 0   ? draw_below(&d, most)
                        : kind_of_shape == 1 ? (draw_below(&d, 4) ? 0 : most)
                                             : draw_below(&d, 2)); /* one element, or none */
    return s;
}

static struct typemap draw_type(struct call *c, int *per_element)
{
    struct draw again = c->shared_type, *d = all_alike ? &again : &c->own;

    *per_element = 1;
    if (all_plain)
        return typemap_kind(c->shape.member[0]);
    *per_element = draw_below(d, 2) ? c->shape.common : 1;
    return typemap_draw(d, c->shape.member, c->shape.nmembers, *per_element);
}

static void call_begin(struct call *c, uint64_t number)
{
    struct draw d = draw_from(3, number);
    int per_one, per_many, next = 0;

    memset(c, 0, sizeof *c);
    c->number = number;
    c->what = (enum what)draw_below(&d, WHATS);
    c->comm = place_comm[draw_below(&d, PLACES)];
    c->shape = draw_shape((uint64_t)draw_below(&d, SHAPES));
    c->in_place = draw_below(&d, 4) == 0;
    c->large = draw_below(&d, 2) && large_counts();
    c->nonsense = draw_below(&d, 2);
    c->own = draw_from(number + 10, (uint64_t)world_rank);
    MPI_Comm_rank(c->comm, &c->rank);
    MPI_Comm_size(c->comm, &c->size);
    c->root = draw_below(&d, c->size);
    c->shared_type = d;
    c->one = draw_type(c, &per_one);
    c->many = draw_type(c, &per_many);
    c->own_count = units_of(c, c->rank) / per_one;
    for (int i = 0; i < c->size; i++) {
        c->count[i] = units_of(c, i) / per_many;
        c->displs[i] = next;
        next += c->count[i] + (is_vector(c) ? draw_below(&c->own, 3) : 0);
    }
}

/* Passes everything on to MPI, in the form the call says. */
static int call_mpi(const struct call *c, const void *send, int send_count, MPI_Datatype send_type,
                    void *receive, int receive_count, MPI_Datatype receive_type, const int *counts,
                    const int *displs)
{
    if (c->large) {
        MPI_Count wide[MOST_RANKS];
        MPI_Aint at[MOST_RANKS];
        const MPI_Count *w = counts ? wide : NULL;

        for (int i = 0; counts && i < c->size; i++) {
            wide[i] = counts[i];
            at[i] = displs[i];
        }
        switch (c->what) {
        case GATHER:
            return MPI_Gather_c(send, send_count, send_type, receive, receive_count, receive_type,
                                c->root, c->comm);
        case GATHERV:
            return MPI_Gatherv_c(send, send_count, send_type, receive, w, w ? at : NULL,
                                 receive_type, c->root, c->comm);
        case SCATTER:
            return MPI_Scatter_c(send, send_count, send_type, receive, receive_count, receive_type,
                                 c->root, c->comm);
        case SCATTERV:
            return MPI_Scatterv_c(send, w, w ? at : NULL, send_type, receive, receive_count,
                                  receive_type, c->root, c->comm);
        default:
            return MPI_Alltoall_c(send, send_count, send_type, receive, receive_count, receive_type,
                                  c->comm);
        }
    }
    switch (c->what) {
    case GATHER:
        return MPI_Gather(send, send_count, send_type, receive, receive_count, receive_type,
                          c->root, c->comm);
    case GATHERV:
        return MPI_Gatherv(send, send_count, send_type, receive, counts, displs, receive_type,
                           c->root, c->comm);
    case SCATTER:
        return MPI_Scatter(send, send_count, send_type, receive, receive_count, receive_type,
                           c->root, c->comm);
    case SCATTERV:
        return MPI_Scatterv(send, counts, displs, send_type, receive, receive_count, receive_type,
                            c->root, c->comm);
    default:
        return MPI_Alltoall(send, send_count, send_type, receive, receive_count, receive_type,
                            c->comm);
    }
}

static void check(const struct call *c, const char *what, const struct image *got,
                  const struct image *want)
{
    int differs;
    MPI_Aint at = image_differs(got, want, &differs);

    if (differs)
        fail("seed %llu call %llu (%s%s of %d, root %d, %d kinds%s): %s wrong at byte %ld: %02x, "
             "expected %02x",
             (unsigned long long)test_seed, (unsigned long long)c->number, what_names[c->what],
             c->in_place ? " in place" : "", c->size, c->root, c->shape.nmembers,
             c->large ? ", large" : "", what, (long)at, got->byte[at - got->low],
             want->byte[at - want->low]);
}

/* The bytes of `from` for `to`, as a number of a sender. */
static int pair(int from, int to)
{
    return from * MOST_RANKS + to;
}

/* Write all blocks but `except`; block i is what sender(i, other) says. */
static void write_blocks(struct image *m, const struct call *c, int except, int from, int to)
{
    for (int i = 0; i < c->size; i++)
        if (i != except)
            image_write(m, &c->many, c->displs[i] * c->many.extent, c->count[i], c->number,
                        pair(from < 0 ? i : from, to < 0 ? i : to));
}

static void ignore_padding(struct image *got, const struct image *want, const struct call *c)
{
    for (int i = 0; i < c->size; i++)
        image_ignore_padding(got, want, &c->many, c->displs[i] * c->many.extent, c->count[i]);
}

static void images(struct image *m, const struct bounds *b)
{
    for (int i = 0; i < 3; i++)
        m[i] = image_make(b);
}

/* m[0]: passed; m[1]: what it should be afterwards; m[2]: spare. */
static void call_run(struct call *c)
{
    int rooted = c->what != ALLTOALL, at_root = !rooted || c->rank == c->root;
    int gathers = c->what == GATHER || c->what == GATHERV;
    int in_place = c->in_place && at_root, rc;
    struct bounds one_bounds = {0, 1}, many_bounds = {0, 1};
    struct image one[3], many[3], sent[3];

    bounds_cover(&one_bounds, &c->one, 0, c->own_count);
    for (int i = 0; i < c->size; i++)
        bounds_cover(&many_bounds, &c->many, c->displs[i] * c->many.extent, c->count[i]);
    images(one, &one_bounds);
    images(many, &many_bounds);
    if (!rooted) {
        images(sent, &many_bounds);
        write_blocks(&sent[0], c, -1, c->rank, -1);
        write_blocks(&sent[1], c, -1, c->rank, -1);
        write_blocks(&many[1], c, -1, -1, c->rank);
        if (in_place)
            write_blocks(&many[0], c, -1, c->rank, -1);
        rc = call_mpi(c, in_place ? MPI_IN_PLACE : image_buffer(&sent[0]), c->count[0],
                      c->many.type, image_buffer(&many[0]), c->count[0], c->many.type, NULL, NULL);
        check(c, "send buffer", &sent[0], &sent[1]);
        for (int i = 0; i < 3; i++)
            free(sent[i].byte);
    } else {
        void *blocks = image_buffer(&many[0]);
        int some = c->count[0], *counts = c->count, *displs = c->displs;
        MPI_Datatype type = c->many.type;

        if (!at_root && c->nonsense) {
            blocks = NULL;
            some = -5;
            counts = displs = NULL;
            type = MPI_DATATYPE_NULL;
        }
        if (gathers) {
            image_write(&one[0], &c->one, 0, c->own_count, c->number, pair(c->rank, c->root));
            image_write(&one[1], &c->one, 0, c->own_count, c->number, pair(c->rank, c->root));
            if (at_root)
                write_blocks(&many[1], c, -1, -1, c->root);
            if (in_place)
                image_write(&many[0], &c->many, c->displs[c->rank] * c->many.extent,
                            c->count[c->rank], c->number, pair(c->rank, c->root));
            rc = call_mpi(c, in_place ? MPI_IN_PLACE : image_buffer(&one[0]), c->own_count,
                          c->one.type, blocks, some, type, counts, displs);
        } else {
            if (at_root) {
                write_blocks(&many[0], c, -1, c->root, -1);
                write_blocks(&many[1], c, -1, c->root, -1);
            }
            if (!in_place)
                image_write(&one[1], &c->one, 0, c->own_count, c->number, pair(c->root, c->rank));
            rc = call_mpi(c, blocks, some, type, in_place ? MPI_IN_PLACE : image_buffer(&one[0]),
                          c->own_count, c->one.type, counts, displs);
        }
    }
    if (rc != MPI_SUCCESS)
        fail("seed %llu call %llu: returned %d", (unsigned long long)test_seed,
             (unsigned long long)c->number, rc);
    ignore_padding(&many[0], &many[1], c);
    image_ignore_padding(&one[0], &one[1], &c->one, 0, c->own_count);
    check(c, "all blocks", &many[0], &many[1]);
    check(c, "own block", &one[0], &one[1]);
    for (int i = 0; i < 3; i++) {
        free(one[i].byte);
        free(many[i].byte);
    }
}

static void call_end(struct call *c)
{
    int moves = 0;

    for (int i = 0; i < c->size; i++)
        moves |= units_of(c, i) > 0;
    if (moves && c->size > 1)
        expected[c->what]++;
    typemap_free(&c->one);
    typemap_free(&c->many);
}

/* Ints from all ranks to the root and back; `each` of them from each rank. */
static void there_and_back(int each, int root, MPI_Comm comm)
{
    int *all = malloc((size_t)each * (size_t)world_size * sizeof *all);
    int *own = malloc((size_t)each * sizeof *own), counts[MOST_RANKS], displs[MOST_RANKS];

    for (int r = 0; r < world_size; r++) {
        counts[r] = each;
        displs[r] = r * each;
    }
    for (int i = 0; i < each; i++)
        own[i] = world_rank * each + i;
    MPI_Gatherv(own, each, MPI_INT, all, counts, displs, MPI_INT, root, comm);
    for (int i = 0; world_rank == root && i < each * world_size; i++)
        if (all[i] != i)
            fail("gatherv of %d ints each: element %d is %d", each, i, all[i]);
        else
            all[i] = 2 * i;
    MPI_Scatterv(all, counts, displs, MPI_INT, own, each, MPI_INT, root, comm);
    for (int i = 0; i < each; i++)
        if (own[i] != 2 * (world_rank * each + i))
            fail("scatterv of %d ints each: element %d is %d", each, i, own[i]);
    free(all);
    free(own);
}

static void want_class(const char *what, int code, int wanted)
{
    int class = code;

    if (code != MPI_SUCCESS)
        MPI_Error_class(code, &class);
    if (class != wanted)
        fail("%s: error class %d, expected %d", what, class, wanted);
}

/* The first call has all ranks asked, four run unasked, and in the sixth the root is asked alone.
 */
static void wrong_when_the_root_is_asked(void)
{
    int got[MOST_RANKS], counts[MOST_RANKS] = {0};
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int i = 0; i < 5; i++)
        there_and_back(2, i % world_size, comm);
    want_class("gatherv of less than nothing, after small ones",
               MPI_Gatherv(got, -1, MPI_INT, got, counts, counts, MPI_INT, 0, comm), MPI_ERR_COUNT);
    want_class("scatterv of less than nothing, after small ones",
               MPI_Scatterv(got, counts, counts, MPI_INT, got, -1, MPI_INT, 0, comm),
               MPI_ERR_COUNT);
    for (int i = 0; i < 8; i++)
        there_and_back(20000, i % world_size, comm);
    MPI_Comm_free(&comm);
}

/* Handles come again, and then they are of a communicator that nothing is known of. */
static void few_on_new_communicators(void)
{
    for (int i = 0; i < 3; i++) {
        MPI_Comm comm;

        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        there_and_back(2, 0, comm);
        there_and_back(2, 0, comm);
        MPI_Comm_free(&comm);
    }
}

static void small_then_large(void)
{
    wrong_when_the_root_is_asked();
    few_on_new_communicators();
    for (int i = 0; i < 200; i++)
        there_and_back(2, i % world_size, MPI_COMM_WORLD);
    for (int i = 0; i < 200; i++)
        there_and_back(20000, i % world_size, MPI_COMM_WORLD);
}

/* Roots have other names between two groups, and the library has the call. */
static void between_groups(void)
{
    int low = world_rank < (world_size + 1) / 2, others, mine = world_rank, got[MOST_RANKS];

    if (world_size == 1)
        return;
    MPI_Comm inter = between_halves();
    MPI_Comm_remote_size(inter, &others);
    int root = !low ? 0 : world_rank ? MPI_PROC_NULL : MPI_ROOT;
    MPI_Gather(&mine, 1, MPI_INT, got, 1, MPI_INT, root, inter);
    for (int i = 0; root == MPI_ROOT && i < others; i++)
        if (got[i] != (world_size + 1) / 2 + i)
            fail("gather between groups: element %d is %d", i, got[i]);
    MPI_Alltoall(&(int[MOST_RANKS]){0}, 1, MPI_INT, got, 1, MPI_INT, inter);
    MPI_Comm_free(&inter);
}

/* Wrong on all ranks alike, so that no rank waits: the library answers, and the communicator lives.
 */
static void wrong_calls(void)
{
    int data[MOST_RANKS] = {0}, got[MOST_RANKS], counts[MOST_RANKS] = {0}, root = world_size;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    want_class("gather to nobody",
               MPI_Gather(data, 1, MPI_INT, got, 1, MPI_INT, root, MPI_COMM_WORLD), MPI_ERR_ROOT);
    want_class("scatterv from nobody",
               MPI_Scatterv(data, counts, counts, MPI_INT, got, 1, MPI_INT, root, MPI_COMM_WORLD),
               MPI_ERR_ROOT);
    want_class("gatherv of less than nothing",
               MPI_Gatherv(data, -1, MPI_INT, got, counts, counts, MPI_INT, 0, MPI_COMM_WORLD),
               MPI_ERR_COUNT);
    want_class("alltoall of no type",
               MPI_Alltoall(data, 1, MPI_DATATYPE_NULL, got, 1, MPI_DATATYPE_NULL, MPI_COMM_WORLD),
               MPI_ERR_TYPE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void say_expected(void)
{
    long all[WHATS];

    MPI_Allreduce(expected, all, WHATS, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (world_rank)
        return;
    printf("rooted: to reroute:");
    for (int w = 0; w < WHATS; w++)
        printf(" %s=%ld", what_names[w], all[w]);
    printf("\n");
}

int main(int argc, char **argv)
{
    int calls = argc > 2 ? atoi(argv[2]) : 300;
    const char *how = argc > 3 ? argv[3] : "mixed";
    struct call c;

    MPI_Init(&argc, &argv);
    test_began("rooted", argc, argv);
    if (world_size > MOST_RANKS)
        MPI_Abort(MPI_COMM_WORLD, 2);
    all_plain = !strcmp(how, "plain");
    all_alike = all_plain || !strcmp(how, "alike");
    between_groups();
    wrong_calls();
    if (!strcmp(how, "small")) {
        small_then_large();
        calls = 0;
    }
    places_make();
    for (int i = 0; i < calls; i++) {
        places_renew(i);
        call_begin(&c, (uint64_t)i);
        call_run(&c);
        call_end(&c);
    }
    places_free();
    say_expected();
    int code = test_ended();
    MPI_Finalize();
    return code;
}
