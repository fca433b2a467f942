/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cases in which a nonblocking collective must advance: progress WHAT [BYTES [BLOCKING]]
 *
 * - waits: rank 0 completes the collective, and only then lets the others out of a blocking call of
 *   each kind, or out of a loop of MPI_Iprobe. Their part must advance in there.
 * - silent: no call of MPI between the start and the wait.
 * - opposite: two communicators, started and completed in opposite order by neighbours.
 * - many: two thousand requests at once, on one communicator.
 * - freed: the communicator is freed while its requests are active.
 * - finalize: requests are freed while active, and MPI_Finalize follows.
 * - late: calls come before the first blocking one, which is small. Those behind can be rerouted.
 * - cancel: MPI_Cancel, which is wrong, returns an error, and the call goes on.
 * - wrong: the last rank sends less than is received, which the wait tells. Without the preload,
 * and under libraries that are not rerouted, anything may happen.
 * - killed: with COLLSHIM_PPG, a helper of rank 1 is killed while calls are under way.
 * - contradict: the last rank sends less than is received, where ranks tell each other their
 * sizes; otherwise as wrong.
 * - threads: under MPI_THREAD_MULTIPLE, one thread waits for what another started. Exit code 77:
 * the library does not provide the level.
 *
 * BLOCKING: so many blocking sums of that size come before, on each communicator. A job that does
 * not end has failed.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>

#include "test/mpi/harness.h"
#include "test/mpi/own_helper.h"

enum { MANY = 2000, FEW = 6, THREADS = 3, TAG = 9 };

static int n = 50000;     /* ints in each call */
static int blocking_sums; /* on each communicator, before its first nonblocking call */
static long started;

/* A sum that runs. */
struct sum {
    MPI_Request request;
    int *in, *out, first;
};

static struct sum begin(MPI_Comm comm, int first)
{
    struct sum s = {.in = malloc(sizeof(int) * (size_t)n),
                    .out = malloc(sizeof(int) * (size_t)n),
                    .first = first};
    int rank;

    if (!s.in || !s.out)
        abort();
    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i < n; i++)
        s.in[i] = first + rank + i;
    MPI_Iallreduce(s.in, s.out, n, MPI_INT, MPI_SUM, comm, &s.request);
    __atomic_add_fetch(&started, 1, __ATOMIC_RELAXED);
    return s;
}

static void sum_blocking(MPI_Comm comm, int times)
{
    int *in = calloc((size_t)n, sizeof *in), *out = calloc((size_t)n, sizeof *out);

    for (int i = 0; in && out && i < times; i++)
        MPI_Allreduce(in, out, n, MPI_INT, MPI_SUM, comm);
    free(in);
    free(out);
}

/* The ranks meet, and then make those blocking calls that the command line asks for. */
static void meet(MPI_Comm comm)
{
    int one = 1, sum;

    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    sum_blocking(comm, blocking_sums);
}

static void check(const struct sum *s, const char *what)
{
    int ranks = world_size;

    for (int i = 0; i < n; i++)
        if (s->out[i] != ranks * (s->first + i) + ranks * (ranks - 1) / 2) {
            fail("%s: element %d is %d, expected %d", what, i, s->out[i],
                 ranks * (s->first + i) + ranks * (ranks - 1) / 2);
            break;
        }
}

static void finish(struct sum *s, const char *what)
{
    if (s->request != MPI_REQUEST_NULL)
        MPI_Wait(&s->request, MPI_STATUS_IGNORE);
    check(s, what);
    free(s->in);
    free(s->out);
}

/* ---- waits ---- */

static int token;

