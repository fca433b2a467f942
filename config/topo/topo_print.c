/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shortest synthetic form this file can find for a topology: the regular
 * words where they describe it, a list of every rank where they do not. Each
 * guess is checked against the topology itself before it is printed, so a
 * pattern this file does not know costs length, never correctness.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/topo/topo_private.h"
#include "config/topo/topo_rate.h"

/* Text that is cut at size but counted in full, as snprintf counts. */
struct out {
    char *text;
    size_t size, used;
};

__attribute__((format(printf, 2, 3))) static void put(struct out *o, const char *format, ...)
{
    size_t room = o->used < o->size ? o->size - o->used : 0;
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(room ? o->text + o->used : NULL, room, format, args);
    va_end(args);
    o->used += n > 0 ? (size_t)n : 0;
}

static void put_word(struct out *o, const char *name)
{
    put(o, "%s%s:", o->used ? " " : "", name);
}

/* A list in which runs are written as COUNTxVALUE. */
static void put_list(struct out *o, const char *name, const struct topo *t,
                     int (*value)(const struct topo *t, int i), int n)
{
    put_word(o, name);
    for (int i = 0, run; i < n; i += run) {
        for (run = 1; i + run < n && value(t, i + run) == value(t, i); run++)
            ;
        put(o, i ? "," : "");
        if (run > 1 || n == 1)
            put(o, "%dx", run);
        put(o, "%d", value(t, i));
    }
}

static int value_node(const struct topo *t, int r)
{
    return t->rank[r].node;
}

static int value_socket(const struct topo *t, int r)
{
    return t->rank[r].socket;
}

static int value_gpu(const struct topo *t, int r)
{
    return t->rank[r].gpu;
}

static int value_rail(const struct topo *t, int r)
{
    return t->rank[r].rail;
}

/* The part of the topology that the regular words can express. */
struct pattern {
    int sockets, gpus; /* per node and per socket; 0: the word is left out */
    int socket_fits, gpu_fits;
    enum topo_place place;
    int same_size; /* ranks of every node, 0 if they differ */
};

static int leaves_of(const struct pattern *p)
{
    return (p->sockets ? p->sockets : 1) * (p->gpus ? p->gpus : 1);
}

/* Which of the two fields do the words socket: and gpu: describe right on every rank? */
static void test_fit(const struct topo *t, struct pattern *p)
{
    int leaves = leaves_of(p);

    p->socket_fits = p->gpu_fits = 1;
    for (int r = 0; r < t->nranks; r++) {
        const struct topo_rank *k = &t->rank[r];
        int32_t leaf = topo_leaf(topo_node_size(t, k->node), leaves, k->local);

        p->socket_fits &= k->socket == leaf / (p->gpus ? p->gpus : 1);
        p->gpu_fits &= k->gpu == (p->gpus ? leaf : -1);
    }
}

/* In a regular machine the first GPU of socket 1 has the number of GPUs per socket as its index. */
static void find_leaves(const struct topo *t, struct pattern *p)
{
    int64_t sockets = 1, gpus = 0, per_socket = INT64_MAX;

    for (int r = 0; r < t->nranks; r++) {
        const struct topo_rank *k = &t->rank[r];

        sockets = k->socket >= sockets ? (int64_t)k->socket + 1 : sockets;
        gpus = k->gpu >= gpus ? (int64_t)k->gpu + 1 : gpus;
        per_socket = k->socket == 1 && k->gpu < per_socket ? k->gpu : per_socket;
    }
    if (sockets == 1)
        per_socket = gpus;
    if (per_socket > 0 && per_socket <= TOPO_MAX && sockets <= TOPO_MAX / per_socket) {
        p->sockets = sockets > 1 ? (int)sockets : 0;
        p->gpus = (int)per_socket;
        test_fit(t, p);
        if (p->socket_fits && p->gpu_fits)
            return;
    }
    p->gpus = 0;
    p->sockets = sockets > 1 && sockets <= TOPO_MAX ? (int)sockets : 0;
    test_fit(t, p);
    if (p->socket_fits)
        return;
    p->sockets = 0;
    test_fit(t, p);
}

static int is_block(const struct topo *t)
{
    for (int r = 1; r < t->nranks; r++)
        if (t->rank[r].node < t->rank[r - 1].node)
            return 0;
    return 1;
}

