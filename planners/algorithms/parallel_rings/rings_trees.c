/* SPDX-License-Identifier: BSD-3-Clause */
#include "planners/algorithms/parallel_rings/rings_trees.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A node as the trees see it. */
struct rings_view {
    const struct topo *t;
    int node, size, k;
    int *sorted; /* [size] owned: local indexes by socket, then by index */
    int *first;  /* [size]: where local's socket begins in sorted */
    int *peers;  /* [size]: ranks of local's socket */
    int *place;  /* [size]: local's place in its socket */
};

static int socket_of(const struct rings_view *v, int local)
{
    return v->t->rank[topo_node_rank(v->t, v->node, local)].socket;
}

static void sort_by_socket(struct rings_view *v)
{
    for (int l = 0; l < v->size; l++) {
        v->first[l] = v->place[l] = v->peers[l] = 0;
        for (int other = 0; other < v->size; other++) {
            v->first[l] += socket_of(v, other) < socket_of(v, l);
            v->peers[l] += socket_of(v, other) == socket_of(v, l);
            v->place[l] += socket_of(v, other) == socket_of(v, l) && other < l;
        }
        v->sorted[v->first[l] + v->place[l]] = l;
    }
}

static int highest_bit(int x)
{
    int bit = 1;

    while (x >>= 1)
        bit <<= 1;
    return bit;
}

static int linear_parent(const struct rings_view *v, int root, int local)
{
    (void)v, (void)local;
    return root;
}

/* The trees below are those of root 0, shifted: `from` is how far a rank is from the root. */
static int shifted(const struct rings_view *v, int root, int from)
{
    return (root + from) % v->size;
}

static int doubling_parent(const struct rings_view *v, int root, int local)
{
    int from = (local + v->size - root) % v->size;

    return shifted(v, root, from - highest_bit(from));
}

/* Clear the lowest digit, to base k, that is not 0. */
static int knomial_parent(const struct rings_view *v, int root, int local)
{
    int from = (local + v->size - root) % v->size, unit = 1;

    while (from / unit % v->k == 0)
        unit *= v->k;
    return shifted(v, root, from - from / unit % v->k * unit);
}

static int halving_parent(const struct rings_view *v, int root, int local)
{
    int from = (local + v->size - root) % v->size;

    return shifted(v, root, from & (from - 1));
}

static int exchange_parent(const struct rings_view *v, int root, int local)
{
    int within = highest_bit(v->size), start = root < within ? root : root - within;

    if (local >= within)
        return local - within;
    return local == start ? root : local ^ highest_bit(local ^ start);
}

/* Ranks of one socket use different ranks of another. One more for sockets above makes the paper's
   ring of two sockets, in which no rank sends to the rank it receives from. */
static int socket_parent(const struct rings_view *v, int root, int local)
{
    int above = socket_of(v, root) > socket_of(v, local);
    int entry = v->sorted[v->first[local] + (v->place[root] + above) % v->peers[local]];

    return socket_of(v, root) == socket_of(v, local) || local == entry ? root : entry;
}

static int (*const parents[RINGS_INTRA_COUNT])(const struct rings_view *v, int root, int local) = {
    [RINGS_LINEAR] = linear_parent,
    [RINGS_BINOMIAL_DOUBLING] = doubling_parent,
    [RINGS_BINOMIAL_HALVING] = halving_parent,
    [RINGS_KNOMIAL] = knomial_parent,
    [RINGS_RECURSIVE_DOUBLING] = exchange_parent,
    [RINGS_SOCKETS] = socket_parent,
};

int rings_trees_open(struct rings_trees *w, const struct topo *t, int node, enum rings_intra intra,
                     int k)
{
    int size = topo_node_size(t, node);
    size_t n = (size_t)size;
    struct rings_view v = {.t = t, .node = node, .size = size, .k = k};

    *w = (struct rings_trees){.intra = intra, .size = size};
    w->parent = malloc(2 * n * n * sizeof *w->parent);
    v.sorted = malloc(4 * n * sizeof *v.sorted);
    if (!w->parent || !v.sorted) {
        free(v.sorted);
        return -ENOMEM;
    }
    w->depth = w->parent + n * n;
    v.first = v.sorted + n;
    v.peers = v.first + n;
    v.place = v.peers + n;
    sort_by_socket(&v);
    for (int root = 0; root < size; root++)
        for (int local = 0; local < size; local++)
            w->parent[root * size + local] = local == root ? -1 : parents[intra](&v, root, local);
    for (int root = 0; root < size; root++)
        for (int local = 0; local < size; local++) {
            int hops = 0;
            for (int at = local; at != root; at = rings_parent(w, root, at))
                hops++;
            w->depth[root * size + local] = hops;
        }
    free(v.sorted);
    return 0;
}

void rings_trees_close(struct rings_trees *w)
{
    free(w->parent);
    *w = (struct rings_trees){0};
}

int rings_sockets_matter(const struct topo *t, int node)
{
    double inside = topo_link_rate(t, node, TOPO_LINK_SHM);
    double across = topo_link_rate(t, node, TOPO_LINK_SOCKET);
    int size = topo_node_size(t, node), others = 0, several = 0;

    if (t->rank[topo_node_rank(t, node, 0)].gpu >= 0)
        inside = topo_link_rate(t, node, TOPO_LINK_NVLINK);
    if (inside > 0 && across >= inside)
        return 0;
    for (int l = 1; l < size; l++) {
        int32_t socket = t->rank[topo_node_rank(t, node, l)].socket;
        int alone = 1;

        for (int earlier = 0; earlier < l && alone; earlier++)
            alone = t->rank[topo_node_rank(t, node, earlier)].socket != socket;
        several |= !alone;
        others |= socket != t->rank[topo_node_rank(t, node, 0)].socket;
    }
    return others && several;
}
