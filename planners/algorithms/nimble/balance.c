/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multiplicative weights. A link's price is a high power of its load, so that the most expensive
 * link of a path decides. The power doubles from stage to stage. Every message starts on its direct
 * path, and each visit moves a part of one message from its most expensive path to the cheapest
 * one, so much that both become equally busy. Messages on links that are not near the busiest stay
 * where they are.
 *
 * A path's price is the sum over its links; the paper takes the maximum. With such powers the two
 * differ only if several links are about equally busy, and there the sum is the slope of a convex
 * function. So there is one best point, and no circle of messages that relay for each other without
 * gain. The prices also prove how near to the best a split is (see prove()).
 */
#include "planners/algorithms/nimble/balance.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planners/algorithms/nimble/balance_pieces.h"

#if defined(__FAST_MATH__) || FLT_EVAL_METHOD != 0
#error "all ranks must compute the same split: build without -ffast-math, and with -msse2 on i386"
#endif

const struct balance_options balance_defaults = {.lambda = 0.3,
                                                 .split_bytes = 1 << 20,
                                                 .relay_bytes = 64 << 10,
                                                 .accuracy = 0.01,
                                                 .visits_per_pair = 1};

/* The least factors by which the congestion must be below that of going direct, and that of
   striping below what was found. */
#define WORTH 1.01
#define WORTH_STRIPING 1.02
enum {
    CRUMBS = 16,     /* no piece of less than the length that may be split divided by this */
    SWEEPS = 8,      /* at one power at most */
    FIRST_POWER = 3, /* of two: prices are the 8th to the 128th power */
    LAST_POWER = 7
};

struct work {
    const struct balance_net *net;
    const struct balance_options *o;
    struct balance_flows flows;
    double *load, *price; /* [nlinks] */
    double *slow;         /* [nlinks] 1 / capacity */
    double *cost;         /* [most paths of a message] */
    double striped;       /* the congestion of striping by rate */
    double worst, slack;  /* the congestion when prices were last made, and 1 / it */
    double bound;         /* proven so far */
    int power;            /* of two */
    long left, half;      /* visits that may still be made; half of all */
    double hop[3];        /* the visited message's price for 0, 1, 2 relays, as a factor */
};

static double raised(double x, int power)
{
    while (power-- > 0)
        x *= x;
    return x;
}

/* An idle link costs a little, so that the shorter one of two idle ways is taken. */
static double price_of(const struct work *w, uint32_t link)
{
    double busy = w->load[link] * w->slow[link] * w->slack;

    return raised(busy > 1.0 / 16 ? busy : 1.0 / 16, w->power) * w->slow[link];
}

static void make_prices(struct work *w)
{
    w->worst = balance_congestion(w->net, w->load, NULL);
    w->slack = w->worst > 0 ? 1 / w->worst : 0;
    for (uint32_t l = 2; l < w->net->nlinks; l++)
        w->price[l] = price_of(w, l);
}

static double busy(const struct work *w, uint32_t link)
{
    return w->load[link] * w->slow[link];
}

static double direct_cost(const struct work *w, const struct balance_flow *f)
{
    return w->price[f->direct[0]] + w->price[f->direct[1]];
}

/* w->cost[i] of every path; those that do not exist cost infinitely much. Returns how many. */
static int all_costs(const struct work *w, const struct balance_flow *f)
{
    double *cost = w->cost;
    const struct balance_net *net = w->net;
    const struct topo_rank *a = &net->t->rank[f->from], *b = &net->t->rank[f->to];
    const double *price = w->price;
    int n = f->npaths;

    cost[0] = direct_cost(w, f);
    if (a->node != b->node) {
        const uint32_t *out = net->leg + 4 * (size_t)f->from * (size_t)net->nrails;
        const uint32_t *in = net->leg + 4 * (size_t)f->to * (size_t)net->nrails + 2;
        const double *rail_out = price + balance_rail_out(net, a->node, 0);
        const double *rail_in = price + balance_rail_in(net, b->node, 0);

        for (int r = 0; r < n - 1; r++)
            cost[1 + r] = (price[out[4 * r]] + price[out[4 * r + 1]] + rail_out[r] + rail_in[r] +
                           price[in[4 * r]] + price[in[4 * r + 1]]) *
                          w->hop[(out[4 * r] != 0) + (in[4 * r] != 0)];
        return n;
    }
    for (int m = 0; m < n - 1; m++) {
        int over = topo_node_rank(net->t, a->node, m);

        cost[1 + m] = over == f->from || over == f->to ? INFINITY
                                                       : (price[balance_pair(net, f->from, over)] +
                                                          price[balance_pair(net, over, f->to)]) *
                                                             w->hop[1];
    }
    return n;
}

/*
 * Any prices prove a bound. For every split, the links' load at those prices pays at least for the
 * cheapest way of every message (linear programming duality).
 */
