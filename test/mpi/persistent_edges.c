/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The edges of persistent collectives: persistent_edges WHAT, one of
 *
 *     many      more requests on a communicator than are rerouted at once, freed and made again
 *     freed     a communicator is freed while its request lives, and while it is active
 *     finalize  requests that live, and one that was freed while active, at MPI_Finalize
 *     error     a rank that receives less than is sent: it and no other gets an error, each time
 *     cancel    MPI_Cancel of one
 *     threads   under MPI_THREAD_MULTIPLE, two threads have a request on a communicator each; exit
 *               code 77: the library does not provide the level
 *     memory    starts take no memory of collshim's, but for a list for each peer that grows
 *     short     one rank lacks memory when requests are made
 *     null      no place for the request: the library's error
 *     types     blocks of different types on one rank, which are freed once the request is made
 *
 * Only programs with rerouted requests may do some of these; libraries' own do not survive all.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>

#include "test/mpi/harness.h"
#include "test/mpi/persistent_calls.h"

enum { COUNT = 20000, MANY = 12, ROUNDS = 20, THREADS = 2 };

static long started;
static int handled; /* calls of the error handler */

static MPI_Request make_sum(MPI_Comm comm, const int *in, int *out)
{
    MPI_Request request;

    MPI_Allreduce_init(in, out, COUNT, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request);
    return request;
}

static void run_sum(MPI_Request *request, int *in, const int *out, int salt)
{
    int sum = world_size * salt + world_size * (world_size - 1) / 2;

    for (int i = 0; i < COUNT; i++)
        in[i] = world_rank + salt;
    MPI_Start(request);
    MPI_Wait(request, MPI_STATUS_IGNORE);
    __atomic_add_fetch(&started, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < COUNT; i++)
        if (out[i] != sum) {
            fail("element %d is %d, expected %d", i, out[i], sum);
            return;
        }
}

static MPI_Comm make_comm(void)
{
    int one = 1, sum = 0;
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    return comm;
}

static int in[MANY][COUNT], out[MANY][COUNT];

static void many(void)
{
    MPI_Comm comm = make_comm();
    MPI_Request request[MANY];

    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MANY; i++)
            request[i] = make_sum(comm, in[i], out[i]);
        for (int i = 0; i < MANY; i++)
            run_sum(&request[i], in[i], out[i], round + i);
        for (int i = 0; i < MANY; i++)
            MPI_Request_free(&request[world_rank % 2 ? i : MANY - 1 - i]);
    }
    started = 3 * 8; /* that are rerouted */
    MPI_Comm_free(&comm);
}

static void freed(void)
{
    for (int round = 0; round < 80; round++) {
        MPI_Comm comm = make_comm();
        MPI_Request request = make_sum(comm, in[0], out[0]);

        run_sum(&request, in[0], out[0], round);
        if (round % 2) {
            memset(out[0], 0, sizeof out[0]);
            MPI_Start(&request);
            started++;
        }
        MPI_Comm_free(&comm);
        if (round % 2) {
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            if (out[0][COUNT - 1] != world_size * round + world_size * (world_size - 1) / 2)
                fail("a call whose communicator was freed gives %d", out[0][COUNT - 1]);
        }
        run_sum(&request, in[0], out[0], round + 1);
        MPI_Request_free(&request);
    }
}

/* MPI_Finalize is in main. */
static void finalize(void)
{
    MPI_Comm comm = make_comm();
    MPI_Request lives = make_sum(comm, in[0], out[0]), active = make_sum(comm, in[1], out[1]);
    MPI_Request world = make_sum(MPI_COMM_WORLD, in[2], out[2]);

    run_sum(&lives, in[0], out[0], 1);
    run_sum(&world, in[2], out[2], 2);
    MPI_Start(&active);
    started++;
    MPI_Request_free(&active);
}

static void on_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    handled++;
}

/* handler: the communicator's; it counts if `counts`, else errors return. */
static void fail_in_calls(MPI_Errhandler handler, int counts)
{
    MPI_Comm comm = make_comm();
    int wrong = world_rank == world_size - 1, class = MPI_SUCCESS;
    MPI_Request request;

    MPI_Comm_set_errhandler(comm, handler);
    /* That rank sends less than all receive. */
    MPI_Allgather_init(in[0], COUNT / 10 - wrong, MPI_INT, out[0], COUNT / 10, MPI_INT, comm,
                       MPI_INFO_NULL, &request);
    for (int round = 0; round < 3 && request != MPI_REQUEST_NULL; round++) {
        handled = 0;
        MPI_Start(&request);
        started++;
        int rc = MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Error_class(rc, &class);
        /* MPICH returns no code behind a handler. Open MPI 4 frees the request. */
        if (handled != counts || (class != MPI_ERR_TRUNCATE && !(counts && class == MPI_SUCCESS)))
            fail("round %d: a wait for a call without a rank's data returns %d, and calls the "
                 "handler %d times",
                 round, rc, handled);
    }
    if (request != MPI_REQUEST_NULL)
        MPI_Request_free(&request);
    MPI_Comm_free(&comm);
}

