/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/rails/rails_pass.h"

#include <sched.h>
#include <stdlib.h>

#include "shim/mpi/api/calls.h"
#include "shim/record/counts/count.h"

enum { PIECES = RAILS_TIMED / RAILS_SMALL };

struct rails_way rails_opposite(struct rails_way way)
{
    return (struct rails_way){-way.step, -way.shift};
}

int rails_counterpart(const struct topo *t, int rank, struct rails_way way)
{
    int here = t->rank[rank].node, there = (here + t->nnodes + way.step) % t->nnodes;
    int local = t->rank[rank].local, both = topo_node_size(t, here);

    if (topo_node_size(t, there) < both)
        both = topo_node_size(t, there);
    return local < both ? topo_node_rank(t, there, (local + both + way.shift) % both)
                        : MPI_PROC_NULL;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* when: [n] seconds from the start until a notice of each piece. A rank that lost its core for a
   while sees or sends several notices late. So the median of the times from one piece to one much
   later counts, and a rate is at most that of all bytes. Two pieces often come as one, so that the
   two are an even number of pieces apart. */
static double rate_of(const struct rails_transfer *x, const double *when, int n)
{
    int lead = x->lead / x->piece, apart = (n - lead + 1) / 2, slopes = 0;
    double slope[PIECES], all = x->bytes / when[n - 1];

    apart -= apart > 1 && apart % 2;
    for (int i = lead - 1; lead && i + apart < n; i++)
        slope[slopes++] = when[i + apart] - when[i];
    if (!slopes)
        return all;
    qsort(slope, (size_t)slopes, sizeof *slope, ascending);
    double usual = slope[slopes / 2], rate = usual > 0 ? apart * x->piece / usual : all;
    return rate < all ? rate : all;
}

int rails_pass_on(MPI_Comm comm, char *buffer, int to, int from, struct rails_transfer x,
                  struct rails_passed *p)
{
    MPI_Request request[2 * PIECES], sent[2 * PIECES];
    char told = 0, heard[PIECES], *out = buffer, *in = buffer + RAILS_TIMED;
    int n = x.bytes / x.piece, nsent = 0, rc = MPI_SUCCESS, at[2 * PIECES];
    double start = count_now(), when[PIECES] = {0};

    for (int i = 0; rc == MPI_SUCCESS && i < n; i++)
        rc = mpi.Irecv(in + (size_t)i * (size_t)x.piece, x.piece, MPI_BYTE, from, RAILS_TAG, comm,
                       &request[i]);
    for (int i = 0; rc == MPI_SUCCESS && i < n; i++)
        rc = mpi.Irecv(&heard[i], 1, MPI_BYTE, to, RAILS_TAG + 1, comm, &request[n + i]);
    for (; rc == MPI_SUCCESS && nsent < n; nsent++)
        rc = mpi.Isend(out + (size_t)nsent * (size_t)x.piece, x.piece, MPI_BYTE, to, RAILS_TAG,
                       comm, &sent[nsent]);
    for (int left = 2 * n, done; rc == MPI_SUCCESS && left > 0; left -= done) {
        rc = mpi.Testsome(2 * n, request, &done, at, MPI_STATUSES_IGNORE);
        for (int i = 0; rc == MPI_SUCCESS && i < done; i++)
            if (at[i] >= n)
                when[at[i] - n] = count_now() - start;
            else
                rc = mpi.Isend(&told, 1, MPI_BYTE, from, RAILS_TAG + 1, comm, &sent[nsent++]);
        if (!done)
            sched_yield();
    }
    *p = (struct rails_passed){when[n - 1], rate_of(&x, when, n)};
    return rc == MPI_SUCCESS ? mpi.Waitall(nsent, sent, MPI_STATUSES_IGNORE) : rc;
}
