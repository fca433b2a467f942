/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Code of the program that runs while something ends: endings SEED WHAT
 *
 * freed     delete callbacks call collectives on the communicator that is being freed, some set
 *           before its first call and some behind. Groups change, so that a state which outlives
 * its communicator gives wrong results on the next one at its address. Callbacks free another
 *           communicator too, and make calls there.
 * last      delete callbacks of MPI_COMM_SELF, in MPI_Finalize: the last collective of some ranks,
 *           whose others made it before; a persistent request and a communicator are freed there.
 * receive   a receive of any message is still open on MPI_COMM_WORLD in MPI_Finalize. No message of
 *           others may match it.
 */
#include <setjmp.h>

#include "test/mpi/persistent_calls.h"
#include "test/mpi/sums.h"

enum { ROUNDS = 24, N = 40000 };

static MPI_Comm other, late;
static MPI_Request started = MPI_REQUEST_NULL;
static int runs;

/* Calls of several kinds, with results that tell the group. */
static void call_some(MPI_Comm comm, int number)
{
    static int all[SUMS_MOST];
    int rank, size, sizes[8], at[8], mine = number;
    MPI_Request request;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    sums_call(comm, N, number);
    MPI_Bcast(&mine, 1, MPI_INT, size - 1, comm);
    mine = 100 * number + rank;
    for (int i = 0; i < size && i < 8; i++) {
        sizes[i] = 1;
        at[i] = i;
    }
    MPI_Gatherv(&mine, 1, MPI_INT, all, sizes, at, MPI_INT, 0, comm);
    for (int i = 0; i < size && !rank; i++)
        if (all[i] != 100 * number + i)
            fail("call %d: element %d of a Gatherv is %d", number, i, all[i]);
    MPI_Iallgather(&mine, 1, MPI_INT, all, 1, MPI_INT, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < size; i++)
        sizes[i] = all[i] != 100 * number + i ? 2 : 1;
    MPI_Alltoallv(all, sizes, at, MPI_INT, all + size, sizes, at, MPI_INT, comm);
    for (int i = 0; i < size; i++)
        if (sizes[i] != 1 || all[size + i] != 100 * number + rank)
            fail("call %d: element %d of an exchange is %d", number, i, all[size + i]);
}

static int on_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)key, (void)value, (void)extra;
    for (int i = 0; i < 3; i++)
        call_some(comm, 7 + i);
    if (other != MPI_COMM_NULL && other != comm) {
        call_some(other, 20);
        MPI_Comm_free(&other);
    }
    call_some(comm, 30);
    call_some(MPI_COMM_WORLD, 40);
    runs++;
    return MPI_SUCCESS;
}

static void free_with_callbacks(void)
{
    int keys[2], expected = 0;

    for (int i = 0; i < 2; i++)
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &keys[i], NULL);
    other = MPI_COMM_NULL;
    for (int k = 0; k < ROUNDS; k++) {
        MPI_Comm comm;

        MPI_Comm_split(MPI_COMM_WORLD, k % 3 == 2 && !world_rank, k % 2 ? world_rank : -world_rank,
                       &comm);
        if (k % 4 != 3)
            MPI_Comm_set_attr(comm, keys[0], NULL);
        for (int i = 0; i < 4; i++)
            call_some(comm, i);
        if (k % 4)
            MPI_Comm_set_attr(comm, keys[1], NULL);
        if (k % 5 == 4) {
            MPI_Comm_dup(comm, &other);
            call_some(other, 50);
        }
        expected += (k % 4 != 3) + (k % 4 != 0);
        if (k % 2)
            MPI_Comm_free(&comm);
        else
            MPI_Comm_disconnect(&comm);
        call_some(MPI_COMM_WORLD, k);
    }
    if (runs != expected)
        fail("%d callbacks ran, expected %d", runs, expected);
}

#ifdef OPEN_MPI
static int failing;
static jmp_buf back;

static int on_delete_once(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    return failing-- > 0 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static void on_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    longjmp(back, 1);
}

/* Frees it, or a duplicate that may lie at the same place is called, deeper in the stack. */
static __attribute__((noinline)) void go_deeper(MPI_Comm *freed, int depth)
{
    volatile char used[1024] = {0};
    MPI_Comm comm;

    if (depth) {
        go_deeper(freed, depth - 1);
    } else if (freed) {
        MPI_Comm_free(freed);
    } else {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int k = 0; k < 4; k++)
            call_some(comm, k);
        MPI_Comm_free(&comm);
    }
    (void)used[depth]; /* so the frame is there behind the call */
}

static void free_again(void)
{
    static MPI_Comm comm; /* not changed by the jump */
    MPI_Errhandler handler;
    int key;

    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete_once, &key, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Comm_set_attr(comm, key, NULL);
    call_some(comm, 1);
    failing = !world_rank;
    if (!setjmp(back))
        MPI_Comm_free(&comm);
    if (comm != MPI_COMM_NULL)
        go_deeper(&comm, 2);
    go_deeper(NULL, 6);
    MPI_Errhandler_free(&handler);
}
#endif

/* The code of the run, since the program's return value is not its own. */
static int on_last(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    if (world_rank)
        sums_call(MPI_COMM_WORLD, N, 7);
    call_some(late, 60);
    MPI_Comm_free(&late);
    if (started != MPI_REQUEST_NULL)
        MPI_Request_free(&started);
    if (started != MPI_REQUEST_NULL)
        fail("a persistent request is there after it was freed");
    test_ended();
    return MPI_SUCCESS;
}

static void leave_for_the_end(void)
{
    static int in[N], out[N];
    int key;

    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_last, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &late);
    call_some(late, 1);
    for (int k = 0; k < 6; k++)
        sums_call(MPI_COMM_WORLD, N, k);
    if (persistent_calls()) {
        MPI_Allreduce_init(in, out, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &started);
        MPI_Start(&started);
        MPI_Wait(&started, MPI_STATUS_IGNORE);
    }
    if (!world_rank)
        sums_call(MPI_COMM_WORLD, N, 7);
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[2] : "freed";
    static int word;
    MPI_Request request;
    int code = 0;

    MPI_Init(&argc, &argv);
    test_began("endings", argc, argv);
    if (!strcmp(what, "freed")) {
        free_with_callbacks();
#ifdef OPEN_MPI
        free_again();
#endif
        code = test_ended();
    } else if (!strcmp(what, "last")) {
        leave_for_the_end();
    } else {
        for (int k = 0; k < 6; k++)
            sums_call(MPI_COMM_WORLD, N, k);
        code = test_ended();
        MPI_Irecv(&word, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    }
    MPI_Finalize();
    return code;
}
