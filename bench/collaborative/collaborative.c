/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_collaborative [--ranks N] [--claim | --check | --unknown] SIZE...
 *
 * The collaborative Allreduce through the engine, on GPUs or on the simulated driver. It runs the
 * device path alone, the division the planner chooses from rates measured first, and the best of
 * all divisions. All divisions are every percent, and every tenth of one around the best of those.
 * Every result is compared. With --claim the exit status is 1 unless the chosen division is within
 * 3% of the best, not behind the device path, and from 64 MiB on 0.9 of the bound. That holds for
 * the modelled time of the simulated driver, where nothing disturbs. --check compares results
 * alone, of a few divisions. --unknown knows no rates, starts with almost nothing through the host,
 * and corrects that. It tells after how many calls the division is within 3% of the best, where it
 * settles, and how far the worst call until then was behind the device path. With --claim as well:
 * after 10 calls, not more than 3%, and not behind.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/collaborative/rig.h"
#include "config/settings/settings.h"
#include "planners/algorithms/collaborative/collaborative.h"
#include "planners/algorithms/collaborative/correct.h"
#include "planners/algorithms/collaborative/split.h"

struct bench {
    struct rig rig;
    struct topo *topo;
    double between, down; /* bytes/s of GPU to GPU and to the host, in one piece */
    int failed, claim, check, unknown;
};