static void prove(struct work *w)
{
    double paid = 0, carried = 0;
    const double *cost = w->cost;

    w->left -= w->flows.n / 4; /* it costs so much */
    w->hop[0] = w->hop[1] = w->hop[2] = 1;
    for (uint32_t l = 2; l < w->net->nlinks; l++) {
        carried += w->price[l] * w->net->capacity[l];
        paid += w->price[l] * w->net->background[l];
    }
    for (uint32_t i = 0; i < w->flows.n; i++) {
        const struct balance_flow *f = &w->flows.flow[i];
        int n = f->npaths > 1 ? all_costs(w, f) : 1;
        double least = f->npaths > 1 ? cost[0] : direct_cost(w, f);

        for (int p = 1; p < n; p++)
            least = cost[p] < least ? cost[p] : least;
        paid += least * (double)f->bytes;
    }
    if (carried > 0 && paid / carried > w->bound)
        w->bound = paid / carried;
}

static int holds(const struct balance_path *path, uint32_t link)
{
    for (int i = 0; i < path->nlinks; i++)
        if (path->link[i] == link)
            return 1;
    return 0;
}

/* The busiest of a path's links that the other path has not; 1 / its capacity in *slow. */
static double dearest(const struct work *w, const struct balance_path *path,
                      const struct balance_path *other, double *slow)
{
    double most = 0;

    for (int i = 0; i < path->nlinks; i++)
        if (busy(w, path->link[i]) >= most && !holds(other, path->link[i])) {
            most = busy(w, path->link[i]);
            *slow = w->slow[path->link[i]];
        }
    return most;
}

static void shift(struct work *w, const struct balance_path *path, double bytes)
{
    for (int i = 0; i < path->nlinks; i++) {
        w->load[path->link[i]] += bytes;
        w->price[path->link[i]] = price_of(w, path->link[i]);
    }
}

/* Bytes to move from one path to another: as many as make the two equally busy. If the cheaper one
   is not the less busy one, a Newton step down the slope of the prices. */
static double step(const struct work *w, const struct balance_path *from,
                   const struct balance_path *to, double gain)
{
    double from_slow = 1, to_slow = 1, curve = 0;
    double a = dearest(w, from, to, &from_slow), b = dearest(w, to, from, &to_slow);

    if (a > b)
        return (a - b) / (from_slow + to_slow);
    for (int i = 0; i < from->nlinks + to->nlinks; i++) {
        uint32_t l = i < from->nlinks ? from->link[i] : to->link[i - from->nlinks];
        if (w->load[l] > 0)
            curve += w->price[l] / w->load[l];
    }
    return gain / (curve * (1 << w->power));
}

static int near_worst(const struct work *w, const struct balance_path *path, double near)
{
    for (int i = 0; i < path->nlinks; i++)
        if (busy(w, path->link[i]) >= near)
            return 1;
    return 0;
}

/* The most of a message that one visit moves: from a narrow rail all of it, since visits are few,
   and what they leave there takes longer than all else. */
static double most_moved(const struct work *w, const struct balance_path *from)
{
    for (int i = 0; i < from->nlinks; i++)
        if (balance_is_narrow(w->net, from->link[i]))
            return 1;
    return w->o->lambda;
}

/* Move a part of the message from its most expensive path to the cheapest, if the first has a link
   as busy as `near`. 0 or -ENOMEM. */
static int visit(struct work *w, struct balance_flow *f, double near)
{
    double extra = (double)w->o->relay_bytes / (double)f->bytes, *x;
    const double *cost = w->cost;
    struct balance_path from, to;
    int dear = -1, cheap = 0;

    w->hop[1] = raised(1 + extra, w->power);
    w->hop[2] = raised(1 + 2 * extra, w->power);
    int n = all_costs(w, f);
    x = balance_flow_row(&w->flows, f);
    for (int p = 0; p < n; p++) {
        if ((x ? x[p] > 0 : !p) && (dear < 0 || cost[p] > cost[dear]))
            dear = p;
        if (cost[p] < cost[cheap])
            cheap = p;
    }
    w->left--;
    if (!(cost[cheap] < cost[dear]))
        return 0;
    balance_path(w->net, f->from, f->to, dear, &from);
    if (!near_worst(w, &from, near))
        return 0;
    balance_path(w->net, f->from, f->to, cheap, &to);
    double bytes = step(w, &from, &to, cost[dear] - cost[cheap]);
    if (!x && !(x = balance_flow_spread(&w->flows, f)))
        return -ENOMEM;
    double most = most_moved(w, &from) * (double)f->bytes;
    if (bytes > most)
        bytes = most;
    if (bytes > x[dear])
        bytes = x[dear];
    x[dear] -= bytes;
    x[cheap] += bytes;
    shift(w, &from, -bytes);
    shift(w, &to, bytes);
    return 0;
}

static int sweep(struct work *w)
{
    double near = w->bound + (w->worst - w->bound) / 4;
    int rc = 0;

    if (near > 0.97 * w->worst)
        near = 0.97 * w->worst;
    w->hop[0] = 1;
    w->left -= w->flows.n / 16; /* for looking at them */
    for (uint32_t i = 0; !rc && i < w->flows.n && w->left > 0; i++) {
        struct balance_flow *f = &w->flows.flow[i];
        if (f->npaths > 1 &&
            (f->row || busy(w, f->direct[0]) >= near || busy(w, f->direct[1]) >= near))
            rc = visit(w, f, near);
    }
    return rc;
}

