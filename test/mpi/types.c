/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every type with every operation that MPI allows on it, one after the other: types [SEED]
 *
 * Results of the types in numbers.h are folded by the test. The others have forms of the library's
 * own, and a library may lack an operation on them. Their first call is the library's own in any
 * case, and its error is not fatal. Later calls must give the same bits.
 */
#include "test/mpi/numbers.h"

enum { N = 301, TIMES = 3, MOST_RANKS = 16, MOST_BYTES = 32 };

static long expected_allreduce, expected_reduce_scatter_block, expected_scan, expected_exscan;
static MPI_Comm comm; /* of all ranks; errors are returned */

/* Elements from number `first` on of what the first so many ranks contribute. */
static void check(const struct element *e, enum operation op, const unsigned char *got, int n,
                  int first, int ranks, const char *call)
{
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length;

    for (int i = 0; i < n; i++) {
        struct number want = contribution((uint64_t)op, 0, first + i, op, e);
        for (int r = 1; r < ranks; r++)
            want = combine(op, e, want, contribution((uint64_t)op, r, first + i, op, e));
        unsigned char stored[MOST_BYTES * 2] = {0};
        store(e, want, stored);
        if (same(load(e, stored), load(e, got + i * e->extent)))
            continue;
        MPI_Type_get_name(e->type, name, &length);
        fail("%s of %s, %s: element %d of %d is wrong", call, name, ops[op].name, i, n);
        return;
    }
}

static void reduce_known(const struct element *e, enum operation op)
{
    unsigned char *mine = calloc(N * MOST_RANKS, (size_t)e->extent);
    unsigned char *got = calloc(N * MOST_RANKS, (size_t)e->extent);
    int rerouted =
        world_size > 1 && !(e->forms & (SIGNED | UNSIGNED) && uneven(e->type, ops[op].op, e->size));

    if (!mine || !got)
        abort();
    for (int i = 0; i < N * world_size; i++)
        store(e, contribution((uint64_t)op, world_rank, i, op, e), mine + i * e->extent);
    MPI_Allreduce(mine, got, N, e->type, ops[op].op, comm);
    check(e, op, got, N, 0, world_size, "allreduce");
    memcpy(got, mine, (size_t)(N * e->extent));
    MPI_Allreduce(MPI_IN_PLACE, got, N, e->type, ops[op].op, comm);
    check(e, op, got, N, 0, world_size, "allreduce in place");
    MPI_Reduce_scatter_block(mine, got, N, e->type, ops[op].op, comm);
    check(e, op, got, N, world_rank * N, world_size, "reduce_scatter_block");
    MPI_Scan(mine, got, N, e->type, ops[op].op, comm);
    check(e, op, got, N, 0, world_rank + 1, "scan");
    MPI_Exscan(mine, got, N, e->type, ops[op].op, comm);
    if (world_rank)
        check(e, op, got, N, 0, world_rank, "exscan");
    expected_allreduce += 2 * rerouted;
    expected_reduce_scatter_block += rerouted;
    expected_scan += rerouted;
    expected_exscan += rerouted;
    free(mine);
    free(got);
}

/* Made by functions. */
enum { F90_REAL, F90_COMPLEX, F90_INTEGER };

/* The library alone knows how to combine these types, or whether it can. */
static struct {
    const char *name;
    MPI_Datatype type;
    int forms;
} others[] = {
#define ROW(type, forms)                                                                           \
    {                                                                                              \
#type, type, forms                                                                         \
    }
    [F90_REAL] = {"a Fortran real", MPI_DATATYPE_NULL, REAL},
    [F90_COMPLEX] = {"a Fortran complex", MPI_DATATYPE_NULL, COMPLEX},
    [F90_INTEGER] = {"a Fortran integer", MPI_DATATYPE_NULL, COUNTING},
    ROW(MPI_LOGICAL, TRUTH),
#ifdef MPI_LOGICAL1
    ROW(MPI_LOGICAL1, TRUTH),
#endif
#ifdef MPI_LOGICAL2
    ROW(MPI_LOGICAL2, TRUTH),
#endif
#ifdef MPI_LOGICAL4
    ROW(MPI_LOGICAL4, TRUTH),
#endif
#ifdef MPI_LOGICAL8
    ROW(MPI_LOGICAL8, TRUTH),
#endif
#ifdef MPI_LOGICAL16
    ROW(MPI_LOGICAL16, TRUTH),
#endif
#ifdef MPI_INTEGER16
    ROW(MPI_INTEGER16, COUNTING),
#endif
#ifdef MPI_REAL2
    ROW(MPI_REAL2, REAL),
#endif
#ifdef MPI_COMPLEX4
    ROW(MPI_COMPLEX4, COMPLEX),
#endif
#ifdef MPI_REAL16
    ROW(MPI_REAL16, REAL),
#endif
#ifdef MPI_COMPLEX32
    ROW(MPI_COMPLEX32, COMPLEX),
#endif
};

