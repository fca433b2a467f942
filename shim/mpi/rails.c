/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All nodes send at once, each rank to the rank of its local index on the next node, so that every
 * rail carries one flow each way, as it does in a ring. The size is a compromise: on a slow network
 * it must exceed what a rate limiter lets through at once, and it is paid for once per job.
 */
#include "shim/mpi/rails.h"

#include <float.h>
#include <pthread.h>
#include <stdlib.h>

#include "shim/decide/count.h"
#include "shim/decide/rail_count.h"
#include "shim/mpi/calls.h"
#include "shim/mpi/process.h"

enum { FIRST_CONTACT = 4 << 10, TIMED = 512 << 10, TAG = 0 };
enum { SMALL = 32 << 10, LARGE = 256 << 10, PIECES = TIMED / SMALL };
enum { NOT_MEASURABLE = -1 };     /* the next node has no such rank */
static const double alike = 0.75; /* the slowest to the fastest rail, if all are equal */
static const double told_apart = 0.9;

/* What a process measured. */
struct measured {
    double rate;         /* bytes/s, or NOT_MEASURABLE; 0: nothing yet */
    double small, large; /* seconds, in pieces of SMALL and of LARGE bytes */
};

/* Threads may measure at the same time, on a communicator each; whose result stays is all one. */
static struct measured own;
static pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;

static struct measured own_get(void)
{
    pthread_mutex_lock(&own_lock);
    struct measured m = own;
    pthread_mutex_unlock(&own_lock);
    return m;
}

static void own_set(struct measured m)
{
    pthread_mutex_lock(&own_lock);
    own = m;
    rail_count_measured(m.rate);
    pthread_mutex_unlock(&own_lock);
}

/* The rank of the same local index on the node `step` further, or -1. */
static int counterpart(const struct topo *t, int rank, int step)
{
    int node = (t->rank[rank].node + t->nnodes + step) % t->nnodes, local = t->rank[rank].local;

    return local < topo_node_size(t, node) ? topo_node_rank(t, node, local) : MPI_PROC_NULL;
}

/* Send so many bytes on in such pieces, and receive as many; the time until the receiver has them
   goes to *seconds. */
static int pass_on(MPI_Comm comm, int to, int from, char *out, char *in, int bytes, int piece,
                   double *seconds)
{
    MPI_Request request[2 * PIECES + 2];
    char told = 0, heard;
    int n = bytes / piece, rc = MPI_SUCCESS;
    double start = count_now();

    for (int i = 0; rc == MPI_SUCCESS && i < n; i++)
        rc = mpi.Irecv(in + (size_t)i * (size_t)piece, piece, MPI_BYTE, from, TAG, comm,
                       &request[i]);
    for (int i = 0; rc == MPI_SUCCESS && i < n; i++)
        rc = mpi.Isend(out + (size_t)i * (size_t)piece, piece, MPI_BYTE, to, TAG, comm,
                       &request[n + i]);
    if (rc == MPI_SUCCESS)
        rc = mpi.Irecv(&heard, 1, MPI_BYTE, to, TAG + 1, comm, &request[2 * n]);
    if (rc == MPI_SUCCESS)
        rc = mpi.Waitall(n, request, MPI_STATUSES_IGNORE);
    if (rc == MPI_SUCCESS)
        rc = mpi.Isend(&told, 1, MPI_BYTE, from, TAG + 1, comm, &request[2 * n + 1]);
    if (rc == MPI_SUCCESS)
        rc = mpi.Waitall(1, &request[2 * n], MPI_STATUSES_IGNORE);
    *seconds = count_now() - start;
    if (rc == MPI_SUCCESS)
        rc = mpi.Waitall(n, request + n, MPI_STATUSES_IGNORE);
    return rc == MPI_SUCCESS ? mpi.Waitall(1, &request[2 * n + 1], MPI_STATUSES_IGNORE) : rc;
}

/* Pieces of both lengths in turn; of each the better pass, since whoever lost its core for a moment
   is slow once. */
