/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A message of more than 4 GiB on two ranks: longer [SEED [all]]
 *
 * A broadcast, or five collectives, of blocks of 4 GiB and a page. A block is one small file that
 * is mapped again and again, so it takes little memory. Both ranks give the same. Bytes of
 * rank 0 that do not come leave rank 1's file as it was, for the most part.
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "test/mpi/harness.h"

enum { PAGE = 4096, FILE_BYTES = 4 << 20, WORDS = FILE_BYTES / 8 };
static const size_t block = ((size_t)4 << 30) + PAGE;

/* Map a file at `at` until the block is full. Returns 1 if that is possible. */
static int map_block(char *at)
{
    int fd = memfd_create("longer", MFD_CLOEXEC), well = fd >= 0 && !ftruncate(fd, FILE_BYTES);

    for (size_t from = 0; well && from < block; from += FILE_BYTES) {
        size_t bytes = block - from < FILE_BYTES ? block - from : FILE_BYTES;

        well = mmap(at + from, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE,
                    fd, 0) != MAP_FAILED;
    }
    close(fd);
    return well;
}

static char *open_buffer(int blocks)
{
    size_t bytes = (size_t)blocks * block;
    char *at = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    int well = at != MAP_FAILED;

    for (int i = 0; well && i < blocks; i++)
        well = map_block(at + (size_t)i * block);
    if (!well) {
        fprintf(stderr, "longer: no memory\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return at;
}

/* The files of a buffer. value 0: nothing. */
static void fill(char *buffer, int blocks, uint64_t value)
{
    for (int b = 0; b < blocks; b++) {
        uint64_t *word = (uint64_t *)(void *)(buffer + (size_t)b * block);

        for (size_t i = 0; i < WORDS; i++)
            word[i] = value ? value + i : 0;
    }
}

static void check(const char *what, const char *buffer, uint64_t value)
{
    const uint64_t *word = (const uint64_t *)(const void *)buffer;

    for (size_t i = 0; i < WORDS; i++)
        if (word[i] != value + i) {
            fail("%s: word %zu is %#llx", what, i, (unsigned long long)word[i]);
            return;
        }
}

/* Each collective, from rank 0 to rank 1 or the other way. */
static void bcast(char *give, char *get, int n, MPI_Datatype page)
{
    MPI_Bcast(world_rank ? get : give, n, page, 0, MPI_COMM_WORLD);
}

static void gather(char *give, char *get, int n, MPI_Datatype page)
{
    MPI_Gather(give, n, page, get, n, page, 1, MPI_COMM_WORLD);
}

static void scatter(char *give, char *get, int n, MPI_Datatype page)
{
    MPI_Scatter(give, n, page, get, n, page, 0, MPI_COMM_WORLD);
}

static void allgather(char *give, char *get, int n, MPI_Datatype page)
{
    MPI_Allgather(give, n, page, get, n, page, MPI_COMM_WORLD);
}

static void alltoall(char *give, char *get, int n, MPI_Datatype page)
{
    MPI_Alltoall(give, n, page, get, n, page, MPI_COMM_WORLD);
}

static const struct {
    const char *name;
    void (*call)(char *give, char *get, int n, MPI_Datatype page);
} rows[] = {{"bcast", bcast},
            {"gather", gather},
            {"scatter", scatter},
            {"allgather", allgather},
            {"alltoall", alltoall}};

int main(int argc, char **argv)
{
    MPI_Datatype page;

    MPI_Init(&argc, &argv);
    test_began("longer", argc, argv);
    int n = argc > 2 ? (int)(sizeof rows / sizeof *rows) : 1, blocks = n > 1 ? 2 : 1, code;
    char *give = open_buffer(blocks), *get = open_buffer(blocks);
    uint64_t value = test_seed << 32 | 1;
    MPI_Type_contiguous(PAGE, MPI_BYTE, &page);
    MPI_Type_commit(&page);
    for (int i = 0; i < n; i++) {
        fill(give, blocks, value + (uint64_t)i);
        fill(get, blocks, 0);
        rows[i].call(give, get, (int)(block / PAGE), page);
        if (world_rank)
            check(rows[i].name, get, value + (uint64_t)i);
    }
    MPI_Type_free(&page);
    code = test_ended();
    MPI_Finalize();
    return code;
}
