/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Progressive filling: the rates of all flows rise together until a link is full; flows on it stay
 * where they are, the others rise on. A flow that puts only a part of each byte on a link
 * counts there with that weight.
 */
#include "planners/model/model_fair.h"

#include <errno.h>
#include <float.h>
#include <stdlib.h>

#define NOWHERE UINT32_MAX
#define EQUAL 1e-12 /* links that fill at levels this close are full together */

struct fair_crossing {
    uint32_t flow, link;
    uint32_t next, previous; /* on the link */
    double weight;
};

struct fair_link {
    double capacity;
    double left;   /* not taken by flows that are fixed */
    double weight; /* of those that are not, the rising ones */
    uint32_t rising;
    uint32_t first;
    uint32_t seen;
    uint8_t dirty;
};

int fair_open(struct fair *f, uint32_t nflows, uint32_t nlinks, uint32_t ncrossings)
{
    *f = (struct fair){0};
    f->flow = calloc(nflows + 1u, sizeof *f->flow);
    f->link = calloc(nlinks + 1u, sizeof *f->link);
    f->crossing = calloc(ncrossings + 1u, sizeof *f->crossing);
    f->changed = calloc(nflows + 1u, sizeof *f->changed);
    f->tied = calloc(nlinks + 1u, sizeof *f->tied);
    f->dirty = calloc(nlinks + 1u, sizeof *f->dirty);
    if (!f->flow || !f->link || !f->crossing || !f->changed || !f->tied || !f->dirty) {
        fair_close(f);
        return -ENOMEM;
    }
    f->nlinks = nlinks;
    for (uint32_t l = 0; l < nlinks; l++)
        f->link[l].first = NOWHERE;
    return 0;
}

void fair_close(struct fair *f)
{
    free(f->flow);
    free(f->link);
    free(f->crossing);
    free(f->changed);
    free(f->tied);
    free(f->dirty);
    *f = (struct fair){0};
}

void fair_set_capacity(struct fair *f, uint32_t link, double bw_bytes_per_s)
{
    f->link[link].capacity = bw_bytes_per_s;
}

void fair_add(struct fair *f, const struct model_use *use, uint32_t n)
{
    f->flow[f->nflows] = (struct fair_flow){.first = f->ncrossings, .n = n};
    for (uint32_t i = 0; i < n; i++)
        f->crossing[f->ncrossings++] =
            (struct fair_crossing){.flow = f->nflows, .link = use[i].link, .weight = use[i].weight};
    f->nflows++;
}

static void mark(struct fair *f, uint32_t link)
{
    if (f->link[link].dirty)
        return;
    f->link[link].dirty = 1;
    f->dirty[f->ndirty++] = link;
}

void fair_start(struct fair *f, uint32_t flow)
{
    struct fair_flow *w = &f->flow[flow];

    w->on = 1;
    for (uint32_t i = w->first; i < w->first + w->n; i++) {
        struct fair_crossing *c = &f->crossing[i];

        c->previous = NOWHERE;
        c->next = f->link[c->link].first;
        if (c->next != NOWHERE)
            f->crossing[c->next].previous = i;
        f->link[c->link].first = i;
        mark(f, c->link);
    }
}

void fair_stop(struct fair *f, uint32_t flow)
{
    struct fair_flow *w = &f->flow[flow];

    w->on = 0;
    w->rate = 0;
    for (uint32_t i = w->first; i < w->first + w->n; i++) {
        struct fair_crossing *c = &f->crossing[i];

        if (c->next != NOWHERE)
            f->crossing[c->next].previous = c->previous;
        if (c->previous != NOWHERE)
            f->crossing[c->previous].next = c->next;
        else
            f->link[c->link].first = c->next;
        mark(f, c->link);
    }
}

static void tie(struct fair *f, uint32_t link)
{
    struct fair_link *l = &f->link[link];

    if (l->seen == f->round)
        return;
    l->seen = f->round;
    l->left = l->capacity;
    l->weight = 0;
    l->rising = 0;
    f->tied[f->ntied++] = link;
}

/* All flows and links that hang together with the dirty ones. */
static void gather(struct fair *f, double *before)
{
    f->round++;
    f->ntied = f->nchanged = 0;
    for (uint32_t i = 0; i < f->ndirty; i++) {
        f->link[f->dirty[i]].dirty = 0;
        tie(f, f->dirty[i]);
    }
    f->ndirty = 0;
    for (uint32_t i = 0; i < f->ntied; i++)
        for (uint32_t c = f->link[f->tied[i]].first; c != NOWHERE; c = f->crossing[c].next) {
            struct fair_flow *w = &f->flow[f->crossing[c].flow];

            f->link[f->tied[i]].weight += f->crossing[c].weight;
            f->link[f->tied[i]].rising++;
            if (w->seen == f->round)
                continue;
            w->seen = f->round;
            w->fixed = 0;
            before[f->nchanged] = w->rate;
            f->changed[f->nchanged++] = f->crossing[c].flow;
            for (uint32_t k = w->first; k < w->first + w->n; k++)
                tie(f, f->crossing[k].link);
        }
}

static void fix(struct fair *f, struct fair_flow *w, double rate)
{
    w->rate = rate;
    w->fixed = 1;
    for (uint32_t k = w->first; k < w->first + w->n; k++) {
        struct fair_link *l = &f->link[f->crossing[k].link];

        l->left -= rate * f->crossing[k].weight;
        l->weight -= f->crossing[k].weight;
        l->rising--;
    }
}

/* At what rate of the flows still rising is the link full? */
static double level(const struct fair_link *l)
{
    return l->rising && l->weight > 0 ? l->left / l->weight : DBL_MAX;
}

void fair_settle(struct fair *f, double *before)
{
    double last = 0;

    gather(f, before);
    uint32_t nlinks = f->ntied, left = f->nchanged;
    while (left) {
        double lowest = DBL_MAX;
        uint32_t kept = 0;

        for (uint32_t i = 0; i < nlinks; i++) /* links without rising flows are left out from now */
            if (f->link[f->tied[i]].rising) {
                double here = level(&f->link[f->tied[i]]);

                f->tied[kept++] = f->tied[i];
                if (here < lowest)
                    lowest = here;
            }
        nlinks = kept;
        if (lowest < last)
            lowest = last; /* never lower but for rounding */
        last = lowest;
        for (uint32_t i = 0; i < nlinks; i++) {
            const struct fair_link *l = &f->link[f->tied[i]];

            if (level(l) > lowest * (1 + EQUAL))
                continue;
            for (uint32_t c = l->first; c != NOWHERE; c = f->crossing[c].next)
                if (!f->flow[f->crossing[c].flow].fixed) {
                    fix(f, &f->flow[f->crossing[c].flow], lowest);
                    left--;
                }
        }
    }
}
