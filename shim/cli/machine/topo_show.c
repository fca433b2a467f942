/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables of a fixed width for people, names with units for scripts. An unknown value is "-" here
 * and null there, never 0: a rate of 0 would be read as one.
 */
#include "shim/cli/machine/topo_show.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/topo/topo_rate.h"
#include "shim/cli/cli.h"

char *topo_text(const struct topo *t)
{
    size_t size = (size_t)topo_print(t, NULL, 0) + 1;
    char *text = malloc(size);

    if (text)
        topo_print(t, text, size);
    return text;
}

static const char *bit_rate_text(double value, char *text, size_t size)
{
    if (value == 0)
        return "-";
    topo_print_bit_rate(value, text, size);
    return text;
}

/* A number that may be missing (-1). */
static const char *index_text(int value, const char *missing, char *text, size_t size)
{
    if (value < 0)
        return missing;
    snprintf(text, size, "%d", value);
    return text;
}

/* The ranks of a node, with runs as 0-3; cut where the line gets long. */
static void put_node_ranks(const struct topo *t, int node)
{
    int n = topo_node_size(t, node), shown = 0;

    for (int l = 0, run; l < n; l += run) {
        int first = topo_node_rank(t, node, l);

        for (run = 1; l + run < n && topo_node_rank(t, node, l + run) == first + run; run++)
            ;
        if (shown++ == 8) {
            printf(" ... %d", topo_node_rank(t, node, n - 1));
            break;
        }
        printf(run > 1 ? "%s%d-%d" : "%s%d", l ? " " : "", first, first + run - 1);
    }
    putchar('\n');
}

static int by_value(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;

    return (x > y) - (x < y);
}

/* How many different values, negative ones left out, the node's ranks have; -1 without memory. */
static int count_distinct(const struct topo *t, int node, int (*field)(const struct topo_rank *k))
{
    int n = topo_node_size(t, node), distinct = 0;
    int *value = malloc((size_t)n * sizeof *value);

    if (!value)
        return -1;
    for (int l = 0; l < n; l++)
        value[l] = field(&t->rank[topo_node_rank(t, node, l)]);
    qsort(value, (size_t)n, sizeof *value, by_value);
    for (int l = 0; l < n; l++)
        distinct += value[l] >= 0 && (!l || value[l] != value[l - 1]);
    free(value);
    return distinct;
}

static int socket_of(const struct topo_rank *k)
{
    return k->socket;
}

static int gpu_of(const struct topo_rank *k)
{
    return k->gpu;
}

static void note_rest(int all, int rows, const char *what)
{
    if (all > rows)
        printf("  ... %d more %s; --all shows them\n", all - rows, what);
}

static void show_nodes(const struct topo *t, int rows)
{
    printf("\n  node   ranks  sockets  GPUs  which ranks\n");
    for (int n = 0; n < t->nnodes && n < rows; n++) {
        printf("  %4d  %6d  %7d  %4d  ", n, topo_node_size(t, n), count_distinct(t, n, socket_of),
               count_distinct(t, n, gpu_of));
        put_node_ranks(t, n);
    }
    note_rest(t->nnodes, rows, "nodes");
}

static void show_ranks(const struct topo *t, int rows)
{
    char gpu[16], rail[16];

    printf("\n  rank    node   local  socket  GPU  rail\n");
    for (int r = 0; r < t->nranks && r < rows; r++) {
        const struct topo_rank *k = &t->rank[r];

        printf("  %4d  %6d  %6d  %6d  %3s  %4s\n", r, k->node, k->local, k->socket,
               index_text(k->gpu, "-", gpu, sizeof gpu),
               index_text(k->rail, "all", rail, sizeof rail));
    }
    note_rest(t->nranks, rows, "ranks");
}

