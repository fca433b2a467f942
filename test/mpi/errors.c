/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wrong calls: the application's error handler must run as often as without the preload, with
 * the library's own code, and the communicator must be usable afterwards. Every call is wrong
 * on all ranks alike, so that the library notices before it communicates; what it answers is
 * asked of the library itself, because libraries check different things.
 */
#include "test/mpi/native.h"

enum { MOST = 64, BLOCK = 3 };

static int handled, last_code;

static void on_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    handled++;
    last_code = *code;
}

/* The arguments of both functions; a case spoils one of them. */
struct arguments {
    const void *send;
    int send_count;
    MPI_Datatype send_type;
    void *receive;
    int receive_count;
    const int *counts, *displs;
    MPI_Datatype receive_type;
};

static int send[BLOCK], received[MOST * BLOCK], counts[MOST], displs[MOST], wrong_counts[MOST];
static MPI_Datatype uncommitted;

static void spoil_send_count(struct arguments *a)
{
    a->send_count = -1;
}

static void spoil_send_type(struct arguments *a)
{
    a->send_type = MPI_DATATYPE_NULL;
}

static void spoil_receive_type(struct arguments *a)
{
    a->receive_type = MPI_DATATYPE_NULL;
}

static void spoil_receive_count(struct arguments *a)
{
    a->receive_count = -1;
    a->counts = wrong_counts;
}

static void spoil_receive_buffer(struct arguments *a)
{
    a->receive = MPI_IN_PLACE;
}

static void spoil_both_buffers(struct arguments *a)
{
    a->send = a->receive = MPI_IN_PLACE;
}

#ifndef OPEN_MPI /* it does not look at buffers */
static void spoil_send_address(struct arguments *a)
{
    a->send = NULL;
}

static void spoil_receive_address(struct arguments *a)
{
    a->receive = NULL;
}
#endif

static void spoil_commit(struct arguments *a)
{
    a->send_type = uncommitted;
}

static const struct {
    const char *name;
    void (*spoil)(struct arguments *a);
    int crashes; /* Open MPI 4.1.4 does not look at this in Allgatherv, and crashes */
} cases[] = {
    {"a negative send count", spoil_send_count, 0},
    {"a null send type", spoil_send_type, 0},
    {"a null receive type", spoil_receive_type, 0},
    {"a negative receive count", spoil_receive_count, 1},
    {"MPI_IN_PLACE as receive buffer", spoil_receive_buffer, 0},
    {"MPI_IN_PLACE twice", spoil_both_buffers, 0},
    {"a send type that is not committed", spoil_commit, 0},
#ifndef OPEN_MPI
    {"a null send buffer", spoil_send_address, 0},
    {"a null receive buffer", spoil_receive_address, 0},
#endif
};
enum { CASES = sizeof cases / sizeof *cases };

/* The result of one call. */
struct outcome {
    int class, handled;
    int passed_on; /* the handler got the code that was returned */
};

static struct outcome outcome_of(int code, int before)
{
    struct outcome o = {.handled = handled - before};

    MPI_Error_class(code, &o.class);
    o.passed_on = !o.handled || last_code == code;
    return o;
}

static struct outcome run(const struct arguments *a, int vector, int native, MPI_Comm comm)
{
    int before = handled;

    if (vector)
        return outcome_of((native ? native_allgatherv : MPI_Allgatherv)(
                              a->send, a->send_count, a->send_type, a->receive, a->counts,
                              a->displs, a->receive_type, comm),
                          before);
    return outcome_of((native ? native_allgather
                              : MPI_Allgather)(a->send, a->send_count, a->send_type, a->receive,
                                               a->receive_count, a->receive_type, comm),
                      before);
}