/* 0, 1 or -ENOMEM */
static int is_cyclic(const struct topo *t)
{
    int32_t *size = calloc((size_t)t->nnodes, sizeof *size);
    int32_t *node = calloc((size_t)t->nranks, sizeof *node);
    int code = size && node ? 0 : -ENOMEM;

    for (int n = 0; code == 0 && n < t->nnodes; n++)
        size[n] = topo_node_size(t, n);
    if (code == 0)
        code = topo_place_cyclic(size, t->nnodes, node);
    if (code == 0) {
        code = 1;
        for (int r = 0; r < t->nranks; r++)
            code &= node[r] == t->rank[r].node;
    }
    free(node);
    free(size);
    return code;
}

static void find_place(const struct topo *t, struct pattern *p)
{
    p->same_size = topo_node_size(t, 0);
    for (int n = 1; n < t->nnodes; n++)
        if (topo_node_size(t, n) != p->same_size)
            p->same_size = 0;
    /* Without memory to find out, the list is right as well. */
    p->place = is_block(t)         ? TOPO_PLACE_BLOCK
               : is_cyclic(t) == 1 ? TOPO_PLACE_CYCLIC
                                   : TOPO_PLACE_LIST;
}

static void put_ranks_per_node(struct out *o, const struct topo *t, const struct pattern *p)
{
    int leaves = leaves_of(p);

    if (p->place == TOPO_PLACE_LIST)
        return;
    if (!p->same_size || p->same_size % leaves)
        put_list(o, "rank", t, topo_node_size, t->nnodes);
    else if (p->same_size != leaves) {
        put_word(o, "rank");
        put(o, "%d", p->same_size / leaves);
    }
}

static int rails_by_local(const struct topo *t)
{
    for (int r = 0; r < t->nranks; r++)
        if (t->rank[r].rail != t->rank[r].local % t->nrails)
            return 0;
    return 1;
}

static int rails_all_striped(const struct topo *t)
{
    for (int r = 0; r < t->nranks; r++)
        if (t->rank[r].rail != -1)
            return 0;
    return 1;
}

static double rail_rate(const struct topo *t, int rail)
{
    return t->rail[rail].bw_bytes_per_s;
}

static double rail_latency(const struct topo *t, int rail)
{
    return t->rail[rail].latency_ns;
}

/* The values of all rails: nothing if none is known, one if they are equal. */
static void put_rails(struct out *o, const struct topo *t, const char *before,
                      double (*value)(const struct topo *t, int rail),
                      int (*print)(double value, char *text, size_t size))
{
    int any = 0, same = 1;

    for (int i = 0; i < t->nrails; i++) {
        any |= value(t, i) != 0;
        same &= value(t, i) == value(t, 0);
    }
    if (!any)
        return;
    put(o, "%s", before);
    for (int i = 0, run; i < (same ? 1 : t->nrails); i += run) {
        char text[TOPO_RATE_TEXT];

        for (run = 1; !same && i + run < t->nrails && value(t, i + run) == value(t, i); run++)
            ;
        print(value(t, i), text, sizeof text);
        put(o, i ? "," : "");
        if (run > 1)
            put(o, "%dx", run);
        put(o, "%s", text);
    }
}

/* The rails whose rate is not that of `rail:`. */
static void put_exceptions(struct out *o, const struct topo *t)
{
    const char *before = " rail_rate:";

    for (int node = 0; t->rate && node < t->nnodes; node++)
        for (int rail = 0; rail < t->nrails; rail++) {
            double out = topo_rail_rate(t, node, rail, TOPO_OUT);
            double in = topo_rail_rate(t, node, rail, TOPO_IN);

            for (int way = TOPO_OUT; way <= TOPO_IN; way++) {
                double rate = way == TOPO_OUT ? out : in;
                char text[TOPO_RATE_TEXT];

                if (rate == rail_rate(t, rail) || (way == TOPO_IN && in == out))
                    continue;
                topo_print_bit_rate(rate, text, sizeof text);
                put(o, "%s%d.%d%s@%s", before, node, rail,
                    in == out         ? ""
                    : way == TOPO_OUT ? "out"
                                      : "in",
                    text);
                before = ",";
            }
        }
}

