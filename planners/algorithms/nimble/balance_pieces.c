/* SPDX-License-Identifier: BSD-3-Clause */
#include "planners/algorithms/nimble/balance_pieces.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void add_flow(struct balance_flows *f, int from, int to, uint64_t bytes,
                     uint64_t split_bytes)
{
    struct balance_flow *flow = &f->flow[f->n++];

    *flow = (struct balance_flow){.from = from, .to = to, .bytes = bytes, .npaths = 1};
    balance_direct_links(f->net, from, to, flow->direct);
    if (bytes > split_bytes || balance_is_narrow(f->net, flow->direct[0]) ||
        balance_is_narrow(f->net, flow->direct[1]))
        flow->npaths = balance_npaths(f->net, from, to);
}

int balance_flows_open(struct balance_flows *f, const struct balance_net *net,
                       const uint64_t *demand, uint64_t split_bytes)
{
    size_t nranks = (size_t)net->t->nranks, n = 0;

    *f = (struct balance_flows){.net = net, .used = 1};
    for (size_t i = 0; i < nranks * nranks; i++)
        n += demand[i] > 0;
    f->flow = malloc((n + 1) * sizeof *f->flow);
    if (!f->flow)
        return -ENOMEM;
    for (size_t from = 0; from < nranks; from++)
        for (size_t to = 0; to < nranks; to++)
            if (from != to && demand[from * nranks + to])
                add_flow(f, (int)from, (int)to, demand[from * nranks + to], split_bytes);
    return 0;
}

void balance_flows_close(struct balance_flows *f)
{
    free(f->flow);
    free(f->row);
    *f = (struct balance_flows){0};
}

double *balance_flow_spread(struct balance_flows *f, struct balance_flow *flow)
{
    uint32_t n = (uint32_t)flow->npaths;

    if (f->used + n > f->room) {
        uint32_t room = 2 * (f->used + n) + 256;
        double *larger = realloc(f->row, room * sizeof *larger);
        if (!larger)
            return NULL;
        f->row = larger;
        f->room = room;
    }
    flow->row = f->used;
    f->used += n;
    memset(f->row + flow->row, 0, n * sizeof *f->row);
    f->row[flow->row] = (double)flow->bytes;
    return f->row + flow->row;
}

void balance_flows_reset(struct balance_flows *f)
{
    for (uint32_t i = 0; i < f->n; i++)
        f->flow[i].row = 0;
    f->used = 1;
}

void balance_flows_load(const struct balance_flows *f, double *load)
{
    memcpy(load, f->net->background, f->net->nlinks * sizeof *load);
    for (uint32_t i = 0; i < f->n; i++) {
        load[f->flow[i].direct[0]] += (double)f->flow[i].bytes;
        if (f->flow[i].direct[1])
            load[f->flow[i].direct[1]] += (double)f->flow[i].bytes;
    }
}

static void add_piece(const struct balance_flows *f, const struct balance_flow *flow, int path,
                      uint64_t bytes, struct balance *b)
{
    struct balance_path p;

    balance_path(f->net, flow->from, flow->to, path, &p);
    b->piece[b->npieces++] = (struct balance_piece){.from = flow->from,
                                                    .to = flow->to,
                                                    .out_relay = p.out_relay,
                                                    .in_relay = p.in_relay,
                                                    .bytes = bytes};
    for (int l = 0; l < p.nlinks; l++)
        b->load[p.link[l]] += (double)bytes;
    if (path)
        b->relayed += bytes;
}

static void add_direct(const struct balance_flow *flow, struct balance *b)
{
    b->piece[b->npieces++] = (struct balance_piece){
        .from = flow->from, .to = flow->to, .out_relay = -1, .in_relay = -1, .bytes = flow->bytes};
    b->load[flow->direct[0]] += (double)flow->bytes;
    if (flow->direct[1])
        b->load[flow->direct[1]] += (double)flow->bytes;
}

static void cut(const struct balance_flows *f, const struct balance_flow *flow, uint64_t crumb,
                struct balance *b)
{
    const double *x = balance_flow_row(f, flow);
    int n = flow->npaths, largest = 0;
    uint64_t rest = flow->bytes, least = crumb > flow->bytes / 256 ? crumb : flow->bytes / 256;

    if (!x) {
        add_direct(flow, b);
        return;
    }
    for (int p = 1; p < n; p++)
        if (x[p] > x[largest])
            largest = p;
    for (int p = 0; p < n; p++)
        if (p != largest && x[p] >= 1 && x[p] >= (double)least)
            rest -= (uint64_t)x[p] < rest ? (uint64_t)x[p] : rest;
    for (int p = 0; p < n; p++) {
        if (p == largest && rest)
            add_piece(f, flow, p, rest, b);
        else if (p != largest && x[p] >= 1 && x[p] >= (double)least)
            add_piece(f, flow, p, (uint64_t)x[p], b);
    }
}

int balance_flows_cut(const struct balance_flows *f, uint64_t crumb, struct balance *b)
{
    free(b->piece);
    free(b->load);
    /* A row has at least one entry per piece, a message without a row is one piece. */
    b->piece = malloc((f->n + f->used) * sizeof *b->piece);
    b->load = malloc(f->net->nlinks * sizeof *b->load);
    if (!b->piece || !b->load)
        return -ENOMEM;
    memcpy(b->load, f->net->background, f->net->nlinks * sizeof *b->load);
    b->npieces = 0;
    b->relayed = 0;
    for (uint32_t i = 0; i < f->n; i++)
        cut(f, &f->flow[i], crumb, b);
    b->congestion = balance_congestion(f->net, b->load, NULL);
    return 0;
}

