/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All nodes send at once, each rank to the rank of its local index on the next node, so that every
 * rail carries one flow each way, as it does in a ring. What a rank sends so fast goes out of its
 * own rail and into another one; where rates differ, a second turn towards the node before tells
 * which of the two is slow. The size is a compromise: on a slow network it must exceed what a rate
 * limiter lets through at once. A rail that is far slower than the others with the first few bytes
 * is spared the rest, for all wait for it.
 */
#include "shim/mpi/rails.h"

#include <float.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "shim/decide/count.h"
#include "shim/decide/rail_count.h"
#include "shim/decide/rails_level.h"
#include "shim/mpi/calls.h"
#include "shim/mpi/process.h"

enum { FIRST_CONTACT = 4 << 10, SHORT = 96 << 10, TIMED = 512 << 10, TAG = 0 };
enum { SMALL = 32 << 10, LARGE = 256 << 10, PIECES = TIMED / SMALL };
enum { PASSES = 4, PASSES_AGAIN = 2, TIMED_AGAIN = 256 << 10 };
enum { FRESH_S = 30, MOST_LINES = 16 };
static const double far_slower = 2.5;             /* than the usual rail */
static const double beyond_burst = SHORT - SMALL; /* what a limiter lets through at once says
                                                     nothing */

/* What a process found. */
struct measured {
    double rate[2];      /* bytes/s by enum topo_way; 0: not known */
    double small, large; /* seconds, in pieces of SMALL and of LARGE bytes */
    double when;         /* of count_now; 0: never */
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
    rail_count_measured(m.rate[TOPO_OUT], m.rate[TOPO_IN]);
    pthread_mutex_unlock(&own_lock);
}

/* Another communicator may use it: rails change. */
static int is_fresh(struct measured m)
{
    return m.when > 0 && count_now() - m.when < FRESH_S;
}

/* One measurement under way. */
struct turn {
    MPI_Comm comm;
    const struct topo *t;
    int rank;
    char *buffer;    /* [2 * TIMED] */
    double *seconds; /* [nranks] until each rank's first few bytes were there, if that is far longer
                        than usual; else 0 */
    double *room;    /* [nranks] */
    int to, from;
};

/* The rank of the same local index on the node `step` further, or MPI_PROC_NULL. */
static int counterpart(const struct topo *t, int rank, int step)
{
    int node = (t->rank[rank].node + t->nnodes + step) % t->nnodes, local = t->rank[rank].local;

    return local < topo_node_size(t, node) ? topo_node_rank(t, node, local) : MPI_PROC_NULL;
}

/*
 * Send so many bytes on in such pieces, and receive as many; the time until the receiver has said
 * that they are there goes to *seconds. What comes in the meantime may take longer, on another
 * slow rail, and is not part of it; and a receiver cannot tell how long ago a sender began.
 */
static int pass_on(const struct turn *w, int to, int from, int bytes, int piece, double *seconds)
{
    MPI_Request request[PIECES + 1], sent[PIECES + 1];
    char told = 0, heard, *out = w->buffer, *in = w->buffer + TIMED;
    int n = bytes / piece, nsent = 0, rc = MPI_SUCCESS, at[PIECES + 1];
    double start = count_now();

    for (int i = 0; rc == MPI_SUCCESS && i < n; i++)
        rc = mpi.Irecv(in + (size_t)i * (size_t)piece, piece, MPI_BYTE, from, TAG, w->comm,
                       &request[i]);
    if (rc == MPI_SUCCESS)
        rc = mpi.Irecv(&heard, 1, MPI_BYTE, to, TAG + 1, w->comm, &request[n]);
    for (; rc == MPI_SUCCESS && nsent < n; nsent++)
        rc = mpi.Isend(out + (size_t)nsent * (size_t)piece, piece, MPI_BYTE, to, TAG, w->comm,
                       &sent[nsent]);
    for (int left = n + 1, here = 0, done; rc == MPI_SUCCESS && left > 0; left -= done) {
        rc = mpi.Testsome(n + 1, request, &done, at, MPI_STATUSES_IGNORE);
        for (int i = 0; rc == MPI_SUCCESS && i < done; i++)
            if (at[i] == n)
                *seconds = count_now() - start;
            else if (++here == n)
                rc = mpi.Isend(&told, 1, MPI_BYTE, from, TAG + 1, w->comm, &sent[nsent++]);
        if (!done)
            sched_yield();
    }
    return rc == MPI_SUCCESS ? mpi.Waitall(nsent, sent, MPI_STATUSES_IGNORE) : rc;
}