static void put_links(struct out *o, const struct topo *t)
{
    char text[TOPO_RATE_TEXT];

    for (int i = 0; i < TOPO_LINK_CLASSES; i++) {
        if (t->link[i].bw_bytes_per_s != 0) {
            topo_print_rate(t->link[i].bw_bytes_per_s, text, sizeof text);
            put(o, " link_%s:%s", topo_link_name(i), text);
        }
        if (t->link[i].latency_ns != 0) {
            topo_print_time(t->link[i].latency_ns, text, sizeof text);
            put(o, " latency_%s:%s", topo_link_name(i), text);
        }
    }
}

/* Links inside a node whose rate is not that of `link_CLASS:`. */
static void put_link_exceptions(struct out *o, const struct topo *t)
{
    const char *before = " link_rate:";

    for (int i = 0; t->link_rate && i < t->nnodes * TOPO_LINK_CLASSES; i++) {
        char text[TOPO_RATE_TEXT];

        if (!(t->link_rate[i] > 0))
            continue;
        topo_print_rate(t->link_rate[i], text, sizeof text);
        put(o, "%s%d.%s@%s", before, i / TOPO_LINK_CLASSES,
            topo_link_name((enum topo_link_class)(i % TOPO_LINK_CLASSES)), text);
        before = ",";
    }
}

/* To three digits: more is noise. */
static double rounded(double value)
{
    double unit = 1;

    while (value >= 1000 * unit)
        unit *= 10;
    return (double)(int64_t)(value / unit + .5) * unit;
}

int topo_print_rates(const struct topo *t, char *text, size_t size)
{
    struct out o = {.text = text, .size = size};
    size_t n = 2 * (size_t)t->nnodes * (size_t)t->nrails;
    double *rate = malloc(n * sizeof *rate);
    struct topo *shown = NULL;

    if (!rate || topo_copy(t, t->nrails, &shown) < 0) {
        free(rate);
        return -ENOMEM;
    }
    for (size_t i = 0; i < n; i++)
        rate[i] = rounded(topo_rail_rate(t, (int)(i / 2) / t->nrails, (int)(i / 2) % t->nrails,
                                         (enum topo_way)(i % 2)));
    for (int r = 0; r < t->nrails; r++)
        shown->rail[r].latency_ns = t->rail[r].latency_ns;
    topo_take_rail_rates(shown, rate);
    put(&o, "node:%d rail:%d", shown->nnodes, shown->nrails);
    put_rails(&o, shown, "@", rail_rate, topo_print_bit_rate);
    put_rails(&o, shown, " latency_rail:", rail_latency, topo_print_time);
    put_exceptions(&o, shown);
    put_links(&o, shown);
    put_link_exceptions(&o, shown);
    topo_free(shown);
    return (int)o.used;
}

int topo_print(const struct topo *t, char *text, size_t size)
{
    static const char *const places[] = {"block", "cyclic"};
    struct out o = {.text = text, .size = size};
    struct pattern p = {0};

    find_leaves(t, &p);
    find_place(t, &p);
    put(&o, "node:%d", t->nnodes);
    if (p.sockets)
        put(&o, " socket:%d", p.sockets);
    if (p.gpus)
        put(&o, " gpu:%d", p.gpus);
    put_ranks_per_node(&o, t, &p);
    put(&o, " rail:%d", t->nrails);
    put_rails(&o, t, "@", rail_rate, topo_print_bit_rate);
    if (p.place == TOPO_PLACE_LIST)
        put_list(&o, "place", t, value_node, t->nranks);
    else if (p.place != TOPO_PLACE_BLOCK)
        put(&o, " place:%s", places[p.place]);
    if (!p.socket_fits)
        put_list(&o, "socket_of", t, value_socket, t->nranks);
    if (!p.gpu_fits)
        put_list(&o, "gpu_of", t, value_gpu, t->nranks);
    if (rails_all_striped(t))
        put(&o, " rail_of:all");
    else if (!rails_by_local(t))
        put_list(&o, "rail_of", t, value_rail, t->nranks);
    put_rails(&o, t, " latency_rail:", rail_latency, topo_print_time);
    put_exceptions(&o, t);
    put_links(&o, t);
    put_link_exceptions(&o, t);
    return (int)o.used;
}
