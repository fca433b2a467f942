/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long balancing takes, for all ranks' traffic together, which every rank computes before such
 * a call. JSON lines on stdout: time, congestion beside that of direct paths and of even striping,
 * and the proven minimum. All messages are long enough to be split.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "planners/algorithms/nimble/balance.h"
#include "planners/algorithms/nimble/demand.h"

enum { REPETITIONS = 21 };

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID,
                  &t); /* the machine may be busy; this waits for nothing */
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static int measure(const char *machine, enum demand_kind kind, const struct balance_net *net,
                   uint64_t *matrix)
{
    struct demand d = demand_defaults;
    struct balance plan = {0}, direct, uniform;
    double us[REPETITIONS];

    d.kind = kind;
    d.hot = kind == DEMAND_MOE ? 0.2 : d.hot;
    d.bytes = (uint64_t)net->t->nranks << 24;
    demand_fill(&d, net->t, matrix);
    for (int i = 0; i < REPETITIONS; i++) {
        double start = now_us();

        balance_free(&plan);
        if (balance_plan(net, matrix, &balance_defaults, &plan))
            return fprintf(stderr, "balance: out of memory\n"), 1;
        us[i] = now_us() - start;
    }
    qsort(us, REPETITIONS, sizeof *us, ascending);
    if (balance_direct(net, matrix, &direct) || balance_uniform(net, matrix, &uniform))
        return fprintf(stderr, "balance: out of memory\n"), 1;
    printf("{\"what\": \"balancing\", \"machine\": \"%s\", \"demand\": \"%s\", \"ranks\": %d, "
           "\"median_us\": %.1f, \"worst_us\": %.1f, \"sweeps\": %d, \"of_bound\": %.3f, "
           "\"direct\": %.3f, \"uniform\": %.3f, \"pieces\": %u}\n",
           machine, demand_kind_name(kind), net->t->nranks, us[REPETITIONS / 2],
           us[REPETITIONS - 1], plan.sweeps, plan.bound > 0 ? plan.congestion / plan.bound : 1,
           direct.congestion / plan.congestion, uniform.congestion / plan.congestion, plan.npieces);
    balance_free(&plan);
    balance_free(&direct);
    balance_free(&uniform);
    return 0;
}

int main(void)
{
    static const char *const machines[] = {
        "node:2 gpu:4 rail:4@45GB/s link_nvlink:120GB/s",
        "node:2 gpu:4 rail:4@3x45GB/s,22.5GB/s link_nvlink:120GB/s",
        "node:8 gpu:8 rail:8@45GB/s link_nvlink:120GB/s",
        "node:8 gpu:8 rail:8@7x45GB/s,22.5GB/s link_nvlink:20GB/s",
        "node:32 gpu:8 rail:8@45GB/s link_nvlink:120GB/s",
        "node:32 gpu:8 rail:8@7x45GB/s,22.5GB/s link_nvlink:20GB/s"};
    int failed = 0;

    for (size_t m = 0; m < sizeof machines / sizeof *machines; m++) {
        struct balance_net net;
        struct topo *t;
        char why[256];

        if (topo_parse(machines[m], 0, &t, why, sizeof why))
            return fprintf(stderr, "balance: %s\n", why), 1;
        uint64_t *matrix = calloc((size_t)t->nranks * (size_t)t->nranks, sizeof *matrix);
        if (!matrix || balance_net_open(&net, t, BALANCE_AUTO))
            return fprintf(stderr, "balance: out of memory\n"), 1;
        for (int k = 0; k < DEMAND_COUNT; k++)
            failed |= measure(machines[m], (enum demand_kind)k, &net, matrix);
        balance_net_close(&net);
        free(matrix);
        topo_free(t);
    }
    return failed;
}
