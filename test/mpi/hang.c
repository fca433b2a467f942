/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job that hangs, for test/stuck/run.sh: hang KIND RANK SEED. After random calls that are right,
 * that rank does what KIND says, on MPI_COMM_WORLD or on a communicator of its half:
 *
 *   skip   it leaves out a call           order  it makes two calls in the other order
 *   root   it passes another root         size   it passes 1,000 times the bytes
 *   sleep  it sleeps before a call        stop   it stops by SIGSTOP before a call
 *   dead   it exits before a call         never  it makes no call at all
 *   slow   nothing; SEED calls, some of which are late, beside communicators that are first used in
 *          another order on each rank, and behind a command of one rank that takes 5 s
 *
 * It prints "hang: rank R at L others M time T": the lines of its call and of the others', 0 for
 * none.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BLOCKING, STARTED, FORMS };
enum { ALLREDUCE, BCAST, BARRIER, GATHER, CALLS };
enum { SMALL = 64, MOST = 65536 };

static double in[MOST], out[MOST];
static int line[CALLS][FORMS];
static unsigned random_state;

static unsigned draw(unsigned below)
{
    random_state = random_state * 1103515245u + 12345u;
    return (random_state >> 8) % below;
}

/* A rank whose call fails waits for good, as one that a debugger holds. */
static void check(int rc)
{
    while (rc != MPI_SUCCESS)
        pause();
}

#define CALL(call, form, ...) (line[call][form] = __LINE__, check(__VA_ARGS__))

static void make_call(int call, int form, MPI_Comm comm, int count, int root)
{
    MPI_Request request = MPI_REQUEST_NULL;

    if (call == ALLREDUCE && form == BLOCKING)
        CALL(ALLREDUCE, BLOCKING, MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, comm));
    else if (call == ALLREDUCE)
        CALL(ALLREDUCE, STARTED,
             MPI_Iallreduce(in, out, count, MPI_DOUBLE, MPI_SUM, comm, &request));
    else if (call == BCAST && form == BLOCKING)
        CALL(BCAST, BLOCKING, MPI_Bcast(out, count, MPI_DOUBLE, root, comm));
    else if (call == BCAST)
        CALL(BCAST, STARTED, MPI_Ibcast(out, count, MPI_DOUBLE, root, comm, &request));
    else if (call == BARRIER && form == BLOCKING)
        CALL(BARRIER, BLOCKING, MPI_Barrier(comm));
    else if (call == BARRIER)
        CALL(BARRIER, STARTED, MPI_Ibarrier(comm, &request));
    else if (form == BLOCKING)
        CALL(GATHER, BLOCKING, MPI_Gather(in, 8, MPI_DOUBLE, out, 8, MPI_DOUBLE, root, comm));
    else
        CALL(GATHER, STARTED,
             MPI_Igather(in, 8, MPI_DOUBLE, out, 8, MPI_DOUBLE, root, comm, &request));
    check(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

/* A right call, the same on all ranks of the communicator. */
static void make_any(MPI_Comm comm)
{
    int n, call = (int)draw(CALLS), form = (int)draw(FORMS), count = 1 + (int)draw(SMALL);

    MPI_Comm_size(comm, &n);
    make_call(call, form, comm, count, (int)draw((unsigned)n));
}

static void tell(int rank, int at, int others)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    printf("hang: rank %d at %d others %d time %.3f\n", rank, at, others,
           (double)t.tv_sec + (double)t.tv_nsec * 1e-9);
    fflush(stdout);
}

static void go_wrong(const char *kind, MPI_Comm comm, int form, int rank, int last)
{
    int n, own, reduces = line[ALLREDUCE][form], casts = line[BCAST][form];

    MPI_Comm_size(comm, &n);
    MPI_Comm_rank(comm, &own);
    if (!strcmp(kind, "skip") || !strcmp(kind, "order")) {
        tell(rank, casts, reduces);
        make_call(BCAST, form, comm, SMALL, 0);
        if (!strcmp(kind, "order"))
            make_call(ALLREDUCE, form, comm, SMALL, 0);
    } else if (!strcmp(kind, "root") || !strcmp(kind, "size")) {
        int root = !strcmp(kind, "root") ? (own + 1) % n : 0;

        make_call(ALLREDUCE, form, comm, SMALL, 0);
        tell(rank, casts, casts);
        make_call(BCAST, form, comm, kind[0] == 'r' ? SMALL : MOST, root);
        make_call(GATHER, BLOCKING, comm, SMALL, 0);
    } else {
        tell(rank, last, reduces);
        if (!strcmp(kind, "dead"))
            _exit(0);
        if (!strcmp(kind, "stop"))
            raise(SIGSTOP);
        for (;;)
            pause();
    }
}

