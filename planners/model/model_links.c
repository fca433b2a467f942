/* SPDX-License-Identifier: BSD-3-Clause */
#include "planners/model/model_links.h"

#include <errno.h>
#include <stdlib.h>

#include "planners/links/rates.h"
#include "planners/plan/plan.h"

/* There is one link for each of these. Links of a kind are numbered in this order, then `from`,
 * then `to`. */
enum per { PER_RAIL, PER_RANK, PER_RANK_PAIR, PER_SOCKET_PAIR };

static const struct {
    const char *name;
    enum per per;
    enum topo_link_class rate; /* not of rails */
} kinds[MODEL_LINK_KINDS] = {
    [MODEL_RAIL_OUT] = {"rail out", PER_RAIL, 0},
    [MODEL_RAIL_IN] = {"rail in", PER_RAIL, 0},
    [MODEL_PORT_OUT] = {"port out", PER_RANK, TOPO_LINK_SHM},
    [MODEL_PORT_IN] = {"port in", PER_RANK, TOPO_LINK_SHM},
    [MODEL_BUS_OUT] = {"bus out", PER_RANK, TOPO_LINK_PCIE},
    [MODEL_BUS_IN] = {"bus in", PER_RANK, TOPO_LINK_PCIE},
    [MODEL_MEMORY] = {"memory", PER_RANK, TOPO_LINK_REDUCE},
    [MODEL_MESH] = {"gpu pair", PER_RANK_PAIR, TOPO_LINK_NVLINK},
    [MODEL_SOCKET] = {"socket link", PER_SOCKET_PAIR, TOPO_LINK_SOCKET},
};

const char *model_link_name(enum model_link_kind kind)
{
    return kinds[kind].name;
}

static struct topo_link rail_rate(const struct model_links *l, int node, int rail,
                                  enum model_link_kind kind)
{
    enum topo_way way = kind == MODEL_RAIL_OUT ? TOPO_OUT : TOPO_IN;
    struct topo_link link = {topo_rail_rate(l->t, node, rail, way), l->t->rail[rail].latency_ns};

    return rates_known(link, rates_assumed.rail);
}

static struct topo_link class_rate(const struct model_links *l, int node, enum topo_link_class c)
{
    struct topo_link link = {topo_link_rate(l->t, node, c), l->t->link[c].latency_ns};

    return rates_known(link, rates_assumed.link[c]);
}

/* How many things on one side of a pair the node has. */
static uint32_t side(const struct topo *t, int node, enum per per)
{
    int ranks = topo_node_size(t, node), sockets = 1, gpus = 0;

    for (int i = 0; i < ranks; i++) {
        const struct topo_rank *r = &t->rank[topo_node_rank(t, node, i)];

        gpus |= r->gpu >= 0;
        if (r->socket >= sockets)
            sockets = r->socket + 1;
    }
    if (per == PER_RANK_PAIR)
        return gpus ? (uint32_t)ranks : 0;
    return (uint32_t)sockets;
}

void model_links_close(struct model_links *l)
{
    for (int k = 0; k < MODEL_LINK_KINDS; k++)
        free(l->node[k]);
    *l = (struct model_links){0};
}

int model_links_open(const struct topo *t, struct model_links *l)
{
    *l = (struct model_links){.t = t};
    for (int k = 0; k < MODEL_LINK_KINDS; k++) {
        uint32_t n = 0;

        l->first[k] = l->n;
        if (kinds[k].per == PER_RAIL)
            n = (uint32_t)t->nnodes * (uint32_t)t->nrails;
        else if (kinds[k].per == PER_RANK)
            n = (uint32_t)t->nranks;
        else {
            l->node[k] = malloc(((size_t)t->nnodes + 1) * sizeof *l->node[k]);
            if (!l->node[k]) {
                model_links_close(l);
                return -ENOMEM;
            }
            for (int node = 0; node < t->nnodes; node++) {
                uint32_t s = side(t, node, kinds[k].per);
                l->node[k][node] = n;
                n += s * s;
            }
            l->node[k][t->nnodes] = n;
        }
        l->n += n;
    }
    return 0;
}

/* The number of one side of a pair, from the node's number of pairs. */
static uint32_t root_of(uint32_t square)
{
    uint32_t s = 0;

    while (s * s < square)
        s++;
    return s;
}

static uint32_t pair(const struct model_links *l, enum model_link_kind kind, int node, int from,
                     int to)
{
    uint32_t at = l->node[kind][node], s = root_of(l->node[kind][node + 1] - at);

    return l->first[kind] + at + (uint32_t)from * s + (uint32_t)to;
}

struct model_link model_links_get(const struct model_links *l, uint32_t link)
{
    const struct topo *t = l->t;
    enum model_link_kind k = MODEL_LINK_KINDS - 1;
    struct model_link found = {.to = -1};

