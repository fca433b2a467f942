/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The links that balancing counts with, and the paths over them. balance.h says which paths there
 * are. Thread rule: a finished net is const.
 */
#ifndef COLLSHIM_PLANNERS_BALANCE_NET_H
#define COLLSHIM_PLANNERS_BALANCE_NET_H

#include "config/topo/topo.h"

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

/* The most of load / capacity over all links; *busiest (may be NULL): which. */
double balance_congestion(const struct balance_net *net, const double *load, uint32_t *busiest);

#endif
