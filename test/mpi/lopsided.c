/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exchanges of ranks that are very unlike: lopsided [SEED [HOW]]
 *
 *   late   the last rank sends and receives nothing, so that it can only relay, and comes late to
 *          every call; what the others send differs from call to call
 *   huge   rank 0 sends more than 2 GiB to the last rank, in one message; nobody else sends
 * anything
 *
 * The huge message is sent from pages that are mapped again and again, so that it takes no memory
 * but where it is received. The period is no power of two: what lands elsewhere is seen.
 */
#define _GNU_SOURCE
#include "test/mpi/harness.h"

#include <sys/mman.h>
#include <unistd.h>

enum { MOST_RANKS = 16, CALLS = 24, LATE_US = 30000, SOME = 500000 };
enum { PERIOD = (4 << 20) + 4096, PERIODS = 540, WORDS = PERIOD / (int)sizeof(int) };

static int counts[2][MOST_RANKS], displs[2][MOST_RANKS];

static int word(int call, int from, int i)
{
    return call * 7919 + from * 104729 + i;
}

static void exchange(const int *out, int *in)
{
    MPI_Alltoallv(out, counts[0], displs[0], MPI_INT, in, counts[1], displs[1], MPI_INT,
                  MPI_COMM_WORLD);
}

/* All but the last two ranks send to the one before the last. */
static void late(void)
{
    int last = world_size - 1, hot = last - 1;
    int *out = malloc(sizeof(int) * SOME), *in = malloc(sizeof(int) * SOME * (size_t)world_size);

    for (int call = 0; call < CALLS; call++) {
        int all = 0;

        for (int from = 0; from < hot; from++) {
            int n = SOME - 1000 * ((call + from) % 5);

            counts[0][hot] = world_rank == from ? n : counts[0][hot];
            counts[1][from] = world_rank == hot ? n : 0;
            displs[1][from] = all;
            all += counts[1][from];
        }
        for (int i = 0; i < counts[0][hot]; i++)
            out[i] = word(call, world_rank, i);
        memset(in, 0, sizeof(int) * (size_t)all);
        if (world_rank == last)
            usleep(LATE_US);
        exchange(out, in);
        for (int from = 0; from < hot; from++)
            for (int i = 0; i < counts[1][from]; i++)
                if (in[displs[1][from] + i] != word(call, from, i)) {
                    fail("call %d: element %d from %d is %d", call, i, from,
                         in[displs[1][from] + i]);
                    break;
                }
    }
    free(out);
    free(in);
}

/* One period of memory under many addresses. */
static int *repeated(void)
{
    int file = memfd_create("lopsided", 0);
    char *at = mmap(NULL, (size_t)PERIOD * PERIODS, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (file < 0 || at == MAP_FAILED || ftruncate(file, PERIOD)) {
        perror("lopsided: memory to send from");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (size_t i = 0; i < PERIODS; i++)
        if (mmap(at + i * PERIOD, PERIOD, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
                 0) == MAP_FAILED) {
            perror("lopsided: a mapping");
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    close(file);
    return (int *)at;
}

static void huge(void)
{
    int last = world_size - 1, n = WORDS * PERIODS;
    int *out = world_rank ? NULL : repeated();
    int *in = world_rank == last ? malloc((size_t)PERIOD * PERIODS) : NULL;

    if (world_rank == 0) {
        counts[0][last] = n;
        for (int i = 0; i < WORDS; i++)
            out[i] = word(0, 0, i);
    }
    if (world_rank == last) {
        counts[1][0] = n;
        memset(in, 0xff, (size_t)PERIOD * PERIODS);
    }
    exchange(out, in);
    for (int i = 0; in && i < n; i++)
        if (in[i] != word(0, 0, i % WORDS)) {
            fail("element %d of %d is %d", i, n, in[i]);
            break;
        }
    free(in);
    if (out)
        munmap(out, (size_t)PERIOD * PERIODS);
}

int main(int argc, char **argv)
{
    int is_huge = argc > 2 && !strcmp(argv[2], "huge");

    MPI_Init(&argc, &argv);
    test_began("lopsided", argc, argv);
    if (world_size > MOST_RANKS || world_size < 3)
        MPI_Abort(MPI_COMM_WORLD, 2);
    if (is_huge)
        huge();
    else
        late();
    if (!world_rank)
        printf("lopsided: to reroute: alltoallv=%d\n", world_size * (is_huge ? 1 : CALLS));
    int code = test_ended();
    MPI_Finalize();
    return code;
}
