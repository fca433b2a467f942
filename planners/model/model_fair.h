/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Max-min fair rates of flows over shared links, kept up to date as flows come and go. Only flows
 * that are tied to a change, link by link, are looked at again.
 */
#ifndef COLLSHIM_PLANNERS_MODEL_FAIR_H
#define COLLSHIM_PLANNERS_MODEL_FAIR_H

#include "planners/model/model_links.h"

struct fair_crossing; /* one flow on one link */
struct fair_link;

struct fair_flow {
    uint32_t first, n; /* its crossings */
    double rate;       /* bytes/s; what fair_settle last found */
    uint8_t on;
    uint8_t fixed;
    uint32_t seen;
};

struct fair {
    struct fair_flow *flow; /* [nflows] owned */
    struct fair_link *link; /* [nlinks] owned */
    struct fair_crossing *crossing;
    uint32_t nflows, nlinks, ncrossings;
    uint32_t *changed; /* [nchanged] owned: flows whose rate the last fair_settle looked at */
    uint32_t nchanged;
    uint32_t *tied; /* [ntied] owned: the links it looked at */
    uint32_t ntied;
    uint32_t *dirty; /* [ndirty] owned: links where a flow came or went */
    uint32_t ndirty;
    uint32_t round;
};

/* Room for so many; 0 or -ENOMEM. Free with fair_close. */
int fair_open(struct fair *f, uint32_t nflows, uint32_t nlinks, uint32_t ncrossings);
void fair_close(struct fair *f);

void fair_set_capacity(struct fair *f, uint32_t link, double bw_bytes_per_s);
/* The next flow crosses these links; flows are numbered from 0. */
void fair_add(struct fair *f, const struct model_use *use, uint32_t n);

/* A flow has something to carry, or no longer. */
void fair_start(struct fair *f, uint32_t flow);
void fair_stop(struct fair *f, uint32_t flow);

/* Find the rates. The flows that may have a new one are in changed[]; before[i] (room for nflows)
   is set to the old rate of changed[i]. */
void fair_settle(struct fair *f, double *before);

#endif
