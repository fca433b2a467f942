/* SPDX-License-Identifier: BSD-3-Clause */
#include "transports/engine/route.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "planners/plan/plan.h"

/* Polls of the near transport without result, between two polls of an idle far one. A poll of an
   idle library may cost as much as many of the near transport. */
enum { PATIENCE = 64 };

struct route {
    struct xport *near, *far; /* borrowed */
    unsigned far_flying;      /* slots in flight on far */
    unsigned idle;            /* fruitless polls in a row */
    unsigned char is_near[];
};

static int is_far(const struct route *r, int peer, int tag)
{
    return !r->is_near[peer] || tag >= PLAN_NETWORK_TAG;
}

/* The transport for a message to or from that peer, which counts as in flight from here on. */
static struct xport *take(struct route *r, int peer, int tag)
{
    int far = is_far(r, peer, tag);

    r->far_flying += (unsigned)far;
    return far ? r->far : r->near;
}

static int route_send(void *state, unsigned slot, const void *buf, size_t length, int peer, int tag)
{
    struct xport *x = take(state, peer, tag);

    return x->send(x->state, slot, buf, length, peer, tag);
}

static int route_recv(void *state, unsigned slot, void *buf, size_t length, int peer, int tag)
{
    struct xport *x = take(state, peer, tag);

    return x->recv(x->state, slot, buf, length, peer, tag);
}

static int route_reduces(void *state, int peer, int tag)
{
    struct route *r = state;
    struct xport *x = is_far(r, peer, tag) ? r->far : r->near;

    return x->reduces && x->reduces(x->state, peer, tag);
}

static int route_recv_reduce(void *state, unsigned slot, const struct xport_reduce *reduce,
                             int peer, int tag)
{
    struct xport *x = take(state, peer, tag);

    return x->recv_reduce(x->state, slot, reduce, peer, tag);
}

static int route_moves_device(void *state, int peer, int tag)
{
    struct route *r = state;
    struct xport *x = is_far(r, peer, tag) ? r->far : r->near;

    return x->moves_device && x->moves_device(x->state, peer, tag);
}

static void route_use_device(void *state, struct device *d)
{
    struct route *r = state;

    if (r->near->use_device)
        r->near->use_device(r->near->state, d);
}

static int route_lends(void *state, int peer, int tag)
{
    struct route *r = state;

    return !is_far(r, peer, tag) && r->near->lends && r->near->lends(r->near->state, peer, tag);
}

static int route_recv_lent(void *state, unsigned slot, void *buf, size_t length, int peer, int tag)
{
    struct xport *x = take(state, peer, tag);

    return x->recv_lent ? x->recv_lent(x->state, slot, buf, length, peer, tag)
                        : x->recv(x->state, slot, buf, length, peer, tag);
}

static const char *route_lent(void *state, unsigned slot)
{
    struct route *r = state;

    return r->near->lent(r->near->state, slot);
}

static void route_give_back(void *state, unsigned slot)
{
    struct route *r = state;

    r->near->give_back(r->near->state, slot);
}

static int route_poll(void *state, unsigned *done, unsigned *ndone)
{
    struct route *r = state;
    unsigned more = 0;
    int rc = r->near->poll(r->near->state, done, ndone);

    r->idle = *ndone ? 0 : r->idle + 1;
    if (rc || (!r->far_flying && r->idle % PATIENCE != PATIENCE - 1))
        return rc;
    rc = r->far->poll(r->far->state, done + *ndone, &more);
    *ndone += more;
    r->far_flying -= more;
    return rc;
}

static void route_abandon(void *state)
{
    struct route *r = state;

    r->near->abandon(r->near->state);
    r->far->abandon(r->far->state);
    r->far_flying = 0;
}

static int route_reserve(void *state, unsigned nslots)
{
    struct route *r = state;
    int rc = r->near->reserve(r->near->state, nslots);

    r->far_flying = 0;
    return rc ? rc : r->far->reserve(r->far->state, nslots);
}

int xport_route_open(struct xport *near, struct xport *far, const unsigned char *is_near,
                     int nranks, struct xport *x)
{
    struct route *r = calloc(1, sizeof *r + (size_t)nranks);

    if (!r)
        return -ENOMEM;
    r->near = near;
    r->far = far;
    memcpy(r->is_near, is_near, (size_t)nranks);
    *x = (struct xport){.name = "route",
                        .state = r,
                        .patience = near->patience,
                        .send = route_send,
                        .recv = route_recv,
                        .reduces = route_reduces,
                        .recv_reduce = route_recv_reduce,
                        .moves_device = route_moves_device,
                        .use_device = route_use_device,
                        .lends = route_lends,
                        .recv_lent = route_recv_lent,
                        .lent = route_lent,
                        .give_back = route_give_back,
                        .poll = route_poll,
                        .abandon = route_abandon,
                        .reserve = route_reserve};
    return 0;
}

void xport_route_close(struct xport *x)
{
    free(x->state);
    x->state = NULL;
}