static void show_link(const char *name, double value, const char *rate, double latency_ns)
{
    char time[TOPO_RATE_TEXT];

    topo_print_time(latency_ns, time, sizeof time);
    printf("  %-10s %14s %14s\n", name, value == 0 ? "-" : rate, latency_ns == 0 ? "-" : time);
}

/* Rails of single nodes that differ from what all are shown to have. */
static void show_exceptions(const struct topo *t, int rows)
{
    char name[64], rate[TOPO_RATE_TEXT];
    int found = 0;

    for (int i = 0; t->rate && i < 2 * t->nnodes * t->nrails; i++) {
        int node = i / 2 / t->nrails, rail = i / 2 % t->nrails;

        if (t->rate[i] == t->rail[rail].bw_bytes_per_s || ++found > rows)
            continue;
        snprintf(name, sizeof name, "%d.%d %s", node, rail, i % 2 == TOPO_OUT ? "out" : "in");
        topo_print_bit_rate(t->rate[i], rate, sizeof rate);
        show_link(name, t->rate[i], rate, t->rail[rail].latency_ns);
    }
    note_rest(found, rows, "rails of single nodes (node.rail)");
}

static void show_link_exceptions(const struct topo *t, int rows)
{
    char name[64], rate[TOPO_RATE_TEXT];
    int found = 0;

    for (int i = 0; t->link_rate && i < t->nnodes * TOPO_LINK_CLASSES; i++) {
        int class = i % TOPO_LINK_CLASSES;

        if (!(t->link_rate[i] > 0) || ++found > rows)
            continue;
        snprintf(name, sizeof name, "%d.%s", i / TOPO_LINK_CLASSES,
                 topo_link_name((enum topo_link_class) class));
        topo_print_rate(t->link_rate[i], rate, sizeof rate);
        show_link(name, t->link_rate[i], rate, t->link[class].latency_ns);
    }
    note_rest(found, rows, "links of single nodes (node.class)");
}

static void show_links(const struct topo *t, int rows)
{
    char name[32], rate[TOPO_RATE_TEXT];

    printf("\n  link                 rate        latency   (-: not known, taken as equal)\n");
    for (int i = 0; i < t->nrails && i < rows; i++) {
        snprintf(name, sizeof name, "rail %d", i);
        topo_print_bit_rate(t->rail[i].bw_bytes_per_s, rate, sizeof rate);
        show_link(name, t->rail[i].bw_bytes_per_s, rate, t->rail[i].latency_ns);
    }
    note_rest(t->nrails, rows, "rails");
    show_exceptions(t, rows);
    for (int i = 0; i < TOPO_LINK_CLASSES; i++) {
        topo_print_rate(t->link[i].bw_bytes_per_s, rate, sizeof rate);
        show_link(topo_link_name((enum topo_link_class)i), t->link[i].bw_bytes_per_s, rate,
                  t->link[i].latency_ns);
    }
    show_link_exceptions(t, rows);
}

void topo_show(const struct topo *t, int rows)
{
    printf("%d rank%s on %d node%s, %d rail%s per node\n", t->nranks, cli_s(t->nranks), t->nnodes,
           cli_s(t->nnodes), t->nrails, cli_s(t->nrails));
    show_nodes(t, rows);
    show_ranks(t, rows);
    show_links(t, rows);
}

static void json_link(struct json *j, const char *key, const struct topo_link *link)
{
    json_open(j, key, '{');
    json_known(j, "bw_bytes_per_s", link->bw_bytes_per_s);
    json_known(j, "latency_ns", link->latency_ns);
    json_close(j, '}');
}

