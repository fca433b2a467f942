/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/unit/loopback.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "test/unit/random.h"

/* A posted send or receive. */
struct post {
    struct post *next;
    const char *from; /* a send's bytes */
    char *to;         /* a receive's place */
    size_t length;
    unsigned
        failed; /* XPORT_FAILED: nothing was sent; XPORT_UNEQUAL: a message of another length */
    struct port *port;
    unsigned slot;
    int peer, tag;
    int delay; /* polls left until it is reported, once it has met its counterpart; -1: not met */
};

struct port {
    struct loopback *net;
    int rank;
    struct post *posts; /* oldest first */
};

struct loopback {
    struct rng rng;
    int nranks;
    int lengths_may_differ;
    struct port *port;
};

struct loopback *loopback_open(int nranks, uint64_t seed)
{
    struct loopback *net = calloc(1, sizeof *net);

    ck_assert_ptr_nonnull(net);
    net->rng.state = seed;
    net->nranks = nranks;
    net->port = calloc((size_t)nranks, sizeof *net->port);
    ck_assert_ptr_nonnull(net->port);
    for (int r = 0; r < nranks; r++)
        net->port[r] = (struct port){.net = net, .rank = r};
    return net;
}

/* The oldest post at `there` that meets p and has no partner. */
static struct post *counterpart(const struct post *p, struct port *there)
{
    for (struct post *o = there->posts; o; o = o->next)
        if (o->delay < 0 && o->peer == p->port->rank && o->tag == p->tag && !o->to != !p->to)
            return o;
    return NULL;
}

static int post(struct post p)
{
    struct loopback *net = p.port->net;
    struct post *mine = malloc(sizeof *mine), **end = &p.port->posts;

    must(mine, "out of memory");
    *mine = p;
    mine->delay = -1;
    while (*end)
        end = &(*end)->next;
    *end = mine;
    struct post *other = counterpart(mine, &net->port[p.peer]);
    if (other) {
        struct post *send = mine->from ? mine : other, *receive = mine->from ? other : mine;
        int equal = send->length == receive->length;
        must(equal || !send->length || net->lengths_may_differ, "lengths differ");
        if (equal)
            memcpy(receive->to, send->from, send->length);
        receive->failed = !send->length ? XPORT_FAILED : equal ? 0 : XPORT_UNEQUAL;
        send->delay = (int)rng_below(&net->rng, 5);
        receive->delay = (int)rng_below(&net->rng, 5);
    }
    return 0;
}

static int loop_send(void *state, unsigned slot, const void *buf, size_t length, int peer, int tag)
{
    return post((struct post){
        .from = buf, .length = length, .port = state, .slot = slot, .peer = peer, .tag = tag});
}

static int loop_recv(void *state, unsigned slot, void *buf, size_t length, int peer, int tag)
{
    return post((struct post){
        .to = buf, .length = length, .port = state, .slot = slot, .peer = peer, .tag = tag});
}

static int loop_poll(void *state, unsigned *done, unsigned *ndone)
{
    struct port *port = state;

    *ndone = 0;
    for (struct post **at = &port->posts; *at;) {
        struct post *p = *at;
        if (p->delay < 0 || p->delay-- > 0) {
            at = &p->next;
            continue;
        }
        done[(*ndone)++] = p->slot | p->failed;
        *at = p->next;
        free(p);
    }
    return 0;
}

static void loop_abandon(void *state)
{
    struct port *port = state;

    while (port->posts) {
        struct post *p = port->posts;
        port->posts = p->next;
        free(p);
    }
}

static int loop_reserve(void *state, unsigned nslots)
{
    (void)state, (void)nslots;
    return 0;
}

void loopback_attach(struct loopback *net, int rank, struct xport *x)
{
    *x = (struct xport){.name = "loopback",
                        .state = &net->port[rank],
                        .send = loop_send,
                        .recv = loop_recv,
                        .poll = loop_poll,
                        .abandon = loop_abandon,
                        .reserve = loop_reserve};
}

void loopback_let_lengths_differ(struct loopback *net)
{
    net->lengths_may_differ = 1;
}

unsigned loopback_unmatched(const struct loopback *net)
{
    unsigned n = 0;

    for (int r = 0; r < net->nranks; r++)
        for (const struct post *p = net->port[r].posts; p; p = p->next)
            n++;
    return n;
}

void loopback_close(struct loopback *net)
{
    for (int r = 0; r < net->nranks; r++)
        loop_abandon(&net->port[r]);
    free(net->port);
    free(net);
}