    while (l->first[k] > link)
        k--;
    enum topo_link_class class = kinds[k].rate;
    found.kind = k;
    uint32_t i = link - l->first[k];
    if (kinds[k].per == PER_RAIL) {
        found.node = (int)i / t->nrails;
        found.from = (int)i % t->nrails;
        found.bw_bytes_per_s = rail_rate(l, found.node, found.from, k).bw_bytes_per_s;
        return found;
    }
    if (kinds[k].per == PER_RANK) {
        found.node = t->rank[i].node;
        found.from = (int)i;
        if (k == MODEL_MEMORY && t->rank[i].gpu >= 0)
            class = TOPO_LINK_REDUCE_GPU;
    } else {
        while (l->node[k][found.node + 1] <= i)
            found.node++;
        i -= l->node[k][found.node];
        uint32_t s = root_of(l->node[k][found.node + 1] - l->node[k][found.node]);
        found.from = (int)(i / s);
        found.to = (int)(i % s);
        if (k == MODEL_MESH) {
            found.from = topo_node_rank(t, found.node, found.from);
            found.to = topo_node_rank(t, found.node, found.to);
        }
    }
    found.bw_bytes_per_s = class_rate(l, found.node, class).bw_bytes_per_s;
    return found;
}

uint32_t model_links_most(const struct model_links *l)
{
    return 2 * (uint32_t)l->t->nrails > 3 ? 2 * (uint32_t)l->t->nrails : 3;
}

/* One end's rails; the slowest latency among them is the message's. */
static uint32_t rails(const struct model_links *l, int rank, enum model_link_kind kind,
                      struct model_use *use, double *latency_ns)
{
    const struct topo_rank *r = &l->t->rank[rank];
    uint32_t node = l->folded ? 0 : (uint32_t)r->node;
    uint32_t first = l->first[kind] + node * (uint32_t)l->t->nrails, n = 0;
    double all = 0;

    for (int rail = 0; rail < l->t->nrails; rail++)
        if (r->rail < 0 || r->rail == rail) {
            struct topo_link rate = rail_rate(l, r->node, rail, kind);

            use[n++] = (struct model_use){first + (uint32_t)rail, rate.bw_bytes_per_s};
            all += rate.bw_bytes_per_s;
            if (rate.latency_ns > *latency_ns)
                *latency_ns = rate.latency_ns;
        }
    for (uint32_t i = 0; i < n; i++)
        use[i].weight /= all;
    return n;
}

static int on_device(const struct model_links *l, int rank, int host)
{
    return l->t->rank[rank].gpu >= 0 && !host;
}

/* A rank's own way to the ranks of other sockets. */
static struct model_use own_port(const struct model_links *l, int rank, int host, int incoming)
{
    enum model_link_kind out = on_device(l, rank, host) ? MODEL_BUS_OUT : MODEL_PORT_OUT;

    return (struct model_use){l->first[out + incoming] + (uint32_t)rank, 1};
}

uint32_t model_links_route(const struct model_links *l, int from, int to, int from_host,
                           struct model_use *use, double *latency_s)
{
    const struct topo_rank *a = &l->t->rank[from], *b = &l->t->rank[to];
    enum topo_link_class class = TOPO_LINK_SHM;
    uint32_t n = 0;

    if (a->node != b->node) {
        double latency_ns = 0;

        n = rails(l, from, MODEL_RAIL_OUT, use, &latency_ns);
        n += rails(l, to, MODEL_RAIL_IN, use + n, &latency_ns);
        *latency_s = latency_ns / 1e9;
        return n;
    }
    if (a->socket != b->socket) {
        class = TOPO_LINK_SOCKET;
        use[n++] = (struct model_use){pair(l, MODEL_SOCKET, a->node, a->socket, b->socket), 1};
        use[n++] = own_port(l, from, from_host, 0);
        use[n++] = own_port(l, to, from_host, 1);
    } else if (on_device(l, from, from_host) && on_device(l, to, from_host)) {
        class = TOPO_LINK_NVLINK;
        use[n++] = (struct model_use){pair(l, MODEL_MESH, a->node, a->local, b->local), 1};
    } else {
        use[n++] = (struct model_use){l->first[MODEL_PORT_OUT] + (uint32_t)from, 1};
        use[n++] = (struct model_use){l->first[MODEL_PORT_IN] + (uint32_t)to, 1};
    }
    *latency_s = class_rate(l, a->node, class).latency_ns / 1e9;
    return n;
}

struct model_use model_links_local(const struct model_links *l, int rank, uint8_t src, uint8_t dst,
                                   double *latency_s)
{
    int node = l->t->rank[rank].node, gpu = l->t->rank[rank].gpu >= 0, up = src == PLAN_HOST,
        down = dst == PLAN_HOST;
    struct model_use use = {.weight = 1};
    enum model_link_kind link = MODEL_MEMORY;
    enum topo_link_class class = gpu ? TOPO_LINK_REDUCE_GPU : TOPO_LINK_REDUCE;

    if (gpu && up != down) {
        link = up ? MODEL_BUS_IN : MODEL_BUS_OUT;
        class = TOPO_LINK_PCIE;
    } else if (gpu && up) {
        link = MODEL_PORT_IN;
        class = TOPO_LINK_REDUCE;
        use.weight = class_rate(l, node, TOPO_LINK_SHM).bw_bytes_per_s /
                     class_rate(l, node, class).bw_bytes_per_s;
    }
    use.link = l->first[link] + (uint32_t)rank;
    *latency_s = class_rate(l, node, class).latency_ns / 1e9;
    return use;
}