void topo_show_json(const struct topo *t, struct json *j)
{
    char hash[32], *text = topo_text(t);

    snprintf(hash, sizeof hash, "%016" PRIx64, topo_hash(t));
    json_string(j, "synthetic", text);
    free(text);
    json_string(j, "hash", hash);
    json_int(j, "ranks", t->nranks);
    json_int(j, "nodes", t->nnodes);
    json_open(j, "rank", '[');
    for (int r = 0; r < t->nranks; r++) {
        json_open(j, NULL, '{');
        json_int(j, "node", t->rank[r].node);
        json_int(j, "local", t->rank[r].local);
        json_int(j, "socket", t->rank[r].socket);
        json_index(j, "gpu", t->rank[r].gpu);
        json_index(j, "rail", t->rank[r].rail);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_open(j, "rail", '[');
    for (int i = 0; i < t->nrails; i++)
        json_link(j, NULL, &t->rail[i]);
    json_close(j, ']');
    json_open(j, "rail_rate", '[');
    for (int i = 0; t->rate && i < t->nnodes * t->nrails; i++) {
        double out = t->rate[2 * i + TOPO_OUT], in = t->rate[2 * i + TOPO_IN];

        if (out == t->rail[i % t->nrails].bw_bytes_per_s && in == out)
            continue;
        json_open(j, NULL, '{');
        json_int(j, "node", i / t->nrails);
        json_int(j, "rail", i % t->nrails);
        json_number(j, "out_bytes_per_s", out);
        json_number(j, "in_bytes_per_s", in);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_open(j, "link", '{');
    for (int i = 0; i < TOPO_LINK_CLASSES; i++)
        json_link(j, topo_link_name((enum topo_link_class)i), &t->link[i]);
    json_close(j, '}');
    json_open(j, "link_rate", '[');
    for (int i = 0; t->link_rate && i < t->nnodes * TOPO_LINK_CLASSES; i++) {
        if (!(t->link_rate[i] > 0))
            continue;
        json_open(j, NULL, '{');
        json_int(j, "node", i / TOPO_LINK_CLASSES);
        json_string(j, "link", topo_link_name((enum topo_link_class)(i % TOPO_LINK_CLASSES)));
        json_number(j, "bytes_per_s", t->link_rate[i]);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void put_near_rails(const struct machine *m, const struct machine_gpu *gpu)
{
    int rails = 0, near = 0;

    for (int i = 0; i < m->nnics; i++) {
        rails += !m->nic[i].no_rail;
        near += gpu->near[i];
    }
    if (near == rails)
        printf(rails ? "all" : "none");
    for (int i = 0, shown = 0; near < rails && i < m->nnics; i++)
        if (gpu->near[i])
            printf(shown++ ? ",%s" : "%s", m->nic[i].name);
}

static const char *const link_names[] = {
    [CUDA_LINK_NONE] = "-", [CUDA_LINK_PCIE] = "PCIe", [CUDA_LINK_NVLINK] = "NVLink"};

/* How each GPU reaches each other one, where the driver has said so; NV4 are four NVLinks. */
static void show_peers(const struct machine *m)
{
    int known = 0;
    char link[16];

    for (int g = 0; g < m->ngpus; g++)
        known += m->gpu[g].cuda >= 0;
    if (known < 2)
        return;
    printf("\n  link to GPU");
    for (int g = 0; g < m->ngpus; g++)
        printf(" %6d", g);
    for (int a = 0; a < m->ngpus; a++) {
        printf("\n  %11d", a);
        for (int b = 0; b < m->ngpus; b++) {
            const struct machine_gpu *gpu = &m->gpu[a];

            snprintf(link, sizeof link, "NV%d", gpu->links[b]);
            printf(" %6s", a == b ? "" : gpu->links[b] ? link : link_names[gpu->peer[b]]);
        }
    }
    putchar('\n');
}

static void show_gpus(const struct machine *m)
{
    char package[16], numa[16], cuda[16];

    printf("\n  GPU  address       package  NUMA  CUDA  name; near rails\n");
    for (int g = 0; g < m->ngpus; g++) {
        const struct machine_gpu *gpu = &m->gpu[g];

        printf("  %3d  %-12s  %7s  %4s  %4s  %s; ", g, gpu->address,
               index_text(gpu->package, "-", package, sizeof package),
               index_text(gpu->numa, "-", numa, sizeof numa),
               index_text(gpu->cuda, "-", cuda, sizeof cuda), gpu->name);
        put_near_rails(m, gpu);
        putchar('\n');
    }
    if (!m->ngpus)
        printf("  none found\n");
    show_peers(m);
}

void machine_show(const struct machine *m)
{
    char rate[TOPO_RATE_TEXT], package[16];

    printf("  package  cores  hardware threads   memory\n");
    for (int p = 0; p < m->npackages; p++)
        printf("  %7d  %5d  %16d  %5" PRIu64 " MiB\n", p, m->package[p].cores, m->package[p].pus,
               m->package[p].memory_bytes >> 20);

    printf("\n  network      kind            state       rate  package  rail\n");
    for (int i = 0; i < m->nnics; i++) {
        const struct machine_nic *nic = &m->nic[i];

        printf("  %-12s %-14s  %-5s %10s  %7s  %s%s\n", nic->name, machine_nic_kind_name(nic->kind),
               nic->is_up ? "up" : "down", bit_rate_text(nic->bw_bytes_per_s, rate, sizeof rate),
               index_text(nic->package, "-", package, sizeof package),
               nic->no_rail ? "no: " : "yes", nic->no_rail ? nic->no_rail : "");
    }
    if (!m->nnics)
        printf("  none found\n");

    show_gpus(m);
}

/* peer: one for each GPU, null if the driver knows no way, or no GPU; itself is null. nvlinks: to
   each, 0 if there are none or if unknown. */
static void json_gpu(const struct machine *m, const struct machine_gpu *gpu, struct json *j)
{
    static const char *const names[] = {
        [CUDA_LINK_NONE] = NULL, [CUDA_LINK_PCIE] = "pcie", [CUDA_LINK_NVLINK] = "nvlink"};

    json_open(j, NULL, '{');
    json_string(j, "address", gpu->address);
    json_index(j, "package", gpu->package);
    json_index(j, "numa", gpu->numa);
    json_index(j, "cuda", gpu->cuda);
    json_string(j, "name", gpu->name);
    json_open(j, "near", '[');
    for (int i = 0; i < m->nnics; i++)
        if (gpu->near[i])
            json_string(j, NULL, m->nic[i].name);
    json_close(j, ']');
    json_open(j, "peer", '[');
    for (int g = 0; g < m->ngpus; g++)
        json_string(j, NULL, names[gpu->peer[g]]);
    json_close(j, ']');
    json_open(j, "nvlinks", '[');
    for (int g = 0; g < m->ngpus; g++)
        json_int(j, NULL, gpu->links[g]);
    json_close(j, ']');
    json_known(j, "nvlink_bytes_per_s", gpu->link_bytes_per_s);
    json_close(j, '}');
}

void machine_show_json(const struct machine *m, struct json *j)
{
    json_open(j, "package", '[');
    for (int p = 0; p < m->npackages; p++) {
        json_open(j, NULL, '{');
        json_int(j, "cores", m->package[p].cores);
        json_int(j, "hardware_threads", m->package[p].pus);
        json_int(j, "memory_bytes", (long long)m->package[p].memory_bytes);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_open(j, "network", '[');
    for (int i = 0; i < m->nnics; i++) {
        json_open(j, NULL, '{');
        json_string(j, "name", m->nic[i].name);
        json_string(j, "kind", machine_nic_kind_name(m->nic[i].kind));
        json_bool(j, "up", m->nic[i].is_up);
        json_known(j, "bw_bytes_per_s", m->nic[i].bw_bytes_per_s);
        json_index(j, "package", m->nic[i].package);
        json_bool(j, "rail", !m->nic[i].no_rail);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_open(j, "gpu", '[');
    for (int g = 0; g < m->ngpus; g++)
        json_gpu(m, &m->gpu[g], j);
    json_close(j, ']');
}
