/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_THREAD_MULTIPLE on communicators that share some of their ranks: overlap [SEED [CALLS]]
 *
 * Each thread has a communicator with other members than the others', makes calls of every
 * collective on it without waiting for any other thread, and now and then replaces it by a
 * duplicate. Exit code 77: the library does not provide the level.
 */
#include <pthread.h>

#include "test/mpi/harness.h"

enum { THREADS = 4, MOST_RANKS = 16, MOST = 600, STRIDE = MOST + 1, AGAIN = 8, ANY = -1 };

enum what {
    ALLGATHER,
    ALLGATHERV,
    ALLREDUCE,
    REDUCE,
    REDUCE_SCATTER_BLOCK,
    BCAST,
    GATHER,
    GATHERV,
    SCATTER,
    SCATTERV,
    ALLTOALL,
    ALLTOALLV,
    WHATS
};

/* A rank's bytes to send and receive: one block or one for each rank; of a root, or of all. */
static const struct {
    const char *name;
    int gives_each, gets_each, from_root, to_root, sums, vector;
} kinds[WHATS] = {
    [ALLGATHER] = {"allgather", 0, 1, 0, 0, 0, 0},
    [ALLGATHERV] = {"allgatherv", 0, 1, 0, 0, 0, 1},
    [ALLREDUCE] = {"allreduce", 0, 0, 0, 0, 1, 0},
    [REDUCE] = {"reduce", 0, 0, 0, 1, 1, 0},
    [REDUCE_SCATTER_BLOCK] = {"reduce_scatter_block", 1, 0, 0, 0, 1, 0},
    [BCAST] = {"bcast", 0, 0, 1, 0, 0, 0},
    [GATHER] = {"gather", 0, 1, 0, 1, 0, 0},
    [GATHERV] = {"gatherv", 0, 1, 0, 1, 0, 1},
    [SCATTER] = {"scatter", 1, 0, 1, 0, 0, 0},
    [SCATTERV] = {"scatterv", 1, 0, 1, 0, 0, 1},
    [ALLTOALL] = {"alltoall", 1, 1, 0, 0, 0, 0},
    [ALLTOALLV] = {"alltoallv", 1, 1, 0, 0, 0, 1},
};

static int calls = 60;
static long expected[WHATS];

struct thread {
    int number, rank, size;
    MPI_Comm comm;
    pthread_t id;
};

struct call {
    enum what what;
    uint64_t key;
    int n, root, rank, size;
    int count[MOST_RANKS], displ[MOST_RANKS];
    int in[MOST_RANKS * STRIDE], out[MOST_RANKS * STRIDE];
};

static int value(const struct call *c, int from, int to, int i)
{
    return (int)(mix(c->key + (uint64_t)((from * MOST_RANKS + to + 1) * MOST + i)) % 1000000);
}

/* Blocks lie side by side, or, where counts and displacements are named, apart. */
static int place(const struct call *c, int block)
{
    return kinds[c->what].vector ? c->displ[block] : block * c->n;
}

static int length(const struct call *c, int block)
{
    return kinds[c->what].vector ? c->count[block] : c->n;
}

static void fill(struct call *c)
{
    int each = kinds[c->what].gives_each;

    memset(c->out, 0xff, sizeof c->out);
    for (int block = 0; block < (each ? c->size : 1); block++)
        for (int i = 0; i < c->n; i++)
            c->in[(each ? place(c, block) : 0) + i] = value(c, c->rank, each ? block : ANY, i);
}

static int wanted(const struct call *c, int block, int i)
{
    int to = kinds[c->what].gives_each ? c->rank : ANY, sum = 0;

    if (kinds[c->what].from_root)
        return value(c, c->root, to, i);
    if (!kinds[c->what].sums)
        return value(c, block, to, i);
    for (int r = 0; r < c->size; r++)
        sum += value(c, r, to, i);
    return sum;
}

static void check(const struct call *c, int thread)
{
    int each = kinds[c->what].gets_each;
    const int *got = c->what == BCAST ? c->in : c->out;

    if (kinds[c->what].to_root && c->rank != c->root)
        return;
    for (int block = 0; block < (each ? c->size : 1); block++) {
        int n = length(c, each ? block : c->rank), at = each ? place(c, block) : 0;

        for (int i = 0; i < n; i++)
            if (got[at + i] != wanted(c, block, i)) {
                fail("thread %d, %s of %d: element %d of block %d is %d, expected %d", thread,
                     kinds[c->what].name, c->n, i, block, got[at + i], wanted(c, block, i));
                return;
            }
    }
}

