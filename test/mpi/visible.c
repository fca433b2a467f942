/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state that a program may see of its own process: visible [SEED [LOOPS]]
 *
 * Communicators come and go, each with large calls. Descriptors, threads, child processes and
 * mappings do not grow with them. Signal handlers, signal mask, umask, directory and environment
 * stay as they were. No message of others is there to be probed, or matches a receive of any
 * message that is open all along, on MPI_COMM_WORLD and on a communicator of the program's.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/mpi/sums.h"

extern char **environ;

enum { N = 40000, LOOPS = 24, MAPPINGS_BESIDE = 12 };

struct seen {
    int descriptors, threads, mappings;
    int mask; /* umask */
    sigset_t blocked;
    void *handler[65];
    char directory[4096];
    uint64_t environment;
};

static int entries(const char *path)
{
    DIR *d = opendir(path);
    int n = 0;

    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

static int lines(const char *path)
{
    FILE *f = fopen(path, "r");
    int n = 0, c;

    while (f && (c = fgetc(f)) != EOF)
        n += c == '\n';
    if (f)
        fclose(f);
    return n;
}

static void count(struct seen *s)
{
    s->descriptors = entries("/proc/self/fd");
    s->threads = entries("/proc/self/task");
    s->mappings = lines("/proc/self/maps");
}

static void look(struct seen *s)
{
    struct sigaction action;

    memset(s, 0, sizeof *s);
    count(s);
    s->mask = (int)umask(0);
    umask((mode_t)s->mask);
    sigprocmask(SIG_BLOCK, NULL, &s->blocked);
    for (int i = 1; i < 65; i++)
        if (!sigaction(i, NULL, &action))
            memcpy(&s->handler[i], &action.sa_handler, sizeof s->handler[i]);
    if (!getcwd(s->directory, sizeof s->directory))
        fail("no directory");
    for (char **e = environ; *e; e++)
        for (const char *c = *e; *c; c++)
            s->environment = mix(s->environment ^ (unsigned char)*c);
}

static void compare(const struct seen *then, const struct seen *now)
{
    if (now->descriptors > then->descriptors)
        fail("%d descriptors, %d before", now->descriptors, then->descriptors);
    if (now->threads > then->threads)
        fail("%d threads, %d before", now->threads, then->threads);
    if (now->mappings > then->mappings + MAPPINGS_BESIDE)
        fail("%d mappings, %d before", now->mappings, then->mappings);
    if (now->mask != then->mask)
        fail("umask %o, %o before", (unsigned)now->mask, (unsigned)then->mask);
    if (memcmp(&now->blocked, &then->blocked, sizeof now->blocked))
        fail("other signals are blocked");
    for (int i = 1; i < 65; i++)
        if (now->handler[i] != then->handler[i])
            fail("signal %d has another handler", i);
    if (strcmp(now->directory, then->directory))
        fail("the directory is %s, %s before", now->directory, then->directory);
    if (now->environment != then->environment)
        fail("the environment is another one");
    if (waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD)
        fail("there are child processes");
}

/* Blocking and started calls. */
static void call_some(MPI_Comm comm, int number)
{
    static int in[N], out[N];
    MPI_Request request;
    int size;

    MPI_Comm_size(comm, &size);
    for (int i = 0; i < 3; i++)
        sums_call(comm, N, number + i);
    MPI_Bcast(in, N, MPI_INT, 0, comm);
    in[0] = number;
    MPI_Iallreduce(in, out, N, MPI_INT, MPI_SUM, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (out[0] != size * number)
        fail("call %d: %d instead of %d", number, out[0], size * number);
    in[0] = 0;
}

static void cycle(int number)
{
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    call_some(comm, number);
    call_some(MPI_COMM_WORLD, number);
    MPI_Comm_free(&comm);
}

static void probe(MPI_Comm comm)
{
    int found;

    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &found, MPI_STATUS_IGNORE);
    if (found)
        fail("a message of others");
}

int main(int argc, char **argv)
{
    struct seen before, after;
    int mark[2] = {0, 0}, loops = argc > 2 ? atoi(argv[2]) : LOOPS;
    MPI_Comm own[2] = {MPI_COMM_WORLD};
    MPI_Request open[2];

    MPI_Init(&argc, &argv);
    test_began("visible", argc, argv);
    look(&before);
    probe(MPI_COMM_WORLD);
    MPI_Comm_dup(MPI_COMM_WORLD, &own[1]);
    for (int i = 0; i < 2; i++)
        MPI_Irecv(&mark[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, own[i], &open[i]);
    for (int i = 0; i < 3; i++) { /* connections are made, and state that stays */
        cycle(i);
        call_some(own[1], i);
    }
    count(&before);
    for (int i = 0; i < loops; i++)
        cycle(i);
    call_some(own[1], loops);
    look(&after);
    compare(&before, &after);
    for (int i = 0; i < 2; i++) {
        int sent = 77 + i;

        MPI_Send(&sent, 1, MPI_INT, world_rank, 5, own[i]);
        MPI_Wait(&open[i], MPI_STATUS_IGNORE);
        if (mark[i] != sent)
            fail("an open receive got %d instead of %d", mark[i], sent);
        probe(own[i]);
    }
    MPI_Comm_free(&own[1]);
    int code = test_ended();
    MPI_Finalize();
    return code;
}