static void error(void)
{
    MPI_Errhandler handler;

    MPI_Comm_create_errhandler(on_error, &handler);
    fail_in_calls(handler, 1);
    fail_in_calls(MPI_ERRORS_RETURN, 0);
    fail_in_calls(handler, 1);
    MPI_Errhandler_free(&handler);
}

static void cancel(void)
{
    MPI_Comm comm = make_comm();
    MPI_Request request = make_sum(comm, in[0], out[0]);
    MPI_Errhandler handler;

    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Errhandler_free(&handler);
    MPI_Start(&request);
    started++;
    if (MPI_Cancel(&request) == MPI_SUCCESS || handled != 1)
        fail("MPI_Cancel of a collective is no error, or the handler was called %d times", handled);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    run_sum(&request, in[0], out[0], 5);
    MPI_Request_free(&request);
    MPI_Comm_free(&comm);
}

struct worker {
    pthread_t id;
    int number;
    MPI_Comm comm;
};

static void *work(void *argument)
{
    struct worker *w = argument;
    MPI_Request request = make_sum(w->comm, in[w->number], out[w->number]);

    for (int round = 0; round < ROUNDS; round++)
        run_sum(&request, in[w->number], out[w->number], round + w->number);
    MPI_Request_free(&request);
    return NULL;
}

static void threads(void)
{
    struct worker worker[THREADS];

    for (int i = 0; i < THREADS; i++)
        worker[i] = (struct worker){.number = i, .comm = make_comm()};
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&worker[i].id, NULL, work, &worker[i]))
            abort();
    for (int i = 0; i < THREADS; i++) {
        pthread_join(worker[i].id, NULL);
        MPI_Comm_free(&worker[i].comm);
    }
}

/* Calls of malloc and its kin by an object whose name has that in it. */
static const char *const counted = "libcollshim";
static long allocations;
static int counting;
static long failing; /* the number of the one that fails; 0: none */

/* Returns 1 if it is to fail. */
static int note(const void *caller)
{
    Dl_info info;
    int fails = 0;

    if (!counting)
        return 0;
    counting = 0;
    if (dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, counted))
        fails = ++allocations == failing;
    counting = 1;
    return fails;
}

#define EXPORT __attribute__((visibility("default")))
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);

EXPORT void *malloc(size_t n)
{
    return note(__builtin_return_address(0)) ? NULL : __libc_malloc(n);
}

EXPORT void *calloc(size_t n, size_t each)
{
    return note(__builtin_return_address(0)) ? NULL : __libc_calloc(n, each);
}

EXPORT void *realloc(void *p, size_t n)
{
    return note(__builtin_return_address(0)) ? NULL : __libc_realloc(p, n);
}

static void memory(void)
{
    MPI_Comm comm = make_comm();
    MPI_Request request = make_sum(comm, in[0], out[0]);
    MPI_Datatype gaps;
    MPI_Request packed;

    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &gaps);
    MPI_Type_commit(&gaps);
    MPI_Bcast_init(in[1], COUNT / 2, gaps, 0, comm, MPI_INFO_NULL, &packed);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request both[2] = {request, packed};
        MPI_Status status[2];

        counting = 1;
        MPI_Startall(2, both);
        MPI_Waitall(2, both, status);
        counting = 0;
        request = both[0];
        packed = both[1];
        started += 2;
    }
    /* Messages that come early from a peer are noted in a list that grows once. */
    if (allocations > 2 * (world_size - 1))
        fail("%ld allocations in %d rounds", allocations, ROUNDS);
    MPI_Type_free(&gaps);
    MPI_Request_free(&request);
    MPI_Request_free(&packed);
    MPI_Comm_free(&comm);
}

/* Blocks of unequal sizes, which must be kept; the same from each rank to the others. */
static const int counts[3] = {COUNT / 4, COUNT / 8, COUNT / 2};
static const int displs[3] = {0, COUNT / 4, COUNT / 4 + COUNT / 8};
enum { ALLGATHERV, GATHERV, ALLTOALLV, UNEQUAL };

static MPI_Request make_unequal(int what, MPI_Comm comm)
{
    static const int same[3] = {COUNT / 8, COUNT / 8, COUNT / 8};
    int mine = counts[world_rank];
    MPI_Request request;

    if (what == ALLGATHERV)
        MPI_Allgatherv_init(in[0], mine, MPI_INT, out[0], counts, displs, MPI_INT, comm,
                            MPI_INFO_NULL, &request);
    else if (what == GATHERV)
        MPI_Gatherv_init(in[0], mine, MPI_INT, out[0], counts, displs, MPI_INT, 0, comm,
                         MPI_INFO_NULL, &request);
    else
        MPI_Alltoallv_init(in[0], same, displs, MPI_INT, out[0], same, displs, MPI_INT, comm,
                           MPI_INFO_NULL, &request);
    return request;
}

