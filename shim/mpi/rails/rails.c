/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All nodes send at once, each rank to the rank of its local index on the next node. So every rail
 * carries one flow each way, as it does in a ring. A measured rate is that of two rails: the
 * rank's own outwards and another one inwards. Where rates differ, a second pass with other
 * partners tells which of the two is slow. A rate limiter lets its burst through at once, and as
 * much again where the card's segments are as long as that. So a rate is of the bytes behind the
 * first ones. A rail that is far slower than the others with the first few bytes gets fewer, for
 * all wait for it.
 */
#include "shim/mpi/rails/rails.h"

#include <float.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "shim/decide/choose/rails_level.h"
#include "shim/mpi/api/calls.h"
#include "shim/mpi/api/process.h"
#include "shim/mpi/rails/rails_pass.h"
#include "shim/record/counts/count.h"
#include "shim/record/counts/rail_count.h"

enum { FIRST_CONTACT = 4 << 10, SHORT = 96 << 10 };
enum { LEAD = 128 << 10, SPARED = 192 << 10, TIMED_BRIEF = 352 << 10, TIMED_AGAIN = 384 << 10 };
enum { MOST_PASSES = 5, SLOW_PASSES = 3, FRESH_S = 30, MOST_LINES = 16 };
static const double far_slower = 2.5;     /* than the usual rail: it gets fewer bytes */
static const double worth_knowing = 4;    /* likewise, of a glance */
static const double brief_least = 500e-6; /* seconds of the bytes timed briefly; less is noise */
static const double hardly_usable = 16;   /* times slower: it gets no more, and counts as slower */

/* A process's findings. */
struct measured {
    double rate[2];      /* bytes/s by enum topo_way; 0: not known */
    double small, large; /* seconds, in pieces of RAILS_SMALL and of RAILS_LARGE bytes */
    int full;            /* these two are known, unless the rail is far slower than others */
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

/* How much is measured, and if another communicator's findings of late will do. Where rails have
   changed, ranks have just waited for the slow one and are out of step, and a plan that is wrong
   lasts: a third pass is worth its time. A full measurement has two passes of long messages. */
enum extent { FULL, BRIEF, AGAIN };
static const struct {
    int n, bytes; /* of each */
} passes[] = {[FULL] = {5, RAILS_TIMED}, [BRIEF] = {2, TIMED_BRIEF}, [AGAIN] = {3, TIMED_AGAIN}};

static int is_fresh(struct measured m, enum extent extent)
{
    return extent != AGAIN && m.when > 0 && count_now() - m.when < FRESH_S &&
           (extent == BRIEF || m.full);
}

/* One measurement under way. */
struct rails_pass {
    MPI_Comm comm;
    const struct topo *t;
    int rank;
    char *buffer;    /* [2 * RAILS_TIMED] */
    double *seconds; /* [nranks] until each rank's first few bytes were there, if that is far longer
                        than usual; else 0 */
    double usual;    /* the lower median of these times */
    double *room;    /* [nranks] */
    int to, from;
};

static int all_start(const struct rails_pass *w)
{
    int here = 0, all;

    return mpi.Allreduce(&here, &all, 1, MPI_INT, MPI_MAX, w->comm);
}

/* Let the own rank's transfers be those that are slow, or those that are not. */
static struct rails_pass only(const struct rails_pass *w, int slow)
{
    struct rails_pass some = *w;

