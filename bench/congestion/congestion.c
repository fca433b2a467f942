/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The exchanges inside a node that the Parallel Rings paper compares in its figures 4 and 5, by the
 * model of planners/model/model.h. The program tells how much slower each is than the fastest, on
 * one node and on four. Nodes are both of the paper's: four GPUs in a full mesh, and two sockets of
 * two. A table on stdout, or JSON lines with --json.
 *
 * The paper's measure is the congestion impact factor: at each size, a latency over the lowest at
 * that size. If the paper has numbers, they stand beside ours. "latency improvements of 74.6%,
 * 68.2%, 60.5%, 75.7%, 75.5%, and 40.5%" on two sockets are factors 1 / (1 - 0.746) and so on. Its
 * largest factors are 4.57 on one node and 2.24 on several (section III.C).
 *
 * The model counts bytes on links. It has no incast, and no copy engine that serves one transfer at
 * a time. So on one node neither the height nor the exact order of the paper's bars follows. If
 * rails and rings are in the time as well, the two come close.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planners/choose/registry.h"
#include "planners/model/model.h"

enum { MOST_RANKS = 16, SIZES = 4, FORMS = 2 };

static const size_t sizes[SIZES] = {2 << 20, 8 << 20, 32 << 20, 128 << 20}; /* per rank */

/* Rates: the NVLink of an A30 (NV4) and an H100 (NV6) pair and the HCAs are the paper's hardware.
   The paper gives none for PCIe and between sockets: 4.0 x16, and the rate of peers across a UPI.
 */
static const struct {
    const char *node, *where, *topology;
} shapes[] = {
    {"full mesh", "one node", "node:1 gpu:4 rail:4@200Gbit link_nvlink:150GB/s"},
    {"full mesh", "four nodes", "node:4 gpu:4 rail:4@200Gbit link_nvlink:150GB/s"},
    {"two sockets", "one node",
     "node:1 socket:2 gpu:2 rail:4@100Gbit link_nvlink:100GB/s link_pcie:25GB/s "
     "link_socket:20GB/s"},
    {"two sockets", "four nodes",
     "node:4 socket:2 gpu:2 rail:4@100Gbit link_nvlink:100GB/s link_pcie:25GB/s "
     "link_socket:20GB/s"},
};
#define NSHAPES (sizeof shapes / sizeof *shapes)

/* Rows by name, the first that exists and serves the shape; and the paper's statement. */
static const struct {
    const char *name;
    const char *text[3];
    const char *paper[NSHAPES];
} variants[] = {
    {"linear", {"parallel_rings(intra=linear)", "linear"}, {"lowest", "-", "3.94, 4.08", "-"}},
    {"binomial_doubling", {"binomial_doubling"}, {"-", "-", "3.14", "-"}},
    {"binomial_halving", {"binomial_halving"}, {"-", "-", "2.53", "-"}},
    {"knomial", {"knomial"}, {"lowest", "-", "4.12", "-"}},
    {"recursive_doubling", {"recursive_doubling"}, {"-", "-", "1.68", "-"}},
    {"parallel_rings", {"parallel_rings"}, {"-", "-", "1", "1"}},
};
#define NVARIANTS (sizeof variants / sizeof *variants)

static const struct {
    const char *largest[NSHAPES];
} paper = {{"-", "-", "4.57", "2.24"}};

/* In chunks, as collshim runs them, or in whole blocks, as the paper's exchanges do. */
static const char *const forms[FORMS] = {"chunks", "blocks"};

/* Seconds, or -1 if the algorithm cannot serve the shape. */
static double predict(const struct plan_algorithm *a, struct plan_request q)
{
    struct plan *plan[MOST_RANKS] = {NULL};
    struct model_result m = {.seconds = -1};
    int rc = 0;

    for (q.rank = 0; !rc && q.rank < q.topo->nranks; q.rank++)
        rc = a->build(&q, &plan[q.rank]);
    if (!rc)
        rc = model_run(q.topo, (const struct plan *const *)plan, &m);
    for (int r = 0; r < q.topo->nranks; r++)
        plan_free(plan[r]);
    double seconds = rc ? -1 : m.seconds;
    model_free(&m);
    return seconds;
}