static int all_start(const struct turn *w)
{
    int here = 0, all;

    return mpi.Allreduce(&here, &all, 1, MPI_INT, MPI_MAX, w->comm);
}

/* The first few bytes, and what they took on all ranks: whose rail is far slower is left out of
   the rest. */
static int spare_slow(struct turn *w)
{
    double mine = 0, usual;
    int n = w->t->nranks;
    int rc = pass_on(w, w->to, w->from, FIRST_CONTACT, FIRST_CONTACT, &mine);

    if (rc == MPI_SUCCESS)
        rc = all_start(w);
    if (rc == MPI_SUCCESS)
        rc = pass_on(w, w->to, w->from, SHORT, SMALL, &mine);
    if (w->to == MPI_PROC_NULL)
        mine = 0;
    if (rc == MPI_SUCCESS)
        rc = mpi.Allgather(&mine, 1, MPI_DOUBLE, w->seconds, 1, MPI_DOUBLE, w->comm);
    if (rc != MPI_SUCCESS)
        return rc;
    usual = rails_median(w->seconds, n, w->room);
    for (int r = 0; r < n; r++)
        w->seconds[r] = w->seconds[r] > far_slower * usual ? w->seconds[r] : 0;
    if (w->from != MPI_PROC_NULL && w->seconds[w->from] > 0)
        w->from = MPI_PROC_NULL;
    if (w->seconds[w->rank] > 0)
        w->to = MPI_PROC_NULL;
    return MPI_SUCCESS;
}

/*
 * What every rank can send to the node `step` further goes to rate[nranks]; 0: nobody is there.
 * Pieces of both lengths in turn; of each the better pass, since whoever lost its core for a moment
 * is slow once.
 */
static int measure_step(struct turn *w, int step, int passes, struct measured *m, double *rate)
{
    int timed = passes == PASSES ? TIMED : TIMED_AGAIN;
    double seconds = 0, best[2] = {DBL_MAX, DBL_MAX};

    w->to = counterpart(w->t, w->rank, step);
    w->from = counterpart(w->t, w->rank, -step);
    int rc = spare_slow(w);

    for (int i = 0; rc == MPI_SUCCESS && i < passes; i++) {
        rc = all_start(w);
        if (rc == MPI_SUCCESS)
            rc = pass_on(w, w->to, w->from, timed, i % 2 ? LARGE : SMALL, &seconds);
        if (rc == MPI_SUCCESS && seconds < best[i % 2])
            best[i % 2] = seconds;
    }
    if (rc != MPI_SUCCESS)
        return rc;
    double mine = w->to != MPI_PROC_NULL    ? timed / (best[0] < best[1] ? best[0] : best[1])
                  : w->seconds[w->rank] > 0 ? beyond_burst / w->seconds[w->rank]
                                            : 0;
    if (w->to != MPI_PROC_NULL && passes == PASSES) {
        m->small = best[0];
        m->large = best[1];
    }
    return mpi.Allgather(&mine, 1, MPI_DOUBLE, rate, 1, MPI_DOUBLE, w->comm);
}

/* What this rank's rail carries is at least what it carried in one of the turns. */
static void note_rates(const struct turn *w, int step, const double *rate, struct measured *m)
{
    int from = counterpart(w->t, w->rank, -step);

    if (rate[w->rank] > m->rate[TOPO_OUT])
        m->rate[TOPO_OUT] = rate[w->rank];
    if (from != MPI_PROC_NULL && rate[from] > m->rate[TOPO_IN])
        m->rate[TOPO_IN] = rate[from];
}

