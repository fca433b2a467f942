/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A few small calls, made again and again in random order: again [SEED [CALLS]]
 *
 * CALLS (9000) calls out of a stock of random ones, each with data of its own, on two
 * communicators. A rank's types may differ from the others'. Then one communicator is freed and
 * made anew, with a new stock. Calls that are alike but for the operation follow, and some that are
 * alike on even ranks alone. Last, buffers that coincide must have the outcome that they had on a
 * fresh communicator.
 */
#include "test/mpi/random_call.h"

enum { STOCK = 24, PLACES = 2, MOST = 500, OPS = 3, SUMMED = 300, ROUNDS = 700, GATHERED = 8000 };

static long made[COLLECTIVES];

#define FUNCTION static void make(struct call *c)
#define CALL(Name, name, ...) MPI_##Name(__VA_ARGS__)
#define COUNT int
#define BLOCKS narrow
#include "test/mpi/make_call.h"

static void drop(struct call *stock)
{
    for (int i = 0; i < STOCK; i++) {
        call_free_types(&stock[i]);
        call_free(&stock[i]);
    }
}

/* Calls of a stock that is drawn from d. */
static void make_calls(const struct place *places, long calls, struct draw *d)
{
    struct call stock[STOCK];

    for (int i = 0; i < STOCK; i++)
        call_draw(&stock[i], places, PLACES, MOST, d);
    for (long i = 0; i < calls; i++) {
        struct call *c = &stock[draw_below(d, STOCK)];

        c->key = mix(d->state);
        call_fill(c);
        make(c);
        call_check(c, "again");
        made[c->what]++;
    }
    drop(stock);
}

/* The operation alone tells these calls apart. */
static void reduce_by_turns(MPI_Comm comm)
{
    static const MPI_Op op[OPS] = {MPI_SUM, MPI_MAX, MPI_MIN};
    int mine[SUMMED], all[SUMMED];

    for (int round = 0; round < ROUNDS * OPS; round++) {
        int k = round % OPS, first = round - world_rank, last = round + world_size - 1;

        for (int i = 0; i < SUMMED; i++)
            mine[i] = round + world_rank;
        MPI_Allreduce(mine, all, SUMMED, MPI_INT, op[k], comm);
        made[ALLREDUCE]++;
        int wanted = k == 1   ? last
                     : k == 2 ? first + world_rank
                              : world_size * round + world_size * (world_size - 1) / 2;
        for (int i = 0; i < SUMMED; i++)
            if (all[i] != wanted) {
                fail("round %d: element %d is %d, expected %d", round, i, all[i], wanted);
                return;
            }
    }
}

/* Odd ranks change types from call to call, at random, and one type is the program's own. So all
   that even ranks pass over unasked is asked there. */
static void gather_by_types(MPI_Comm comm, struct draw *d)
{
    MPI_Datatype type[] = {MPI_INT, MPI_BYTE, MPI_DATATYPE_NULL};
    static const int count[] = {SUMMED, SUMMED * sizeof(int), 1};
    int mine[SUMMED], *all = calloc((size_t)world_size * SUMMED, sizeof *all), rank;

    if (!all)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm_rank(comm, &rank);
    MPI_Type_contiguous(SUMMED, MPI_INT, &type[2]);
    MPI_Type_commit(&type[2]);
    for (int round = 0; round < GATHERED; round++) {
        int k = rank % 2 ? draw_below(d, round < GATHERED / 2 ? 2 : 3) : 0, wrong = 0;

        for (int i = 0; i < SUMMED; i++)
            mine[i] = round + rank * i;
        MPI_Allgather(mine, count[k], type[k], all, count[k], type[k], comm);
        for (int r = 0; r < world_size; r++)
            for (int i = 0; i < SUMMED; i++)
                wrong += all[r * SUMMED + i] != round + r * i;
        if (wrong) {
            fail("round %d of gathers: %d elements are wrong", round, wrong);
            break;
        }
    }
    MPI_Type_free(&type[2]);
    free(all);
}

/* Is a reduction of a buffer to itself an error? Also where such calls of two buffers came before.
 */
static int is_error(MPI_Comm comm)
{
    int same[SUMMED] = {0};

    made[ALLREDUCE]++;
    return MPI_Allreduce(same, same, SUMMED, MPI_INT, MPI_MIN, comm) != MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    struct place places[PLACES];
    long calls;

    MPI_Init(&argc, &argv);
    test_began("again", argc, argv);
    calls = argc > 2 ? atol(argv[2]) : 9000;
    struct draw d = draw_from(1, 1);
    MPI_Comm_dup(MPI_COMM_WORLD, &places[0].comm);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &places[1].comm);
    for (int i = 0; i < PLACES; i++)
        place_measure(&places[i]);
    MPI_Comm_set_errhandler(places[0].comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* Open MPI raises it there */
    int error = is_error(places[0].comm);
    make_calls(places, calls, &d);
    MPI_Comm_free(&places[1].comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &places[1].comm);
    place_measure(&places[1]);
    make_calls(places, calls, &d);
    reduce_by_turns(places[0].comm);
    gather_by_types(places[1].comm, &d);
    if (is_error(places[0].comm) != error)
        fail("coinciding buffers: %s, and at first %s", error ? "no error" : "an error",
             error ? "one" : "none");
    if (!world_rank)
        printf("again: made allreduce=%ld alltoall=%ld gather=%ld\n", made[ALLREDUCE],
               made[ALLTOALL], made[GATHER]);
    for (int i = 0; i < PLACES; i++)
        MPI_Comm_free(&places[i].comm);
    int rc = test_ended();
    MPI_Finalize();
    return rc;
}