/* The variant by the first of its rows that can; *text says which. */
static double measure(size_t variant, struct plan_request q, const char **text)
{
    char recipe[128], why[256];
    double seconds = -1;

    for (int i = 0; seconds < 0 && variants[variant].text[i]; i++) {
        const struct plan_algorithm *a = plan_algorithm_parse(
            q.collective, variants[variant].text[i], recipe, sizeof recipe, why, sizeof why);

        if (!a)
            continue;
        q.recipe = *recipe ? recipe : NULL;
        if (!q.recipe || a->accepts(&q, why, sizeof why) == 0)
            seconds = predict(a, q);
        *text = variants[variant].text[i];
    }
    return seconds;
}

/* Seconds of every variant at every size; -1 where there is none. */
struct figures {
    double seconds[NVARIANTS][SIZES];
    const char *text[NVARIANTS];
};

static void fill(const struct topo *t, int form, struct figures *f)
{
    *f = (struct figures){0};
    for (size_t v = 0; v < NVARIANTS; v++)
        for (int s = 0; s < SIZES; s++) {
            struct plan_request q = {
                .collective = COLL_ALLGATHER, .topo = t, .nbytes = sizes[s], .grain = 1};
            size_t chunk[PLAN_CHUNKS];

            plan_chunks(&q, chunk);
            q.chunk_bytes = form ? sizes[s] : chunk[0];
            f->seconds[v][s] = measure(v, q, &f->text[v]);
        }
}

/* The congestion impact factor, or -1. */
static double factor(const struct figures *f, size_t variant, int size)
{
    double lowest = -1;

    for (size_t v = 0; v < NVARIANTS; v++)
        if (f->seconds[v][size] > 0 && (lowest < 0 || f->seconds[v][size] < lowest))
            lowest = f->seconds[v][size];
    return f->seconds[variant][size] > 0 ? f->seconds[variant][size] / lowest : -1;
}

static void print_json(size_t shape, int form, const struct figures *f)
{
    for (size_t v = 0; v < NVARIANTS; v++)
        for (int s = 0; s < SIZES; s++)
            if (f->seconds[v][s] < 0)
                printf("{\"what\": \"congestion\", \"node\": \"%s\", \"where\": \"%s\", "
                       "\"variant\": \"%s\", \"skipped\": \"no row serves this\"}\n",
                       shapes[shape].node, shapes[shape].where, variants[v].name);
            else
                printf("{\"what\": \"congestion\", \"node\": \"%s\", \"where\": \"%s\", "
                       "\"moves\": \"%s\", \"variant\": \"%s\", \"algorithm\": \"%s\", "
                       "\"bytes_per_rank\": %zu, \"model_us\": %.3f, \"factor\": %.3f, "
                       "\"paper\": \"%s\"}\n",
                       shapes[shape].node, shapes[shape].where, forms[form], variants[v].name,
                       f->text[v], sizes[s], f->seconds[v][s] * 1e6, factor(f, v, s),
                       variants[v].paper[shape]);
}

static void print_table(size_t shape, int form, const struct figures *f)
{
    double largest = 1;

    printf("%s, %s, in %s: %s\n%-20s", shapes[shape].node, shapes[shape].where, forms[form],
           shapes[shape].topology, "FACTOR AT");
    for (int s = 0; s < SIZES; s++)
        printf(" %5zuMiB", sizes[s] >> 20);
    printf("  %s\n", "PAPER");
    for (size_t v = 0; v < NVARIANTS; v++) {
        if (f->seconds[v][0] < 0) {
            printf("%-20s has no row here that serves this\n", variants[v].name);
            continue;
        }
        printf("%-20s", variants[v].name);
        for (int s = 0; s < SIZES; s++) {
            printf(" %8.2f", factor(f, v, s));
            largest = factor(f, v, s) > largest ? factor(f, v, s) : largest;
        }
        printf("  %s\n", variants[v].paper[shape]);
    }
    printf("%-20s %8.2f %*s  %s\n\n", "largest", largest, 9 * (SIZES - 1) - 1, "",
           paper.largest[shape]);
}

int main(int argc, char **argv)
{
    int json = argc == 2 && !strcmp(argv[1], "--json");

    if (argc > 1 && !json)
        return fprintf(stderr, "usage: %s [--json]\n", argv[0]), 2;
    for (size_t shape = 0; shape < NSHAPES; shape++) {
        struct topo *t;
        struct figures f;
        char why[256];

        if (topo_parse(shapes[shape].topology, 0, &t, why, sizeof why))
            return fprintf(stderr, "congestion: %s\n", why), 1;
        for (int form = 0; form < FORMS; form++) {
            fill(t, form, &f);
            if (json)
                print_json(shape, form, &f);
            else
                print_table(shape, form, &f);
        }
        topo_free(t);
    }
    return 0;
}
