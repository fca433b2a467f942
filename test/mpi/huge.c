/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that move more bytes than an int can count, on two to eight ranks: huge [SEED]
 *
 * Few elements of a long type, one of a type that is longer than an int says, and many of a short
 * one. Words are checked one in every 509, and those on both sides of 2 and 4 GiB. Exit code 77:
 * too little free memory.
 */
#include <sys/mman.h>

#include "test/mpi/harness.h"

enum {
    MIB = 1 << 20,
    WORDS = MIB / 8,
    STEP = 509,
    MIB_EACH = 2049,
    MOST_MIB = 2080,
    MOST_RANKS = 8
};

static uint64_t *data, *out; /* MOST_MIB each */

static uint64_t value(int rank, size_t word)
{
    return (uint64_t)rank << 56 | word;
}

static uint64_t *room(void)
{
    uint64_t *p = aligned_alloc(2 * MIB, (size_t)MOST_MIB * MIB);

    if (!p) {
        fprintf(stderr, "huge: %d MiB are not there\n", MOST_MIB);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    madvise(p, (size_t)MOST_MIB * MIB, MADV_HUGEPAGE); /* faults of 4 KiB take most of the time */
    return p;
}

static void refill(void)
{
    for (size_t i = 0; i < MOST_MIB * WORDS; i++)
        data[i] = value(world_rank, i);
}

/* Word `first` on of a contribution, or, with `sum`, of all of them. */
static void check(const char *what, const uint64_t *got, size_t words, int rank, size_t first,
                  int sum)
{
    const size_t at_gib = (size_t)1 << 28;

    for (size_t i = 0; i < words; i += i % at_gib < 2 || (i + 3) % at_gib < 3 ? 1 : STEP) {
        uint64_t want = sum ? 0 : value(rank, first + i);

        for (int r = 0; sum && r < world_size; r++)
            want += value(r, first + i);
        if (got[i] != want) {
            fail("%s: word %zu is %#llx, expected %#llx", what, i, (unsigned long long)got[i],
                 (unsigned long long)want);
            return;
        }
    }
}

static long free_mib(void)
{
    FILE *f = fopen("/proc/meminfo", "r");
    char line[128];
    long kib = 0;

    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %ld", &kib) == 1)
            break;
    if (f)
        fclose(f);
    return kib / 1024;
}

/* A long type: the counts are small. */
static void few_elements(MPI_Datatype mebibyte)
{
    const int half = MIB_EACH / 2 + 1;

    MPI_Allgather(data, half, mebibyte, out, half, mebibyte, MPI_COMM_WORLD);
    for (int r = 0; r < world_size; r++)
        check("allgather", out + (size_t)(r * half) * WORDS, (size_t)half * WORDS, r, 0, 0);
    MPI_Bcast(data, MIB_EACH, mebibyte, world_size - 1, MPI_COMM_WORLD);
    check("bcast", data, (size_t)MIB_EACH * WORDS, world_size - 1, 0, 0);
}

/* The members one behind the other, `gap` MiB between them. */
static MPI_Datatype join(int n, const int *gap, MPI_Datatype *member)
{
    int one[] = {1, 1, 1};
    MPI_Aint at[3] = {0}, lower, extent;
    MPI_Datatype joined;

    for (int i = 1; i < n; i++) {
        MPI_Type_get_true_extent(member[i - 1], &lower, &extent);
        at[i] = at[i - 1] + lower + extent + (MPI_Aint)gap[i] * MIB;
    }
    MPI_Type_create_struct(n, one, at, member, &joined);
    MPI_Type_commit(&joined);
    for (int i = 0; i < n; i++)
        MPI_Type_free(&member[i]);
    return joined;
}

/* One element of all MIB_EACH, as programs make it for counts beyond an int: packed as it lies. */
static MPI_Datatype one_packed(MPI_Datatype mebibyte)
{
    MPI_Datatype member[2];

    MPI_Type_vector(MIB_EACH / 100, 100, 100, mebibyte, &member[0]);
    MPI_Type_contiguous(MIB_EACH % 100, mebibyte, &member[1]);
    return join(2, (int[]){0, 0}, member);
}

/* One element of exactly 2 GiB, of several makings, with a MiB left out here and there. */
enum { GRID = 26 * 40, PERIODS = 4 * 256, LEFT_OUT = 8, LAST = 15 };

static MPI_Datatype one_with_gaps(MPI_Datatype mebibyte)
{
    MPI_Datatype member[3];

    MPI_Type_create_subarray(2, (int[]){26, 40}, (int[]){26, 39}, (int[]){0, 0}, MPI_ORDER_C,
                             mebibyte, &member[0]);
    MPI_Type_vector(4, 255, 256, mebibyte, &member[1]);
    MPI_Type_indexed(2, (int[]){8, 6}, (int[]){0, LEFT_OUT + 1}, mebibyte, &member[2]);
    return join(3, (int[]){0, 1, 1}, member);
}

static int is_gap(int mib)
{
    return mib < GRID ? mib % 40 == 39
           : mib < GRID + PERIODS
               ? (mib - GRID) % 256 == 255
               : mib - GRID - PERIODS == LEFT_OUT || mib >= GRID + PERIODS + LAST;
}

/* Counts of one. */
static void one_element(MPI_Datatype mebibyte)
{
    MPI_Datatype packed = one_packed(mebibyte), gaps = one_with_gaps(mebibyte);
    int root = world_size - 1;

    MPI_Bcast(data, 1, packed, root, MPI_COMM_WORLD);
    check("one element", data, (size_t)MIB_EACH * WORDS, root, 0, 0);
    refill();
    MPI_Bcast(data, 1, gaps, root, MPI_COMM_WORLD);
    for (int mib = 0; mib < MOST_MIB; mib++)
        check("one element with gaps", data + (size_t)mib * WORDS, WORDS,
              is_gap(mib) ? world_rank : root, (size_t)mib * WORDS, 0);
    MPI_Type_free(&packed);
    MPI_Type_free(&gaps);
}

/* One message, from the first rank to the last. */
static void one_message(MPI_Datatype mebibyte)
{
    int gives[MOST_RANKS] = {0}, gets[MOST_RANKS] = {0}, displs[MOST_RANKS] = {0};
    int last = world_size - 1;

    if (!world_rank)
        gives[last] = MIB_EACH;
    if (world_rank == last)
        gets[0] = MIB_EACH;
    MPI_Alltoallv(data, gives, displs, mebibyte, out, gets, displs, mebibyte, MPI_COMM_WORLD);
    if (world_rank == last)
        check("alltoallv", out, (size_t)MIB_EACH * WORDS, 0, 0, 0);
}

/* A short type: bytes exceed an int, the count does not. */
static void many_elements(void)
{
    MPI_Allreduce(data, out, MIB_EACH * WORDS, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    check("allreduce", out, (size_t)MIB_EACH * WORDS, 0, 0, 1);
}

int main(int argc, char **argv)
{
    MPI_Datatype mebibyte;
    long need, least;
    int code;

    MPI_Init(&argc, &argv);
    test_began("huge", argc, argv);
    need = 4 * (long)MOST_MIB * world_size; /* two buffers of each rank, and as much again */
    least = free_mib();
    MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_LONG, MPI_MIN, MPI_COMM_WORLD);
    if (least < need || world_size > MOST_RANKS) {
        if (!world_rank)
            printf("huge: needs %ld MiB of free memory, there are %ld\n", need, least);
        MPI_Finalize();
        return EXIT_SKIP;
    }
    data = room();
    out = room();
    MPI_Type_contiguous(MIB, MPI_BYTE, &mebibyte);
    MPI_Type_commit(&mebibyte);
    refill();
    few_elements(mebibyte);
    refill(); /* the broadcast was received there */
    one_element(mebibyte);
    refill();
    one_message(mebibyte);
    many_elements();
    MPI_Type_free(&mebibyte);
    free(data);
    free(out);
    code = test_ended();
    MPI_Finalize();
    return code;
}
