/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order of trials: the best row, the best other row, then the first row's second chunk. A
 * measurement tells most about the order of two rows. A chunk is worth a factor of two at most (see
 * plan_chunks). Last comes the candidate that no model can judge.
 */
#include "planners/choose/choose.h"

#include <math.h>

#include "planners/algorithms/compose/compose.h"
#include "planners/algorithms/lane/lane.h"
#include "planners/choose/slices.h"
#include "planners/links/cost.h"

/* Times what any library needs: a reroute this slow loses to every library. */
static const double behind_any_library = 4;

static int serves(const struct plan_algorithm *a, enum plan_collective c)
{
    return (a->collectives & 1u << c) != 0;
}

static struct plan_candidate candidate(const struct plan_request *q, const struct plan_algorithm *a,
                                       size_t chunk)
{
    struct plan_request asked = *q;

    asked.chunk_bytes = chunk;
    return (struct plan_candidate){.algorithm = a,
                                   .chunk_bytes = chunk,
                                   .recipe = q->recipe,
                                   .ppg = 1,
                                   .seconds = a->cost ? a->cost(&asked) : (double)INFINITY};
}

/* Put c among the n that are there, the fastest first; the last one falls off where there are max.
   Returns how many there are then. */
static int insert(struct plan_candidate *list, int n, int max, struct plan_candidate c)
{
    int at = n < max ? n++ : max;

    for (; at > 0 && list[at - 1].seconds > c.seconds; at--)
        if (at < max)
            list[at] = list[at - 1];
    if (at < max)
        list[at] = c;
    return n;
}

/*
 * A few medium messages along one rank of each node, against many small ones on all rails. No
 * topology tells whether the library spreads a message over the rails. A library that does often
 * starts at some length. Open MPI over TCP starts at its eager limit; below it such messages reach
 * half the rails' rate, however they are cut. Allreduce is left out: the libraries' own algorithms
 * are good at these sizes, and a trial over one rail costs more than it can gain. A chunk has half
 * of the bytes, and at most this limit.
 */
static const struct leaders {
    const struct plan_algorithm *algorithm; /* NULL: no such way */
    const char *recipe;
    size_t longest;
} leaders[COLL_COUNT] = {
    [COLL_BCAST] = {&plan_compose, "stripe=1", 64 << 10},
    [COLL_REDUCE] = {&plan_compose, "stripe=1", 64 << 10},
    [COLL_ALLGATHER... COLL_ALLGATHERV] = {&plan_lane, "lanes=1", 256 << 10},
    [COLL_REDUCE_SCATTER... COLL_REDUCE_SCATTER_BLOCK] = {&plan_lane, "lanes=1", 256 << 10},
    [COLL_SCATTER... COLL_SCATTERV] = {&plan_lane, "lanes=1", 256 << 10},
};

static int add_leaders(const struct plan_request *q, struct plan_candidate *c, int n, int max)
{
    enum { PAYS_BELOW = 4 << 20, MOST_NODES = 16 };
    const struct leaders *way = &leaders[q->collective];
    const struct topo *t = q->topo;
    struct plan_request asked = *q;
    uint64_t total = plan_total_bytes(q);

    if (n == 0 || n >= max || !way->algorithm || q->recipe || q->chunk_bytes || t->nnodes < 2 ||
        t->nnodes > MOST_NODES || t->nranks == t->nnodes || total >= PAYS_BELOW)
        return n;
    size_t chunk = total / 2 < way->longest ? (size_t)(total / 2) : way->longest;
    asked.recipe = way->recipe;
    c[n] = candidate(&asked, way->algorithm,
                     chunk > q->grain ? chunk / q->grain * q->grain : q->grain);
    return n + 1;
}

/* The rows for a rank that does it all itself, or for one slice. */
static int choose_rows(const struct plan_request *q, struct plan_candidate *c, int max,
                       int must_pay)
{
    size_t chunk[PLAN_CHUNKS] = {q->chunk_bytes};
    int nchunks = q->chunk_bytes ? 1 : plan_chunks(q, chunk), n = 0;
    double least = cost_least(q);
    const int all = max;

    if (max > PLAN_ROWS)
        max = PLAN_ROWS;
    for (int i = 0; i < plan_algorithm_count; i++) {
        const struct plan_algorithm *a = plan_algorithms[i];

        if (!serves(a, q->collective) || (must_pay && a->pays && a->pays(q)))
            continue;
        struct plan_candidate next = candidate(q, a, chunk[0]);
        if (!must_pay || isinf(next.seconds) || next.seconds <= behind_any_library * least)
            n = insert(c, n, max, next);
    }
    while (n > 1 && !isinf(c[n - 1].seconds) && c[n - 1].seconds > PLAN_WORTH_TIMES * c[0].seconds)
        n--;
    if (nchunks > 1 && n > 0 && max > 1) { /* a third row makes room for it */
        n = n < max ? n : max - 1;
        c[n++] = candidate(q, c[0].algorithm, chunk[1]);
    }
    return add_leaders(q, c, n, all);
}