/* The calls that each rank makes first on these are long over when others are late. */
static void use_in_any_order(int rank)
{
    MPI_Comm comm[4];
    MPI_Request request[4];
    MPI_Group group;

    MPI_Comm_group(MPI_COMM_WORLD, &group);
    for (int i = 0; i < 2; i++)
        MPI_Comm_create_group(MPI_COMM_WORLD, group, i, &comm[i]);
    for (int i = 2; i < 4; i++)
        MPI_Comm_idup(MPI_COMM_WORLD, &comm[i], &request[i]);
    for (int i = 2; i < 4; i++)
        MPI_Wait(&request[i], MPI_STATUS_IGNORE);
    for (int i = 0; i < 4; i++) {
        int k = (rank + i) % 4;

        if (k % 2)
            MPI_Ibarrier(comm[k], &request[k]);
        else
            MPI_Ibcast(out, 1, MPI_DOUBLE, 0, comm[k], &request[k]);
    }
    for (int i = 0; i < 4; i++)
        MPI_Wait(&request[i], MPI_STATUS_IGNORE);
    MPI_Group_free(&group);
}

/* Every 1,000th call a rank is late by 20 ms. */
static int run_slowly(int rank, int size, int calls)
{
    use_in_any_order(rank);
    if (rank == 0)
        (void)!system("timeout 5 sh -c 'while :; do expr 1 >/dev/null; done'");
    for (int i = 0; i < calls; i++) {
        int late = (int)draw((unsigned)size);

        if (i % 1000 == 0 && rank == late)
            usleep(20000);
        make_call(i % 16 ? BARRIER : ALLREDUCE, BLOCKING, MPI_COMM_WORLD, SMALL, 0);
    }
    MPI_Finalize();
    return 0;
}

int main(int argc, char **argv)
{
    int rank, size, last = 0, half, culprit = argc > 2 ? atoi(argv[2]) : 0;
    MPI_Comm comm[3];
    MPI_Request request;

    if (argc != 4)
        return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    random_state = (unsigned)atoi(argv[3]) * 2654435761u;
    if (!strcmp(argv[1], "never") && rank == culprit)
        go_wrong(argv[1], MPI_COMM_WORLD, BLOCKING, rank, 0);
    for (int i = 0; i < CALLS * FORMS; i++)
        make_call(i / FORMS, i % FORMS, MPI_COMM_WORLD, SMALL, 0);
    if (!strcmp(argv[1], "slow"))
        return run_slowly(rank, size, atoi(argv[3]));
    comm[0] = MPI_COMM_WORLD;
    half = rank < size / 2;
    MPI_Comm_split(MPI_COMM_WORLD, half, rank, &comm[1]);
    MPI_Comm_idup(comm[1], &comm[2], &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 20 + (int)draw(80); i > 0; i--)
        make_any(comm[draw(3)]);

    /* None of two ranks that disagree is in the minority. */
    MPI_Comm wrong = comm[size / 2 > 2 ? draw(3) : 0];
    int form = (int)draw(FORMS);
    last = line[BARRIER][BLOCKING];
    make_call(BARRIER, BLOCKING, wrong, 0, 0);
    if (rank == culprit)
        go_wrong(argv[1], wrong, form, rank, last);
    if (rank != culprit) {
        make_call(ALLREDUCE, form, wrong, SMALL, 0);
        make_call(BCAST, form, wrong, SMALL, 0);
        make_call(GATHER, BLOCKING, wrong, SMALL, 0);
    }
    for (int i = 0; i < 20; i++)
        make_call(BARRIER, BLOCKING, MPI_COMM_WORLD, 0, 0);
    MPI_Finalize();
    return 0;
}
