/* SPDX-License-Identifier: BSD-3-Clause */
#include "planners/algorithms/collaborative/split.h"

#include <string.h>

#include "planners/links/rates.h"

/* The stages that a path may pass. */
enum stage { NVLINK, GPU, PCIE_OUT, PCIE_IN, SOCKETS, HOST, STAGES };

/* Seconds of each stage per byte of the device's and of the host's part. */
struct work {
    double device[STAGES], host[STAGES];
};

static double rate(const struct topo *t, enum topo_link_class c)
{
    return rates_least(t, c).bw_bytes_per_s;
}

static double latency(const struct topo *t, enum topo_link_class c)
{
    return rates_least(t, c).latency_ns * 1e-9;
}

static const double library_call = 10e-6; /* seconds that one more call of the library takes */

/* Ranks on the same socket as that one. */
static int beside(const struct topo *t, int rank)
{
    int n = 0;

    for (int r = 0; r < t->nranks; r++)
        n += t->rank[r].socket == t->rank[rank].socket;
    return n;
}

/* How many ranks the largest socket holds, the next one, and the smallest. */
struct socket_ranks {
    int first, second, least;
};

static struct socket_ranks socket_ranks_of(const struct topo *t)
{
    struct socket_ranks s = {.least = t->nranks};
    int where = -1;

    for (int pass = 0; pass < 2; pass++)
        for (int r = 0; r < t->nranks; r++) {
            int here = beside(t, r);

            if (!pass && here > s.first) {
                s.first = here;
                where = t->rank[r].socket;
            }
            if (here < s.least)
                s.least = here;
            if (pass && t->rank[r].socket != where && here > s.second)
                s.second = here;
        }
    return s;
}

/*
 * A rank sends each peer one slice to be combined and one that is: 2/n of the part over the link of
 * each pair. It combines n - 1 times a slice. A host part is copied whole both ways. The rank that
 * receives a slice in host memory also combines it, with all its threads.
 */
static struct work work_of(const struct plan_request *q)
{
    const struct topo *t = q->topo;
    struct socket_ranks s = socket_ranks_of(t);
    double n = t->nranks, pair = 2 / n, combined = (n - 1) / n;
    double across = s.first * s.second * pair / rate(t, TOPO_LINK_SOCKET);

    double out = 1 / rate(t, TOPO_LINK_PCIE), foreign = (t->nranks - s.least) * pair * out;
    double threads = q->host_threads > 1 ? q->host_threads : 1;
    double by_one = combined * (2 / rate(t, TOPO_LINK_SHM) + 1 / rate(t, TOPO_LINK_REDUCE));

    struct work w = {
        .device = {[NVLINK] = s.first > 1 ? pair / rate(t, TOPO_LINK_NVLINK) : 0,
                   [GPU] = combined / rate(t, TOPO_LINK_REDUCE_GPU),
                   [PCIE_OUT] = foreign,
                   [PCIE_IN] = foreign,
                   [SOCKETS] = across},
        .host = {[PCIE_OUT] = out, [PCIE_IN] = out, [SOCKETS] = across, [HOST] = by_one / threads},
    };
    if (q->library_beside) {
        w.host[PCIE_IN] = 2 * combined * out;
        w.host[HOST] = 0;
    }
    return w;
}

uint64_t split_pieces(uint64_t host_bytes)
{
    enum { USUAL = 16, LEAST = 1 << 20 };
    uint64_t most = host_bytes / LEAST + 1, pieces = most < USUAL ? most : USUAL;
    uint64_t least = (host_bytes + SPLIT_PIECE - 1) / SPLIT_PIECE;

    return pieces > least ? pieces : least;
}

static double largest(const double stage[STAGES])
{
    double most = 0;

    for (int i = 0; i < STAGES; i++)
        most = stage[i] > most ? stage[i] : most;
    return most;
}

/* Bytes of the chunks, one of each slice, that are under way together. */
static double front(const struct plan_request *q, double bytes)
{
    double slice = bytes / q->topo->nranks, chunk = (double)q->chunk_bytes;

    return (slice < chunk ? slice : chunk) * q->topo->nranks;
}

/* Slices cross the links twice: while a chunk is combined, the next one comes in over half of a
   link. So combining shows where it takes longer than that, and where there is one chunk only. */
static double device_fill(const struct plan_request *q, const struct work *w, double bytes)
{
    double links[STAGES], chunks = front(q, bytes), gpu = w->device[GPU];

    memcpy(links, w->device, sizeof links);
    links[GPU] = 0;
    double link = largest(links), shown = 2 * gpu - link;
    if (gpu > link)
        return link * chunks;
    return chunks < bytes ? (shown > 0 ? shown : 0) * chunks : gpu * chunks;
}

/* A chunk passes all stages. The busiest stage counts with the whole part, the others with their
   first or last chunks. The copies of one direction follow each other, a chunk of each slice in
   turn. So the first slice's chunk is combined while the others come down, and goes up while they
   are combined. But slow results arrive together. If the bus is the busiest stage, it waits for
   results that the next chunks delay. */
