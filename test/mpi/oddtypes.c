/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Legal datatypes that differential.c does not draw, because each needs a line of its own:
 * predefined without a name (Fortran's kinds), made with large counts, empty, running
 * backwards, one element for all. Data are doubles; each rank sends N of them.
 */
#include "test/mpi/harness.h"

enum { N = 6, MOST = 64 };

/* A way to describe N doubles: count elements of type, the first at buffer + offset doubles. */
struct description {
    MPI_Datatype type;
    int count, offset;
    int place[N]; /* where the packed doubles are, in doubles from the start of the buffer */
};

static double packed_value(int rank, int i)
{
    return 100 * rank + i + 0.5;
}

static struct description in_order(MPI_Datatype type, int count)
{
    struct description d = {.type = type, .count = count};

    for (int i = 0; i < N; i++)
        d.place[i] = i;
    MPI_Type_commit(&d.type);
    return d;
}

static struct description f90(void)
{
    struct description d = {.count = N};

    MPI_Type_create_f90_real(15, 300, &d.type);
    for (int i = 0; i < N; i++)
        d.place[i] = i;
    return d;
}

static struct description f90_contiguous(void)
{
    MPI_Datatype real, type;

    MPI_Type_create_f90_real(15, 300, &real);
    MPI_Type_contiguous(N / 2, real, &type);
    return in_order(type, 2);
}

static struct description f90_duplicate(void)
{
    MPI_Datatype real, type;

    MPI_Type_create_f90_real(15, 300, &real);
    MPI_Type_dup(real, &type);
    return in_order(type, N);
}

static struct description contiguous_twice(void)
{
    MPI_Datatype inner, type;

    MPI_Type_contiguous(3, MPI_DOUBLE, &inner);
    MPI_Type_contiguous(2, inner, &type);
    MPI_Type_free(&inner);
    return in_order(type, 1);
}

/* A struct of a vector without gaps, and of what is left; neither leaves a gap. */
static MPI_Datatype two_members(MPI_Aint vector_at, MPI_Aint rest_at, int vector_first)
{
    MPI_Datatype type, member[2];
    MPI_Aint at[2] = {vector_at, rest_at};

    MPI_Type_vector(2, 2, 2, MPI_DOUBLE, &member[!vector_first]);
    MPI_Type_contiguous(N - 4, MPI_DOUBLE, &member[vector_first]);
    if (!vector_first) {
        at[0] = rest_at;
        at[1] = vector_at;
    }
    MPI_Type_create_struct(2, (int[]){1, 1}, at, member, &type);
    MPI_Type_free(&member[0]);
    MPI_Type_free(&member[1]);
    return type;
}

/* Packed as it lies. */
static struct description members_in_order(void)
{
    return in_order(two_members(0, 4 * sizeof(double), 1), 1);
}

/* Not packed as it lies, though its extent is its size. */
static struct description members_swapped(void)
{
    struct description d = in_order(two_members(0, 4 * sizeof(double), 0), 1);

    for (int i = 0; i < N; i++)
        d.place[i] = i < N - 4 ? 4 + i : i - (N - 4);
    return d;
}

/* Elements follow each other downwards. */
static struct description backwards(void)
{
    struct description d = {.count = N, .offset = N - 1};

    MPI_Type_create_resized(MPI_DOUBLE, 0, -(MPI_Aint)sizeof(double), &d.type);
    MPI_Type_commit(&d.type);
    for (int i = 0; i < N; i++)
        d.place[i] = N - 1 - i;
    return d;
}

/* A block-cyclic half of an array: what MPI_Type_create_darray makes. */
static struct description darray(void)
{
    struct description d = {.count = 1};
    int size = 2 * N, how = MPI_DISTRIBUTE_CYCLIC, chunk = 2, grid = 2;

    MPI_Type_create_darray(2, 1, 1, &size, &how, &chunk, &grid, MPI_ORDER_C, MPI_DOUBLE, &d.type);
    MPI_Type_commit(&d.type);
    for (int i = 0; i < N; i++)
        d.place[i] = i / 2 * 4 + 2 + i % 2;
    return d;
}

#if MPI_VERSION >= 4
static struct description large_contiguous(void)
{
    MPI_Datatype type;

    MPI_Type_contiguous_c(N, MPI_DOUBLE, &type);
    return in_order(type, 1);
}

static struct description inside_large(void)
{
    MPI_Datatype inner, type;

    MPI_Type_contiguous_c(N / 2, MPI_DOUBLE, &inner);
    MPI_Type_contiguous(2, inner, &type);
    MPI_Type_free(&inner);
    return in_order(type, 1);
}

static struct description large_struct(void)
{
    MPI_Datatype type, members[2] = {MPI_DOUBLE, MPI_DOUBLE};
    MPI_Count lengths[2] = {N - 1, 1}, displs[2] = {0, (N - 1) * sizeof(double)};

    MPI_Type_create_struct_c(2, lengths, displs, members, &type);
    return in_order(type, 1);
}
#endif

static struct description plain(void)
{
    return in_order(MPI_DOUBLE, N);
}

static const struct {
    const char *name;
    struct description (*make)(void);
    int keep; /* predefined */
} types[] = {
    {"MPI_DOUBLE", plain, 1},
    {"a Fortran kind", f90, 1},
    {"contiguous of a Fortran kind", f90_contiguous, 0},
    {"a duplicate of a Fortran kind", f90_duplicate, 0},
    {"contiguous of contiguous", contiguous_twice, 0},
    {"a struct of neighbours", members_in_order, 0},
    {"a struct of neighbours in the wrong order", members_swapped, 0},
    {"elements downwards", backwards, 0},
    {"a distributed array", darray, 0},
#if MPI_VERSION >= 4
    {"contiguous with a large count", large_contiguous, 0},
    {"contiguous of contiguous with a large count", inside_large, 0},
    {"a struct with large counts", large_struct, 0},
#endif
};
enum { TYPES = sizeof types / sizeof *types };

/* Room for any description of all ranks' blocks; a block takes 2 * N doubles at most. */
static double received[MOST * 2 * N + 2 * N], send[2 * N];

static void gather(int from, int to, int vector)
{
    struct description in = types[from].make(), out = types[to].make();
    int counts[MOST], displs[MOST];
    MPI_Aint lb, extent, downwards = 0;

    for (int i = 0; i < N; i++)
        send[in.place[i]] = packed_value(world_rank, i);
    for (int i = 0; i < (int)(sizeof received / sizeof *received); i++)
        received[i] = -1;
    for (int r = 0; r < world_size; r++) {
        counts[r] = out.count;
        displs[r] = r * out.count;
    }
    MPI_Type_get_extent(out.type, &lb, &extent);
    extent = extent * out.count / (MPI_Aint)sizeof(double);
    if (extent < 0) /* rank 0's block is the highest */
        downwards = -extent * (world_size - 1);
    if (vector)
        MPI_Allgatherv(send + in.offset, in.count, in.type, received + out.offset + downwards,
                       counts, displs, out.type, MPI_COMM_WORLD);
    else
        MPI_Allgather(send + in.offset, in.count, in.type, received + out.offset + downwards,
                      out.count, out.type, MPI_COMM_WORLD);
    for (int r = 0; r < world_size; r++)
        for (int i = 0; i < N; i++) {
            double *value = received + downwards + r * extent + out.place[i];
            if (*value != packed_value(r, i))
                fail("%s to %s: value %d of rank %d is %g", types[from].name, types[to].name, i, r,
                     *value);
            *value = -1;
        }
    for (int i = 0; i < (int)(sizeof received / sizeof *received); i++)
        if (received[i] != -1)
            fail("%s to %s: a gap was written", types[from].name, types[to].name);
    if (!types[from].keep)
        MPI_Type_free(&in.type);
    if (!types[to].keep)
        MPI_Type_free(&out.type);
    if (world_size > 1 && vector)
        expected_allgatherv++;
    else if (world_size > 1)
        expected_allgather++;
}

/* An element without data is legal, and so is any number of them. */
static void gather_nothing(void)
{
    MPI_Datatype empty;

    MPI_Type_contiguous(0, MPI_DOUBLE, &empty);
    MPI_Type_commit(&empty);
    received[0] = -1;
    MPI_Allgather(send, 3, empty, received, 3, empty, MPI_COMM_WORLD);
    MPI_Allgather(NULL, 0, MPI_DOUBLE, NULL, 0, MPI_DOUBLE, MPI_COMM_WORLD);
    if (received[0] != -1)
        fail("an empty type wrote something");
    MPI_Type_free(&empty);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    test_began("oddtypes", argc, argv);
    if (world_size > MOST)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (int from = 0; from < TYPES; from++)
        for (int to = 0; to < TYPES; to++)
            for (int vector = 0; vector < 2; vector++)
                gather(from, to, vector);
    gather_nothing();
    int code = test_ended();
    MPI_Finalize();
    return code;
}
