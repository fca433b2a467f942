/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The resources that a long job keeps: soak [SEED [CALLS [COMMUNICATORS]]]
 *
 * CALLS random collectives, blocking and nonblocking, on the same communicators; then COMMUNICATORS
 * more of those, duplicated or split, each with a few calls and freed. Results are checked. At
 * MARKS points of each part, rank 0 prints the most that any rank keeps: KiB that malloc has handed
 * out, KiB of memory of its own, mappings, descriptors, threads. soak.sh judges the table.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <malloc.h>

#include "test/mpi/random_call.h"

enum { COMMS = 4, SMALL = 200, LARGE = 4000, AT_ONCE = 4, MARKS = 8 };
enum { HEAP, MEMORY, MAPPINGS, DESCRIPTORS, THREADS, KEPT };

static struct place places[COMMS];

#define FUNCTION static void make(struct call *c)
#define CALL(Name, name, ...) MPI_##Name(__VA_ARGS__)
#define COUNT int
#define BLOCKS narrow
#include "test/mpi/make_call.h"

#undef FUNCTION
#undef CALL
#undef COUNT
#undef BLOCKS
#define FUNCTION static void start(struct call *c, MPI_Request *request)
#define CALL(Name, name, ...) MPI_I##name(__VA_ARGS__, request)
#define COUNT int
#define BLOCKS narrow
#include "test/mpi/make_call.h"

/* A number of /proc/self/status, behind that word. */
static long own_status(const char *word)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    long n = 0;

    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, word, strlen(word)))
            n = atol(line + strlen(word));
    if (f)
        fclose(f);
    return n;
}

static long mappings(void)
{
    FILE *f = fopen("/proc/self/maps", "r");
    long n = 0;

    for (int c; f && (c = getc(f)) != EOF;)
        n += c == '\n';
    if (f)
        fclose(f);
    return n;
}

static long descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    long n = -3; /* `.`, `..` and d's own */

    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

/* A row of the table; collective. */
static void mark(const char *part, long done)
{
    struct mallinfo2 heap = mallinfo2();
    long mine[KEPT] = {[HEAP] = (long)((heap.uordblks + heap.hblkhd) / 1024),
                       [MEMORY] = own_status("RssAnon:"),
                       [MAPPINGS] = mappings(),
                       [DESCRIPTORS] = descriptors(),
                       [THREADS] = own_status("Threads:")};
    long most[KEPT];

    MPI_Reduce(mine, most, KEPT, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    if (!world_rank)
        printf("%-14s %9ld %10ld %10ld %9ld %12ld %8ld\n", part, done, most[HEAP], most[MEMORY],
               most[MAPPINGS], most[DESCRIPTORS], most[THREADS]);
    fflush(stdout);
}

/* A blocking call, or a few nonblocking ones at once. Returns how many. */
static int some_calls(long number, const struct place *at, int n)
{
    struct draw d = draw_from(7, (uint64_t)number); /* equal on all ranks */
    int started = draw_below(&d, 4) ? 0 : 1 + draw_below(&d, AT_ONCE);
    struct call call[AT_ONCE];
    MPI_Request request[AT_ONCE];
    MPI_Status status[AT_ONCE];

    for (int i = 0; i < (started ? started : 1); i++) {
        call_draw(&call[i], at, n, draw_below(&d, 12) ? SMALL : LARGE, &d);
        /* MPICH 4.0.2 crashes in MPI_Reduce of more than 2 KiB in place at another root than 0. */
        call[i].in_place &= call[i].what != REDUCE || !call[i].root;
        call[i].key = (uint64_t)draw_below(&d, 1 << 30) << 24;
        call_fill(&call[i]);
        if (started)
            start(&call[i], &request[i]);
        else
            make(&call[i]);
    }
    if (started)
        MPI_Waitall(started, request, status);
    for (int i = 0; i < (started ? started : 1); i++) {
        call_check(&call[i], started ? "nonblocking" : "blocking");
        call_free_types(&call[i]);
        call_free(&call[i]);
    }
    return started ? started : 1;
}

static void one_communicator(long number)
{
    struct draw d = draw_from(11, (uint64_t)number);
    struct place p;

    if (draw_below(&d, 2))
        MPI_Comm_dup(MPI_COMM_WORLD, &p.comm);
    else
        MPI_Comm_split(MPI_COMM_WORLD, world_rank % (1 + draw_below(&d, 2)), -world_rank, &p.comm);
    place_measure(&p);
    for (int calls = draw_below(&d, 4); calls > 0; calls--)
        some_calls(number * 4 + calls, &p, 1);
    MPI_Comm_free(&p.comm);
}

int main(int argc, char **argv)
{
    long calls = argc > 2 ? atol(argv[2]) : 2000, comms = argc > 3 ? atol(argv[3]) : 200;

    MPI_Init(&argc, &argv);
    test_began("soak", argc, argv);
    if (world_size > MOST_RANKS)
        MPI_Abort(MPI_COMM_WORLD, 2);
    places_make(places, COMMS);
    for (long done = 0, marks = 0, number = 0; marks < MARKS && !failures; marks++) {
        while (done < calls * (marks + 1) / MARKS)
            done += some_calls(number++, places, COMMS);
        mark("calls", done);
    }
    for (long done = 0, marks = 0; marks < MARKS && !failures; marks++) {
        while (done < comms * (marks + 1) / MARKS)
            one_communicator(1L << 40 | done++);
        mark("communicators", done);
    }
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_free(&places[i].comm);
    int code = test_ended();
    MPI_Finalize();
    return code;
}