    if ((w->seconds[w->rank] > 0) != slow)
        some.to = MPI_PROC_NULL;
    if (w->from != MPI_PROC_NULL && (w->seconds[w->from] > 0) != slow)
        some.from = MPI_PROC_NULL;
    return some;
}

/* The first few bytes, and what they took on all ranks. */
static int find_slow(struct rails_pass *w)
{
    struct rails_passed mine;
    int n = w->t->nranks;
    int rc = rails_pass_on(w->comm, w->buffer, w->to, w->from,
                           (struct rails_transfer){FIRST_CONTACT, FIRST_CONTACT, 0}, &mine);

    if (rc == MPI_SUCCESS)
        rc = all_start(w);
    if (rc == MPI_SUCCESS)
        rc = rails_pass_on(w->comm, w->buffer, w->to, w->from,
                           (struct rails_transfer){SHORT, RAILS_SMALL, 0}, &mine);
    if (w->to == MPI_PROC_NULL)
        mine.seconds = 0;
    if (rc == MPI_SUCCESS)
        rc = mpi.Allgather(&mine.seconds, 1, MPI_DOUBLE, w->seconds, 1, MPI_DOUBLE, w->comm);
    if (rc != MPI_SUCCESS)
        return rc;
    w->usual = rails_lower_median(w->seconds, n, w->room);
    for (int r = 0; r < n; r++)
        w->seconds[r] = w->seconds[r] > far_slower * w->usual ? w->seconds[r] : 0;
    return MPI_SUCCESS;
}

static int is_hardly_usable(const struct rails_pass *w, int rank)
{
    return rank != MPI_PROC_NULL && w->seconds[rank] > hardly_usable * w->usual;
}

/* The slow rails alone. A rail that is hardly usable had all of the burst, so it is at least so
   slow. */
static int measure_slow(const struct rails_pass *w, double *rate)
{
    struct rails_pass slow = only(w, 1);
    struct rails_passed now;
    double found[SLOW_PASSES] = {0}, room[SLOW_PASSES];
    int rc = MPI_SUCCESS;

    if (is_hardly_usable(w, w->rank))
        slow.to = MPI_PROC_NULL;
    if (is_hardly_usable(w, w->from))
        slow.from = MPI_PROC_NULL;
    for (int i = 0; rc == MPI_SUCCESS && i < SLOW_PASSES; i++) {
        rc = rails_pass_on(w->comm, w->buffer, slow.to, slow.from,
                           (struct rails_transfer){SPARED, RAILS_SMALL, RAILS_BURST}, &now);
        found[i] = now.rate;
    }
    if (w->seconds[w->rank] > 0)
        *rate = slow.to == MPI_PROC_NULL ? (SHORT - RAILS_BURST) / w->seconds[w->rank]
                                         : rails_median(found, SLOW_PASSES, room);
    return rc;
}

/*
 * The rate of each rank to its partner that way, in rate[nranks]; 0: there is none. Pieces have
 * both lengths in turn. The median pass counts: a rank that lost its core for a moment is slow
 * once, and one that a limiter lets through in bursts is fast once. Rejected: the pass that ends
 * first, which is the one with a burst.
 */
static int measure_pass(struct rails_pass *w, struct rails_way way, enum extent extent,
                        struct measured *m, double *rate)
{
    int brief = extent != FULL;
    double best[2] = {DBL_MAX, DBL_MAX}, found[MOST_PASSES] = {0}, room[MOST_PASSES], mine = 0;

    w->to = rails_counterpart(w->t, w->rank, way);
    w->from = rails_counterpart(w->t, w->rank, rails_opposite(way));
    int rc = find_slow(w);
    if (rc == MPI_SUCCESS)
        rc = measure_slow(w, &mine);
    if (rc != MPI_SUCCESS)
        return rc;
    struct rails_pass usual = only(w, 0);
    for (int i = 0; rc == MPI_SUCCESS && i < passes[extent].n; i++) {
        struct rails_transfer small = {passes[extent].bytes, RAILS_SMALL, LEAD};
        struct rails_transfer large = {RAILS_TIMED, RAILS_LARGE, 0};
        struct rails_passed now = {0};
        int longer = !brief && i % 2;

        rc = all_start(w);
        if (rc == MPI_SUCCESS)
            rc = rails_pass_on(w->comm, w->buffer, usual.to, usual.from, longer ? large : small,
                               &now);
        best[longer] = now.seconds < best[longer] ? now.seconds : best[longer];
        found[i] = longer ? 0 : now.rate; /* long messages may come side by side */
    }
    if (rc != MPI_SUCCESS)
        return rc;
    if (usual.to != MPI_PROC_NULL) {
        mine = rails_median(found, passes[extent].n, room);
        m->small = brief ? m->small : best[0];
        m->large = brief ? m->large : best[1];
    }
    return mpi.Allgather(&mine, 1, MPI_DOUBLE, rate, 1, MPI_DOUBLE, w->comm);
}

/* This rank's rail carries at least as much as in one of the passes. */
static void note_rates(const struct rails_pass *w, struct rails_way way, const double *rate,
                       struct measured *m)
{
    int from = rails_counterpart(w->t, w->rank, rails_opposite(way));

