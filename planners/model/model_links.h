/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The links of a topology, numbered, and which of them a message crosses. model.h says what the
 * links are. Thread rule: const once it is open.
 */
#ifndef COLLSHIM_PLANNERS_MODEL_LINKS_H
#define COLLSHIM_PLANNERS_MODEL_LINKS_H

#include "config/topo/topo.h"

enum model_link_kind {
    MODEL_RAIL_OUT,
    MODEL_RAIL_IN,
    MODEL_PORT_OUT, /* of a rank, through shared memory */
    MODEL_PORT_IN,
    MODEL_BUS_OUT, /* of a rank's GPU, to the host and the other sockets */
    MODEL_BUS_IN,
    MODEL_MEMORY,
    MODEL_MESH,   /* one GPU to one other */
    MODEL_SOCKET, /* one socket to one other */
    MODEL_LINK_KINDS
};

struct model_link {
    enum model_link_kind kind;
    int node;
    int from, to; /* the rail, the rank, two ranks, or two sockets of the node; to is -1 with one */
    double bw_bytes_per_s;
    double bytes; /* that crossed it */
};

/* "rail out" and so on, for people. */
const char *model_link_name(enum model_link_kind kind);

struct model_links {
    const struct topo *t;             /* borrowed */
    int folded;                       /* node 0's links stand for those of all */
    uint32_t n;                       /* links */
    uint32_t first[MODEL_LINK_KINDS]; /* the first of a kind */
    uint32_t *node[MODEL_LINK_KINDS]; /* [nnodes + 1] owned: of MESH and SOCKET, the first of a
                                         node, counted from first[kind] */
};

/* A message's share of a link: so much of each byte crosses it. */
struct model_use {
    uint32_t link;
    double weight;
};

/* 0 or -ENOMEM; free with model_links_close. */
int model_links_open(const struct topo *t, struct model_links *l);
void model_links_close(struct model_links *l);

/* The link's kind, place and rate; bytes are 0. */
struct model_link model_links_get(const struct model_links *l, uint32_t link);

/* How many links a message can cross at most. */
uint32_t model_links_most(const struct model_links *l);

/* The links that a message between two ranks crosses, and its latency. from_host: it is one of
   PLAN_HOST. Returns how many. */
uint32_t model_links_route(const struct model_links *l, int from, int to, int from_host,
                           struct model_use *use, double *latency_s);

/* The link that copying or combining from src to dst occupies (enum plan_buffer), and how long it
   takes to begin. */
struct model_use model_links_local(const struct model_links *l, int rank, uint8_t src, uint8_t dst,
                                   double *latency_s);

#endif
