/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The topology: the node, socket, GPU and rail of each rank, and the rates of the links between
 * them. Planners read it; no code above config/ writes it. It comes from the ranks' own exchange,
 * from the short synthetic form, or from a file that holds the synthetic form.
 *
 * Ranks are the ranks of one communicator, 0 .. nranks-1, in any placement;
 * nodes may hold different numbers of ranks. Nodes are numbered by their lowest
 * rank, local indexes by rank inside the node.
 *
 * Thread rule: building and freeing are single-threaded; a finished topology is
 * const and may be read from any thread.
 */
#ifndef COLLSHIM_CONFIG_TOPO_H
#define COLLSHIM_CONFIG_TOPO_H

#include <stddef.h>
#include <stdint.h>

/* One link class. 0 means "not known": a planner then treats such links as equal. */
struct topo_link {
    double bw_bytes_per_s; /* one direction */
    double latency_ns;
};

enum topo_link_class {
    TOPO_LINK_SHM,    /* between two ranks of a socket through memory */
    TOPO_LINK_NVLINK, /* between two GPUs of a node */
    TOPO_LINK_PCIE,   /* GPU to host */
    TOPO_LINK_SOCKET, /* between sockets of a node */
    /* No links, but known by the same two numbers: bytes that a rank combines per second. */
    TOPO_LINK_REDUCE,     /* in host memory, by one processor */
    TOPO_LINK_REDUCE_GPU, /* on its GPU; the latency is a kernel's */
    TOPO_LINK_FLOW,       /* most that one connection carries over a rail: clouds cap it */
    TOPO_LINK_CLASSES
};

struct topo_rank {
    int32_t node;
    int32_t local;  /* index inside the node, 0 .. ranks of the node - 1 */
    int32_t socket; /* inside the node */
    int32_t gpu;    /* inside the node; -1: none */
    int32_t rail;   /* the rail this rank's traffic leaves through; -1: all rails (striped) */
};

/* Which way a rail is used, as its node sees it. */
enum topo_way { TOPO_OUT, TOPO_IN };

struct topo {
    int nranks;
    int nnodes;
    int nrails;             /* rails per node, at least 1 */
    struct topo_rank *rank; /* [nranks] owned */
    int32_t *node_first;    /* [nnodes + 1] owned: node n's ranks are node_ranks[node_first[n] ..
                               node_first[n+1]) */
    int32_t *node_ranks;    /* [nranks] owned: ranks by node, then by local index */
    struct topo_link *rail; /* [nrails] owned: per rail, the same on every node; where rates differ
                               between nodes or ways, bw_bytes_per_s is the greatest */
    double *rate;           /* [nnodes * nrails * 2] owned: bytes/s by node, rail and way; NULL:
                               those in rail hold everywhere. Read it with topo_rail_rate */
    double *link_rate;      /* [nnodes * TOPO_LINK_CLASSES] owned: bytes/s inside a node, 0: as link
                               says; NULL: so on all nodes. Read it with topo_link_rate */
    int lanes; /* a node's ranks, its first ones, that a planner uses between nodes; 0: all */
    size_t rail_chunk; /* length at which messages over the rails are fastest; 0: not known */
    struct topo_link link[TOPO_LINK_CLASSES];
};

const char *topo_link_name(enum topo_link_class c); /* "shm", "reduce_gpu" */

/* Bytes/s of a node's rail, one way; 0: not known. */
static inline double topo_rail_rate(const struct topo *t, int node, int rail, enum topo_way way)
{
    return t->rate ? t->rate[2 * ((size_t)node * (size_t)t->nrails + (size_t)rail) + way]
                   : t->rail[rail].bw_bytes_per_s;
}

/* Bytes/s of a node's links of a class; 0: not known. */
static inline double topo_link_rate(const struct topo *t, int node, enum topo_link_class c)
{
    double own = t->link_rate ? t->link_rate[(size_t)node * TOPO_LINK_CLASSES + c] : 0;

    return own > 0 ? own : t->link[c].bw_bytes_per_s;
}

/* The least of all nodes, 0: not known on one of them. */
double topo_link_least(const struct topo *t, enum topo_link_class c);

