/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * starved SEED STRIDE [limited]. One rank has no memory at one of the preload's allocations: each
 * of them, or every STRIDE-th. With `limited` the last rank's memory has a limit, and in half of
 * the rounds there is none from there to the end of the round. No rank may wait for ever, a call
 * that succeeds has the right result, and calls behind it work. A round makes a communicator, where
 * the ranks meet, then calls of several kinds for the first time and once more.
 *
 * The allocation functions are this program's own. They fail nothing but what the preload's
 * backend asks for, so the program passes without the preload.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <sys/resource.h>
#include <unistd.h>

#include "test/mpi/harness.h"
#include "test/mpi/persistent_calls.h"

enum { COUNT = 3000, MOST_RANKS = 8, LONG_ENOUGH = 60, NO_FAILURE = -1 };

#define EXPORT __attribute__((visibility("default")))

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t n, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);
extern void *__libc_memalign(size_t edge, size_t bytes);

static uintptr_t backend_from, backend_to; /* where its code lies */
static long asked, failing = NO_FAILURE;   /* its allocations in this round; which of them fails */
static int limited;                        /* the last rank's memory has a limit */
static int all_behind;                     /* and those behind it */

static int find_backend(struct dl_phdr_info *object, size_t size, void *unused)
{
    (void)size, (void)unused;
    if (!strstr(object->dlpi_name, "/libcollshim-"))
        return 0;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];

        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
            continue;
        backend_from = object->dlpi_addr + part->p_vaddr;
        backend_to = backend_from + part->p_memsz;
    }
    return 1;
}

static int fails(const void *caller)
{
    uintptr_t at = (uintptr_t)caller;

    if (at < backend_from || at >= backend_to)
        return 0;
    long i = __atomic_fetch_add(&asked, 1, __ATOMIC_RELAXED);
    if (failing < 0 || i < failing || (i > failing && !all_behind))
        return 0;
    errno = ENOMEM;
    return 1;
}

EXPORT void *malloc(size_t bytes)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(bytes);
}

EXPORT void *calloc(size_t n, size_t bytes)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(n, bytes);
}

EXPORT void *realloc(void *old, size_t bytes)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(old, bytes);
}

EXPORT void *aligned_alloc(size_t edge, size_t bytes)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_memalign(edge, bytes);
}

/* A call's memory, and the communicator. */
static int in[COUNT * MOST_RANKS], out[COUNT * MOST_RANKS], counts[MOST_RANKS], displs[MOST_RANKS];
static MPI_Comm comm;
static int rank, size;

static int wait_for(int rc, MPI_Request *request)
{
    return rc == MPI_SUCCESS ? MPI_Wait(request, MPI_STATUS_IGNORE) : rc;
}

static int allreduce(void)
{
    return MPI_Allreduce(in, out, COUNT, MPI_INT, MPI_SUM, comm);
}

static int allreduce_in_place(void)
{
    memcpy(out, in, COUNT * sizeof *out);
    return MPI_Allreduce(MPI_IN_PLACE, out, COUNT, MPI_INT, MPI_SUM, comm);
}

static int iallreduce(void)
{
    MPI_Request r = MPI_REQUEST_NULL;

    return wait_for(MPI_Iallreduce(in, out, COUNT - 7, MPI_INT, MPI_SUM, comm, &r), &r);
}

/* Twice at once: the second start may find the memory for the first one's failure in use. */
static int two_iallreduces(void)
{
    static int other[COUNT];
    MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int first = MPI_Iallreduce(in, other, COUNT - 9, MPI_INT, MPI_SUM, comm, &r[0]);
    int second = MPI_Iallreduce(in, out, COUNT - 9, MPI_INT, MPI_SUM, comm, &r[1]);

    first = wait_for(first, &r[0]);
    second = wait_for(second, &r[1]);
    return first ? first : second;
}

static int persistent(void)
{
    MPI_Request r = MPI_REQUEST_NULL;

    if (!persistent_calls())
        return allreduce();
    int rc = MPI_Allreduce_init(in, out, COUNT, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &r);
    if (rc == MPI_SUCCESS)
        rc = wait_for(MPI_Start(&r), &r);
    if (r != MPI_REQUEST_NULL)
        MPI_Request_free(&r);
    return rc;
}

static int gather(void)
{
    return MPI_Gather(in, COUNT, MPI_INT, out, COUNT, MPI_INT, 0, comm);
}

static int gather_in_place(void)
{
    if (!rank)
        memcpy(out, in, COUNT * sizeof *out);
    return MPI_Gather(rank ? in : MPI_IN_PLACE, COUNT, MPI_INT, out, COUNT, MPI_INT, 0, comm);
}

static int gatherv(void)
{
    return MPI_Gatherv(in, COUNT, MPI_INT, out, counts, displs, MPI_INT, 0, comm);
}

