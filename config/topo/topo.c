/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A topology and functions over it. All code that builds one goes through topo_build(), which alone
 * numbers nodes and local indexes: two numberings would mean two plans that do not fit together.
 * One allocation holds all but the rates of unequal nodes, which most topologies lack.
 */
#include "config/topo/topo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/topo/topo_private.h"

const char *topo_link_name(enum topo_link_class c)
{
    static const char *const names[TOPO_LINK_CLASSES] = {
        [TOPO_LINK_SHM] = "shm",       [TOPO_LINK_NVLINK] = "nvlink",
        [TOPO_LINK_REDUCE] = "reduce", [TOPO_LINK_REDUCE_GPU] = "reduce_gpu",
        [TOPO_LINK_PCIE] = "pcie",     [TOPO_LINK_SOCKET] = "socket",
        [TOPO_LINK_FLOW] = "flow",
    };

    return names[c];
}

static struct topo *topo_alloc(int nranks, int nnodes, int nrails)
{
    size_t rails = (size_t)nrails * sizeof(struct topo_link);
    size_t ranks = (size_t)nranks * sizeof(struct topo_rank);
    size_t firsts = ((size_t)nnodes + 1) * sizeof(int32_t);
    struct topo *t =
        calloc(1, sizeof *t + rails + ranks + firsts + (size_t)nranks * sizeof(int32_t));

    if (!t)
        return NULL;
    t->nranks = nranks;
    t->nnodes = nnodes;
    t->nrails = nrails;
    t->rail = (struct topo_link *)(t + 1);
    t->rank = (struct topo_rank *)(t->rail + nrails);
    t->node_first = (int32_t *)(t->rank + nranks);
    t->node_ranks = t->node_first + nnodes + 1;
    return t;
}

void topo_take_rail_rates(struct topo *t, double *rate)
{
    size_t rails = (size_t)t->nrails, n = (size_t)t->nnodes * rails * 2;
    int differ = 0;

    for (size_t i = 2 * rails; i < n; i++)
        differ |= rate[i] != rate[i % (2 * rails)];
    for (size_t r = 0; r < rails; r++)
        differ |= rate[2 * r] != rate[2 * r + 1];
    for (size_t r = 0; r < rails; r++) {
        double most = 0;

        for (size_t i = 2 * r; i < n; i += 2 * rails) {
            most = rate[i] > most ? rate[i] : most;
            most = rate[i + 1] > most ? rate[i + 1] : most;
        }
        t->rail[r].bw_bytes_per_s = most;
    }
    free(t->rate);
    t->rate = differ ? rate : NULL;
    if (!differ)
        free(rate);
}

int topo_set_link_rates(struct topo *t, const double *rate)
{
    size_t n = (size_t)t->nnodes * TOPO_LINK_CLASSES;
    double *own = malloc(n * sizeof *own);
    int differ = 0;

    if (!own)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        own[i] = rate[i] == t->link[i % TOPO_LINK_CLASSES].bw_bytes_per_s ? 0 : rate[i];
        differ |= own[i] > 0;
    }
    free(t->link_rate);
    t->link_rate = differ ? own : NULL;
    if (!differ)
        free(own);
    return 0;
}

double topo_link_least(const struct topo *t, enum topo_link_class c)
{
    double least = topo_link_rate(t, 0, c);

    for (int n = 1; t->link_rate && n < t->nnodes; n++)
        if (topo_link_rate(t, n, c) < least)
            least = topo_link_rate(t, n, c);
    return least;
}

int topo_set_rail_rates(struct topo *t, const double *rate)
{
    size_t bytes = 2 * (size_t)t->nnodes * (size_t)t->nrails * sizeof *rate;
    double *copy = malloc(bytes);

    if (!copy)
        return -ENOMEM;
    memcpy(copy, rate, bytes);
    topo_take_rail_rates(t, copy);
    return 0;
}

/* Number the labels that occur by their first rank; number[] starts as all -1. Returns how many. */
static int number_nodes(const int32_t *label, int nranks, int32_t *number)
{
    int nnodes = 0;

    for (int r = 0; r < nranks; r++)
        if (number[label[r]] < 0)
            number[label[r]] = nnodes++;
    return nnodes;
}

static int most_on_one_label(const int32_t *label, int nranks, int32_t *count)
{
    int32_t most = 1; /* so that there is a rail in any case */

    for (int r = 0; r < nranks; r++)
        if (++count[label[r]] > most)
            most = count[label[r]];
    return most;
}