static int measure_own(struct turn *w, int passes, double *rate, struct measured *m)
{
    int rc = measure_step(w, 1, passes, m, rate);

    if (rc != MPI_SUCCESS)
        return rc;
    note_rates(w, 1, rate, m);
    if (w->t->nnodes > 2 && !rails_alike(rate, w->t->nranks)) {
        rc = measure_step(w, -1, passes, m, rate);
        if (rc == MPI_SUCCESS)
            note_rates(w, -1, rate, m);
    }
    m->when = count_now();
    return rc;
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

/* By node, rail and way: where several ranks use a rail, what the fastest found. */
static void fill_in_table(const struct topo *t, const struct measured *m, double *rate)
{
    memset(rate, 0, 2 * (size_t)t->nnodes * (size_t)t->nrails * sizeof *rate);
    for (int r = 0; r < t->nranks; r++)
        for (int way = TOPO_OUT; way <= TOPO_IN && t->rank[r].rail >= 0; way++) {
            size_t at =
                2 * ((size_t)t->rank[r].node * (size_t)t->nrails + (size_t)t->rank[r].rail) +
                (size_t)way;

            if (m[r].rate[way] > rate[at])
                rate[at] = m[r].rate[way];
        }
}

/* One line for each of the first rails that are not as the others are. */
static void tell(const struct topo *t)
{
    int lines = 0;

    for (int i = 0; t->rate && i < t->nnodes * t->nrails && lines < MOST_LINES; i++) {
        int node = i / t->nrails, rail = i % t->nrails;
        double most = 0, through = topo_rail_through(t, node, rail);

        for (int r = 0; r < t->nrails; r++)
            most = t->rail[r].bw_bytes_per_s > most ? t->rail[r].bw_bytes_per_s : most;
        if (through < most && ++lines)
            say(CFG_LEVEL_INFO,
                "rail %d of node %d was measured at %.3g Mbit/s out and %.3g in, others at %.3g",
                rail, node, topo_rail_rate(t, node, rail, TOPO_OUT) * 8 / 1e6,
                topo_rail_rate(t, node, rail, TOPO_IN) * 8 / 1e6, most * 8 / 1e6);
    }
    for (int rail = 0; !t->rate && rail < t->nrails && t->rail[rail].bw_bytes_per_s > 0; rail++)
        say(CFG_LEVEL_INFO, "rail %d was measured at %.3g Mbit/s", rail,
            t->rail[rail].bw_bytes_per_s * 8 / 1e6);
}

int rails_wanted(const struct topo *t)
{
    return t->nnodes > 1 && (t->nranks > t->nnodes || t->nnodes > 2);
}

static int rates_given(const struct topo *t)
{
    for (int rail = 0; rail < t->nrails; rail++)
        if (t->rail[rail].bw_bytes_per_s > 0)
            return 1;
    return 0;
}

/* What one measurement needs; freed as one. */
struct room {
    struct measured *all; /* [nranks] */
    double *rate;         /* [nranks] */
    double *seconds, *work;
    double *table;  /* [nnodes * nrails * 2] */
    double *before; /* likewise: what the topology had, and room to sort */
    char *buffer;
};

static int open_room(struct room *r, const struct topo *t)
{
    size_t ranks = (size_t)t->nranks, cells = 2 * (size_t)t->nnodes * (size_t)t->nrails;

    *r = (struct room){.all = calloc(ranks, sizeof *r->all),
                       .rate = calloc(3 * ranks, sizeof *r->rate),
                       .table = calloc(cells, sizeof *r->table),
                       .before = calloc(cells, sizeof *r->before),
                       .buffer = calloc(2, TIMED)};
    r->seconds = r->rate ? r->rate + ranks : NULL;
    r->work = r->rate ? r->rate + 2 * ranks : NULL;
    return r->all && r->rate && r->table && r->before && r->buffer;
}

static void close_room(struct room *r)
{
    free(r->all);
    free(r->rate);
    free(r->table);
    free(r->before);
    free(r->buffer);
}

/* again: whatever was measured before. *found: r->table and r->all have the result. */
static int measure(MPI_Comm comm, int rank, struct topo *t, int again, struct room *r, int *found)
{
    int here[2] = {open_room(r, t), !again && is_fresh(own_get())}, all[2];
    struct turn w = {.comm = comm,
                     .t = t,
                     .rank = rank,
                     .buffer = r->buffer,
                     .seconds = r->seconds,
                     .room = r->work};
    int rc = mpi.Allreduce(here, all, 2, MPI_INT, MPI_MIN, comm);

    *found = 0;
    if (rc != MPI_SUCCESS || !all[0])
        return rc;
    if (!all[1]) {
        struct measured m = {.small = own_get().small, .large = own_get().large};

        rc = measure_own(&w, again ? PASSES_AGAIN : PASSES, r->rate, &m);
        if (rc == MPI_SUCCESS)
            own_set(m);
    }
    struct measured mine = own_get();
    if (rc == MPI_SUCCESS)
        rc = mpi.Allgather(&mine, sizeof mine, MPI_BYTE, r->all, sizeof mine, MPI_BYTE, comm);
    if (rc != MPI_SUCCESS)
        return rc;
    fill_in_table(t, r->all, r->table);
    rails_level(r->table, 2 * t->nnodes * t->nrails, r->before);
    if (rails_alike(r->table, 2 * t->nnodes * t->nrails))
        memset(r->table, 0, 2 * (size_t)t->nnodes * (size_t)t->nrails * sizeof *r->table);
    *found = 1;
    return MPI_SUCCESS;
}

/* The topology's rates are those that were measured; all 0: equal, as far as can be told. */
static void take_table(struct topo *t, struct room *r)
{
    topo_take_rail_rates(t, r->table);
    r->table = NULL;
}

int rails_measure(MPI_Comm comm, int rank, struct topo *t)
{
    struct room r;
    int found, rc;

    if (!rails_wanted(t) || rates_given(t))
        return MPI_SUCCESS;
    rc = measure(comm, rank, t, 0, &r, &found);
    if (found) {
        take_table(t, &r);
        tell(t);
        fill_in_chunk(t, r.all);
    }
    close_room(&r);
    return rc;
}

/* The rail that has changed most, of all that are another's. */
static void tell_change(const struct topo *t, const double *before, const double *now,
                        unsigned calls)
{
    int n = 2 * t->nnodes * t->nrails, at = 0, others = 0;
    double most = 1;

    for (int i = 0; i < n; i++) {
        double times = rails_times(before, now, n, i);

        others += times > 1;
        if (times > most) {
            most = times;
            at = i;
        }
    }
    say(CFG_LEVEL_INFO,
        "rail %d of node %d carries %.3g of the fastest rail's rate %s, %.3g until call %u; "
        "%d rates changed, and schedules are made anew",
        at / 2 % t->nrails, at / 2 / t->nrails, rails_share(now, n, at),
        at % 2 == TOPO_OUT ? "out" : "in", rails_share(before, n, at), calls, others);
}

int rails_measure_again(MPI_Comm comm, int rank, struct topo *t, unsigned calls, int *changed)
{
    int n = 2 * t->nnodes * t->nrails, found, rc;
    struct room r;

    rc = measure(comm, rank, t, 1, &r, &found);
    for (int i = 0; found && i < n; i++)
        r.before[i] =
            topo_rail_rate(t, i / 2 / t->nrails, i / 2 % t->nrails, (enum topo_way)(i % 2));
    *changed = found && rails_changed(r.before, r.table, n);
    if (*changed) {
        tell_change(t, r.before, r.table, calls);
        take_table(t, &r);
    }
    if (*changed && t->rail[0].bw_bytes_per_s <= 0) { /* equal again, and no plan has a rate */
        struct measured m = own_get();

        rail_count_can(m.rate[TOPO_OUT], m.rate[TOPO_IN]);
    }
    close_room(&r);
    return rc;
}

/* What the rank is taken to send to the one of its local index on the next node, if that is slow;
   else 0. */
static double planned_slow(const struct topo *t, int rank)
{
    int to = counterpart(t, rank, 1);
    const struct topo_rank *a = &t->rank[rank];
    double most = 0;

    if (to == MPI_PROC_NULL || a->rail < 0)
        return 0;
    for (int r = 0; r < t->nrails; r++)
        most = t->rail[r].bw_bytes_per_s > most ? t->rail[r].bw_bytes_per_s : most;
    double out = topo_rail_rate(t, a->node, a->rail, TOPO_OUT);
    double in = topo_rail_rate(t, t->rank[to].node, t->rank[to].rail, TOPO_IN);
    double rate = out < in ? out : in;
    return rate < rails_slow_from * most ? rate : 0;
}

int rails_probe(MPI_Comm comm, int rank, const struct topo *t, double much, int *faster,
                double *seconds)
{
    struct turn w = {.comm = comm,
                     .t = t,
                     .rank = rank,
                     .to = counterpart(t, rank, 1),
                     .from = counterpart(t, rank, -1),
                     .buffer = calloc(2, TIMED)};
    double planned = planned_slow(t, rank), value[2] = {!w.buffer}, took = 0;
    int rc = mpi.Allreduce(MPI_IN_PLACE, value, 1, MPI_DOUBLE, MPI_MAX, comm);

    *faster = 0;
    *seconds = 0;
    if (rc == MPI_SUCCESS && !value[0]) {
        w.to = planned > 0 ? w.to : MPI_PROC_NULL;
        w.from = w.from != MPI_PROC_NULL && planned_slow(t, w.from) > 0 ? w.from : MPI_PROC_NULL;
        rc = pass_on(&w, w.to, w.from, SHORT, SMALL, &took);
        value[0] = planned > 0 && beyond_burst / took > much * planned;
        value[1] = took;
        if (planned > 0)
            say_here(CFG_LEVEL_DEBUG, "rails: a probe took %.3g s, %.3g Mbit/s; planned %.3g", took,
                     beyond_burst / took * 8 / 1e6, planned * 8 / 1e6);
        if (rc == MPI_SUCCESS)
            rc = mpi.Allreduce(MPI_IN_PLACE, value, 2, MPI_DOUBLE, MPI_MAX, comm);
        *faster = value[0] > 0;
        *seconds = value[1];
    }
    free(w.buffer);
    return rc;
}