int balance_direct(const struct balance_net *net, const uint64_t *demand, struct balance *b)
{
    struct balance_flows f;

    *b = (struct balance){0};
    int rc = balance_flows_open(&f, net, demand, 0);
    if (!rc)
        rc = balance_flows_cut(&f, 0, b);
    balance_flows_close(&f);
    return rc;
}

/* The share of a message that takes path p: the rail's rate, or 1. The direct rail is one of the
   paths. */
static double share(const struct balance_net *net, const struct balance_flow *flow, int p,
                    int by_rate)
{
    const struct topo_rank *a = &net->t->rank[flow->from], *b = &net->t->rank[flow->to];
    struct balance_path path;
    int rail = p ? p - 1 : a->rail;

    if (p ? !balance_path(net, flow->from, flow->to, p, &path) : a->rail != b->rail)
        return 0;
    return by_rate ? net->capacity[balance_rail_out(net, 0, rail)] : 1;
}

static int stripe(struct balance_flows *f, struct balance_flow *flow, int by_rate)
{
    int n = flow->npaths;
    double all = 0, *x = balance_flow_spread(f, flow);

    if (!x)
        return -ENOMEM;
    for (int p = 0; p < n; p++)
        all += x[p] = share(f->net, flow, p, by_rate);
    for (int p = 0; p < n; p++)
        x[p] *= all > 0 ? (double)flow->bytes / all : 0;
    if (!(all > 0))
        x[0] = (double)flow->bytes; /* the nodes have no rail in common */
    return 0;
}

static int stripe_all(const struct balance_net *net, const uint64_t *demand, uint64_t split_bytes,
                      int by_rate, struct balance *b)
{
    const struct topo_rank *rank = net->t->rank;
    struct balance_flows f;

    *b = (struct balance){0};
    int rc = balance_flows_open(&f, net, demand, split_bytes);
    for (uint32_t i = 0; !rc && i < f.n; i++) {
        struct balance_flow *flow = &f.flow[i];
        if (flow->npaths > 1 && rank[flow->from].node != rank[flow->to].node)
            rc = stripe(&f, flow, by_rate);
    }
    if (!rc)
        rc = balance_flows_cut(&f, 0, b);
    balance_flows_close(&f);
    return rc;
}

int balance_uniform(const struct balance_net *net, const uint64_t *demand, struct balance *b)
{
    return stripe_all(net, demand, 0, 0, b);
}

int balance_striped(const struct balance_net *net, const uint64_t *demand, uint64_t split_bytes,
                    struct balance *b)
{
    return stripe_all(net, demand, split_bytes, 1, b);
}

static int all_rails_everywhere(const struct balance_net *net)
{
    for (size_t i = 0; i < (size_t)net->t->nranks * (size_t)net->nrails; i++)
        if (net->holder[i] < 0)
            return 0;
    return 1;
}

/* A rank's bytes for other nodes on their way to the rails (at leg), or from them. */
static void stripe_rank(const struct balance_net *net, int rank, double bytes, const uint32_t *leg,
                        uint32_t first_rail, double *load)
{
    double all = 0;

    for (int r = 0; r < net->nrails; r++)
        all += net->capacity[2 + r];
    for (int r = 0; r < net->nrails; r++, leg += 4) {
        double part = bytes * net->capacity[2 + r] / all;
        load[first_rail + (uint32_t)(net->t->rank[rank].node * net->nrails + r)] += part;
        for (int i = 0; i < 2; i++)
            load[leg[i]] += leg[i] ? part : 0;
    }
}

int balance_flows_striped(const struct balance_flows *f, double *congestion)
{
    const struct balance_net *net = f->net;
    const struct topo_rank *rank = net->t->rank;
    size_t nranks = (size_t)net->t->nranks;
    double *load, *out, *in;

    *congestion = INFINITY;
    if (!all_rails_everywhere(net))
        return 0;
    load = calloc(net->nlinks + 2 * nranks, sizeof *load);
    if (!load)
        return -ENOMEM;
    out = load + net->nlinks;
    in = out + nranks;
    memcpy(load, net->background, net->nlinks * sizeof *load);
    for (uint32_t i = 0; i < f->n; i++) {
        const struct balance_flow *flow = &f->flow[i];
        double bytes = (double)flow->bytes;

        if (flow->npaths > 1 && rank[flow->from].node != rank[flow->to].node) {
            out[flow->from] += bytes;
            in[flow->to] += bytes;
            continue;
        }
        load[flow->direct[0]] += bytes;
        load[flow->direct[1]] += flow->direct[1] ? bytes : 0;
    }
    for (int r = 0; r < net->t->nranks; r++) {
        const uint32_t *leg = net->leg + 4 * (size_t)r * (size_t)net->nrails;
        stripe_rank(net, r, out[r], leg, balance_rail_out(net, 0, 0), load);
        stripe_rank(net, r, in[r], leg + 2, balance_rail_in(net, 0, 0), load);
    }
    *congestion = balance_congestion(net, load, NULL);
    free(load);
    return 0;
}

void balance_free(struct balance *b)
{
    free(b->piece);
    free(b->load);
    *b = (struct balance){0};
}
