/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bytes per rail of a process with NCCL. NCCL does not tell which device it sends through, so bytes
 * are counted if COLLSHIM_TOPOLOGY names the rail of each rank. Enqueued calls have no times: rates
 * are not known. Repeated runs of a graph are not seen.
 */
#ifndef COLLSHIM_SHIM_NCCL_RAILS_H
#define COLLSHIM_SHIM_NCCL_RAILS_H

#include "shim/nccl/comm/comm.h"

/* The bytes that rounds of this rank move to and from other nodes; none where no
   topology says which rail it has. */
struct load_link nccl_rail_crossing(const struct nccl_comm *c, const struct rounds *r);

/* Rounds of nccl_comm_rounds were enqueued. Cheap. */
void nccl_rail_count(const struct nccl_comm *c, const struct rounds *r);

#endif
