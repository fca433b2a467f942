/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From the words of a synthetic text to the topology they describe, or to the
 * one line that says why there is none. Separate from the reading of words
 * (topo_parse.c) because these errors are about two words that do not fit
 * together, not about a place in the text.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "config/topo/topo_private.h"

struct shape {
    const struct topo_words *w;
    int leaves; /* GPUs, or sockets where there are no GPUs, of a node */
    int nnodes; /* labels, before topo_build() numbers the nodes */
    int nranks;
    int32_t *size;  /* [nnodes] owned: ranks of each label */
    int32_t *label; /* [nranks] owned: where each rank sits */
    char *why;
    size_t why_size;
};

__attribute__((format(printf, 2, 3))) static int refuse(struct shape *s, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(s->why, s->why_size, format, args);
    va_end(args);
    return -EINVAL;
}

static int given_or_one(int count)
{
    return count ? count : 1;
}

static int count_nodes(struct shape *s)
{
    const struct topo_words *w = s->w;
    double most = 0;

    s->nnodes = given_or_one(w->node);
    if (!w->node && w->rank.is_list)
        s->nnodes = w->rank.n;
    if (w->rank.is_list && w->rank.n != s->nnodes)
        return refuse(s, "rank: gives the ranks of %d nodes, node: says %d", w->rank.n, s->nnodes);
    for (int r = 0; r < w->place_list.n; r++) {
        if (w->place_list.value[r] < 0)
            return refuse(s, "place: rank %d is on node %.0f; nodes are numbered from 0", r,
                          w->place_list.value[r]);
        if (w->place_list.value[r] > most)
            most = w->place_list.value[r];
    }
    if (most >= TOPO_MAX)
        return refuse(s, "place: node %.0f is beyond the most nodes, %d", most, TOPO_MAX);
    if (w->place == TOPO_PLACE_LIST && !w->node && !w->rank.is_list)
        s->nnodes = (int)most + 1;
    if (most >= s->nnodes)
        return refuse(s, "place: names node %.0f, but there are nodes 0 to %d", most,
                      s->nnodes - 1);
    return 0;
}

static int count_leaves(struct shape *s)
{
    int64_t leaves = (int64_t)given_or_one(s->w->socket) * given_or_one(s->w->gpu);

    if (leaves > TOPO_MAX)
        return refuse(s, "socket:%d gpu:%d are %lld GPUs a node, at most %d are understood",
                      s->w->socket, s->w->gpu, (long long)leaves, TOPO_MAX);
    s->leaves = (int)leaves;
    return 0;
}

/* How many ranks the words put on that node; a place: list alone puts as many as it says. */
static int64_t ranks_said(const struct shape *s, int node)
{
    if (s->w->rank.is_list)
        return (int64_t)s->w->rank.value[node];
    return (int64_t)s->leaves * (s->w->rank.n ? (int64_t)s->w->rank.value[0] : 1);
}

static int size_by_words(struct shape *s)
{
    int64_t total = 0;

    for (int n = 0; n < s->nnodes && total <= TOPO_MAX; n++) {
        int64_t size = ranks_said(s, n);

        if (size < 1)
            return refuse(s, "rank: node %d gets %lld ranks, each needs at least 1", n,
                          (long long)size);
        total += size;
        s->size[n] = (int32_t)size;
    }
    if (total > TOPO_MAX)
        return refuse(s, "it describes more than %d ranks, which is the most understood", TOPO_MAX);
    s->nranks = (int)total;
    return 0;
}

static int size_by_place(struct shape *s)
{
    const struct topo_list *place = &s->w->place_list;

    for (int r = 0; r < place->n; r++)
        s->size[(int)place->value[r]]++;
    for (int n = 0; n < s->nnodes; n++) {
        if (s->size[n] == 0)
            return refuse(s, "place: puts no rank on node %d of %d", n, s->nnodes);
        if (s->w->rank.n && s->size[n] != ranks_said(s, n))
            return refuse(s, "place: puts %d ranks on node %d, rank: says %lld", s->size[n], n,
                          (long long)ranks_said(s, n));
    }
    s->nranks = place->n;
    return 0;
}

static void place_block(struct shape *s)
{
    int r = 0;

    for (int n = 0; n < s->nnodes; n++)
        for (int i = 0; i < s->size[n]; i++)
            s->label[r++] = n;
}

