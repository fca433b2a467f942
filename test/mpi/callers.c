/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * callers [SEED [HOW]]: collectives from several places of the program, which a report tells apart.
 * No place is inlined or ends in a tail call.
 *
 * HOW: cost     prints what one small call takes: from one place, and from places that are new
 *      many     calls from 5,000 places, most of them made at run time
 *      full     ends with as many communicators as the library has, 3,000 at most
 *      last     the last rank alone calls from one more place, seven times
 *      signal   also from a signal handler on a stack of its own
 *      forever  makes calls until it is killed
 */
#define _GNU_SOURCE
#include "test/mpi/harness.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#define PLACE __attribute__((noinline, noclone))

enum { BIG = 1 << 15, CALLS = 40, COST = 4000 };

static double in[BIG], out[BIG];

PLACE int often_small(void)
{
    int rc = MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);

    out[1] = 1;
    return rc;
}

PLACE int often_large(void)
{
    int rc = MPI_Allreduce(in, out, BIG, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);

    out[1] += 1;
    return rc;
}

PLACE int once_broadcast(void)
{
    int rc = MPI_Bcast(out, BIG, MPI_DOUBLE, 0, MPI_COMM_WORLD);

    out[1] += 1;
    return rc;
}

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#if defined(__x86_64__)
typedef int allreduce(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);

/* push %rbp; movabs $FRAME,%rbp; movabs $MPI_Allreduce,%rax; call *%rax; pop %rbp; ret. No unwind
   information, and the frame pointer is no such thing. */
static const unsigned char code[] = {0x55, 0x48, 0xbd, 0, 0, 0, 0, 0, 0,    0,    0,    0x48, 0xb8,
                                     0,    0,    0,    0, 0, 0, 0, 0, 0xff, 0xd0, 0x5d, 0xc3};
enum { FRAME_AT = 3, FUNCTION_AT = 13, STRIDE = 32, PLACES = 5000 };

static char *make_places(void)
{
    allreduce *f = MPI_Allreduce;
    char *at = mmap(NULL, PLACES * STRIDE, PROT_READ | PROT_WRITE | PROT_EXEC,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const uintptr_t frames[] = {0,
                                1,
                                (uintptr_t)0xdeadbeef00000008,
                                (uintptr_t)in,
                                (uintptr_t)at + PLACES * STRIDE - 8,
                                (uintptr_t)&f + 3};

    if (at == MAP_FAILED)
        return NULL;
    for (int i = 0; i < PLACES; i++) {
        memcpy(at + i * STRIDE, code, sizeof code);
        memcpy(at + i * STRIDE + FRAME_AT, &frames[i % 6], sizeof *frames);
        memcpy(at + i * STRIDE + FUNCTION_AT, &f, sizeof f);
    }
    return at;
}

static int call_place(char *at)
{
    allreduce *f;

    memcpy(&f, &at, sizeof f);
    return f(in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
}

static void many(void)
{
    char *at = make_places();

    for (int i = 0; at && i < PLACES; i++)
        if (call_place(at + i * STRIDE) != MPI_SUCCESS)
            fail("place %d", i);
}
#else
static void many(void)
{
}
#endif

static void on_signal(int s)
{
    (void)s;
    often_small();
}

static void in_handler(void)
{
    static char room[1 << 18];
    stack_t stack = {.ss_sp = room, .ss_size = sizeof room};
    struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};

    if (sigaltstack(&stack, NULL) || sigaction(SIGUSR1, &a, NULL) || raise(SIGUSR1))
        fail("no signal");
}

/* Each line is a place. */
#define NEW MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
#define NEW_8 NEW NEW NEW NEW NEW NEW NEW NEW
PLACE static void new_places(void)
{
    NEW_8 NEW_8 NEW_8 NEW_8 NEW_8 NEW_8 NEW_8 NEW_8
}

/* From one rank to itself: no other rank's time is in it. */
static void cost(void)
{
    double start, again = 1, first;

    NEW;
    start = seconds();
    new_places();
    first = seconds() - start;
    for (int i = 0; i < COST; i++) { /* the fastest round: others use the processors too */
        start = seconds();
        new_places();
        double took = seconds() - start;
        again = took < again ? took : again;
    }
    if (!world_rank)
        printf("cost: known %.1f ns, new %.2f us\n", again / 64 * 1e9, (first - again) / 64 * 1e6);
}

/* A tool that makes another one would fail, and the job with it. */
static void take_all(void)
{
    MPI_Errhandler handler;
    MPI_Comm comm;
    int n = 0;

    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    while (n < 3000 && MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS)
        n++;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Errhandler_free(&handler);
}

int main(int argc, char **argv)
{
    const char *how = argc > 2 ? argv[2] : "";

    MPI_Init(&argc, &argv);
    test_began("callers", argc, argv);
    do {
        for (int i = 0; i < CALLS; i++) {
            in[0] = i + world_rank;
            often_small();
            if (out[0] != i * world_size + world_size * (world_size - 1) / 2.0)
                fail("call %d: %g", i, out[0]);
            often_large();
        }
        once_broadcast();
    } while (!strcmp(how, "forever"));
    if (!strcmp(how, "many"))
        many();
    if (!strcmp(how, "full"))
        take_all();
    if (!strcmp(how, "last") && world_rank == world_size - 1)
        for (int i = 0; i < 7; i++)
            NEW;
    if (!strcmp(how, "signal"))
        in_handler();
    if (!strcmp(how, "cost"))
        cost();
    int code_ = test_ended();
    MPI_Finalize();
    return code_;
}
