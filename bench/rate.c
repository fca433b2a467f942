/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rank (node n, local i) sends to (node n+1, local i), every node at once. So each rail is loaded
 * both ways as in a collective, but no pair of ranks exchanges with each other. Over TCP a
 * rendezvous between one pair is half-duplex and would halve the rate. A second pass goes to node
 * n-1, and a receiver's better figure counts: a flow from a slow rail says nothing about the fast
 * rail it arrives on. With two nodes both neighbours are the same node, so one node sends per pass.
 *
 * The sender takes the time, from its first byte to a reply to its last: there is no common clock,
 * and the receiver's start would count the barrier's skew.
 */
#include "rate.h"
#include "stats.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGE = 4 << 20, DEPTH = 2, REPEATS = 3, PASSES = 2, MOST_MESSAGES = 256 };
enum { TAG_DATA = 71, TAG_DONE = 72 };
static const double pass_seconds = 1; /* a rail that starts with a burst counts it for < 0.5% */

/* The rank that a rank sends to in a pass, or -1. The same on all ranks. */
static int target_of(const struct bench_shape *s, int rank, int pass)
{
    int node = s->node_of[rank], to = (node + (pass ? s->nodes - 1 : 1)) % s->nodes;

    if (s->nodes == 2 && node != pass)
        return -1;
    return bench_shape_rank(s, to, s->local_of[rank] % s->on_node[to]);
}

struct flows {
    int target, senders, messages;
    int *sender;             /* [senders] ranks that send here */
    int *posted, *done;      /* [senders] messages asked for, and come */
    int sent;                /* messages handed to MPI */
    unsigned char *out, *in; /* MESSAGE bytes; DEPTH * MESSAGE bytes per sender */
    MPI_Request *request;    /* DEPTH sends, reply in, replies out, DEPTH receives per sender */
};

static void flows_free(struct flows *f)
{
    free(f->sender);
    free(f->posted);
    free(f->done);
    free(f->out);
    free(f->in);
    free(f->request);
}

static int flows_make(const struct bench_shape *s, int pass, struct flows *f)
{
    size_t n = (size_t)s->ranks;

    memset(f, 0, sizeof(*f));
    f->target = target_of(s, s->rank, pass);
    f->sender = calloc(n, sizeof(int));
    f->posted = calloc(n, sizeof(int));
    f->done = calloc(n, sizeof(int));
    if (!f->sender || !f->posted || !f->done)
        return -ENOMEM;
    for (int r = 0; r < s->ranks; r++) {
        if (target_of(s, r, pass) == s->rank)
            f->sender[f->senders++] = r;
    }
    f->out = calloc(1, MESSAGE);
    f->in = calloc((size_t)f->senders * DEPTH + 1, MESSAGE);
    f->request = calloc((size_t)(DEPTH + 1 + f->senders * (1 + DEPTH)), sizeof(MPI_Request));
    return f->out && f->in && f->request ? 0 : -ENOMEM;
}

static void post_send(struct flows *f, int slot, MPI_Comm comm)
{
    if (f->sent < f->messages) {
        f->sent++;
        MPI_Isend(f->out, MESSAGE, MPI_BYTE, f->target, TAG_DATA, comm, &f->request[slot]);
    }
}

static void post_recv(struct flows *f, int slot, MPI_Comm comm)
{
    int s = slot / DEPTH;

    if (f->posted[s] < f->messages) {
        f->posted[s]++;
        MPI_Irecv(f->in + (size_t)slot * MESSAGE, MESSAGE, MPI_BYTE, f->sender[s], TAG_DATA, comm,
                  &f->request[DEPTH + 1 + f->senders + slot]);
    }
}

