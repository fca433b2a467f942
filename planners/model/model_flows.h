/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections whose rate is capped (link_flow): all streams from one rank to one other on another
   node share one. */
#ifndef COLLSHIM_PLANNERS_MODEL_FLOWS_H
#define COLLSHIM_PLANNERS_MODEL_FLOWS_H

#include <stdint.h>

struct model_flows {
    struct model_flow *slot; /* [room] owned: a hash table, at most half full */
    uint32_t room;           /* a power of two */
};

/* Room for n connections. 0 or -ENOMEM. */
int model_flows_open(struct model_flows *f, uint32_t n);
void model_flows_close(struct model_flows *f);

/* The number of the connection from one rank to another; `new`, if it has none yet. */
uint32_t model_flows_number(struct model_flows *f, int from, int to, uint32_t new);

#endif