/* In turn over the nodes that still have room; full ones leave the round, so it stays linear. */
int topo_place_cyclic(const int32_t *size, int nnodes, int32_t *label)
{
    int32_t *open = calloc((size_t)nnodes, sizeof *open);
    int nopen = nnodes, r = 0;

    if (!open)
        return -ENOMEM;
    for (int n = 0; n < nnodes; n++)
        open[n] = n;
    for (int round = 0; nopen > 0; round++) {
        int still = 0;

        for (int i = 0; i < nopen; i++) {
            label[r++] = open[i];
            if (size[open[i]] > round + 1)
                open[still++] = open[i];
        }
        nopen = still;
    }
    free(open);
    return 0;
}

static int place_ranks(struct shape *s)
{
    s->label = calloc((size_t)s->nranks, sizeof *s->label);
    if (!s->label)
        return -ENOMEM;
    switch (s->w->place) {
    case TOPO_PLACE_BLOCK:
        place_block(s);
        return 0;
    case TOPO_PLACE_CYCLIC:
        return topo_place_cyclic(s->size, s->nnodes, s->label);
    case TOPO_PLACE_LIST:
        for (int r = 0; r < s->nranks; r++)
            s->label[r] = (int32_t)s->w->place_list.value[r];
    }
    return 0;
}

/* A per-rank list: is it as long as there are ranks, and every value in least .. most? */
static int check_list(struct shape *s, const struct topo_list *list, const char *name, int least,
                      int most)
{
    if (list->n != s->nranks)
        return refuse(s, "%s: has %d values for %d ranks", name, list->n, s->nranks);
    for (int r = 0; r < list->n; r++)
        if (list->value[r] < least || list->value[r] > most)
            return refuse(s, "%s: rank %d has %.0f, expected %d to %d", name, r, list->value[r],
                          least, most);
    return 0;
}

static int set_ranks(struct shape *s, struct topo *t)
{
    const struct topo_words *w = s->w;
    int per_socket = given_or_one(w->gpu);

    for (int r = 0; r < t->nranks; r++) {
        struct topo_rank *k = &t->rank[r];
        int32_t leaf = topo_leaf(topo_node_size(t, k->node), s->leaves, k->local);

        k->gpu = w->gpu ? leaf : -1;
        k->socket = leaf / per_socket;
        if (w->rail_of_all)
            k->rail = -1;
    }
    if (w->socket_of.n && check_list(s, &w->socket_of, "socket_of", 0, INT32_MAX) < 0)
        return -EINVAL;
    if (w->gpu_of.n && check_list(s, &w->gpu_of, "gpu_of", -1, INT32_MAX) < 0)
        return -EINVAL;
    if (w->rail_of.n && check_list(s, &w->rail_of, "rail_of", -1, t->nrails - 1) < 0)
        return -EINVAL;
    for (int r = 0; r < w->socket_of.n; r++)
        t->rank[r].socket = (int32_t)w->socket_of.value[r];
    for (int r = 0; r < w->gpu_of.n; r++)
        t->rank[r].gpu = (int32_t)w->gpu_of.value[r];
    for (int r = 0; r < w->rail_of.n; r++)
        t->rank[r].rail = (int32_t)w->rail_of.value[r];
    return 0;
}

static double rail_value(const struct topo_list *list, int rail)
{
    return list->n == 0 ? 0 : list->value[list->n == 1 ? 0 : rail];
}

/* The rates of single rails in rail_rate:, in rate[nnodes * nrails * 2]. */
static int set_exceptions(struct shape *s, const struct topo *t, double *rate)
{
    const struct topo_exceptions *x = &s->w->rail_rate;
    size_t n = 2 * (size_t)t->nnodes * (size_t)t->nrails;
    unsigned char *given = calloc(n, 1);
    int code = given ? 0 : -ENOMEM;

    for (size_t i = 0; i < n; i++)
        rate[i] = t->rail[i / 2 % (size_t)t->nrails].bw_bytes_per_s;
    for (size_t i = 0; !code && i < x->n; i++) {
        const struct topo_exception *e = &x->list[i];

        if (e->node < 0 || e->node >= t->nnodes || e->of < 0 || e->of >= t->nrails) {
            code = refuse(s,
                          "rail_rate: names rail %d of node %d; expected rails 0 to %d of nodes "
                          "0 to %d",
                          e->of, e->node, t->nrails - 1, t->nnodes - 1);
            break;
        }
        for (int way = TOPO_OUT; way <= TOPO_IN; way++) {
            size_t at = 2 * ((size_t)e->node * (size_t)t->nrails + (size_t)e->of) + (size_t)way;

            if (!(e->ways & 1 << way))
                continue;
            if (given[at]++)
                code = refuse(s, "rail_rate: gives rail %d of node %d twice", e->of, e->node);
            rate[at] = e->rate;
        }
    }
    free(given);
    return code;
}

