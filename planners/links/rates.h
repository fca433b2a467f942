/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rates that a topology leaves open (0), for the rows' cost functions, the model and the command
 * alike: a cluster of today, by its hardware's rated or commonly measured numbers.
 */
#ifndef COLLSHIM_PLANNERS_RATES_H
#define COLLSHIM_PLANNERS_RATES_H

#include "config/topo/topo.h"

struct rates {
    struct topo_link rail;
    struct topo_link link[TOPO_LINK_CLASSES]; /* TOPO_LINK_FLOW: 0, no limit */
};

extern const struct rates rates_assumed;
#define RATES_TEXT                                                                                 \
    "rails 100Gbit, shared memory 8GB/s, between sockets 20GB/s,\n"                                \
    "PCIe and NVLink 25GB/s; 2us between nodes, 0.5us through memory, 1us otherwise; sums and\n"   \
    "copies 5GB/s, in a GPU 400GB/s"

/* The link of a topology, with assumed numbers where it has none. */
static inline struct topo_link rates_known(struct topo_link link, struct topo_link assumed)
{
    return (struct topo_link){link.bw_bytes_per_s > 0 ? link.bw_bytes_per_s
                                                      : assumed.bw_bytes_per_s,
                              link.latency_ns > 0 ? link.latency_ns : assumed.latency_ns};
}

/* The least rate of a class on all nodes, and its latency. */
struct topo_link rates_least(const struct topo *t, enum topo_link_class c);

#endif
