/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations shared by the files behind topo.h; no file outside config/ includes it. */
#ifndef COLLSHIM_CONFIG_TOPO_PRIVATE_H
#define COLLSHIM_CONFIG_TOPO_PRIVATE_H

#include "config/topo/topo.h"

#define TOPO_MAX (1 << 22) /* most ranks, nodes, rails ... that a text may ask for */

/* The values behind one word. double holds ranks, rails and rates alike, all of them exactly. */
struct topo_list {
    double *value; /* owned: free() */
    int n, room;
    int is_list; /* it was written with a comma or as COUNTxVALUE */
};

/* Rates of single nodes: of a rail, or of a class of links inside the node. */
struct topo_exceptions {
    struct topo_exception {
        int node, of; /* the rail, or the enum topo_link_class */
        int ways;     /* of a rail: a bit per enum topo_way */
        double rate;
    } * list; /* owned: free() */
    size_t n, room;
};

enum topo_place { TOPO_PLACE_BLOCK, TOPO_PLACE_CYCLIC, TOPO_PLACE_LIST };

/* The words of a text; 0 or n == 0 if the text does not have the word. */
struct topo_words {
    int node, socket, gpu, rail;
    struct topo_list rank, place_list, socket_of, gpu_of, rail_of;
    enum topo_place place;
    int rail_of_all;
    struct topo_list rail_bw, rail_latency;
    struct topo_exceptions rail_rate, link_rate;
    struct topo_link link[TOPO_LINK_CLASSES];
};

/*
 * The topology that the words describe. nranks 0: any number. Returns 0, -ENOMEM, or -EINVAL with
 * one line in why.
 */
int topo_shape(const struct topo_words *w, int nranks, struct topo **topo_p, char *why,
               size_t why_size);

/*
 * A topology whose rank r sits on the node called label[r], 0 <= label[r] < nlabels. Numbers the
 * nodes, and fills node, local and the two indexes. socket is 0, gpu -1, and rail local modulo
 * nrails (0: as many as the largest node has ranks). Returns 0 or -ENOMEM; time O(nranks +
 * nlabels).
 */
int topo_build(const int32_t *label, int nranks, int nlabels, int nrails, struct topo **topo_p);

/*
 * Which leaf (GPU, or socket where there are no GPUs) of its node a rank belongs to: one each while
 * they last, otherwise even blocks.
 */
static inline int32_t topo_leaf(int node_size, int leaves, int local)
{
    return node_size <= leaves ? local : (int32_t)((int64_t)local * leaves / node_size);
}

/* The rank numbers and the words of a cyclic placement: see topo_shape.c. */
int topo_place_cyclic(const int32_t *size, int nnodes, int32_t *label);

#endif
