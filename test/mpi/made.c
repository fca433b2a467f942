/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Types of every constructor, and handles that mean the same: made [SEED]
 *
 * Each constructor, also with large counts where the library has them, makes a type of 12 ints.
 * Small and large calls send and receive elements of it. Types of
 * MPI_Type_create_f90_real and the like are broadcast too, and pairs of MPI_Type_get_value_index.
 * Then ranks sum up and compare integers of one size by a handle each.
 */
#include "test/mpi/harness.h"

/* MPI 4.1 has it. */
extern int MPI_Type_get_value_index(MPI_Datatype, MPI_Datatype, MPI_Datatype *)
    __attribute__((weak));

enum { INTS = 12, ROOM = 24, MOST_ELEMENTS = 3000, MOST_TYPES = 40, MOST_RANKS = 4 };

static MPI_Datatype types[MOST_TYPES];
static const char *names[MOST_TYPES];
static int n;

/* All of them have the extent of ROOM ints, so that elements of any two go together. */
static void add(const char *name, MPI_Datatype type)
{
    MPI_Type_create_resized(type, 0, ROOM * (MPI_Aint)sizeof(int), &types[n]);
    MPI_Type_commit(&types[n]);
    names[n++] = name;
    MPI_Type_free(&type);
}

static void make_types(void)
{
    const int lengths[] = {5, 7}, displs[] = {0, 9}, blocks[] = {0, 6}, sizes[] = {4, 6},
              part[] = {3, 4}, start[] = {1, 2},
              dist[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_NONE},
              args[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG}, grid[] = {2, 1};
    const MPI_Aint at[] = {0, 9 * sizeof(int)}, block_at[] = {0, 6 * sizeof(int)};
    const MPI_Datatype two[] = {MPI_INT, MPI_INT};
    MPI_Datatype t;

    (void)blocks, (void)block_at;
    MPI_Type_contiguous(INTS, MPI_INT, &t), add("contiguous", t);
    MPI_Type_vector(6, 2, 3, MPI_INT, &t), add("vector", t);
#ifndef MPI_ABI_VERSION /* whose header lacks what the backends do not need */
    MPI_Type_create_hvector(6, 2, 12, MPI_INT, &t), add("hvector", t);
#endif
    MPI_Type_indexed(2, lengths, displs, MPI_INT, &t), add("indexed", t);
    MPI_Type_create_hindexed(2, lengths, at, MPI_INT, &t), add("hindexed", t);
#ifndef MPI_ABI_VERSION
    MPI_Type_create_indexed_block(2, 6, blocks, MPI_INT, &t), add("indexed_block", t);
    MPI_Type_create_hindexed_block(2, 6, block_at, MPI_INT, &t), add("hindexed_block", t);
#endif
    MPI_Type_create_struct(2, lengths, at, two, &t), add("struct", t);
    MPI_Type_create_subarray(2, sizes, part, start, MPI_ORDER_C, MPI_INT, &t), add("subarray", t);
    MPI_Type_create_darray(2, 0, 2, sizes, dist, args, grid, MPI_ORDER_C, MPI_INT, &t),
        add("darray", t);
    MPI_Type_dup(types[1], &t), add("dup", t);
#if MPI_VERSION >= 4 && !defined(MPI_ABI_VERSION)
    const MPI_Count many[] = {5, 7}, far[] = {0, 9}, far_at[] = {0, 9 * sizeof(int)},
                    far_blocks[] = {0, 6}, far_block_at[] = {0, 6 * sizeof(int)}, large[] = {4, 6},
                    some[] = {3, 4}, from[] = {1, 2};
    MPI_Type_contiguous_c(INTS, MPI_INT, &t), add("contiguous_c", t);
    MPI_Type_vector_c(6, 2, 3, MPI_INT, &t), add("vector_c", t);
    MPI_Type_create_hvector_c(6, 2, 12, MPI_INT, &t), add("hvector_c", t);
    MPI_Type_indexed_c(2, many, far, MPI_INT, &t), add("indexed_c", t);
    MPI_Type_create_hindexed_c(2, many, far_at, MPI_INT, &t), add("hindexed_c", t);
    MPI_Type_create_indexed_block_c(2, 6, far_blocks, MPI_INT, &t), add("indexed_block_c", t);
    MPI_Type_create_hindexed_block_c(2, 6, far_block_at, MPI_INT, &t), add("hindexed_block_c", t);
    MPI_Type_create_struct_c(2, many, far_at, two, &t), add("struct_c", t);
    MPI_Type_create_subarray_c(2, large, some, from, MPI_ORDER_C, MPI_INT, &t),
        add("subarray_c", t);
    MPI_Type_create_darray_c(2, 0, 2, large, dist, args, grid, MPI_ORDER_C, MPI_INT, &t),
        add("darray_c", t);
    MPI_Type_create_resized_c(types[0], 0, ROOM * (MPI_Count)sizeof(int), &t);
    MPI_Type_commit(&t);
    names[n] = "resized_c", types[n++] = t; /* as it is: nothing is made of it */
#endif
}

