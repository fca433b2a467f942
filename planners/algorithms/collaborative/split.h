/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host's part of the vector: the division at which the later of the two paths ends earliest, by
 * the rates of links and of combining. A path's time is one chunk's way through all stages, plus
 * the busiest stage's time for the rest. Stages that both paths use carry both parts: PCIe, if GPUs
 * on different sockets exchange over it.
 *
 * Pure functions of uniform values, exact in IEEE arithmetic: all ranks divide alike. A division
 * takes some 10 us of a processor.
 */
#ifndef COLLSHIM_PLANNERS_COLLABORATIVE_SPLIT_H
#define COLLSHIM_PLANNERS_COLLABORATIVE_SPLIT_H

#include "planners/plan/collective.h"

/* Parts and slices begin at multiples of this many bytes. They are whole elements; in long slices
   they are large enough for the kernels' widest accesses. */
uint64_t split_quantum(const struct plan_request *q);

/* Seconds of the collective with so many bytes, at most q->nbytes, through the host. For GPUs of
   one node. */
double split_seconds(const struct plan_request *q, uint64_t host_bytes);

/* The best number of bytes through the host, a multiple of the quantum; 0 where the device path is
   faster alone, and where there are not two paths: in host memory, between nodes, on one rank. */
uint64_t split_best(const struct plan_request *q);

/*
 * Where the library's own call carries the devices' part (q->library_beside), the host's part goes
 * in so many pieces. The devices combine it, straight from host memory: a rank writes n - 1 slices
 * and its result, and reads n - 1 slices twice. The library's part goes in SPLIT_CALLS more calls
 * than there are pieces, because a piece passes its stages between calls.
 */
enum { SPLIT_CALLS = 5, SPLIT_PIECE = 4 << 20 /* bytes of a piece, at most */ };
uint64_t split_pieces(uint64_t host_bytes);

/* That share of the vector in hundredths of a percent, 0 .. SPLIT_WHOLE, as bytes. */
enum { SPLIT_WHOLE = 10000 };
uint64_t split_bytes(const struct plan_request *q, int share);

#endif