/* Run the flows once, messages long each. Seconds that this rank's took; 0 if it sends none. */
static double flows_run(struct flows *f, int messages, const struct bench_mpi *mpi, MPI_Comm comm)
{
    int replies = DEPTH + 1, receives = replies + f->senders;
    int all = receives + f->senders * DEPTH, i;
    double start, seconds = 0;

    f->messages = messages;
    f->sent = 0;
    for (i = 0; i < all; i++)
        f->request[i] = MPI_REQUEST_NULL;
    memset(f->posted, 0, sizeof(int) * (size_t)f->senders);
    memset(f->done, 0, sizeof(int) * (size_t)f->senders);
    for (i = 0; i < f->senders * DEPTH; i++)
        post_recv(f, i, comm);
    mpi->Barrier(comm);
    start = MPI_Wtime();
    if (f->target >= 0) {
        MPI_Irecv(NULL, 0, MPI_BYTE, f->target, TAG_DONE, comm, &f->request[DEPTH]);
        for (i = 0; i < DEPTH; i++)
            post_send(f, i, comm);
    }
    for (;;) {
        MPI_Waitany(all, f->request, &i, MPI_STATUS_IGNORE);
        if (i == MPI_UNDEFINED)
            return seconds;
        if (i < DEPTH) {
            post_send(f, i, comm);
        } else if (i == DEPTH) {
            seconds = MPI_Wtime() - start;
        } else if (i >= receives) {
            int s = (i - receives) / DEPTH;

            post_recv(f, i - receives, comm);
            if (++f->done[s] == messages)
                MPI_Isend(NULL, 0, MPI_BYTE, f->sender[s], TAG_DONE, comm,
                          &f->request[replies + s]);
        }
    }
}

/* Seconds of every rank's flow on all ranks: the shortest of the repeats. A bound is the best rate
   of the rails; a busy moment would lower it and flatter the results. Returns 0 or -ENOMEM. */
static int measure_pass(const struct bench_mpi *mpi, MPI_Comm comm, const struct bench_shape *shape,
                        int pass, int *messages, double *seconds)
{
    struct flows f;
    double mine[REPEATS], once, slowest;
    int rc = flows_make(shape, pass, &f);

    mpi->Allreduce(MPI_IN_PLACE, &rc, 1, MPI_INT, MPI_MIN, comm);
    if (rc) {
        flows_free(&f);
        return rc;
    }
    once = flows_run(&f, 1, mpi, comm); /* opens the connections */
    if (!*messages) {
        once = flows_run(&f, 1, mpi, comm);
        mpi->Allreduce(&once, &slowest, 1, MPI_DOUBLE, MPI_MAX, comm);
        *messages = (int)fmin(fmax(ceil(pass_seconds / slowest), 1), MOST_MESSAGES);
    }
    for (int i = 0; i < REPEATS; i++)
        mine[i] = flows_run(&f, *messages, mpi, comm);
    once = bench_stats_of(mine, REPEATS).min;
    mpi->Allgather(&once, 1, MPI_DOUBLE, seconds, 1, MPI_DOUBLE, comm);
    flows_free(&f);
    return 0;
}

/* Fold one pass of affine flows: what each rank took in and gave out, the better pass counting. */
static void fold_affine(const struct bench_shape *s, int pass, double bytes, const double *seconds,
                        double *now, double *in, double *out)
{
    memset(now, 0, sizeof(*now) * (size_t)s->ranks);
    for (int r = 0; r < s->ranks; r++) {
        int to = target_of(s, r, pass);

        if (to < 0)
            continue;
        now[to] += bytes / seconds[r];
        out[r] = fmax(out[r], bytes / seconds[r]);
    }
    for (int r = 0; r < s->ranks; r++)
        in[r] = fmax(in[r], now[r]);
}

/* The sum over a node's ranks; a rank no flow came to counts as the mean of those that had one. */
static double node_sum(const struct bench_shape *s, int node, const double *per_rank)
{
    double sum = 0;
    int seen = 0;

    for (int r = 0; r < s->ranks; r++) {
        if (s->node_of[r] == node && per_rank[r] > 0) {
            sum += per_rank[r];
            seen++;
        }
    }
    return seen ? sum / seen * s->on_node[node] : 0;
}

