/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * revoked SEED revoke | die. One rank revokes the communicator, or dies, while the others are in
 * MPI_Allreduce. They get the library's own error, agree, make a communicator of those that live,
 * and go on with it. Under a library with failure mitigation: Open MPI 5 with `--with-ft ulfm`.
 */
#include <signal.h>
#include <unistd.h>

#include "test/mpi/harness.h"

enum { COUNT = 1 << 18, LONG_ENOUGH = 60 };
/* Values of Open MPI 5's mpi-ext.h; the program is built for an older one. */
enum { PROC_FAILED = 75, REVOKED = 77 };

extern int MPIX_Comm_revoke(MPI_Comm comm) __attribute__((weak));
extern int MPIX_Comm_is_revoked(MPI_Comm comm, int *flag) __attribute__((weak));
extern int MPIX_Comm_agree(MPI_Comm comm, int *flag) __attribute__((weak));
extern int MPIX_Comm_shrink(MPI_Comm comm, MPI_Comm *smaller) __attribute__((weak));

static int in[COUNT], out[COUNT];

static int sum_up(MPI_Comm comm)
{
    int size, rc = MPI_Allreduce(in, out, COUNT, MPI_INT, MPI_SUM, comm);

    MPI_Comm_size(comm, &size);
    for (int i = 0; rc == MPI_SUCCESS && i < COUNT; i++)
        if (out[i] != size * in[i]) {
            fail("element %d is %d", i, out[i]);
            break;
        }
    return rc;
}

/* Wait until the others wait for this rank. */
static void let_others_wait(void)
{
    struct timespec t = {.tv_nsec = 300000000};

    nanosleep(&t, NULL);
}

static void break_off(MPI_Comm comm, int dies)
{
    int class = 0, rc, revoked = 0;

    if (world_rank == 1) {
        let_others_wait();
        if (dies)
            raise(SIGKILL);
        MPIX_Comm_revoke(comm);
        return;
    }
    rc = sum_up(comm);
    MPI_Error_class(rc, &class);
    if (class != REVOKED && !(dies && class == PROC_FAILED))
        fail("the call returns class %d", class);
    if (dies)
        MPIX_Comm_revoke(comm);
    MPIX_Comm_is_revoked(comm, &revoked);
    if (!revoked)
        fail("the communicator is not revoked");
}

static int handled;

static void on_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    handled++;
}

/* Each asks other ranks something first, if it is rerouted. */
static void call_revoked(int what, MPI_Comm comm)
{
    enum { EACH = 4000, MOST = 8 };
    int size, n[MOST], at[MOST];

    MPI_Comm_size(comm, &size);
    for (int i = 0; i < size && i < MOST; i++) {
        n[i] = EACH;
        at[i] = i * EACH;
    }
    if (what == 0)
        MPI_Gatherv(in, EACH, MPI_INT, out, n, at, MPI_INT, 0, comm);
    else if (what == 1)
        MPI_Scatterv(in, n, at, MPI_INT, out, EACH, MPI_INT, 0, comm);
    else if (what == 2)
        MPI_Alltoallv(in, n, at, MPI_INT, out, n, at, MPI_INT, comm);
    else
        MPI_Allreduce(in, out, EACH, MPI_INT, MPI_SUM, comm);
}

static void handle_once(MPI_Comm whole)
{
    MPI_Errhandler handler;
    MPI_Comm comm;

    MPI_Comm_create_errhandler(on_error, &handler);
    for (int what = 0; what < 4; what++) {
        MPI_Comm_dup(whole, &comm);
        MPI_Comm_set_errhandler(comm, handler);
        MPI_Barrier(whole);
        MPIX_Comm_revoke(comm);
        handled = 0;
        call_revoked(what, comm);
        if (handled != 1)
            fail("call %d: the error handler ran %d times", what, handled);
        MPI_Comm_free(&comm);
    }
    MPI_Errhandler_free(&handler);
}

int main(int argc, char **argv)
{
    int dies = argc > 2 && !strcmp(argv[2], "die"), all = 1, wrong, rank;
    MPI_Comm comm, smaller;

    MPI_Init(&argc, &argv);
    test_began("revoked", argc, argv);
    if (!MPIX_Comm_revoke || world_size < 3)
        return EXIT_SKIP;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int i = 0; i < COUNT; i++)
        in[i] = i;
    alarm(LONG_ENOUGH);
    for (int k = 0; k < 5; k++)
        if (sum_up(comm) != MPI_SUCCESS)
            fail("a call fails before");
    break_off(comm, dies);
    MPIX_Comm_agree(comm, &all);
    if (MPIX_Comm_shrink(comm, &smaller) != MPI_SUCCESS)
        fail("no communicator of those that live");
    for (int k = 0; k < 20; k++)
        if (sum_up(smaller) != MPI_SUCCESS)
            fail("a call fails behind");
    handle_once(smaller);
    MPI_Allreduce(&failures, &wrong, 1, MPI_INT, MPI_SUM, smaller);
    MPI_Comm_rank(smaller, &rank);
    if (!rank)
        printf("revoked: %s on %d ranks, seed %llu, to reroute: allgather=0 allgatherv=0\n",
               wrong ? "WRONG" : "right", world_size, (unsigned long long)test_seed);
    fflush(stdout);
    MPI_Barrier(smaller);
    MPI_Comm_free(&smaller);
    MPI_Comm_free(&comm);
    if (dies) /* Open MPI 5.0.11's MPI_Finalize may wait for the dead rank */
        _exit(wrong != 0);
    MPI_Finalize();
    return wrong != 0;
}
