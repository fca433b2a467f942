/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A message of more than 4 GiB on two ranks: longer [SEED [all]]
 *
 * A broadcast, or five collectives, of blocks of 4 GiB and a page. A buffer is one small file that
 * is mapped again and again, so it takes little memory. Both ranks give the same. Bytes that do not
 * come leave rank 1's file as it was, for the most part.
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "test/mpi/harness.h"

enum { PAGE = 4096, FILE_BYTES = 4 << 20, WORDS = FILE_BYTES / 8 };
static const size_t block = ((size_t)4 << 30) + PAGE;

static uint64_t *open_buffer(size_t room)
{
    int fd = memfd_create("longer", MFD_CLOEXEC);
    char *at = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    int well = fd >= 0 && at != MAP_FAILED && !ftruncate(fd, FILE_BYTES);

    for (size_t from = 0; well && from < room; from += FILE_BYTES) {
        size_t bytes = room - from < FILE_BYTES ? room - from : FILE_BYTES;

        well = mmap(at + from, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE,
                    fd, 0) != MAP_FAILED;
    }
    if (!well) {
        fprintf(stderr, "longer: no memory\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    close(fd);
    return (uint64_t *)at;
}

/* value 0: with nothing. */
static void fill(uint64_t *buffer, uint64_t value)
{
    for (size_t i = 0; i < WORDS; i++)
        buffer[i] = value ? value + i : 0;
}

static void check(const char *what, const uint64_t *buffer, uint64_t value)
{
    for (size_t i = 0; i < WORDS; i++)
        if (buffer[i] != value + i) {
            fail("%s: word %zu is %#llx", what, i, (unsigned long long)buffer[i]);
            return;
        }
}

/* Each collective, from rank 0 to rank 1 or the other way. */
static void bcast(uint64_t *give, uint64_t *get, int n, MPI_Datatype page)
{
    MPI_Bcast(world_rank ? get : give, n, page, 0, MPI_COMM_WORLD);
}

static void gather(uint64_t *give, uint64_t *get, int n, MPI_Datatype page)
{
    MPI_Gather(give, n, page, get, n, page, 1, MPI_COMM_WORLD);
}

static void scatter(uint64_t *give, uint64_t *get, int n, MPI_Datatype page)
{
    MPI_Scatter(give, n, page, get, n, page, 0, MPI_COMM_WORLD);
}

static void allgather(uint64_t *give, uint64_t *get, int n, MPI_Datatype page)
{
    MPI_Allgather(give, n, page, get, n, page, MPI_COMM_WORLD);
}

static void alltoall(uint64_t *give, uint64_t *get, int n, MPI_Datatype page)
{
    MPI_Alltoall(give, n, page, get, n, page, MPI_COMM_WORLD);
}

static const struct {
    const char *name;
    void (*call)(uint64_t *give, uint64_t *get, int n, MPI_Datatype page);
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
    int n = argc > 2 ? (int)(sizeof rows / sizeof *rows) : 1, code;
    size_t room = n > 1 ? 2 * block : block;
    uint64_t *give = open_buffer(room), *get = open_buffer(room), value = test_seed << 32 | 1;
    MPI_Type_contiguous(PAGE, MPI_BYTE, &page);
    MPI_Type_commit(&page);
    for (int i = 0; i < n; i++) {
        fill(give, value + (uint64_t)i);
        fill(get, 0);
        rows[i].call(give, get, (int)(block / PAGE), page);
        if (world_rank)
            check(rows[i].name, get, value + (uint64_t)i);
    }
    MPI_Type_free(&page);
    code = test_ended();
    MPI_Finalize();
    return code;
}
