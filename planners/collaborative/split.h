/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much of the vector goes through the host: the division at which the later of the two paths is
 * done earliest, from the rates of links and of combining.
 *
 * A path takes a chunk's way through all its stages, and then as long as its busiest stage needs
 * for the rest. Stages that both paths use (PCIe, where GPUs on different sockets exchange over it)
 * have to carry both parts.
 *
 * Pure functions of uniform values, exact in IEEE arithmetic: all ranks divide alike. A division
 * takes some 10 us of a processor.
 */
#ifndef COLLSHIM_PLANNERS_COLLABORATIVE_SPLIT_H
#define COLLSHIM_PLANNERS_COLLABORATIVE_SPLIT_H

#include "planners/registry.h"

/* Parts and slices begin at multiples of so many bytes: whole elements, and where slices are long
   so many of them that kernels can use their widest accesses. */
uint64_t split_unit(const struct plan_request *q);

/* Seconds of the collective with so many bytes, at most q->nbytes, through the host. For GPUs of
   one node. */
double split_seconds(const struct plan_request *q, uint64_t host_bytes);

/* The best number of bytes through the host, a multiple of the unit; 0 where the device path is
   faster alone, and where there are not two paths: in host memory, between nodes, on one rank. */
uint64_t split_best(const struct plan_request *q);

/* That share of the vector in hundredths of a percent, 0 .. SPLIT_WHOLE, as bytes. */
enum { SPLIT_WHOLE = 10000 };
uint64_t split_bytes(const struct plan_request *q, int share);

#endif