    if (rate[w->rank] > m->rate[TOPO_OUT])
        m->rate[TOPO_OUT] = rate[w->rank];
    if (from != MPI_PROC_NULL && rate[from] > m->rate[TOPO_IN])
        m->rate[TOPO_IN] = rate[from];
}

/* Each rail meets another one in a second pass: of the node before, or, where that is the next one
   too, of the next rank there. */
static int second_turn(const struct topo *t, struct rails_way *way)
{
    *way = t->nnodes > 2 ? rails_opposite(rails_next) : (struct rails_way){1, 1};
    return t->nnodes > 2 || (topo_node_size(t, 0) > 1 && topo_node_size(t, 1) > 1);
}

static int measure_own(struct rails_pass *w, enum extent extent, double *rate, struct measured *m)
{
    struct rails_way second;
    int rc = measure_pass(w, rails_next, extent, m, rate);

    if (rc != MPI_SUCCESS)
        return rc;
    note_rates(w, rails_next, rate, m);
    if (!rails_alike(rate, w->t->nranks) && second_turn(w->t, &second)) {
        rc = measure_pass(w, second, extent, m, rate);
        if (rc == MPI_SUCCESS)
            note_rates(w, second, rate, m);
    }
    m->when = count_now();
    return rc;
}

static void fill_in_chunk(struct topo *t, const struct measured *m)
{
    double small = 0, large = 0;

    for (int r = 0; r < t->nranks; r++) {
        if (!m[r].full)
            return;
        small += m[r].small;
        large += m[r].large;
    }
    t->rail_chunk = small < large ? RAILS_SMALL : RAILS_LARGE;
    say(CFG_LEVEL_INFO, "rails were measured to be faster with messages of %zu bytes: %.3g to %.3g",
        t->rail_chunk, small < large ? small : large, small < large ? large : small);
}

/* By node, rail and way: if several ranks use a rail, the fastest one's rate. */
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
static void say_rates(const struct topo *t)
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

/* Memory of one measurement; freed as one. */
struct room {
    struct measured *all; /* [nranks] */
    double *rate;         /* [nranks] */
    double *seconds, *work;
    double *table;  /* [nnodes * nrails * 2] */
    double *before; /* likewise: what the topology had, and room to sort */
    char *buffer;
    double usual; /* of the rates found */
};

static int open_room(struct room *r, const struct topo *t)
{
    size_t ranks = (size_t)t->nranks, cells = 2 * (size_t)t->nnodes * (size_t)t->nrails;

    *r = (struct room){.all = calloc(ranks, sizeof *r->all),
                       .rate = calloc(3 * ranks, sizeof *r->rate),
                       .table = calloc(cells, sizeof *r->table),
                       .before = calloc(cells, sizeof *r->before),
                       .buffer = calloc(2, RAILS_TIMED)};
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

/* *found: r->table and r->all have the result. */
static int measure(MPI_Comm comm, int rank, struct topo *t, enum extent extent, struct room *r,
                   int *found)
{
    int here[2] = {open_room(r, t), is_fresh(own_get(), extent)}, all[2];
    struct rails_pass w = {.comm = comm,
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
        struct measured m = own_get();

        m.rate[TOPO_OUT] = m.rate[TOPO_IN] = 0;
        m.full |= extent == FULL;

        rc = measure_own(&w, extent, r->rate, &m);
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
    r->usual = rails_median(r->table, 2 * t->nnodes * t->nrails, r->before);
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

/* slow[nranks]: ranks that were slow in each pass so far. Is any of them left? */
static int still_slow(const struct rails_pass *w, int first, double *slow)
{
    int any = 0;

    for (int r = 0; r < w->t->nranks; r++) {
        slow[r] = (first || slow[r] > 0) && w->seconds[r] > worth_knowing * w->usual;
        any |= slow[r] > 0;
    }
    return any;
}

int rails_glance(MPI_Comm comm, int rank, const struct topo *t, int *slow)
{
    struct room r;
    int here = open_room(&r, t), all;
    struct rails_pass w = {.comm = comm,
                           .t = t,
                           .rank = rank,
                           .buffer = r.buffer,
                           .seconds = r.seconds,
                           .room = r.work,
                           .to = rails_counterpart(t, rank, rails_next),
                           .from = rails_counterpart(t, rank, rails_opposite(rails_next))};
    int rc = mpi.Allreduce(&here, &all, 1, MPI_INT, MPI_MIN, comm);

    *slow = rc == MPI_SUCCESS && all;
    for (int i = 0; *slow && i < 2; i++) {
        rc = find_slow(&w);
        *slow = rc == MPI_SUCCESS && still_slow(&w, i == 0, r.rate);
    }
    close_room(&r);
    return rc;
}

int rails_measure(MPI_Comm comm, int rank, int brief, struct topo *t, double *usual)
{
    struct room r;
    int found, rc;

    if (!rails_wanted(t) || rates_given(t))
        return MPI_SUCCESS;
    rc = measure(comm, rank, t, brief ? BRIEF : FULL, &r, &found);
    if (found && (!brief || TIMED_BRIEF - LEAD > brief_least * r.usual)) {
        *usual = r.usual;
        take_table(t, &r);
        say_rates(t);
        fill_in_chunk(t, r.all);
    }
    close_room(&r);
    return rc;
}

/* The rail that has changed most, of all that are another's. */
static void say_change(const struct topo *t, const double *before, const double *now,
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

int rails_measure_again(MPI_Comm comm, int rank, struct topo *t, unsigned calls, int *changed,
                        double *usual, double *cost)
{
    int n = 2 * t->nnodes * t->nrails, found, rc;
    double began = count_now();
    struct room r;

    rc = measure(comm, rank, t, AGAIN, &r, &found);
    *cost = count_now() - began;
    if (rc == MPI_SUCCESS)
        rc = mpi.Allreduce(MPI_IN_PLACE, cost, 1, MPI_DOUBLE, MPI_MIN, comm);
    found &= rc == MPI_SUCCESS;
    for (int i = 0; found && i < n; i++)
        r.before[i] =
            topo_rail_rate(t, i / 2 / t->nrails, i / 2 % t->nrails, (enum topo_way)(i % 2));
    *usual = found ? r.usual : *usual;
    *changed = found && rails_changed(r.before, r.table, n);
    if (*changed) {
        say_change(t, r.before, r.table, calls);
        take_table(t, &r);
    }
    if (*changed && t->rail[0].bw_bytes_per_s <= 0) { /* equal again, and no plan has a rate */
        struct measured m = own_get();

        rail_count_can(m.rate[TOPO_OUT], m.rate[TOPO_IN]);
    }
    close_room(&r);
    return rc;
}