/* All bytes that leave or enter a node pass one of its rails. A switch's uplinks carry at least the
   direct traffic. */
static void prove_cuts(struct work *w)
{
    const struct balance_net *net = w->net;
    double most = 0;

    for (uint32_t l = 2; l < net->local[0]; l += (uint32_t)net->nrails) {
        double load = 0, capacity = 0;
        for (uint32_t r = l; r < l + (uint32_t)net->nrails; r++) {
            load += w->load[r];
            capacity += net->capacity[r];
        }
        most = load / capacity > most ? load / capacity : most;
    }
    for (uint32_t l = net->local[0]; !net->mesh && l < net->nlinks; l++)
        most = busy(w, l) > most ? busy(w, l) : most;
    w->bound = most;
}

static int good(const struct work *w)
{
    return w->worst <= w->bound * (1 + w->o->accuracy);
}

/* Half the visits are gone, and striping would be as good as can be: more of them would hardly find
   the like with less relaying. */
static int should_stripe(const struct work *w)
{
    return w->left < w->half && w->striped <= w->bound * (1 + w->o->accuracy) &&
           w->striped * WORTH_STRIPING < w->worst;
}

static int done(const struct work *w)
{
    return good(w) || w->left <= 0 || should_stripe(w);
}

/* Sweeps at one power, until they bring little. */
static int descend_at(struct work *w, int *sweeps)
{
    double before = INFINITY;
    int rc = 0;

    make_prices(w);
    for (int i = 0; i < SWEEPS && w->worst < before * 0.999 && !done(w); i++) {
        before = w->worst;
        if ((rc = sweep(w)) < 0)
            break;
        make_prices(w);
        ++*sweeps;
    }
    return rc;
}

static int descend(struct work *w, int *sweeps)
{
    int rc = 0;

    make_prices(w);
    prove_cuts(w);
    for (w->power = FIRST_POWER; w->power <= LAST_POWER && !done(w); w->power++) {
        if ((rc = descend_at(w, sweeps)) < 0)
            break;
        if (!good(w) && !should_stripe(w))
            prove(w);
    }
    return rc;
}

static void close_work(struct work *w)
{
    balance_flows_close(&w->flows);
    free(w->load);
    free(w->price);
    free(w->slow);
    free(w->cost);
}

/* Small exchanges have more visits per pair to make, because there they cost next to nothing. */
static int open_work(struct work *w, const uint64_t *demand)
{
    double nranks = w->net->t->nranks;
    int most = w->net->nrails;

    for (int n = 0; n < w->net->t->nnodes; n++)
        if (topo_node_size(w->net->t, n) > most)
            most = topo_node_size(w->net->t, n);
    w->load = calloc(w->net->nlinks, sizeof *w->load);
    w->price = calloc(w->net->nlinks, sizeof *w->price);
    w->slow = calloc(w->net->nlinks, sizeof *w->slow);
    w->cost = calloc(1 + (size_t)most, sizeof *w->cost);
    int rc = balance_flows_open(&w->flows, w->net, demand, w->o->split_bytes);
    if (rc || !w->load || !w->price || !w->slow || !w->cost)
        return -ENOMEM;
    w->price[1] = INFINITY;
    w->left = (long)(w->o->visits_per_pair * (nranks * nranks + 60 * nranks + 200));
    w->half = w->left / 2;
    for (uint32_t l = 0; l < w->net->nlinks; l++)
        w->slow[l] = 1 / w->net->capacity[l];
    balance_flows_load(&w->flows, w->load);
    return balance_flows_striped(&w->flows, &w->striped);
}

/* Cut the messages as the visits left them. A split hardly better than direct paths is not worth a
   relay. If the visits did not suffice, striping may be better. */
static int conclude(struct work *w, const uint64_t *demand, double direct, struct balance *b)
{
    uint64_t split = w->o->split_bytes;

    if (direct <= w->worst * WORTH)
        balance_flows_reset(&w->flows);
    else if (!good(w) && w->striped * WORTH_STRIPING < w->worst)
        return balance_striped(w->net, demand, split, b);
    return balance_flows_cut(&w->flows, split / CRUMBS, b);
}

int balance_plan(const struct balance_net *net, const uint64_t *demand,
                 const struct balance_options *options, struct balance *b)
{
    struct work w = {.net = net, .o = options, .power = FIRST_POWER};
    double direct = 0;
    int sweeps = 0;

    *b = (struct balance){0};
    int rc = open_work(&w, demand);
    if (!rc) {
        direct = balance_congestion(net, w.load, NULL);
        rc = descend(&w, &sweeps);
    }
    if (!rc)
        rc = conclude(&w, demand, direct, b);
    b->bound = w.bound;
    b->sweeps = sweeps;
    close_work(&w);
    return rc;
}
