/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_collaborative [--ranks N] [--claim] SIZE...
 *
 * The collaborative Allreduce through the engine, on GPUs or on the simulated driver: the device
 * path alone, the division the planner chooses from rates measured first, and the best of all
 * divisions that are tried. Every result is compared. With --claim the exit status is 1 unless the
 * chosen division is within 3% of the best and not behind the device path, and from 64 MiB on 0.9
 * of the bound; that holds for the modelled time of the simulated driver, where nothing disturbs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/collaborative/rig.h"
#include "config/settings.h"
#include "planners/collaborative/collaborative.h"
#include "planners/collaborative/split.h"

struct bench {
    struct rig rig;
    struct topo *topo;
    int failed, claim;
};

static int refuse(const char *text)
{
    fprintf(stderr,
            "bench_collaborative: '%s': expected [--ranks 2..%d] [--claim] SIZE..., as 8M\n", text,
            RIG_RANKS);
    return 2;
}

/* The machine as it was measured. */
static struct topo *measured(struct rig *g)
{
    struct topo *t = NULL;
    char text[64], why[256];
    double processor = rig_rate_processor(g);

    snprintf(text, sizeof text, "node:1 gpu:%d", g->n);
    if (topo_parse(text, 0, &t, why, sizeof why) < 0)
        return NULL;
    t->link[TOPO_LINK_NVLINK].bw_bytes_per_s = rig_rate_between(g);
    t->link[TOPO_LINK_PCIE].bw_bytes_per_s = rig_rate_down(g);
    t->link[TOPO_LINK_REDUCE_GPU].bw_bytes_per_s = rig_rate_combining(g);
    t->link[TOPO_LINK_SHM].bw_bytes_per_s = t->link[TOPO_LINK_REDUCE].bw_bytes_per_s = processor;
    if (g->simulated) /* of the model alone */
        for (int i = 0; i < TOPO_LINK_CLASSES; i++)
            t->link[i].latency_ns = 1;
    return t;
}

static struct plan_request request_for(const struct bench *b, size_t bytes)
{
    struct plan_request q = {.collective = COLL_ALLREDUCE,
                             .topo = b->topo,
                             .nbytes = bytes,
                             .grain = 4,
                             .memory = PLAN_ON_DEVICE};
    size_t chunk[PLAN_CHUNKS];

    plan_chunks(&q, chunk);
    q.chunk_bytes = chunk[0];
    return q;
}

/* Seconds with that share through the host, or with the planner's own if it is negative. */
static double run(struct bench *b, size_t bytes, int share)
{
    struct plan_request q = request_for(b, bytes);
    struct plan *plan[RIG_RANKS] = {NULL};
    char recipe[32];
    double seconds = -1;
    int rc = 0;

    snprintf(recipe, sizeof recipe, "split=%d.%02d", share / 100, share % 100);
    q.recipe = share < 0 ? NULL : recipe;
    for (q.rank = 0; !rc && q.rank < b->rig.n; q.rank++)
        rc = plan_collaborative.build(&q, &plan[q.rank]);
    if (!rc)
        seconds = rig_run(&b->rig, (const struct plan *const *)plan);
    for (int r = 0; r < b->rig.n; r++)
        plan_free(plan[r]);
    if (seconds < 0) {
        fprintf(stderr, "bench_collaborative: %zu bytes, share %d: %s\n", bytes, share,
                rc ? "no plan" : "a wrong result");
        b->failed = 1;
    }
    return seconds;
}

static void compare(struct bench *b, size_t bytes)
{
    struct plan_request q = request_for(b, bytes);
    uint64_t host = split_best(&q);
    int share = (int)((double)host / (double)bytes * SPLIT_WHOLE + 0.5), at = share;
    double n = b->rig.n, alone = run(b, bytes, 0), own = run(b, bytes, -1), best = own;
    double bound = 1 + b->topo->link[TOPO_LINK_PCIE].bw_bytes_per_s /
                           b->topo->link[TOPO_LINK_NVLINK].bw_bytes_per_s * 2 / n;
    static const int around[] = {60, 70, 80, 90, 95, 105, 110, 120, 130, 150};

    for (size_t i = 0; i < sizeof around / sizeof *around; i++) {
        int other = share * around[i] / 100;
        double now = other && other <= SPLIT_WHOLE ? run(b, bytes, other) : best;

        if (now > 0 && now < best) {
            best = now;
            at = other;
        }
    }
    printf("%9zu %10.1f %10.1f %7.2f %10.1f %7.2f %6.3f %6.3f %6.3f\n", bytes, alone * 1e6,
           own * 1e6, share / 100.0, best * 1e6, at / 100.0, own / best, alone / own, bound);
    if (b->claim && (own > 1.03 * best || own > 1.001 * alone ||
                     (bytes >= 64 << 20 && alone / own < 0.9 * bound))) {
        fprintf(stderr, "bench_collaborative: %zu bytes: the claim does not hold\n", bytes);
        b->failed = 1;
    }
}

int main(int argc, char **argv)
{
    enum { SIZES = 16 };
    struct bench b = {0};
    size_t size[SIZES], most = 0;
    int n = 0, ranks = 2;

    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--claim"))
            b.claim = 1;
        else if (!strcmp(argv[i], "--ranks") && i + 1 < argc)
            ranks = atoi(argv[++i]);
        else if (n == SIZES || cfg_parse_bytes(argv[i], &size[n]) < 0 || size[n] % 4 || !size[n])
            return refuse(argv[i]);
        else
            most = size[n] > most ? size[n] : most, n++;
    }
    if (!n || ranks < 2 || ranks > RIG_RANKS)
        return refuse(n ? "--ranks" : "no size");
    rig_open(&b.rig, ranks, most);
    b.topo = measured(&b.rig);
    if (!b.topo)
        return 1;
    printf("%d ranks%s; GB/s: between GPUs %.2f, to the host %.2f, combining %.0f\n", ranks,
           b.rig.simulated ? ", modelled time" : "",
           b.topo->link[TOPO_LINK_NVLINK].bw_bytes_per_s / 1e9,
           b.topo->link[TOPO_LINK_PCIE].bw_bytes_per_s / 1e9,
           b.topo->link[TOPO_LINK_REDUCE_GPU].bw_bytes_per_s / 1e9);
    printf("%9s %10s %10s %7s %10s %7s %6s %6s %6s\n", "BYTES", "ALONE US", "CHOSEN US", "HOST %",
           "BEST US", "HOST %", "/BEST", "GAIN", "BOUND");
    for (int i = 0; i < n; i++)
        compare(&b, size[i]);
    topo_free(b.topo);
    rig_close(&b.rig);
    return b.failed;
}