/*
 * The rows in n slices. The best case is that slices do not disturb each other. A prediction must
 * assume it, because the limit of a connection is unknown; the guard measures the truth.
 */
static int choose_sliced(const struct plan_request *q, int n, struct plan_candidate *c, int max,
                         int must_pay)
{
    uint64_t from;
    struct plan_request slice = slice_request(q, n, 0, &from);

    slice.ppg = n;            /* rows see that rails do not idle for lack of ranks */
    if (!slice.chunk_bytes) { /* another row rather than another chunk */
        size_t chunk[PLAN_CHUNKS];

        plan_chunks(&slice, chunk);
        slice.chunk_bytes = chunk[0];
    }
    int found = choose_rows(&slice, c, max, must_pay);
    for (int i = 0; i < found; i++) {
        c[i].ppg = n;
        c[i].seconds += slices_cost(q, n);
    }
    return found;
}

/*
 * If slices are possible, they come first, with all processes and the two best rows. Then comes the
 * best row without slices and, if there is room, half the processes. Two rows come first because
 * the model knows least about connections with an unknown limit. If the rate of a connection is
 * known, processes are at most as many as fill the rails.
 */
enum { HALVED_FROM = 4 };

static int useful_processes(const struct plan_request *q)
{
    int useful = cost_processes(q->topo);

    return q->ppg < useful ? q->ppg : useful;
}

static int choose(const struct plan_request *q, struct plan_candidate *c, int max, int must_pay)
{
    struct plan_request alone = *q;
    struct plan_candidate whole;
    int most = slices_of(q, useful_processes(q)), n = 0;

    alone.ppg = 0;
    int others = choose_rows(&alone, &whole, 1, must_pay);
    if (most > 1 && max > 0)
        n = choose_sliced(q, most, c, max < 2 ? max : 2, must_pay);
    if (!n || (must_pay && others && whole.seconds <= c[0].seconds))
        return choose_rows(&alone, c, max, must_pay);
    if (others && n < max)
        c[n++] = whole;
    if (most >= HALVED_FROM && n < max)
        n += choose_sliced(q, most / 2, c + n, 1, must_pay);
    return n;
}

int plan_candidates(const struct plan_request *q, struct plan_candidate *c, int max)
{
    return choose(q, c, max, 1);
}

int plan_candidates_all(const struct plan_request *q, struct plan_candidate *c, int max)
{
    return choose(q, c, max, 0);
}

static struct plan_candidate library_in(int slices)
{
    return (struct plan_candidate){.seconds = (double)INFINITY, .ppg = slices};
}

/*
 * No model predicts the library's time for a slice, so it is tried beside the row. Only rows that
 * gain without slices are candidates: otherwise the library's own algorithm over all ranks is
 * better, in slices as well.
 */
int plan_candidates_with_library(const struct plan_request *q,
                                 struct plan_candidate c[PLAN_CANDIDATES], int must_pay)
{
    struct plan_request alone = *q;
    struct plan_candidate row;
    int most = useful_processes(q), cut = slices_of(q, most), n;

    alone.ppg = 0;
    int rows = choose_rows(&alone, &row, 1, must_pay);
    int sliced = rows && cut > 1 && choose_sliced(q, cut, c, 1, must_pay) &&
                 (!must_pay || c[0].seconds < row.seconds);
    n = sliced;
    if (rows && !sliced)
        c[n++] = row;
    if (most > 1)
        c[n++] = library_in(most);
    if (sliced)
        c[n++] = row;
    if (sliced && cut >= HALVED_FROM)
        n += choose_sliced(q, cut / 2, c + n, 1, must_pay);
    else if (most >= HALVED_FROM)
        c[n++] = library_in(most / 2);
    return n;
}

int plan_memory_matters(const struct plan_request *q)
{
    struct plan_request host = *q, device = *q;

    host.memory = PLAN_IN_HOST;
    device.memory = PLAN_ON_DEVICE;
    for (int i = 0; i < plan_algorithm_count; i++) {
        const struct plan_algorithm *a = plan_algorithms[i];

        if (serves(a, q->collective) && a->pays && !a->pays(&host) != !a->pays(&device))
            return 1;
    }
    return 0;
}

const char *plan_nothing_pays(const struct plan_request *q)
{
    const char *first = NULL, *why;

    for (int i = 0; i < plan_algorithm_count; i++) {
        const struct plan_algorithm *a = plan_algorithms[i];

        if (!serves(a, q->collective))
            continue;
        if (!a->pays || !(why = a->pays(q)))
            return NULL;
        first = first ? first : why;
    }
    return first ? first : "no algorithm for this collective";
}
