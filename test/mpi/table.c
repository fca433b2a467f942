/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The standard's table of types and operations (MPI 5.0, 6.9.2 and 6.9.4), so that a report tells
 * which of its cells are rerouted: table FIRST
 *
 * Tries five types, from number FIRST on: the first by Allreduce, the second by Reduce, the third
 * by Reduce_scatter_block, the fourth by Scan, the fifth by Exscan. Each operation has vectors of
 * another power of two in bytes, by which a report tells calls apart. Rank 0 prints for each cell
 *     cell COLLECTIVE BYTES TYPE OPERATION WHAT
 * WHAT is served, refused (the library returns an error), or uneven (uneven.h). Last comes
 *     table: N types
 * A type that the library lacks has a line `lacks TYPE`.
 */
#include "test/mpi/uneven.h"

enum { SMALLEST = 512, CALLS = 4, AT_ONCE = 5 };

enum { INTEGER = 1, COUNTING = 2, REAL = 4, COMPLEX = 8, TRUTH = 16, BYTES = 32, PAIR = 64 };

/* Made by a function, as a program gets them. */
static MPI_Datatype f90_real, f90_complex, f90_integer;

static const struct {
    const char *name;
    const MPI_Datatype *made;
    MPI_Datatype type;
    int group;
} types[] = {
#define ROW(type, group)                                                                           \
    {                                                                                              \
#type, NULL, type, group                                                                   \
    }
#define MADE(name, type, group)                                                                    \
    {                                                                                              \
        name, &(type), MPI_DATATYPE_NULL, group                                                    \
    }
    ROW(MPI_INT, INTEGER),
    ROW(MPI_LONG, INTEGER),
    ROW(MPI_SHORT, INTEGER),
    ROW(MPI_UNSIGNED_SHORT, INTEGER),
    ROW(MPI_UNSIGNED, INTEGER),
    ROW(MPI_UNSIGNED_LONG, INTEGER),
    ROW(MPI_LONG_LONG_INT, INTEGER),
    ROW(MPI_UNSIGNED_LONG_LONG, INTEGER),
    ROW(MPI_SIGNED_CHAR, INTEGER),
    ROW(MPI_UNSIGNED_CHAR, INTEGER),
    ROW(MPI_INT8_T, INTEGER),
    ROW(MPI_INT16_T, INTEGER),
    ROW(MPI_INT32_T, INTEGER),
    ROW(MPI_INT64_T, INTEGER),
    ROW(MPI_UINT8_T, INTEGER),
    ROW(MPI_UINT16_T, INTEGER),
    ROW(MPI_UINT32_T, INTEGER),
    ROW(MPI_UINT64_T, INTEGER),
    ROW(MPI_INTEGER, COUNTING),
    ROW(MPI_AINT, COUNTING),
    ROW(MPI_OFFSET, COUNTING),
    ROW(MPI_COUNT, COUNTING),
    ROW(MPI_INTEGER1, COUNTING),
    ROW(MPI_INTEGER2, COUNTING),
    ROW(MPI_INTEGER4, COUNTING),
    ROW(MPI_INTEGER8, COUNTING),
#ifdef MPI_INTEGER16
    ROW(MPI_INTEGER16, COUNTING),
#endif
    MADE("MPI_Type_create_f90_integer(9)", f90_integer, COUNTING),
    ROW(MPI_FLOAT, REAL),
    ROW(MPI_DOUBLE, REAL),
    ROW(MPI_LONG_DOUBLE, REAL),
    ROW(MPI_REAL, REAL),
    ROW(MPI_DOUBLE_PRECISION, REAL),
#ifdef MPI_REAL2
    ROW(MPI_REAL2, REAL),
#endif
    ROW(MPI_REAL4, REAL),
    ROW(MPI_REAL8, REAL),
#ifdef MPI_REAL16
    ROW(MPI_REAL16, REAL),
#endif
    MADE("MPI_Type_create_f90_real(15, 300)", f90_real, REAL),
    ROW(MPI_LOGICAL, TRUTH),
    ROW(MPI_C_BOOL, TRUTH),
    ROW(MPI_CXX_BOOL, TRUTH),
#ifdef MPI_LOGICAL1
    ROW(MPI_LOGICAL1, TRUTH),
    ROW(MPI_LOGICAL2, TRUTH),
    ROW(MPI_LOGICAL4, TRUTH),
    ROW(MPI_LOGICAL8, TRUTH),
#endif
#ifdef MPI_LOGICAL16
    ROW(MPI_LOGICAL16, TRUTH),
#endif
    ROW(MPI_COMPLEX, COMPLEX),
    ROW(MPI_C_FLOAT_COMPLEX, COMPLEX),
    ROW(MPI_C_DOUBLE_COMPLEX, COMPLEX),
    ROW(MPI_C_LONG_DOUBLE_COMPLEX, COMPLEX),
    ROW(MPI_CXX_FLOAT_COMPLEX, COMPLEX),
    ROW(MPI_CXX_DOUBLE_COMPLEX, COMPLEX),
    ROW(MPI_CXX_LONG_DOUBLE_COMPLEX, COMPLEX),
    ROW(MPI_DOUBLE_COMPLEX, COMPLEX),
#ifdef MPI_COMPLEX4
    ROW(MPI_COMPLEX4, COMPLEX),
#endif
    ROW(MPI_COMPLEX8, COMPLEX),
    ROW(MPI_COMPLEX16, COMPLEX),
#ifdef MPI_COMPLEX32
    ROW(MPI_COMPLEX32, COMPLEX),
#endif
    MADE("MPI_Type_create_f90_complex(15, 300)", f90_complex, COMPLEX),
    ROW(MPI_BYTE, BYTES),
    ROW(MPI_FLOAT_INT, PAIR),
    ROW(MPI_DOUBLE_INT, PAIR),
    ROW(MPI_LONG_INT, PAIR),
    ROW(MPI_2INT, PAIR),
    ROW(MPI_SHORT_INT, PAIR),
    ROW(MPI_LONG_DOUBLE_INT, PAIR),
    ROW(MPI_2REAL, PAIR),
    ROW(MPI_2DOUBLE_PRECISION, PAIR),
    ROW(MPI_2INTEGER, PAIR),
};
enum { TYPES = sizeof types / sizeof *types };

