/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Balancing: the path of each message of an exchange, chosen so that the load of the busiest link
 * is least. For every pair of ranks some bytes go from one to the other. They may go
 *   - direct: between nodes they leave through the sender's rail and enter through the receiver's;
 *   - inside a node over one other rank of it, where ranks have a link to each other (not where
 *     each has one uplink to a switch or to memory: a relay would only use it twice);
 *   - between nodes over one rail at both ends (rail-matched), by way of the rank of the sender's
 *     node that holds the rail, and its counterpart at the receiver's node.
 *
 * A link is busy for load / capacity seconds, or "bytes of one rail" if no rates are known. The
 * maximum over all links is the congestion. Planning is a pure function and has the same result on
 * every rank. It uses no clock and no random numbers, and one order of operations. It uses only
 * floating-point operations that IEEE 754 rounds exactly (+ - * / and comparison). The build has
 * -ffp-contract=off: a fused multiply-add rounds once, separate operations round twice. balance.c
 * refuses -ffast-math.
 *
 * Source: NIMBLE, sections IV-B and V-B; docs/papers/nimble.md says what is done differently.
 * Thread rule: no state; a finished net and a finished balance are const.
 */
#ifndef COLLSHIM_PLANNERS_BALANCE_H
#define COLLSHIM_PLANNERS_BALANCE_H

#include "config/topo.h"

/* How the ranks of a node reach each other. */
enum balance_node {
    BALANCE_AUTO,  /* mesh where all ranks have GPUs and NVLink has a rate, else switch */
    BALANCE_MESH,  /* a link from each to each of its socket, and one from socket to socket */
    BALANCE_SWITCH /* one link from and one to each rank */
};

/*
 * The links. Link 0 is no link and carries no load. Link 1 has no capacity and stands in paths that
 * do not exist. Rails come next, then links inside the nodes. If a rank spreads its traffic over
 * all rails (rail -1), the rails count as one. An unknown rate inside a node counts as the rate of
 * all its rails together.
 */
struct balance_net {
    const struct topo *t; /* borrowed */
    int nrails, mesh;
    uint32_t nlinks, first_in;
    double widest;      /* capacity of the fastest rail */
    double *capacity;   /* [nlinks] owned: bytes/s, or 1 for a rail of unknown rate */
    double *background; /* [nlinks] owned: bytes that are under way anyway, 0 at first */
    uint32_t *local;    /* [nnodes] owned: the first link inside the node */
    int32_t *entry;     /* [nranks] owned: the first rank of the rank's socket, in its node */
    int32_t *holder;    /* [nranks * nrails] owned: through whom the rank uses the rail: itself, a
                           rank of its node, or -1 */
    uint32_t *leg;      /* [4 * nranks * nrails] owned: the links to and from the holder */
};

/* 0 or -ENOMEM; close in either case. */
int balance_net_open(struct balance_net *net, const struct topo *t, enum balance_node node);
void balance_net_close(struct balance_net *net);
/* No link inside a node carries more than that. */
void balance_net_bound_inside(struct balance_net *net, double bytes_per_s);

/* A rail's link out of a node and into it. */
static inline uint32_t balance_rail_out(const struct balance_net *net, int node, int rail)
{
    return 2 + (uint32_t)(node * net->nrails + rail);
}

static inline uint32_t balance_rail_in(const struct balance_net *net, int node, int rail)
{
    return net->first_in + (uint32_t)(node * net->nrails + rail);
}

/* A mesh's link between two ranks of a node. Sockets share the link of their first ranks. */
static inline uint32_t balance_pair(const struct balance_net *net, int from, int to)
{
    const struct topo_rank *a = &net->t->rank[from], *b = &net->t->rank[to];
    int across = net->entry[from] != net->entry[to];
    int x = across ? net->entry[from] : a->local, y = across ? net->entry[to] : b->local;

    return net->local[a->node] + (uint32_t)(x * topo_node_size(net->t, a->node) + y);
}

/* Is it a rail so much slower than the fastest that short messages, too, are better off elsewhere?
 */
static inline int balance_is_narrow(const struct balance_net *net, uint32_t link)
{
    return link >= 2 && link < net->local[0] && net->capacity[link] * 8 < net->widest;
}

/* A link's name for people: "node 0 rail 2 out", "rank 3 to rank 5". Returns text. */
const char *balance_link_text(const struct balance_net *net, uint32_t link, char *text,
                              size_t size);

enum { BALANCE_LINKS = 6 };

struct balance_path {
    int out_relay, in_relay; /* ranks, or -1; inside a node only out_relay */
    int nlinks;
    uint32_t link[BALANCE_LINKS];
};

/* The links of the direct path between two different ranks; the second may be 0, no link. */
void balance_direct_links(const struct balance_net *net, int from, int to, uint32_t link[2]);

/* How many paths a pair of different ranks may have, and the i-th of them. Path 0 is the direct
   one. Returns 1, or 0 where there is no such path or it is the direct one again. */
int balance_npaths(const struct balance_net *net, int from, int to);
int balance_path(const struct balance_net *net, int from, int to, int i, struct balance_path *path);

struct balance_options {
    double lambda; /* most of a message that one visit moves: 0 < lambda <= 1 */
    uint64_t
        split_bytes; /* messages of so many bytes and less go direct, unless by a narrow rail */
    uint64_t relay_bytes;   /* the cost of a relay: bytes by which a message seems longer */
    double accuracy;        /* stop when proven so near to the best, e.g. 0.01 */
    double visits_per_pair; /* how much work at most: visits to messages, about 1 per pair */
};

extern const struct balance_options balance_defaults;

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

/*
 * Split the demand: [nranks * nranks], row by row the bytes that a rank sends to each; the diagonal
 * does not count. 0 and *b (free with balance_free in either case) or -ENOMEM. balance_uniform cuts
 * all messages between nodes alike over the rails, as striping libraries do. balance_striped cuts
 * the longer ones in proportion to the rails' rates. balance_direct cuts nothing.
 */
int balance_plan(const struct balance_net *net, const uint64_t *demand,
                 const struct balance_options *options, struct balance *b);
int balance_uniform(const struct balance_net *net, const uint64_t *demand, struct balance *b);
int balance_striped(const struct balance_net *net, const uint64_t *demand, uint64_t split_bytes,
                    struct balance *b);
int balance_direct(const struct balance_net *net, const uint64_t *demand, struct balance *b);
void balance_free(struct balance *b);

/* The most of load / capacity over all links; *busiest (may be NULL): which. */
double balance_congestion(const struct balance_net *net, const double *load, uint32_t *busiest);

#endif