static int measure_own(MPI_Comm comm, int rank, const struct topo *t, char *buffer)
{
    enum { PASSES = 4 };
    int to = counterpart(t, rank, 1), from = counterpart(t, rank, -1), here = 0, all;
    double seconds, best[2] = {DBL_MAX, DBL_MAX};
    int rc =
        pass_on(comm, to, from, buffer, buffer + TIMED, FIRST_CONTACT, FIRST_CONTACT, &seconds);

    for (int i = 0; rc == MPI_SUCCESS && i < PASSES; i++) {
        rc = mpi.Allreduce(&here, &all, 1, MPI_INT, MPI_MAX, comm); /* all start together */
        if (rc == MPI_SUCCESS)
            rc = pass_on(comm, to, from, buffer, buffer + TIMED, TIMED, i % 2 ? LARGE : SMALL,
                         &seconds);
        if (seconds < best[i % 2])
            best[i % 2] = seconds;
    }
    if (rc == MPI_SUCCESS)
        own_set((struct measured){.rate = to == MPI_PROC_NULL
                                              ? NOT_MEASURABLE
                                              : TIMED / (best[0] < best[1] ? best[0] : best[1]),
                                  .small = to == MPI_PROC_NULL ? 0 : best[0],
                                  .large = to == MPI_PROC_NULL ? 0 : best[1]});
    return rc;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The median over the ranks of that rail, or over all ranks (rail -1); 0 if nobody measured. */
static double rail_rate(const struct topo *t, const struct measured *m, int rail, double *room)
{
    size_t n = 0;

    for (int r = 0; r < t->nranks; r++)
        if (m[r].rate > 0 && (rail < 0 || t->rank[r].rail == rail))
            room[n++] = m[r].rate;
    qsort(room, n, sizeof *room, ascending);
    return n ? room[n / 2] : 0;
}

/* Rails that measuring does not tell apart get their mean: what one is given too much of, because
   it had a good moment, all others wait for. */
static void level(struct topo *t, double *room)
{
    for (int rail = 0; rail < t->nrails; rail++)
        room[rail] = t->rail[rail].bw_bytes_per_s;
    qsort(room, (size_t)t->nrails, sizeof *room, ascending);
    for (int first = 0, end; first < t->nrails; first = end) {
        double sum = 0;

        for (end = first; end < t->nrails && room[first] >= told_apart * room[end]; end++)
            sum += room[end];
        for (int rail = 0; rail < t->nrails; rail++) {
            double *rate = &t->rail[rail].bw_bytes_per_s;

            if (*rate >= room[first] && *rate <= room[end - 1])
                *rate = sum / (end - first);
        }
    }
}

/* Rails that nobody measured count as the usual one. */
static void fill_in_rates(struct topo *t, const struct measured *m, double *room)
{
    double usual = rail_rate(t, m, -1, room), least = usual, most = usual;

    for (int rail = 0; rail < t->nrails; rail++) {
        double measured = rail_rate(t, m, rail, room);

        t->rail[rail].bw_bytes_per_s = measured > 0 ? measured : usual;
        if (t->rail[rail].bw_bytes_per_s < least)
            least = t->rail[rail].bw_bytes_per_s;
        if (t->rail[rail].bw_bytes_per_s > most)
            most = t->rail[rail].bw_bytes_per_s;
    }
    level(t, room);
    for (int rail = 0; rail < t->nrails; rail++)
        if (least >= alike * most)
            t->rail[rail].bw_bytes_per_s = 0; /* equal, as far as can be told */
        else
            say(CFG_LEVEL_INFO, "rail %d was measured at %.0f Mbit/s", rail,
                t->rail[rail].bw_bytes_per_s * 8 / 1e6);
}

static void fill_in_chunk(struct topo *t, const struct measured *m)
{
    double small = 0, large = 0;

    for (int r = 0; r < t->nranks; r++) {
        small += m[r].small;
        large += m[r].large;
    }
    t->rail_chunk = small < large ? SMALL : LARGE;
    say(CFG_LEVEL_INFO, "rails were measured to be faster with messages of %zu bytes: %.3g to %.3g",
        t->rail_chunk, small < large ? small : large, small < large ? large : small);
}

int rails_wanted(const struct topo *t)
{
    if (t->nnodes < 2 || t->nrails < 2)
        return 0;
    for (int rail = 0; rail < t->nrails; rail++)
        if (t->rail[rail].bw_bytes_per_s > 0)
            return 0;
    return t->nranks > t->nnodes;
}

int rails_measure(MPI_Comm comm, int rank, struct topo *t)
{
    if (!rails_wanted(t))
        return MPI_SUCCESS;
    struct measured *m = calloc((size_t)t->nranks, sizeof *m);
    double *room = calloc((size_t)(t->nranks + t->nrails), sizeof *room);
    char *buffer = calloc(2, TIMED);
    int here[2] = {m && room && buffer, own_get().rate != 0}, all[2];
    int rc = mpi.Allreduce(here, all, 2, MPI_INT, MPI_MIN, comm);

    if (rc == MPI_SUCCESS && all[0] && !all[1])
        rc = measure_own(comm, rank, t, buffer);
    struct measured mine = own_get();
    if (rc == MPI_SUCCESS && all[0])
        rc = mpi.Allgather(&mine, sizeof mine, MPI_BYTE, m, sizeof mine, MPI_BYTE, comm);
    if (rc == MPI_SUCCESS && all[0]) {
        fill_in_rates(t, m, room);
        fill_in_chunk(t, m);
    }
    free(m);
    free(room);
    free(buffer);
    return rc;
}