static const struct {
    const char *name;
    MPI_Op op;
    int groups;
} operations[] = {
    {"MAX", MPI_MAX, INTEGER | COUNTING | REAL},
    {"MIN", MPI_MIN, INTEGER | COUNTING | REAL},
    {"SUM", MPI_SUM, INTEGER | COUNTING | REAL | COMPLEX},
    {"PROD", MPI_PROD, INTEGER | COUNTING | REAL | COMPLEX},
    {"LAND", MPI_LAND, INTEGER | TRUTH},
    {"LOR", MPI_LOR, INTEGER | TRUTH},
    {"LXOR", MPI_LXOR, INTEGER | TRUTH},
    {"BAND", MPI_BAND, INTEGER | COUNTING | BYTES},
    {"BOR", MPI_BOR, INTEGER | COUNTING | BYTES},
    {"BXOR", MPI_BXOR, INTEGER | COUNTING | BYTES},
    {"MAXLOC", MPI_MAXLOC, PAIR},
    {"MINLOC", MPI_MINLOC, PAIR},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

static const char *const collectives[AT_ONCE] = {"allreduce", "reduce", "reduce_scatter_block",
                                                 "scan", "exscan"};
static MPI_Comm comm; /* of all ranks; errors are returned */

static int call(int how, const void *in, void *out, int n, MPI_Datatype type, MPI_Op op)
{
    return how == 0   ? MPI_Allreduce(in, out, n, type, op, comm)
           : how == 1 ? MPI_Reduce(in, out, n, type, op, 0, comm)
           : how == 2 ? MPI_Reduce_scatter_block(in, out, n / world_size, type, op, comm)
           : how == 3 ? MPI_Scan(in, out, n, type, op, comm)
                      : MPI_Exscan(in, out, n, type, op, comm);
}

static void try_cell(int how, int row, MPI_Datatype type, size_t extent, int operation)
{
    size_t from = (size_t)SMALLEST << operation;
    int n = (int)(from * 19 / 10 / extent), refused = 0; /* pair types have gaps, 3/8 at most */
    MPI_Op op = operations[operation].op;
    void *in = calloc((size_t)n + 1, extent), *out = calloc((size_t)n + 1, extent);

    if (!in || !out)
        abort();
    for (int i = 0; i < CALLS; i++)
        refused += call(how, in, out, n, type, op) != MPI_SUCCESS;
    if (!world_rank)
        printf("cell %s %zu %s %s %s\n", collectives[how], from, types[row].name,
               operations[operation].name,
               refused                                                         ? "refused"
               : types[row].group <= COUNTING && uneven(type, op, (int)extent) ? "uneven"
                                                                               : "served");
    free(in);
    free(out);
}

static void try_type(int how, int row)
{
    MPI_Datatype type = types[row].made ? *types[row].made : types[row].type;
    MPI_Aint lower, extent = 0;

    if (type == MPI_DATATYPE_NULL || MPI_Type_get_extent(type, &lower, &extent) != MPI_SUCCESS ||
        extent < 1) {
        if (!world_rank)
            printf("lacks %s\n", types[row].name);
        return;
    }
    for (int i = 0; i < OPERATIONS; i++)
        if (operations[i].groups & types[row].group)
            try_cell(how, row, type, (size_t)extent, i);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    test_began("table", 1, argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* to ask about types, too */
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Type_create_f90_real(15, 300, &f90_real);
    MPI_Type_create_f90_complex(15, 300, &f90_complex);
    MPI_Type_create_f90_integer(9, &f90_integer);
    for (int i = 0, first = argc > 1 ? atoi(argv[1]) : 0; i < AT_ONCE && first + i < TYPES; i++)
        try_type(i, first + i);
    MPI_Comm_free(&comm);
    if (!world_rank)
        printf("table: %d types\n", (int)TYPES);
    MPI_Finalize();
    return 0;
}