/* The lesser way of the two: what passes through the rail, in and out again, is bound by it. */
static inline double topo_rail_through(const struct topo *t, int node, int rail)
{
    double out = topo_rail_rate(t, node, rail, TOPO_OUT),
           in = topo_rail_rate(t, node, rail, TOPO_IN);

    return out < in ? out : in;
}

/* Set all rails' rates: rate[nnodes * nrails * 2], as in struct topo. A table is kept only where
   nodes or ways differ. 0 or -ENOMEM, after which t is as it was. */
int topo_set_rail_rates(struct topo *t, const double *rate);

/* The same with an array from malloc, which becomes the topology's. Cannot fail. */
void topo_take_rail_rates(struct topo *t, double *rate);

/* Set the nodes' own rates: rate[nnodes * TOPO_LINK_CLASSES], as in struct topo. A table is kept
   only where a node differs. 0 or -ENOMEM, after which t is as it was. */
int topo_set_link_rates(struct topo *t, const double *rate);

/* How many ranks node n holds, and which rank has local index l there. */
static inline int topo_node_size(const struct topo *t, int node)
{
    return t->node_first[node + 1] - t->node_first[node];
}

static inline int topo_node_rank(const struct topo *t, int node, int local)
{
    return t->node_ranks[t->node_first[node] + local];
}

/* One rank's report about itself when a communicator is first seen (plain bytes, sent as such). */
struct topo_report {
    uint64_t node_key; /* equal on two ranks exactly if they share a node */
    int32_t socket;
    int32_t gpu; /* any number that tells a node's GPUs apart; negative: none */
    int32_t world_rank;
    int32_t reserved; /* 0 */
};

/*
 * Build a topology of nranks ranks from their reports. Nodes have equal node_key. Rails are one per
 * local index: rail = local index modulo nrails; nrails 0: as many as the largest node has ranks.
 * Link rates stay unknown. A negative socket counts as 0. A node's GPUs are numbered from 0 on, in
 * the order of their names in the reports. Returns 0 and *topo_p (free with topo_free), -EINVAL
 * (nranks < 1) or -ENOMEM.
 */
int topo_from_reports(const struct topo_report *report, int nranks, int nrails,
                      struct topo **topo_p);

/*
 * Set the ranks' GPUs anew: gpu[nranks] are numbers as in reports. room: [nranks], for the work.
 */
void topo_number_gpus(struct topo *t, const int32_t *gpu, uint64_t *room);

/*
 * Parse the synthetic form, or the file it names, for nranks ranks; see docs/files.md for the
 * grammar. A text is a path if it begins with / or ., holds a / but no colon, or names an existing
 * file. nranks 0: as many as the text describes. On a text that cannot be (unknown word, zero,
 * product that is not nranks ...) returns -EINVAL with one line in why: the error, its place, and
 * the right form. Also -ENOMEM. text: "node:4 socket:2 gpu:2 rail:4".
 */
int topo_parse(const char *text, int nranks, struct topo **topo_p, char *why, size_t why_size);

/*
 * The topology of a sub-communicator: rank i of the result is rank member[i] of t. Nodes and local
 * indexes are numbered anew; socket, GPU and rail stay what they are in t, as do rates. Members are
 * taken to be distinct. Returns 0, -EINVAL (no members, or one out of range) or -ENOMEM.
 */
int topo_restrict(const struct topo *t, const int *member, int nmembers, struct topo **topo_p);

/* A copy of t with so many rails, of which nothing is known. 0 and *copy_p, or -ENOMEM. */
int topo_copy(const struct topo *t, int nrails, struct topo **copy_p);

/*
 * The synthetic form of t, such that topo_parse(text) gives t again.
 * Returns the length it needs without the final 0 (as snprintf does).
 */
int topo_print(const struct topo *t, char *text, size_t size);

/* Its nodes' rates in the same words, to three digits, as a line of a tuning profile. Returns the
   length as topo_print does, or -ENOMEM. */
int topo_print_rates(const struct topo *t, char *text, size_t size);

/* A 64-bit hash over everything a planner may read: equal topologies, equal hash. */
uint64_t topo_hash(const struct topo *t);

void topo_free(struct topo *t); /* NULL is fine */

#endif