static int refuse(const char *text)
{
    fprintf(stderr,
            "bench_collaborative: '%s': expected [--ranks 2..%d] [--claim | --check | --unknown] "
            "SIZE..., as 8M\n",
            text, RIG_RANKS);
    return 2;
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

/* The machine's ranks; their links are measured for each size. */
static struct topo *ranks(const struct rig *g)
{
    struct topo *t = NULL;
    char text[64], why[256];

    snprintf(text, sizeof text, "node:1 gpu:%d", g->n);
    return topo_parse(text, 0, &t, why, sizeof why) < 0 ? NULL : t;
}

/* In chunks as they are for that size. */
static void measure(struct bench *b, size_t bytes)
{
    struct rig *g = &b->rig;
    struct topo_link *link = b->topo->link;
    size_t chunk = request_for(b, bytes).chunk_bytes;

    link[TOPO_LINK_NVLINK].bw_bytes_per_s = rig_rate_between(g, chunk);
    link[TOPO_LINK_PCIE].bw_bytes_per_s = b->down;
    link[TOPO_LINK_REDUCE_GPU].bw_bytes_per_s = rig_rate_combining(g, chunk);
    link[TOPO_LINK_SHM].bw_bytes_per_s = link[TOPO_LINK_REDUCE].bw_bytes_per_s =
        rig_rate_processor(g);
    /* The rate of the host path alone, whose chunks may be short: the others' rates include it. */
    for (int i = 0; i < TOPO_LINK_CLASSES; i++)
        link[i].latency_ns = 1;
    link[TOPO_LINK_PCIE].latency_ns = rig_latency_down(g) * 1e9;
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

/* The best of the divisions in that range, up to such as take twice its time; *at is its share. */
static double search(struct bench *b, size_t bytes, int from, int to, int step, int *at)
{
    double best = -1;

    for (int share = from < 0 ? 0 : from; share <= to && share <= SPLIT_WHOLE; share += step) {
        double now = run(b, bytes, share);

        if (best > 0 && now > 2 * best)
            break;
        if (now > 0 && (best < 0 || now < best)) {
            best = now;
            *at = share;
        }
    }
    return best;
}

/* The best of all: every percent, then every tenth of one around it. */
static double best_of_all(struct bench *b, size_t bytes, int *at)
{
    enum { PERCENT = SPLIT_WHOLE / 100, FINE = PERCENT / 10 };
    int coarse = 0;

    search(b, bytes, 0, SPLIT_WHOLE, PERCENT, &coarse);
    return search(b, bytes, coarse - PERCENT, coarse + PERCENT, FINE, at);
}

static void claim(struct bench *b, size_t bytes, int holds)
{
    if (!b->claim || holds)
        return;
    fprintf(stderr, "bench_collaborative: %zu bytes: the claim does not hold\n", bytes);
    b->failed = 1;
}

/* A program's view if it knows no rates. */
static void learn(struct bench *b, size_t bytes)
{
    enum { MANY = 20, FEW = 10 };
    double alone = run(b, bytes, 0), worst = 0, now[MANY];
    struct correction c;
    int at = 0, calls = MANY;

    correction_begin(&c, 0);
    for (int i = 0; i < MANY; i++) {
        int settled = c.settled;

        now[i] = run(b, bytes, c.share);
        worst = settled || now[i] < worst ? worst : now[i];
        correction_note(&c, b->rig.part[0], b->rig.part[1]);
    }
    double best = best_of_all(b, bytes, &at);
    while (calls > 0 && now[calls - 1] <= 1.03 * best)
        calls--;
    printf("%9zu %10.1f %10.1f %7.2f %10.1f %7.2f %6.3f %6d %6.3f\n", bytes, alone * 1e6,
           now[MANY - 1] * 1e6, c.share / 100.0, best * 1e6, at / 100.0, now[MANY - 1] / best,
           calls, worst / alone);
    claim(b, bytes, calls <= FEW && worst <= 1.001 * alone);
}

static void compare(struct bench *b, size_t bytes)
{
    struct plan_request q = request_for(b, bytes);
    double share = 100.0 * (double)split_best(&q) / (double)bytes, n = b->rig.n;
    double alone = run(b, bytes, 0), own = run(b, bytes, -1);
    double bound = 1 + b->down / b->between * 2 / n;
    int at = 0;
    double best = best_of_all(b, bytes, &at);

    if (own > 0 && own < best)
        best = own;
    printf("%9zu %10.1f %10.1f %7.2f %10.1f %7.2f %6.3f %6.3f %6.3f\n", bytes, alone * 1e6,
           own * 1e6, share, best * 1e6, at / 100.0, own / best, alone / own, bound);
    claim(b, bytes,
          own <= 1.03 * best && own <= 1.001 * alone &&
              (bytes < 64 << 20 || alone / own >= 0.9 * bound));
}

static void check(struct bench *b, size_t bytes)
{
    int at;

    run(b, bytes, -1);
    search(b, bytes, 0, SPLIT_WHOLE, SPLIT_WHOLE / 4, &at);
}

/* The host path alone, of ranks that share a GPU's bus and this thread. It is compared with the
   slower of its two parts: the copies in either direction, and the n - 1 passes that combine and
   send. */
static void show_host_path(struct bench *b, size_t bytes)
{
    double best = -1, n = b->rig.n, passes = 2 * (n - 1) / n;
    double copies = (double)bytes * n / b->rig.devices / b->down;
    double processor = (double)bytes * passes / rig_rate_processor(&b->rig);

    for (int i = 0; i < 5; i++) {
        double now = run(b, bytes, SPLIT_WHOLE);

        best = i && best < now ? best : now;
    }
    printf("the host path alone, %zu bytes: %.1f us; its copies take %.1f us, its combining %.1f: "
           "%.2f of the slower\n",
           bytes, best * 1e6, copies * 1e6, processor * 1e6,
           (copies > processor ? copies : processor) / best);
}

int main(int argc, char **argv)
{
    enum { SIZES = 16 };
    struct bench b = {0};
    size_t size[SIZES], most = 0;
    int n = 0, nranks = 2;

    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--claim"))
            b.claim = 1;
        else if (!strcmp(argv[i], "--check"))
            b.check = 1;
        else if (!strcmp(argv[i], "--unknown"))
            b.unknown = 1;
        else if (!strcmp(argv[i], "--ranks") && i + 1 < argc)
            nranks = atoi(argv[++i]);
        else if (n == SIZES || cfg_parse_bytes(argv[i], &size[n]) < 0 || size[n] % 4 || !size[n])
            return refuse(argv[i]);
        else
            most = size[n] > most ? size[n] : most, n++;
    }
    if (!n || nranks < 2 || nranks > RIG_RANKS)
        return refuse(n ? "--ranks" : "no size");
    rig_open(&b.rig, nranks, most);
    b.topo = ranks(&b.rig);
    if (!b.topo)
        return 1;
    if (b.rig.devices < nranks && !b.check) {
        puts("ranks share a device, which no path could use the better for: results alone");
        b.check = 1;
    }
    b.between = rig_rate_between(&b.rig, most);
    b.down = rig_rate_down(&b.rig, most);
    printf("%d ranks%s; GB/s: between GPUs %.2f, to the host %.2f\n", nranks,
           b.rig.simulated ? ", modelled time" : "", b.between / 1e9, b.down / 1e9);
    if (!b.check)
        printf("%9s %10s %10s %7s %10s %7s %6s %6s %6s\n", "BYTES", "ALONE US", "CHOSEN US",
               "HOST %", "BEST US", "HOST %", "/BEST", b.unknown ? "CALLS" : "GAIN",
               b.unknown ? "WORST" : "BOUND");
    for (int i = 0; i < n; i++) {
        measure(&b, size[i]);
        (b.check ? check : b.unknown ? learn : compare)(&b, size[i]);
        if (b.check && !b.rig.simulated)
            show_host_path(&b, size[i]);
    }
    topo_free(b.topo);
    rig_close(&b.rig);
    return b.failed;
}