static void fill_ranks(struct topo *t, const int32_t *label, const int32_t *number)
{
    int32_t *size = t->node_first + 1; /* sizes first, summed up below */

    for (int r = 0; r < t->nranks; r++) {
        int32_t node = number[label[r]];

        t->rank[r] = (struct topo_rank){.node = node, .local = size[node]++, .gpu = -1};
        t->rank[r].rail = t->rank[r].local % t->nrails;
    }
    for (int n = 0; n < t->nnodes; n++)
        t->node_first[n + 1] += t->node_first[n];
    for (int r = 0; r < t->nranks; r++)
        t->node_ranks[t->node_first[t->rank[r].node] + t->rank[r].local] = r;
}

int topo_build(const int32_t *label, int nranks, int nlabels, int nrails, struct topo **topo_p)
{
    int32_t *scratch = calloc((size_t)nlabels, sizeof *scratch);
    struct topo *t;

    if (!scratch)
        return -ENOMEM;
    if (nrails < 1)
        nrails = most_on_one_label(label, nranks, scratch);
    memset(scratch, -1, (size_t)nlabels * sizeof *scratch);
    t = topo_alloc(nranks, number_nodes(label, nranks, scratch), nrails);
    if (t)
        fill_ranks(t, label, scratch);
    free(scratch);
    if (!t)
        return -ENOMEM;
    *topo_p = t;
    return 0;
}

struct keyed_rank {
    uint64_t key;
    int32_t rank;
};

static int by_key(const void *a, const void *b)
{
    uint64_t x = ((const struct keyed_rank *)a)->key, y = ((const struct keyed_rank *)b)->key;

    return (x > y) - (x < y);
}

/* Small numbers for the node keys; which number a node gets does not matter. Returns how many. */
static int label_by_key(struct keyed_rank *sorted, int nranks, int32_t *label)
{
    int nlabels = 0;

    qsort(sorted, (size_t)nranks, sizeof *sorted, by_key);
    for (int i = 0; i < nranks; i++) {
        nlabels += i == 0 || sorted[i].key != sorted[i - 1].key;
        label[sorted[i].rank] = nlabels - 1;
    }
    return nlabels;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* How many of n values, in rising order, are less. */
static int less_than(const uint64_t *value, int n, uint64_t limit)
{
    int from = 0;

    while (from < n) {
        int middle = from + (n - from) / 2;

        if (value[middle] < limit)
            from = middle + 1;
        else
            n = middle;
    }
    return from;
}

void topo_number_gpus(struct topo *t, const int32_t *gpu, uint64_t *room)
{
    int n = 0, distinct = 0;

    for (int r = 0; r < t->nranks; r++)
        if (gpu[r] >= 0)
            room[n++] = (uint64_t)t->rank[r].node << 32 | (uint32_t)gpu[r];
    qsort(room, (size_t)n, sizeof *room, by_value);
    for (int i = 0; i < n; i++)
        if (!i || room[i] != room[distinct - 1])
            room[distinct++] = room[i];
    for (int r = 0; r < t->nranks; r++) {
        uint64_t node = (uint64_t)t->rank[r].node << 32;

        t->rank[r].gpu = gpu[r] < 0 ? -1
                                    : less_than(room, distinct, node | (uint32_t)gpu[r]) -
                                          less_than(room, distinct, node);
    }
}

int topo_from_reports(const struct topo_report *report, int nranks, int nrails,
                      struct topo **topo_p)
{
    struct keyed_rank *sorted;
    struct topo *t = NULL;
    int32_t *label;
    int code = -ENOMEM;

    if (nranks < 1)
        return -EINVAL;
    sorted = calloc((size_t)nranks, sizeof *sorted);
    label = calloc((size_t)nranks, sizeof *label);
    if (sorted && label) {
        for (int r = 0; r < nranks; r++)
            sorted[r] = (struct keyed_rank){.key = report[r].node_key, .rank = r};
        code = topo_build(label, nranks, label_by_key(sorted, nranks, label), nrails, &t);
    }
    if (!code) {
        for (int r = 0; r < nranks; r++) {
            t->rank[r].socket = report[r].socket > 0 ? report[r].socket : 0;
            label[r] = report[r].gpu; /* labels and keys are not needed any more */
        }
        topo_number_gpus(t, label, (uint64_t *)(void *)sorted);
        *topo_p = t;
    }
    free(label);
    free(sorted);
    return code;
}

/* Set part's table of so many values per node to the rows of t's nodes. 0 or -ENOMEM. */
static int restrict_table(const struct topo *t, const int *member, struct topo *part,
                          const double *table, size_t row,
                          int (*set)(struct topo *part, const double *table))
{
    double *kept = table ? malloc((size_t)part->nnodes * row * sizeof *kept) : NULL;

    if (!table)
        return 0;
    if (!kept)
        return -ENOMEM;
    for (int n = 0; n < part->nnodes; n++) {
        int node = t->rank[member[topo_node_rank(part, n, 0)]].node;

        memcpy(kept + (size_t)n * row, table + (size_t)node * row, row * sizeof *kept);
    }
    int code = set(part, kept);
    free(kept);
    return code;
}

int topo_restrict(const struct topo *t, const int *member, int nmembers, struct topo **topo_p)
{
    struct topo *part;
    int32_t *label;
    int code;

    if (nmembers < 1)
        return -EINVAL;
    for (int i = 0; i < nmembers; i++)
        if (member[i] < 0 || member[i] >= t->nranks)
            return -EINVAL;
    label = calloc((size_t)nmembers, sizeof *label);
    if (!label)
        return -ENOMEM;
    for (int i = 0; i < nmembers; i++)
        label[i] = t->rank[member[i]].node;
    code = topo_build(label, nmembers, t->nnodes, t->nrails, &part);
    free(label);
    if (code)
        return code;
    for (int i = 0; i < nmembers; i++) {
        part->rank[i].socket = t->rank[member[i]].socket;
        part->rank[i].gpu = t->rank[member[i]].gpu;
        part->rank[i].rail = t->rank[member[i]].rail;
    }
    memcpy(part->rail, t->rail, (size_t)t->nrails * sizeof *t->rail);
    memcpy(part->link, t->link, sizeof t->link);
    code = restrict_table(t, member, part, t->rate, 2 * (size_t)t->nrails, topo_set_rail_rates);
    if (!code)
        code =
            restrict_table(t, member, part, t->link_rate, TOPO_LINK_CLASSES, topo_set_link_rates);
    if (code)
        topo_free(part);
    else
        *topo_p = part;
    return code;
}

int topo_copy(const struct topo *t, int nrails, struct topo **copy_p)
{
    struct topo *c = topo_alloc(t->nranks, t->nnodes, nrails);

    if (!c)
        return -ENOMEM;
    memcpy(c->rank, t->rank, (size_t)t->nranks * sizeof *t->rank);
    memcpy(c->node_first, t->node_first, ((size_t)t->nnodes + 1) * sizeof *t->node_first);
    memcpy(c->node_ranks, t->node_ranks, (size_t)t->nranks * sizeof *t->node_ranks);
    memcpy(c->link, t->link, sizeof t->link);
    c->lanes = t->lanes;
    c->rail_chunk = t->rail_chunk;
    if (t->link_rate && topo_set_link_rates(c, t->link_rate) < 0) {
        topo_free(c);
        return -ENOMEM;
    }
    *copy_p = c;
    return 0;
}

/* One step of a 64-bit hash: mix in one word (the finaliser of splitmix64). */
static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) + 0x9e3779b97f4a7c15u;
    hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9u;
    hash = (hash ^ hash >> 27) * 0x94d049bb133111ebu;
    return hash ^ hash >> 31;
}