/* Small whole numbers in any form: of 2 bytes one with 5 bits of exponent, of 16 a long double,
   which is what libraries take it for, its upper bytes 0. Logicals are 0, 1 and other truths. */
static void write_other(int forms, size_t size, int i, unsigned char *at)
{
    static const uint16_t halves[] = {0, 0x3c00, 0x4000, 0x4200};
    int value = (int)(mix((uint64_t)i * 64 + (uint64_t)world_rank) % 4);
    int64_t integer = value == 3 && forms == TRUTH ? -1 : value;
    size_t part = forms == COMPLEX ? size / 2 : size;

    memset(at, 0, size);
    for (size_t from = 0; from < size; from += part)
        if (forms == TRUTH || forms == COUNTING)
            memcpy(at + from, &integer, part < sizeof integer ? part : sizeof integer);
        else if (part == 2)
            memcpy(at + from, &halves[value], part);
        else
            real_store(value, at + from, (int)part);
}

static void reduce_other(int row, enum operation op)
{
    size_t size;
    MPI_Aint lower, extent;

    if (others[row].type == MPI_DATATYPE_NULL ||
        MPI_Type_get_extent(others[row].type, &lower, &extent) != MPI_SUCCESS || extent <= 0)
        return;
    size = (size_t)extent;
    unsigned char *mine = calloc(N, size), *first = calloc(N, size), *got = calloc(N, size);
    if (!mine || !first || !got)
        abort();
    for (int i = 0; i < N; i++)
        write_other(others[row].forms, size, i, mine + (size_t)i * size);
    int rc = MPI_Allreduce(mine, first, N, others[row].type, ops[op].op, comm);
    for (int k = 1; k < TIMES; k++) {
        memset(got, 0, N * size);
        if ((MPI_Allreduce(mine, got, N, others[row].type, ops[op].op, comm) != MPI_SUCCESS) !=
            (rc != MPI_SUCCESS))
            fail("%s of %s: call %d is %s, the first was not", ops[op].name, others[row].name,
                 k + 1, rc ? "served" : "refused");
        if (!rc && memcmp(first, got, N * size) != 0)
            fail("%s of %s: call %d gives other bits than the first", ops[op].name,
                 others[row].name, k + 1);
        expected_allreduce += world_size > 1 && !rc;
    }
    free(mine);
    free(first);
    free(got);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    test_began("types", argc, argv);
    if (world_size > MOST_RANKS)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* to ask about types, too */
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Type_create_f90_real(15, 300, &others[F90_REAL].type);
    MPI_Type_create_f90_complex(6, 30, &others[F90_COMPLEX].type);
    MPI_Type_create_f90_integer(9, &others[F90_INTEGER].type);
    for (int i = 0; i < ELEMENTS; i++)
        for (int op = 0; op < OPS; op++)
            if (!(elements[i].forms & USER) && elements[i].type != MPI_DATATYPE_NULL &&
                applies((enum operation)op, &elements[i]))
                reduce_known(&elements[i], (enum operation)op);
    for (int i = 0; i < (int)(sizeof others / sizeof *others); i++)
        for (int op = 0; op < OPS; op++)
            if (ops[op].forms & others[i].forms)
                reduce_other(i, (enum operation)op);
    MPI_Comm_free(&comm);
    long all[4], own[4] = {expected_allreduce, expected_reduce_scatter_block, expected_scan,
                           expected_exscan};
    MPI_Reduce(own, all, 4, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!world_rank)
        printf("types: to reroute: allreduce=%ld reduce_scatter_block=%ld scan=%ld exscan=%ld\n",
               all[0], all[1], all[2], all[3]);
    int code = test_ended();
    MPI_Finalize();
    return code;
}