/* Ints of a packed element: what a type holds is told by packing it. */
static void check(const int *buffer, int elements, MPI_Datatype type, int first, const char *call,
                  const char *name)
{
    static int packed[MOST_RANKS * MOST_ELEMENTS * INTS];
    int position = 0;

    MPI_Pack(buffer, elements, type, packed, sizeof packed, &position, MPI_COMM_SELF);
    for (int i = 0; i < elements * INTS; i++)
        if (packed[i] != first + i) {
            fail("%s of %d of type %s: %d at %d, expected %d", call, elements, name, packed[i], i,
                 first + i);
            return;
        }
}

static void fill(int *buffer, int elements, MPI_Datatype type, int first)
{
    static int packed[MOST_ELEMENTS * INTS];
    int position = 0;

    for (int i = 0; i < elements * INTS; i++)
        packed[i] = first + i;
    MPI_Unpack(packed, sizeof packed, &position, buffer, elements, type, MPI_COMM_SELF);
}

static int one[MOST_ELEMENTS * ROOM], all[MOST_RANKS * MOST_ELEMENTS * ROOM];

static void bcast(int k, int elements)
{
    memset(one, 0, sizeof *one * ROOM * (size_t)elements);
    if (!world_rank)
        fill(one, elements, types[k], 1);
    MPI_Bcast(one, elements, types[k], 0, MPI_COMM_WORLD);
    check(one, elements, types[k], 1, "Bcast", names[k]);
}

/* Sent as one type, received as another. */
static void others(int k, int elements)
{
    MPI_Datatype s = types[k], r = types[(k + 3) % n];
    int blocks = world_size * elements;

    fill(one, elements, s, world_rank * elements * INTS);
    MPI_Allgather(one, elements, s, all, elements, r, MPI_COMM_WORLD);
    check(all, blocks, r, 0, "Allgather", names[k]);
    memset(all, 0, sizeof *all * ROOM * (size_t)blocks);
    MPI_Gather(one, elements, s, all, elements, r, 0, MPI_COMM_WORLD);
    if (!world_rank)
        check(all, blocks, r, 0, "Gather", names[k]);
    MPI_Scatter(all, elements, r, world_rank ? one : MPI_IN_PLACE, elements, s, 0, MPI_COMM_WORLD);
    check(one, elements, s, world_rank * elements * INTS, "Scatter", names[k]);
}

static void other_types(void)
{
    MPI_Datatype f90[3];
    char sent[128], got[128];

    for (size_t i = 0; i < sizeof sent; i++)
        sent[i] = (char)i;
    MPI_Type_create_f90_real(6, 30, &f90[0]);
    MPI_Type_create_f90_complex(15, 300, &f90[1]);
    MPI_Type_create_f90_integer(9, &f90[2]);
    for (int i = 0; i < 3; i++) {
        memcpy(got, sent, sizeof sent);
        MPI_Bcast(got, 4, f90[i], 0, MPI_COMM_WORLD);
        if (memcmp(got, sent, sizeof sent))
            fail("Bcast of f90 type %d", i);
    }
    MPI_Datatype pair = MPI_DATATYPE_NULL;
    if (MPI_Type_get_value_index)
        MPI_Type_get_value_index(MPI_INT64_T, MPI_INT, &pair);
    if (pair != MPI_DATATYPE_NULL)
        MPI_Bcast(got, 4, pair, 0, MPI_COMM_WORLD);
}

/* One after the other, then a handle for each rank. */
static void equal_handles(void)
{
    const MPI_Datatype equal[] = {sizeof(long) == 8 ? MPI_LONG : MPI_LONG_LONG, MPI_INT64_T,
                                  MPI_LONG_LONG};
    const MPI_Op ops[] = {MPI_SUM, MPI_MAX, MPI_BXOR};
    enum { VALUES = 20000 };
    static int64_t in[VALUES], out[VALUES];

    for (int round = 0; round < 12; round++)
        for (int op = 0; op < 3; op++) {
            int which = round < 2 ? op : round < 8 ? (world_rank + round) % 3 : round % 3;
            int r = world_size - 1, want[] = {world_size * r / 2, r, 0};

            for (int i = 0; i < world_size; i++)
                want[2] ^= i;
            for (int i = 0; i < VALUES; i++)
                in[i] = world_rank;
            MPI_Allreduce(in, out, VALUES, equal[which], ops[op], MPI_COMM_WORLD);
            if (out[0] != want[op] || out[VALUES - 1] != want[op])
                fail("operation %d, round %d: %ld, expected %d", op, round, (long)out[0], want[op]);
        }
}

int main(int argc, char **argv)
{
    int code;

    MPI_Init(&argc, &argv);
    test_began("made", argc, argv);
    if (world_size > MOST_RANKS)
        MPI_Abort(MPI_COMM_WORLD, 2);
    make_types();
    for (int k = 0; k < n && !failures; k++) {
        others(k, 3);
        others(k, MOST_ELEMENTS);
        bcast(k, MOST_ELEMENTS);
    }
    other_types();
    equal_handles();
    for (int k = 0; k < n; k++)
        MPI_Type_free(&types[k]);
    code = test_ended();
    MPI_Finalize();
    return code;
}
