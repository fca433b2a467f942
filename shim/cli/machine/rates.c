/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `collshim rates`: what this machine copies and combines in a second, in the words of a topology,
 * to stand in a tuning profile or a topology's file. Planners who divide work between GPUs and
 * processors go by it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config/base/json.h"
#include "config/topo/topo.h"
#include "config/topo/topo_rate.h"
#include "shim/cli/cli.h"
#include "transports/base/kernels.h"
#include "transports/cuda/cuda_rates.h"

static const char usage[] =
    "collshim rates [--json]\n"
    "\n"
    "Measures, in a second or two, what one processor copies and combines in memory, and where\n"
    "there are GPUs what they copy to the host and to each other, and combine. Prints it in the\n"
    "words of a topology, for COLLSHIM_TOPOLOGY or a profile (COLLSHIM_PROFILE); scripts/tune "
    "puts\n"
    "it into the profiles that it writes. Run it where the job will run, on an idle machine.\n"
    "\n"
    "  --json   the same as JSON\n"
    "\n"
    "Example:\n"
    "  collshim rates >>cluster.profile\n";

enum { BYTES = 64 << 20, RUNS = 5 };

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Rates of memory that no cache holds: copying, and adding floats. Returns 0 or -ENOMEM. */
static int measure_processor(struct topo_link *link)
{
    kernel_fn add = kernel_find(KERNEL_F32, KERNEL_SUM);
    char *a = calloc(1, BYTES), *b = malloc(BYTES);
    double copied = 0, added = 0;

    for (int i = 0; a && b && i < RUNS; i++) {
        double start = now(), end;

        memcpy(b, a, BYTES);
        end = now();
        copied = !i || end - start < copied ? end - start : copied;
        start = now();
        add(a, b, a, BYTES / sizeof(float));
        end = now();
        added = !i || end - start < added ? end - start : added;
    }
    int well = a && b;
    free(a);
    free(b);
    if (!well)
        return -ENOMEM;
    link[TOPO_LINK_SHM].bw_bytes_per_s = BYTES / copied;
    link[TOPO_LINK_REDUCE].bw_bytes_per_s = BYTES / added;
    return 0;
}

/* To three digits: more is noise. */
static double rounded(double rate)
{
    char text[32];

    snprintf(text, sizeof text, "%.2e", rate);
    return strtod(text, NULL);
}

static void show(const struct topo_link *link)
{
    char rate[TOPO_RATE_TEXT];

    for (int i = 0; i < TOPO_LINK_CLASSES; i++) {
        if (!(link[i].bw_bytes_per_s > 0))
            continue;
        topo_print_rate(rounded(link[i].bw_bytes_per_s), rate, sizeof rate);
        printf("link_%s:%s\n", topo_link_name((enum topo_link_class)i), rate);
    }
}

static void show_json(const struct topo_link *link)
{
    struct json j = json_begin(stdout);

    json_open(&j, NULL, '{');
    json_open(&j, "link", '{');
    for (int i = 0; i < TOPO_LINK_CLASSES; i++)
        if (link[i].bw_bytes_per_s > 0) {
            json_open(&j, topo_link_name((enum topo_link_class)i), '{');
            json_number(&j, "bw_bytes_per_s", rounded(link[i].bw_bytes_per_s));
            json_close(&j, '}');
        }
    json_close(&j, '}');
    json_close(&j, '}');
}

int cli_rates(int argc, char **argv)
{
    struct topo_link link[TOPO_LINK_CLASSES] = {{0}};
    struct cuda_rates gpu = {0};
    const char *why;
    int as_json = 0;
    const struct cli_option options[] = {{"--json", &as_json, NULL}, {NULL, NULL, NULL}};
    int left = cli_options(argc, argv, options, usage);

    if (left < 0)
        return -1 - left;
    if (left > 0)
        return cli_usage(argv[0], "no argument, got %d", left);
    if (measure_processor(link) < 0)
        return cli_fail("out of memory");
    if (cuda_rates_measure(&gpu, &why) < 0)
        fprintf(stderr, "collshim: no rates of GPUs: %s\n", why);
    link[TOPO_LINK_NVLINK].bw_bytes_per_s = gpu.between;
    link[TOPO_LINK_PCIE].bw_bytes_per_s = gpu.bus;
    link[TOPO_LINK_REDUCE_GPU].bw_bytes_per_s = gpu.combine;
    (as_json ? show_json : show)(link);
    return CLI_OK;
}