static void make(struct call *c, MPI_Comm comm)
{
    int n = c->n, mine = c->count[c->rank];

    switch (c->what) {
    case ALLGATHER:
        MPI_Allgather(c->in, n, MPI_INT, c->out, n, MPI_INT, comm);
        break;
    case ALLGATHERV:
        MPI_Allgatherv(c->in, mine, MPI_INT, c->out, c->count, c->displ, MPI_INT, comm);
        break;
    case ALLREDUCE:
        MPI_Allreduce(c->in, c->out, n, MPI_INT, MPI_SUM, comm);
        break;
    case REDUCE:
        MPI_Reduce(c->in, c->out, n, MPI_INT, MPI_SUM, c->root, comm);
        break;
    case REDUCE_SCATTER_BLOCK:
        MPI_Reduce_scatter_block(c->in, c->out, n, MPI_INT, MPI_SUM, comm);
        break;
    case BCAST:
        MPI_Bcast(c->in, n, MPI_INT, c->root, comm);
        break;
    case GATHER:
        MPI_Gather(c->in, n, MPI_INT, c->out, n, MPI_INT, c->root, comm);
        break;
    case GATHERV:
        MPI_Gatherv(c->in, mine, MPI_INT, c->out, c->count, c->displ, MPI_INT, c->root, comm);
        break;
    case SCATTER:
        MPI_Scatter(c->in, n, MPI_INT, c->out, n, MPI_INT, c->root, comm);
        break;
    case SCATTERV:
        MPI_Scatterv(c->in, c->count, c->displ, MPI_INT, c->out, mine, MPI_INT, c->root, comm);
        break;
    case ALLTOALL:
        MPI_Alltoall(c->in, n, MPI_INT, c->out, n, MPI_INT, comm);
        break;
    default:
        MPI_Alltoallv(c->in, c->count, c->displ, MPI_INT, c->out, c->count, c->displ, MPI_INT,
                      comm);
    }
}

static void one_call(struct call *c, const struct thread *t, int number)
{
    struct draw d = draw_from((uint64_t)t->number + 1, (uint64_t)number); /* equal on all ranks */
    int ragged;

    c->what = (enum what)draw_below(&d, WHATS);
    c->n = 1 + draw_below(&d, draw_below(&d, 3) ? 20 : MOST);
    c->root = draw_below(&d, t->size);
    c->key = (uint64_t)draw_below(&d, 1 << 30) << 20;
    c->rank = t->rank;
    c->size = t->size;
    ragged = c->what != ALLTOALLV; /* there, what goes to a rank and comes from it would differ */
    for (int r = 0; r < c->size; r++) {
        c->count[r] = ragged ? c->n - r % 2 : c->n;
        c->displ[r] = r * STRIDE;
    }
    fill(c);
    make(c, t->comm);
    check(c, t->number);
    if (c->size > 1 && (c->n > 1 || !kinds[c->what].vector))
        __atomic_add_fetch(&expected[c->what], 1, __ATOMIC_RELAXED);
}

static void *run(void *argument)
{
    struct thread *t = argument;
    struct call *c = malloc(sizeof *c);

    if (!c)
        abort();
    for (int i = 0; i < calls; i++) {
        one_call(c, t, i);
        if (i % AGAIN == AGAIN - 1) {
            MPI_Comm fresh;

            MPI_Comm_dup(t->comm, &fresh);
            MPI_Comm_free(&t->comm);
            t->comm = fresh;
        }
    }
    free(c);
    return NULL;
}

/* All ranks; all but the last; all but the first; those of even and of odd number. */
static void make_communicators(struct thread *thread)
{
    int color[THREADS] = {0, world_rank == world_size - 1, world_rank == 0, world_rank % 2};

    for (int i = 0; i < THREADS; i++) {
        thread[i].number = i;
        MPI_Comm_split(MPI_COMM_WORLD, color[i], i % 2 ? -world_rank : world_rank, &thread[i].comm);
        MPI_Comm_rank(thread[i].comm, &thread[i].rank);
        MPI_Comm_size(thread[i].comm, &thread[i].size);
    }
}

/* Calls that can be rerouted, of all ranks; the harness makes two more of bcast and of reduce. */
static void say_expected(void)
{
    long all[WHATS];

    MPI_Reduce(expected, all, WHATS, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (world_rank)
        return;
    printf("overlap: to reroute:");
    for (int i = 0; i < WHATS; i++)
        printf(" %s=%ld", kinds[i].name, all[i]);
    printf("\n");
}

int main(int argc, char **argv)
{
    struct thread thread[THREADS];
    int provided, code;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    test_began("overlap", argc, argv);
    calls = argc > 2 ? atoi(argv[2]) : calls;
    if (provided < MPI_THREAD_MULTIPLE || world_size > MOST_RANKS) {
        if (!world_rank)
            printf("overlap: the library provides thread level %d only\n", provided);
        MPI_Finalize();
        return EXIT_SKIP;
    }
    make_communicators(thread);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i].id, NULL, run, &thread[i]))
            abort();
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i].id, NULL);
        MPI_Comm_free(&thread[i].comm);
    }
    say_expected();
    code = test_ended();
    MPI_Finalize();
    return code;
}