/* Striped flows share rails, so only a node's bytes over the time of its last flow mean much. */
static void fold_striped(const struct bench_shape *s, int pass, double bytes, const double *seconds,
                         struct bench_rates *rates)
{
    for (int n = 0; n < s->nodes; n++) {
        double in = 0, out = 0, in_s = 0, out_s = 0;

        for (int r = 0; r < s->ranks; r++) {
            int to = target_of(s, r, pass);

            if (to >= 0 && s->node_of[to] == n) {
                in += bytes;
                in_s = fmax(in_s, seconds[r]);
            }
            if (to >= 0 && s->node_of[r] == n) {
                out += bytes;
                out_s = fmax(out_s, seconds[r]);
            }
        }
        if (in_s > 0)
            rates->in[n] = fmax(rates->in[n], in / in_s);
        if (out_s > 0)
            rates->out[n] = fmax(rates->out[n], out / out_s);
    }
}

static void summarise(const struct bench_shape *s, double *per_rank, struct bench_rates *rates)
{
    struct bench_stats all;
    int n = 0;

    for (int r = 0; r < s->ranks; r++) {
        if (per_rank[r] > 0)
            per_rank[n++] = per_rank[r];
    }
    all = bench_stats_of(per_rank, n);
    rates->flow_min = all.min;
    rates->flow_median = all.median;
    rates->flow_max = all.max;
}

int bench_rates_measure(const struct bench_mpi *mpi, MPI_Comm comm, const struct bench_shape *shape,
                        enum bench_rails rails, struct bench_rates *rates)
{
    size_t p = (size_t)shape->ranks;
    double *seconds = calloc(p, sizeof(double)), *work = calloc(3 * p, sizeof(double));
    double *in = work, *out;
    int rc = 0, messages = 0;

    memset(rates, 0, sizeof(*rates));
    rates->nodes = shape->nodes;
    rates->in = calloc((size_t)shape->nodes, sizeof(double));
    rates->out = calloc((size_t)shape->nodes, sizeof(double));
    if (shape->nodes < 2)
        rc = -ENOTSUP;
    else if (!seconds || !work || !rates->in || !rates->out)
        rc = -ENOMEM;
    mpi->Allreduce(MPI_IN_PLACE, &rc, 1, MPI_INT, MPI_MIN, comm);
    out = rc ? NULL : in + p;
    for (int pass = 0; pass < PASSES && !rc; pass++) {
        double bytes;

        rc = measure_pass(mpi, comm, shape, pass, &messages, seconds);
        if (rc)
            break;
        bytes = (double)messages * MESSAGE;
        fold_affine(shape, pass, bytes, seconds, out + p, in, out);
        if (rails == BENCH_RAILS_STRIPED)
            fold_striped(shape, pass, bytes, seconds, rates);
    }
    for (int n = 0; n < shape->nodes && !rc && rails == BENCH_RAILS_AFFINE; n++) {
        rates->in[n] = node_sum(shape, n, in);
        rates->out[n] = node_sum(shape, n, out);
    }
    if (!rc) {
        rates->flow_bytes = (size_t)messages * MESSAGE;
        summarise(shape, out, rates);
    }
    free(seconds);
    free(work);
    if (rc)
        bench_rates_free(rates);
    return rc;
}

void bench_rates_free(struct bench_rates *rates)
{
    free(rates->in);
    free(rates->out);
    memset(rates, 0, sizeof(*rates));
}

double bench_rates_bound_us(const struct bench_rates *rates, const struct bench_collective *row,
                            const struct bench_problem *problem)
{
    double seconds = 0, all_in = 0, all_out = 0, in, out;

    for (int n = 0; n < rates->nodes; n++) {
        row->traffic(problem, n, &in, &out);
        seconds = fmax(seconds, rates->in[n] > 0 ? in / rates->in[n] : 0);
        seconds = fmax(seconds, rates->out[n] > 0 ? out / rates->out[n] : 0);
        all_in += rates->in[n];
        all_out += rates->out[n];
    }
    if (row->together)
        seconds = fmax(seconds, row->together(problem) / fmin(all_in, all_out));
    return seconds * 1e6;
}