/* A right call on the same communicator. */
static void still_usable(const struct arguments *right, int vector, MPI_Comm comm,
                         const char *after)
{
    int size, rank;

    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i < BLOCK; i++)
        send[i] = 100 * rank + i;
    memset(received, 0xff, sizeof received);
    struct outcome o = run(right, vector, 0, comm);
    for (int i = 0; i < size * BLOCK; i++)
        if (received[i] != i / BLOCK * 100 + i % BLOCK) {
            fail("after %s: element %d is %d", after, i, received[i]);
            break;
        }
    if (o.class != MPI_SUCCESS || o.handled)
        fail("after %s: a right call returned class %d, %d errors handled", after, o.class,
             o.handled);
    if (size < 2)
        return;
    if (vector)
        expected_allgatherv++;
    else
        expected_allgather++;
}

static void try_cases(MPI_Comm comm, const char *where)
{
    for (int vector = 0; vector < 2; vector++)
        for (int i = 0; i < CASES; i++) {
            struct arguments right = {send,  BLOCK,  MPI_INT, received,
                                      BLOCK, counts, displs,  MPI_INT};
            struct arguments wrong = right;
            struct outcome want, got;

#ifdef OPEN_MPI
            if (vector && cases[i].crashes)
                continue;
#endif
            cases[i].spoil(&wrong);
            want = run(&wrong, vector, 1, comm);
            got = run(&wrong, vector, 0, comm);
            if (got.class != want.class || got.handled != want.handled ||
                got.passed_on != want.passed_on)
                fail("allgather%s with %s on %s: class %d, handled %d times, the library alone: "
                     "class %d, %d times%s",
                     vector ? "v" : "", cases[i].name, where, got.class, got.handled, want.class,
                     want.handled,
                     got.passed_on == want.passed_on ? "" : "; the handler got another code");
            still_usable(&right, vector, comm, cases[i].name);
        }
}

/* MPI_ERRORS_RETURN, set after the communicator was first used. */
static void try_errors_return(MPI_Comm comm)
{
    int code;

    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    code = MPI_Allgather(send, -1, MPI_INT, received, 1, MPI_INT, comm);
    if (code == MPI_SUCCESS)
        fail("MPI_ERRORS_RETURN: a negative count returned MPI_SUCCESS");
}

/*
 * No communicator at all: the error goes to MPI_COMM_WORLD's handler, as of MPI 4 to
 * MPI_COMM_SELF's. (Open MPI 4.1.4 itself crashes.)
 */
#ifndef OPEN_MPI
static void try_null_comm(void)
{
    struct arguments a = {send, BLOCK, MPI_INT, received, BLOCK, counts, displs, MPI_INT};

    for (int vector = 0; vector < 2; vector++) {
        struct outcome want = run(&a, vector, 1, MPI_COMM_NULL);
        struct outcome got = run(&a, vector, 0, MPI_COMM_NULL);
        if (got.class != want.class || got.handled != want.handled)
            fail("MPI_COMM_NULL: class %d, handled %d times, the library alone: class %d, %d times",
                 got.class, got.handled, want.class, want.handled);
    }
}
#endif

int main(int argc, char **argv)
{
    MPI_Errhandler handler;
    MPI_Comm fresh;

    MPI_Init(&argc, &argv);
    test_began("errors", argc, argv);
    native_open();
    if (world_size > MOST)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (int r = 0; r < world_size; r++) {
        counts[r] = BLOCK;
        displs[r] = r * BLOCK;
        wrong_counts[r] = r == world_size - 1 ? -1 : BLOCK;
    }
    MPI_Type_vector(1, 1, 2, MPI_INT, &uncommitted);
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    MPI_Comm_dup(MPI_COMM_WORLD, &fresh); /* with the handler; its first call is a wrong one */
    try_cases(fresh, "a new communicator");
    try_cases(MPI_COMM_WORLD, "MPI_COMM_WORLD");
#ifndef OPEN_MPI
    try_null_comm();
#endif
    try_errors_return(fresh);
    MPI_Comm_free(&fresh);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
    MPI_Type_free(&uncommitted);
    int code = test_ended();
    MPI_Finalize();
    return code;
}