static void in_recv(void)
{
    MPI_Recv(&token, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void in_probe(void)
{
    MPI_Probe(0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    in_recv();
}

static void in_iprobe(void)
{
    int there = 0;

    while (!there)
        MPI_Iprobe(0, TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    in_recv();
}

static void in_sendrecv(void)
{
    int mine = 1;

    MPI_Sendrecv(&mine, 1, MPI_INT, world_rank, TAG + 1, &mine, 1, MPI_INT, world_rank, TAG + 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    in_recv();
}

static void in_wait(void)
{
    MPI_Request request;

    MPI_Irecv(&token, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void in_test(void)
{
    MPI_Request request;
    int done = 0;

    MPI_Irecv(&token, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, &request);
    while (!done)
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}

/* Rank 0 receives these late. */
static void in_ssend(void)
{
    MPI_Ssend(&token, 1, MPI_INT, 0, TAG + 2, MPI_COMM_WORLD);
}

static void in_barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static void in_bcast(void)
{
    MPI_Bcast(&token, 1, MPI_INT, 0, MPI_COMM_WORLD);
}

/* It has so many bytes that it may be rerouted itself. */
static void in_large_bcast(void)
{
    int *large = calloc((size_t)n, sizeof *large);

    if (!large)
        abort();
    MPI_Bcast(large, n, MPI_INT, 0, MPI_COMM_WORLD);
    free(large);
}

static const struct {
    const char *name;
    void (*others)(void);
    void (*root)(void); /* NULL: it sends the token */
} blocking[] = {{"MPI_Recv", in_recv, NULL},
                {"MPI_Probe", in_probe, NULL},
                {"MPI_Iprobe", in_iprobe, NULL},
                {"MPI_Sendrecv", in_sendrecv, NULL},
                {"MPI_Wait", in_wait, NULL},
                {"MPI_Test", in_test, NULL},
                {"MPI_Barrier", in_barrier, in_barrier},
                {"MPI_Bcast", in_bcast, in_bcast},
                {"MPI_Bcast of many", in_large_bcast, in_large_bcast},
                {"MPI_Ssend", in_ssend, in_ssend}};

static void let_out(int i)
{
    for (int r = 1; r < world_size; r++)
        if (blocking[i].others == in_ssend)
            MPI_Recv(&token, 1, MPI_INT, r, TAG + 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(&token, 1, MPI_INT, r, TAG, MPI_COMM_WORLD);
}

static void waits(MPI_Comm comm)
{
    for (int i = 0; i < (int)(sizeof blocking / sizeof *blocking); i++) {
        struct sum s = begin(comm, i);

        if (world_rank) {
            blocking[i].others();
        } else {
            MPI_Wait(&s.request, MPI_STATUS_IGNORE);
            if (blocking[i].root && blocking[i].others != in_ssend)
                blocking[i].root();
            else
                let_out(i);
        }
        finish(&s, blocking[i].name);
    }
}

/* ---- the others ---- */

static void silent(MPI_Comm comm)
{
    for (int i = 0; i < FEW; i++) {
        struct sum s = begin(comm, i);

        usleep(20000 * (useconds_t)(world_rank + 1));
        finish(&s, "no call in between");
    }
}

static void opposite(MPI_Comm comm)
{
    MPI_Comm other;

    MPI_Comm_dup(comm, &other);
    meet(other);
    for (int i = 0; i < FEW; i++) {
        struct sum a, b;

        if ((world_rank + i) % 2) {
            a = begin(comm, i);
            b = begin(other, 100 + i);
            finish(&a, "first of two");
            finish(&b, "second of two");
        } else {
            b = begin(other, 100 + i);
            a = begin(comm, i);
            finish(&b, "first of two");
            finish(&a, "second of two");
        }
    }
    MPI_Comm_free(&other);
}

static void many(MPI_Comm comm)
{
    struct sum *s = malloc(MANY * sizeof *s);
    MPI_Request *all = malloc(MANY * sizeof(MPI_Request));
    MPI_Status *status = malloc(MANY * sizeof *status);

    if (!s || !all || !status)
        abort();
    n = n < 100 ? n : 100;
    for (int i = 0; i < MANY; i++) {
        s[i] = begin(comm, i);
        all[i] = s[i].request;
    }
    MPI_Waitall(MANY, all, status);
    for (int i = 0; i < MANY; i++) {
        s[i].request = MPI_REQUEST_NULL;
        finish(&s[i], "one of many");
    }
    free(status);
    free(all);
    free(s);
}

static void freed(MPI_Comm comm)
{
    (void)comm;
    for (int i = 0; i < FEW; i++) {
        MPI_Comm c;
        struct sum s[2];

        MPI_Comm_dup(MPI_COMM_WORLD, &c);
        meet(c);
        s[0] = begin(c, i);
        s[1] = begin(c, i + 50);
        MPI_Comm_free(&c);
        finish(&s[1], "communicator freed");
        finish(&s[0], "communicator freed");
    }
}

static void finalize(MPI_Comm comm)
{
    for (int i = 0; i < FEW; i++) {
        struct sum s = begin(comm, i); /* its memory stays in use */

        MPI_Request_free(&s.request);
    }
}

static void killed(MPI_Comm comm)
{
    for (int i = 0; i < FEW; i++) {
        struct sum a = begin(comm, i), b = begin(comm, i + 50);

        if (i == FEW / 2 && world_rank == 1)
            kill_a_helper();
        finish(&b, "second of two, and a helper dies");
        finish(&a, "first of two, and a helper dies");
    }
    sum_blocking(comm, 2);
}

static void late(MPI_Comm comm)
{
    long before = started;
    MPI_Comm fresh;

    MPI_Comm_dup(comm, &fresh);
    for (int behind = 0; behind < 3; behind++) {
        int one = 1, sum;

        for (int i = 0; i < FEW; i++) {
            struct sum s = begin(fresh, i);

            finish(&s, behind ? "behind a blocking call" : "before any blocking call");
        }
        started = behind < 2 ? before : started;
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, fresh);
    }
    MPI_Comm_free(&fresh);
}

static void cancel(MPI_Comm comm)
{
    struct sum s = begin(comm, 1);

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (MPI_Cancel(&s.request) == MPI_SUCCESS)
        fail("MPI_Cancel of a collective succeeds");
    finish(&s, "cancelled in vain");
}

static int class_of(int code)
{
    int class = code;

    MPI_Error_class(code, &class);
    return class;
}

static void wrong(MPI_Comm comm)
{
    int last = world_rank == world_size - 1, own = last ? MPI_ERR_TRUNCATE : MPI_ERR_OTHER;
    int *in = calloc((size_t)n, sizeof *in);
    int *out = calloc((size_t)n * (size_t)world_size, sizeof *out);

    if (!in || !out)
        abort();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int i = 0; i < FEW; i++) {
        struct sum s = begin(comm, i);
        MPI_Request both[2] = {MPI_REQUEST_NULL};
        MPI_Status status[2];
        int rc = MPI_Iallgather(in, n - last, MPI_INT, out, n, MPI_INT, comm, &both[0]);

        started++;
        if (rc != MPI_SUCCESS)
            fail("the start returns the error already: class %d", class_of(rc));
        both[1] = s.request;
        if (i % 2) {
            rc = MPI_Wait(&both[0], MPI_STATUS_IGNORE);
            MPI_Wait(&both[1], MPI_STATUS_IGNORE);
        } else {
            status[0].MPI_ERROR = status[1].MPI_ERROR = MPI_SUCCESS;
            rc = MPI_Waitall(2, both, status);
            if (class_of(rc) != MPI_ERR_IN_STATUS)
                fail("MPI_Waitall returns class %d", class_of(rc));
            rc = status[0].MPI_ERROR;
            if (class_of(status[1].MPI_ERROR) == MPI_ERR_PENDING)
                status[1].MPI_ERROR = MPI_Wait(&both[1], MPI_STATUS_IGNORE);
            if (status[1].MPI_ERROR != MPI_SUCCESS)
                fail("the right call beside it has class %d", class_of(status[1].MPI_ERROR));
        }
        if (class_of(rc) != own && class_of(rc) != MPI_ERR_OTHER) /* MPICH's, of all codes */
            fail("the wait tells class %d, expected %d", class_of(rc), own);
        s.request = MPI_REQUEST_NULL;
        finish(&s, "beside a wrong call");
    }
    free(in);
    free(out);
}

/* Does the wait tell that sizes contradict each other? MPICH has one class for all codes. */
static void expect_error(int rc, const char *call)
{
    if (class_of(rc) != MPI_ERR_TRUNCATE && class_of(rc) != MPI_ERR_OTHER)
        fail("%s of sizes that contradict each other: the wait tells class %d", call, class_of(rc));
}

static void contradict(MPI_Comm comm)
{
    int last = world_size - 1, is_last = world_rank == last, each = n / world_size;
    int *count = calloc((size_t)world_size, sizeof *count);
    int *displ = calloc((size_t)world_size, sizeof *displ);
    int *in = calloc((size_t)n, sizeof *in), *out = calloc((size_t)n, sizeof *out);
    int *less = calloc((size_t)world_size, sizeof *less);

    if (!count || !displ || !in || !out || !less)
        abort();
    for (int r = 0; r < world_size; r++) {
        count[r] = each;
        less[r] = each - (is_last && !r);
        displ[r] = r * each;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int i = 0; i < FEW; i++) {
        MPI_Request gathered, exchanged;
        struct sum s;

        MPI_Igatherv(in, each - is_last, MPI_INT, out, count, displ, MPI_INT, 0, comm, &gathered);
        MPI_Ialltoallv(in, less, displ, MPI_INT, out, count, displ, MPI_INT, comm, &exchanged);
        s = begin(comm, i);
        started++; /* the Igatherv moves what it can */
        int rc = MPI_Wait(&gathered, MPI_STATUS_IGNORE);
        if (is_last || !world_rank)
            expect_error(rc, "Igatherv");
        expect_error(MPI_Wait(&exchanged, MPI_STATUS_IGNORE), "Ialltoallv");
        finish(&s, "behind sizes that contradict each other");
    }
    free(count);
    free(displ);
    free(in);
    free(out);
    free(less);
}

/* One thread starts and another waits; a third is in a blocking call meanwhile. */
struct thread_pair {
    MPI_Comm comm;
    pthread_t starter, waiter;
    pthread_mutex_t lock;
    pthread_cond_t ready;
    struct sum sum;
    int full, number;
};

static void *run_starter(void *argument)
{
    struct thread_pair *p = argument;

    for (int i = 0; i < FEW; i++) {
        struct sum s = begin(p->comm, 10 * p->number + i);

        pthread_mutex_lock(&p->lock);
        while (p->full)
            pthread_cond_wait(&p->ready, &p->lock);
        p->sum = s;
        p->full = 1;
        pthread_cond_broadcast(&p->ready);
        pthread_mutex_unlock(&p->lock);
    }
    return NULL;
}

static void *run_waiter(void *argument)
{
    struct thread_pair *p = argument;

    for (int i = 0; i < FEW; i++) {
        pthread_mutex_lock(&p->lock);
        while (!p->full)
            pthread_cond_wait(&p->ready, &p->lock);
        struct sum s = p->sum;
        p->full = 0;
        pthread_cond_broadcast(&p->ready);
        pthread_mutex_unlock(&p->lock);
        finish(&s, "started by another thread");
    }
    return NULL;
}

static void threads(MPI_Comm comm)
{
    struct thread_pair pair[THREADS];

    for (int i = 0; i < THREADS; i++) {
        pair[i] = (struct thread_pair){.number = i};
        MPI_Comm_dup(comm, &pair[i].comm);
        meet(pair[i].comm);
        pthread_mutex_init(&pair[i].lock, NULL);
        pthread_cond_init(&pair[i].ready, NULL);
    }
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&pair[i].starter, NULL, run_starter, &pair[i]) ||
            pthread_create(&pair[i].waiter, NULL, run_waiter, &pair[i]))
            abort();
    for (int i = 0; i < FEW; i++)
        MPI_Barrier(comm);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(pair[i].starter, NULL);
        pthread_join(pair[i].waiter, NULL);
        MPI_Comm_free(&pair[i].comm);
    }
}

static const struct {
    const char *name;
    void (*run)(MPI_Comm comm);
} parts[] = {
    {"waits", waits}, {"silent", silent},         {"opposite", opposite}, {"many", many},
    {"freed", freed}, {"finalize", finalize},     {"cancel", cancel},     {"late", late},
    {"wrong", wrong}, {"contradict", contradict}, {"killed", killed},     {"threads", threads}};

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int wanted = !strcmp(what, "threads") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, provided;
    int code;
    long all;
    MPI_Comm comm;

    mark_helpers();
    MPI_Init_thread(NULL, NULL, wanted, &provided);
    test_began("progress", 1, argv);
    n = argc > 2 ? atoi(argv[2]) / (int)sizeof(int) : n;
    if (provided < wanted) {
        if (!world_rank)
            printf("progress: the library provides thread level %d only\n", provided);
        MPI_Finalize();
        return EXIT_SKIP;
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    blocking_sums = argc > 3 ? atoi(argv[3]) : 0;
    meet(comm);
    int found = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strcmp(parts[i].name, what)) {
            parts[i].run(comm);
            found = 1;
        }
    if (!found)
        fail("there is no '%s'", what);
    MPI_Reduce(&started, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!world_rank)
        printf("progress: to start: nonblocking=%ld\n", all);
    code = test_ended();
    if (strcmp(what, "finalize") != 0)
        MPI_Comm_free(&comm);
    MPI_Finalize();
    return code;
}