static uint64_t mix_link(uint64_t hash, const struct topo_link *link)
{
    uint64_t bits[2];

    _Static_assert(sizeof bits == sizeof *link, "a link is two doubles without padding");
    memcpy(bits, link, sizeof bits);
    return mix(mix(hash, bits[0]), bits[1]);
}

static uint64_t mix_table(uint64_t hash, const double *value, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t bits;

        memcpy(&bits, &value[i], sizeof bits);
        hash = mix(hash, bits);
    }
    return hash;
}

/* node_first and node_ranks follow from node and local, so they need not be mixed in. */
uint64_t topo_hash(const struct topo *t)
{
    uint64_t hash = mix((uint64_t)t->nranks, (uint64_t)t->nrails);

    hash = mix(hash, t->rail_chunk);

    for (int r = 0; r < t->nranks; r++) {
        const struct topo_rank *k = &t->rank[r];

        hash = mix(hash, (uint64_t)(uint32_t)k->node << 32 | (uint32_t)k->socket);
        hash = mix(hash, (uint64_t)(uint32_t)k->gpu << 32 | (uint32_t)k->rail);
    }
    for (int i = 0; i < t->nrails; i++)
        hash = mix_link(hash, &t->rail[i]);
    if (t->rate)
        hash = mix_table(hash, t->rate, 2 * (size_t)t->nnodes * (size_t)t->nrails);
    if (t->link_rate)
        hash = mix_table(hash, t->link_rate, (size_t)t->nnodes * TOPO_LINK_CLASSES);
    for (int i = 0; i < TOPO_LINK_CLASSES; i++)
        hash = mix_link(hash, &t->link[i]);
    return hash;
}

void topo_free(struct topo *t)
{
    if (t) {
        free(t->rate);
        free(t->link_rate);
    }
    free(t);
}
