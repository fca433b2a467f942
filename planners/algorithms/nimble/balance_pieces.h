/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How an exchange is split: the bytes of each message on each path, and their final form, pieces of
 * whole bytes. Splits that need no search are here; balance.h has the one that does.
 */
#ifndef COLLSHIM_PLANNERS_BALANCE_PIECES_H
#define COLLSHIM_PLANNERS_BALANCE_PIECES_H

#include "planners/algorithms/nimble/balance_net.h"

/* Consecutive bytes of the message from one rank to another. */
struct balance_piece {
    int32_t from, to, out_relay, in_relay; /* relays as in balance_path */
    uint64_t bytes;
};

struct balance {
    uint32_t npieces;
    struct balance_piece *piece; /* owned: by from, by to, as they follow in the message */
    double *load;                /* [nlinks] owned: bytes, background included */
    double congestion;
    double bound;     /* proven: no split has less; 0 where nothing was proven */
    uint64_t relayed; /* bytes that take more than one hop */
    int sweeps;       /* that were made */
};

void balance_free(struct balance *b);

/*
 * Split the demand without a search, as balance_plan does. balance_uniform cuts all messages
 * between nodes alike over the rails, as striping libraries do. balance_striped cuts the longer
 * ones in proportion to the rails' rates. balance_direct cuts nothing.
 */
int balance_uniform(const struct balance_net *net, const uint64_t *demand, struct balance *b);
int balance_striped(const struct balance_net *net, const uint64_t *demand, uint64_t split_bytes,
                    struct balance *b);
int balance_direct(const struct balance_net *net, const uint64_t *demand, struct balance *b);

/* A message that is being split. */
struct balance_flow {
    int32_t from, to;
    uint64_t bytes;
    uint32_t direct[2]; /* the links of its direct path; the second may be 0, no link */
    uint32_t row;       /* where its row is in struct balance_flows; 0: all of it goes direct */
    int32_t npaths;     /* that it may take; 1: it has no choice, or is too short to be split */
};

struct balance_flows {
    const struct balance_net *net;
    struct balance_flow *flow; /* [n] owned: by from, by to */
    double *row;               /* [room] owned: bytes per path of each message that is split */
    uint32_t n, used, room;
};

/* All messages, on their direct paths. 0 or -ENOMEM; close in either case. */
int balance_flows_open(struct balance_flows *f, const struct balance_net *net,
                       const uint64_t *demand, uint64_t split_bytes);
void balance_flows_close(struct balance_flows *f);

/* Bytes per path, or NULL where all go direct; valid until the next spread. */
static inline double *balance_flow_row(const struct balance_flows *f,
                                       const struct balance_flow *flow)
{
    return flow->row ? f->row + flow->row : NULL;
}

/* Give a message a row, all bytes direct. NULL if out of memory. */
double *balance_flow_spread(struct balance_flows *f, struct balance_flow *flow);

/* Let all go direct again. */
void balance_flows_reset(struct balance_flows *f);

/* load: [nlinks], the load of all messages on the links when they go direct, and the background. */
void balance_flows_load(const struct balance_flows *f, double *load);

/* The congestion of striping by rate, from each rank's sums alone, which costs next to nothing;
   INFINITY where some node lacks a rail. 0 or -ENOMEM. */
int balance_flows_striped(const struct balance_flows *f, double *congestion);

/*
 * Cut every message into pieces as its row says, parts of less than crumb bytes or 1/256 of it
 * going with its largest part. Fills in all of b but bound and sweeps. 0 or -ENOMEM.
 */
int balance_flows_cut(const struct balance_flows *f, uint64_t crumb, struct balance *b);

#endif