static int set_rail_rates(struct shape *s, struct topo *t)
{
    double *rate;
    int code;

    if (!s->w->rail_rate.n)
        return 0;
    if (t->nnodes > TOPO_MAX / t->nrails)
        return refuse(s, "rail_rate: goes with at most %d rails on all nodes together", TOPO_MAX);
    rate = malloc(2 * (size_t)t->nnodes * (size_t)t->nrails * sizeof *rate);
    if (!rate)
        return -ENOMEM;
    code = set_exceptions(s, t, rate);
    if (!code)
        code = topo_set_rail_rates(t, rate);
    free(rate);
    return code;
}

/* The rates of single nodes' links, in rate[nnodes * TOPO_LINK_CLASSES], all 0 at first. */
static int set_link_exceptions(struct shape *s, const struct topo *t, double *rate)
{
    const struct topo_exceptions *x = &s->w->link_rate;

    for (size_t i = 0; i < x->n; i++) {
        const struct topo_exception *e = &x->list[i];
        const char *name = topo_link_name((enum topo_link_class)e->of);

        if (e->node < 0 || e->node >= t->nnodes)
            return refuse(s, "link_rate: names node %d; expected nodes 0 to %d", e->node,
                          t->nnodes - 1);
        double *own = &rate[(size_t)e->node * TOPO_LINK_CLASSES + (size_t)e->of];
        if (*own > 0)
            return refuse(s, "link_rate: gives %s of node %d twice", name, e->node);
        if (!(e->rate > 0))
            return refuse(s, "link_rate: gives %s of node %d no rate; expected one above 0", name,
                          e->node);
        *own = e->rate;
    }
    return 0;
}

static int set_link_rates(struct shape *s, struct topo *t)
{
    double *rate;
    int code;

    if (!s->w->link_rate.n)
        return 0;
    rate = calloc((size_t)t->nnodes * TOPO_LINK_CLASSES, sizeof *rate);
    if (!rate)
        return -ENOMEM;
    code = set_link_exceptions(s, t, rate);
    if (!code)
        code = topo_set_link_rates(t, rate);
    free(rate);
    return code;
}

static int set_links(struct shape *s, struct topo *t)
{
    const struct topo_words *w = s->w;

    if (w->rail_bw.n > 1 && w->rail_bw.n != t->nrails)
        return refuse(s, "rail: has %d rates for %d rails; give one, or one each", w->rail_bw.n,
                      t->nrails);
    if (w->rail_latency.n > 1 && w->rail_latency.n != t->nrails)
        return refuse(s, "latency_rail: has %d times for %d rails; give one, or one each",
                      w->rail_latency.n, t->nrails);
    for (int i = 0; i < t->nrails; i++)
        t->rail[i] = (struct topo_link){.bw_bytes_per_s = rail_value(&w->rail_bw, i),
                                        .latency_ns = rail_value(&w->rail_latency, i)};
    for (int i = 0; i < TOPO_LINK_CLASSES; i++)
        t->link[i] = w->link[i];
    int code = set_rail_rates(s, t);
    return code ? code : set_link_rates(s, t);
}

static int shape_ranks(struct shape *s)
{
    int code = count_leaves(s);

    if (code == 0)
        code = count_nodes(s);
    if (code)
        return code;
    s->size = calloc((size_t)s->nnodes, sizeof *s->size);
    if (!s->size)
        return -ENOMEM;
    code = s->w->place == TOPO_PLACE_LIST ? size_by_place(s) : size_by_words(s);
    return code ? code : place_ranks(s);
}

int topo_shape(const struct topo_words *w, int nranks, struct topo **topo_p, char *why,
               size_t why_size)
{
    struct shape s = {.w = w, .why = why, .why_size = why_size};
    struct topo *t = NULL;
    int code = shape_ranks(&s);

    if (code == 0 && nranks && s.nranks != nranks)
        code = refuse(&s, "it describes %d ranks on %d node%s, but there are %d ranks", s.nranks,
                      s.nnodes, s.nnodes == 1 ? "" : "s", nranks);
    if (code == 0)
        code = topo_build(s.label, s.nranks, s.nnodes, w->rail, &t);
    free(s.label);
    free(s.size);
    if (code == 0)
        code = set_ranks(&s, t);
    if (code == 0)
        code = set_links(&s, t);
    if (code)
        topo_free(t);
    else
        *topo_p = t;
    return code;
}
