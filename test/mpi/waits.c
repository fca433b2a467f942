/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nonblocking collectives among requests of other kinds: waits [SEED]
 *
 * Every form of completion, over every way to mix: null requests before, behind and between,
 * persistent ones that are not active, messages. One rank is late each time, so that the others'
 * collectives are not complete when they wait.
 */
#include <unistd.h>

#include "test/mpi/harness.h"

enum { MOST = 12, N = 3000, FORMS = 9, LATE_US = 1500 };

/* A letter each: c a collective, 0 a null request, i an inactive persistent one, s a message to the
   next rank, r one from the rank before. */
static const char *const mixtures[] = {"c",   "0c",      "c0",     "0c0",  "c0c",
                                       "ic",  "ci0",     "0ici",   "srcc", "0rcs0",
                                       "ccc", "r0c0cis", "00000c", "sr0c", "i0cc0rs"};

static int sum[MOST][N], mine[MOST][N], got[MOST], sent;
static MPI_Request idle[MOST];
static long started;

static void start(char kind, int i, int number, MPI_Request *request)
{
    int next = (world_rank + 1) % world_size, before = (world_rank + world_size - 1) % world_size;

    *request = MPI_REQUEST_NULL;
    got[i] = -1;
    switch (kind) {
    case 'c':
        for (int k = 0; k < N; k++)
            mine[i][k] = number + i + world_rank + k;
        memset(sum[i], 0, sizeof sum[i]);
        MPI_Iallreduce(mine[i], sum[i], N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, request);
        started += world_size > 1;
        break;
    case 'i':
        *request = idle[i];
        break;
    case 's':
        sent = number + world_rank;
        MPI_Isend(&sent, 1, MPI_INT, next, 1, MPI_COMM_WORLD, request);
        break;
    case 'r':
        MPI_Irecv(&got[i], 1, MPI_INT, before, 1, MPI_COMM_WORLD, request);
        break;
    }
}

static void check(char kind, int i, int number, const char *how, MPI_Request request)
{
    int before = (world_rank + world_size - 1) % world_size;

    if (request != (kind == 'i' ? idle[i] : MPI_REQUEST_NULL))
        fail("%s: request %d is another one", how, i);
    if (kind == 'r' && got[i] != number + before)
        fail("%s: message %d holds %d", how, i, got[i]);
    for (int k = 0; kind == 'c' && k < N; k++)
        if (sum[i][k] != world_size * (number + i + k) + world_size * (world_size - 1) / 2) {
            fail("%s: collective %d, element %d is %d", how, i, k, sum[i][k]);
            return;
        }
}

/* Returns how many active ones it completed. */
static int complete(MPI_Request *q, int n, int active, int form)
{
    int done = 0, at, some, index[MOST], left = active;
    MPI_Status status[MOST], *volatile ignored =
                                 MPI_STATUSES_IGNORE; /* GCC takes it for a vector */

    switch (form) {
    case 0:
        MPI_Waitall(n, q, status);
        return active;
    case 1:
        MPI_Waitall(n, q, ignored);
        return active;
    case 2:
        for (; MPI_Waitany(n, q, &at, status), at != MPI_UNDEFINED; left--)
            ;
        return active - left;
    case 3:
        for (; MPI_Waitsome(n, q, &some, index, status), some != MPI_UNDEFINED; left -= some)
            ;
        return active - left;
    case 4:
        while (!done)
            MPI_Testall(n, q, &done, status);
        return active;
    case 5:
        while (MPI_Testany(n, q, &at, &done, MPI_STATUS_IGNORE), !done || at != MPI_UNDEFINED)
            left -= done;
        return active - left;
    case 6:
        while (MPI_Testsome(n, q, &some, index, ignored), some != MPI_UNDEFINED)
            left -= some;
        return active - left;
    case 7:
        for (int i = n; i-- > 0; done = 0)
            while (!done)
                MPI_Test(&q[i], &done, MPI_STATUS_IGNORE);
        return active;
    default:
        for (int i = 0; i < n; i++)
            MPI_Wait(&q[i], status);
        return active;
    }
}

static void one(const char *mixture, int form, int number)
{
    int n = (int)strlen(mixture), active = 0;
    MPI_Request q[MOST];
    char how[32];

    snprintf(how, sizeof how, "%s, form %d", mixture, form);
    if (world_rank == number % world_size)
        usleep(LATE_US);
    for (int i = 0; i < n; i++) {
        start(mixture[i], i, number, &q[i]);
        active += mixture[i] != '0' && mixture[i] != 'i';
    }
    int completed = complete(q, n, active, form);
    if (completed != active)
        fail("%s: completed %d of %d", how, completed, active);
    for (int i = 0; i < n; i++)
        check(mixture[i], i, number, how, q[i]);
}

int main(int argc, char **argv)
{
    int number = 0, word;
    long all;

    MPI_Init(&argc, &argv);
    test_began("waits", argc, argv);
    for (int i = 0; i < MOST; i++)
        MPI_Recv_init(&word, 1, MPI_INT, world_rank, 2, MPI_COMM_WORLD, &idle[i]);
    MPI_Allreduce(&world_rank, &word, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* the ranks meet */
    for (int form = 0; form < FORMS; form++)
        for (size_t i = 0; i < sizeof mixtures / sizeof *mixtures; i++)
            one(mixtures[i], form, number++);
    for (int i = 0; i < MOST; i++)
        MPI_Request_free(&idle[i]);
    MPI_Reduce(&started, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!world_rank)
        printf("waits: to start: nonblocking=%ld\n", all);
    int code = test_ended();
    MPI_Finalize();
    return code;
}