/* Each rank sends its number everywhere. */
static void run_unequal(MPI_Request *request, int receives, int round)
{
    memset(out[0], 0, sizeof out[0]);
    MPI_Start(request);
    MPI_Wait(request, MPI_STATUS_IGNORE);
    for (int r = 0; receives && r < world_size; r++)
        if (out[0][displs[r]] != r + 1 || out[0][displs[r] + COUNT / 8 - 1] != r + 1)
            fail("round %d: rank %d's block is wrong", round, r);
}

/* On the last rank, one allocation after the other fails. */
static void lack_for(int what)
{
    MPI_Comm comm = make_comm();
    MPI_Request request = make_unequal(what, comm); /* makes the channel */
    int more = 1;

    MPI_Request_free(&request);
    for (int round = 1; more; round++) {
        allocations = 0;
        failing = world_rank == world_size - 1 ? round : 0;
        counting = 1;
        request = make_unequal(what, comm);
        counting = 0;
        more = failing && allocations >= failing;
        MPI_Bcast(&more, 1, MPI_INT, world_size - 1, comm);
        run_unequal(&request, what != GATHERV || !world_rank, round);
        MPI_Request_free(&request);
    }
    MPI_Comm_free(&comm);
}

static void lack(void)
{
    for (int i = 0; i < COUNT; i++)
        in[0][i] = world_rank + 1;
    for (int what = 0; what < UNEQUAL; what++)
        lack_for(what);
}

/* One rank's blocks to send have types of their own, with gaps. */
static void types(void)
{
    MPI_Comm comm = make_comm();
    MPI_Datatype gap[2], other[8], to_send[3], to_receive[3] = {MPI_INT, MPI_INT, MPI_INT};
    int many[3] = {10, 10, 10}, from[3], to[3];
    MPI_Request request;

    for (int i = 0; i < 2; i++) {
        MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)(2 + i) * (MPI_Aint)sizeof(int), &gap[i]);
        MPI_Type_commit(&gap[i]);
    }
    for (int r = 0; r < world_size; r++) {
        int step = world_rank ? 1 : 2 + r % 2;

        to_send[r] = world_rank ? MPI_INT : gap[r % 2];
        from[r] = r * 100 * (int)sizeof(int);
        to[r] = r * 10 * (int)sizeof(int);
        for (int i = 0; i < 10; i++)
            in[0][r * 100 + i * step] = world_rank * 1000 + r * 100 + i;
    }
    MPI_Alltoallw_init(in[0], many, from, to_send, out[0], many, to, to_receive, comm,
                       MPI_INFO_NULL, &request);
    for (int i = 0; i < 2; i++)
        MPI_Type_free(&gap[i]);
    for (int i = 0; i < 8; i++) { /* in the places of those */
        MPI_Type_create_resized(MPI_INT, 0, 7 * (MPI_Aint)sizeof(int), &other[i]);
        MPI_Type_commit(&other[i]);
    }
    for (int round = 0; round < 2; round++) {
        started++;
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int i = 0; i < 10 * world_size; i++)
            if (out[0][i] != i / 10 * 1000 + world_rank * 100 + i % 10)
                fail("round %d: element %d is %d", round, i, out[0][i]);
        memset(out[0], 0, sizeof out[0]);
    }
    MPI_Request_free(&request);
    for (int i = 0; i < 8; i++)
        MPI_Type_free(&other[i]);
    MPI_Comm_free(&comm);
}

static void null(void)
{
    MPI_Comm comm = make_comm();

    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int round = 0; round < 3; round++) {
        if (MPI_Allreduce_init(in[0], out[0], COUNT, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, NULL) ==
                MPI_SUCCESS ||
            MPI_Allgatherv_init(in[0], counts[world_rank], MPI_INT, out[0], counts, displs, MPI_INT,
                                comm, MPI_INFO_NULL, NULL) == MPI_SUCCESS)
            fail("round %d: no place for the request is no error", round);
    }
    MPI_Comm_free(&comm);
}

static const struct {
    const char *name;
    void (*run)(void);
} rows[] = {{"many", many},     {"freed", freed},   {"finalize", finalize}, {"error", error},
            {"cancel", cancel}, {"memory", memory}, {"threads", threads},   {"short", lack},
            {"null", null},     {"types", types}};

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int wanted = !strcmp(what, "threads") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, provided;
    int found = 0, code;
    long all;

    MPI_Init_thread(&argc, &argv, wanted, &provided);
    test_began("persistent_edges", 0, NULL);
    if (!persistent_calls() || provided < wanted) {
        if (!world_rank)
            printf("%s\n", provided < wanted ? "the library does not provide the thread level"
                                             : "this mpi.h has no persistent collectives");
        MPI_Finalize();
        return EXIT_SKIP;
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, what) == 0) {
            rows[i].run();
            found = 1;
        }
    if (!found)
        fail("there is no '%s'", what);
    MPI_Reduce(&started, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!world_rank)
        printf("persistent_edges: to start: nonblocking=%ld\n", all);
    code = test_ended();
    MPI_Finalize();
    return code;
}