static double host_fill(const struct plan_request *q, const struct work *w, double bytes)
{
    double n = q->topo->nranks, all = front(q, bytes), one = all / n;

    if (q->library_beside) /* while the first pieces come and the last ones go */
        return largest(w->host) * bytes * (SPLIT_CALLS - 1) / (double)split_pieces((uint64_t)bytes);
    double handing = (n - 1) / rate(q->topo, TOPO_LINK_SHM), combining = n * w->host[HOST], sum = 0;
    enum stage busiest = PCIE_OUT;

    for (enum stage i = 0; i < STAGES; i++)
        busiest = w->host[i] > w->host[busiest] ? i : busiest;
    double held_up = busiest == PCIE_OUT && bytes > all ? combining : handing;
    double late = one * (1 + held_up / w->host[PCIE_OUT]);
    double passed[STAGES] = {
        [PCIE_OUT] = all, [PCIE_IN] = late < all ? late : all, [SOCKETS] = one, [HOST] = all};
    for (enum stage i = 0; i < STAGES; i++)
        sum += i == busiest ? 0 : w->host[i] * passed[i];
    return sum;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* A copy takes its time to begin, and the next one waits. */
static struct work with_copies(const struct plan_request *q, struct work w, double host)
{
    double n = q->topo->nranks, pieces = (double)split_pieces((uint64_t)host);
    double chunks = q->library_beside ? pieces : host / n / (double)q->chunk_bytes;
    double copies = n * (double)(uint64_t)(chunks + 1), each = latency(q->topo, TOPO_LINK_PCIE);

    w.host[PCIE_OUT] += copies * each / host;
    w.host[PCIE_IN] += copies * each / host;
    return w;
}

/* The later path, or the stage that both keep busy. The path that ends sooner there has passed the
   stages behind it while the other still runs. */
static double seconds(const struct plan_request *q, const struct work *work, double host)
{
    const struct topo *t = q->topo;
    struct work w = host > 0 ? with_copies(q, *work, host) : *work;
    double device = (double)q->nbytes - host;
    double device_wait = 2 * latency(t, TOPO_LINK_NVLINK) + device_fill(q, &w, device);

    if (q->library_beside && host > 0)
        device_wait += library_call * (double)(split_pieces((uint64_t)host) + SPLIT_CALLS);
    double host_wait = 2 * latency(t, TOPO_LINK_SHM) + host_fill(q, &w, host);
    double last = larger(device > 0 ? largest(w.device) * device + device_wait : 0,
                         host > 0 ? largest(w.host) * host + host_wait : 0);

    for (int i = 0; device > 0 && host > 0 && i < STAGES; i++)
        if (w.device[i] > 0 && w.host[i] > 0)
            last = larger(last, w.device[i] * device + w.host[i] * host +
                                    (device_wait < host_wait ? device_wait : host_wait));
    return last;
}

double split_seconds(const struct plan_request *q, uint64_t host_bytes)
{
    struct work w = work_of(q);

    return seconds(q, &w, (double)host_bytes);
}

uint64_t split_quantum(const struct plan_request *q)
{
    enum { ELEMENTS = 64, LONG_SLICE = 64 << 10 };

    return q->nbytes / (uint64_t)q->topo->nranks < LONG_SLICE ? q->grain : q->grain * ELEMENTS;
}

uint64_t split_bytes(const struct plan_request *q, int share)
{
    uint64_t quantum = split_quantum(q), quanta = q->nbytes / quantum, s = (uint64_t)share;

    if (share == SPLIT_WHOLE)
        return q->nbytes;
    return (quanta / SPLIT_WHOLE * s + quanta % SPLIT_WHOLE * s / SPLIT_WHOLE) * quantum;
}

/* Part of the device path's time alone. A smaller gain is not worth the processors, and may be an
   error of this model. */
#define WORTH_IT 0.985

/* Ever closer around the best of evenly spaced divisions: a walk that no small bump leads astray,
   as chunks make them. */
uint64_t split_best(const struct plan_request *q)
{
    enum { STEPS = 32 };
    uint64_t quantum = split_quantum(q), quanta = q->nbytes / quantum, from = 0, to = quanta,
             best = 0;

    if (q->memory != PLAN_ON_DEVICE || q->topo->nnodes > 1 || q->topo->nranks < 2)
        return 0;
    struct work w = work_of(q);
    double alone = seconds(q, &w, 0), least = alone;
    for (uint64_t step = quanta / STEPS + 1;; step = (step + STEPS / 2 - 1) / (STEPS / 2)) {
        for (uint64_t at = from; at <= to; at += step) {
            double now = seconds(q, &w, (double)(at * quantum));

            if (now < least) {
                least = now;
                best = at;
            }
        }
        if (step == 1)
            return least < WORTH_IT * alone ? best * quantum : 0;
        from = best > step ? best - step : 0;
        to = best + step < quanta ? best + step : quanta;
    }
}
