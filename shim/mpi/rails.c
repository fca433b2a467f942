/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All nodes send at once, each rank to the rank of its local index on the next node, so that every
 * rail carries one flow each way, as it does in a ring. The size is a compromise: on a slow network
 * it must exceed what a rate limiter lets through at once, and it is paid for once per job.
 */
#include "shim/mpi/rails.h"

#include <stdlib.h>

#include "shim/mpi/calls.h"
#include "shim/mpi/count.h"
#include "shim/mpi/process.h"

enum { FIRST_CONTACT = 4 << 10, TIMED = 512 << 10, TAG = 0 };
enum { NOT_MEASURABLE = -1 };     /* the next node has no such rank */
static const double alike = 0.75; /* the slowest to the fastest rail, if they are equal */

/* What this process measured, in bytes/s; 0: nothing yet. Threads may make communicators at the
   same time; whose measurement stays is all one. */
static _Atomic double own_rate;

/* The rank of the same local index on the node `step` further, or -1. */
static int counterpart(const struct topo *t, int rank, int step)
{
    int node = (t->rank[rank].node + t->nnodes + step) % t->nnodes, local = t->rank[rank].local;

    return local < topo_node_size(t, node) ? topo_node_rank(t, node, local) : MPI_PROC_NULL;
}

/* Send so many bytes on and receive as many; the time until the receiver has them goes to *seconds.
 */
static int pass_on(MPI_Comm comm, int to, int from, char *out, char *in, int bytes, double *seconds)
{
    MPI_Request request[4];
    char told = 0, heard;
    double start = count_now();
    int rc = mpi.Irecv(in, bytes, MPI_BYTE, from, TAG, comm, &request[0]);

    if (rc == MPI_SUCCESS)
        rc = mpi.Irecv(&heard, 1, MPI_BYTE, to, TAG + 1, comm, &request[1]);
    if (rc == MPI_SUCCESS)
        rc = mpi.Isend(out, bytes, MPI_BYTE, to, TAG, comm, &request[2]);
    if (rc == MPI_SUCCESS)
        rc = mpi.Waitall(1, &request[0], MPI_STATUSES_IGNORE);
    if (rc == MPI_SUCCESS)
        rc = mpi.Isend(&told, 1, MPI_BYTE, from, TAG + 1, comm, &request[3]);
    if (rc == MPI_SUCCESS)
        rc = mpi.Waitall(1, &request[1], MPI_STATUSES_IGNORE);
    *seconds = count_now() - start;
    return rc == MPI_SUCCESS ? mpi.Waitall(2, &request[2], MPI_STATUSES_IGNORE) : rc;
}

/* The better of two passes: whoever lost its core for a moment is slow once. */
static int measure_own(MPI_Comm comm, int rank, const struct topo *t, char *buffer)
{
    enum { PASSES = 2 };
    int to = counterpart(t, rank, 1), from = counterpart(t, rank, -1), here = 0, all;
    double seconds, best = 0;
    int rc = pass_on(comm, to, from, buffer, buffer + TIMED, FIRST_CONTACT, &seconds);

    for (int i = 0; rc == MPI_SUCCESS && i < PASSES; i++) {
        rc = mpi.Allreduce(&here, &all, 1, MPI_INT, MPI_MAX, comm); /* all start together */
        if (rc == MPI_SUCCESS)
            rc = pass_on(comm, to, from, buffer, buffer + TIMED, TIMED, &seconds);
        if (seconds > 0 && TIMED / seconds > best)
            best = TIMED / seconds;
    }
    if (rc == MPI_SUCCESS)
        own_rate = to == MPI_PROC_NULL ? NOT_MEASURABLE : best;
    return rc;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The median over the ranks of that rail, or over all ranks (rail -1); 0 if nobody measured. */
static double rail_rate(const struct topo *t, const double *rate, int rail, double *room)
{
    size_t n = 0;

    for (int r = 0; r < t->nranks; r++)
        if (rate[r] > 0 && (rail < 0 || t->rank[r].rail == rail))
            room[n++] = rate[r];
    qsort(room, n, sizeof *room, ascending);
    return n ? room[n / 2] : 0;
}

/* Rails that nobody measured count as the usual one. */
static void fill_in(struct topo *t, const double *rate, double *room)
{
    double usual = rail_rate(t, rate, -1, room), least = usual, most = usual;

    for (int rail = 0; rail < t->nrails; rail++) {
        double measured = rail_rate(t, rate, rail, room);

        t->rail[rail].bw_bytes_per_s = measured > 0 ? measured : usual;
        if (t->rail[rail].bw_bytes_per_s < least)
            least = t->rail[rail].bw_bytes_per_s;
        if (t->rail[rail].bw_bytes_per_s > most)
            most = t->rail[rail].bw_bytes_per_s;
    }
    for (int rail = 0; rail < t->nrails; rail++)
        if (least >= alike * most)
            t->rail[rail].bw_bytes_per_s = 0; /* equal, as far as can be told */
        else
            say(CFG_LEVEL_INFO, "rail %d was measured at %.0f Mbit/s", rail,
                t->rail[rail].bw_bytes_per_s * 8 / 1e6);
}

/* Is there anything to find out? One rail, or one rank per node, leaves nothing to divide. */
static int wanted(const struct topo *t)
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
    if (!wanted(t))
        return MPI_SUCCESS;
    double *rate = calloc(2 * (size_t)t->nranks, sizeof *rate);
    char *buffer = calloc(2, TIMED);
    double mine[2] = {rate && buffer ? 1 : 0, own_rate != 0}, least[2];
    int rc = mpi.Allreduce(mine, least, 2, MPI_DOUBLE, MPI_MIN, comm);

    if (rc == MPI_SUCCESS && least[0] > 0 && !(least[1] > 0))
        rc = measure_own(comm, rank, t, buffer);
    if (rc == MPI_SUCCESS && least[0] > 0) {
        double told = own_rate;
        rc = mpi.Allgather(&told, 1, MPI_DOUBLE, rate, 1, MPI_DOUBLE, comm);
        if (rc == MPI_SUCCESS)
            fill_in(t, rate, rate + t->nranks);
    }
    free(rate);
    free(buffer);
    return rc;
}