static int igatherv(void)
{
    MPI_Request r = MPI_REQUEST_NULL;

    return wait_for(MPI_Igatherv(in, COUNT, MPI_INT, out, counts, displs, MPI_INT, 0, comm, &r),
                    &r);
}

static int alltoallv(void)
{
    return MPI_Alltoallv(in, counts, displs, MPI_INT, out, counts, displs, MPI_INT, comm);
}

static int ialltoallv(void)
{
    MPI_Request r = MPI_REQUEST_NULL;

    return wait_for(
        MPI_Ialltoallv(in, counts, displs, MPI_INT, out, counts, displs, MPI_INT, comm, &r), &r);
}

static int iallgatherv(void)
{
    MPI_Request r = MPI_REQUEST_NULL;

    return wait_for(MPI_Iallgatherv(in, COUNT, MPI_INT, out, counts, displs, MPI_INT, comm, &r),
                    &r);
}

/* The value of element i of block b: a sum over the ranks, or what rank b has sent. */
enum expected { SUM, SENT, SENT_TO_ROOT };

static const struct {
    const char *name;
    int (*call)(void);
    enum expected expected;
} rows[] = {
    {"Allreduce", allreduce, SUM},      {"Allreduce in place", allreduce_in_place, SUM},
    {"Iallreduce", iallreduce, SUM},    {"two Iallreduces", two_iallreduces, SUM},
    {"Gather", gather, SENT_TO_ROOT},   {"Gather in place", gather_in_place, SENT_TO_ROOT},
    {"Gatherv", gatherv, SENT_TO_ROOT}, {"Igatherv", igatherv, SENT_TO_ROOT},
    {"Iallgatherv", iallgatherv, SENT}, {"Alltoallv", alltoallv, SENT},
    {"Ialltoallv", ialltoallv, SENT},   {"persistent Allreduce", persistent, SUM},
};
enum { ROWS = sizeof rows / sizeof *rows };

static int value(int from, int i)
{
    return from * 100000 + i % COUNT;
}

static int is_right(enum expected expected)
{
    int blocks = expected == SUM ? 1 : expected == SENT_TO_ROOT && rank ? 0 : size;

    for (int b = 0; b < blocks; b++)
        for (int i = 0; i < COUNT - 9; i++) {
            int want = value(b, i);

            for (int r = 0; expected == SUM && r < size; r++)
                want = r ? want + value(r, i) : value(0, i);
            if (out[b * COUNT + i] != want)
                return 0;
        }
    return 1;
}

/* well: the call must succeed. */
static void make_call(int row, long n, int well)
{
    memset(out, -1, sizeof out);
    alarm(LONG_ENOUGH);
    int rc = rows[row].call();
    alarm(0);
    if (well && rc != MPI_SUCCESS)
        fail("allocation %ld: %s fails behind the round", n, rows[row].name);
    if (rc == MPI_SUCCESS && !is_right(rows[row].expected))
        fail("allocation %ld: %s succeeds with a wrong result", n, rows[row].name);
}

/* The n-th allocation of a rank fails. Returns how many any rank had. */
static long run_round(long n)
{
    int starved = (int)(n % size);
    long most;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm, &rank);
    asked = 0;
    all_behind = limited && n / size % 2 != 0;
    failing = rank == starved ? n : NO_FAILURE;
    for (int twice = 0; twice < 2; twice++)
        for (int row = 0; row < ROWS; row++)
            make_call(row, n, 0);
    failing = NO_FAILURE;
    most = asked;
    for (int row = 0; row < ROWS; row++)
        make_call(row, n, 1);
    MPI_Comm_free(&comm);
    MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

int main(int argc, char **argv)
{
    long most, stride = argc > 2 ? atol(argv[2]) : 1, rounds = 0;

    MPI_Init(&argc, &argv);
    limited = argc > 3;
    test_began("starved", argc, argv);
    size = world_size;
    if (size > MOST_RANKS)
        return EXIT_SKIP;
    if (limited && world_rank == world_size - 1)
        setrlimit(RLIMIT_AS, &(struct rlimit){1ul << 46, 1ul << 46});
    dl_iterate_phdr(find_backend, NULL);
    /* Requests raise their errors here. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int i = 0; i < COUNT * size; i++)
        in[i] = value(world_rank, i);
    for (int r = 0; r < size; r++) {
        counts[r] = COUNT;
        displs[r] = r * COUNT;
    }
    most = run_round(NO_FAILURE);
    for (long n = (long)(test_seed % (uint64_t)stride); n < most; n += stride, rounds++)
        run_round(n);
    if (!world_rank)
        printf("starved: %ld allocations, %ld rounds\n", most, rounds);
    int rc = test_ended();
    MPI_Finalize();
    return rc;
}
