/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the application has called on its way: is it worth a reroute (one rule, the same answer on
 * every rank), then the schedule, then the stream.
 *
 * A unit is what a rank has called of one communicator at once: a call, or those of a group. Each
 * of its collectives is judged for itself, so that ranks may use groups as they like; the guard
 * weighs the unit as a whole, because the library merges what it gets together.
 */
#ifndef COLLSHIM_SHIM_NCCL_REROUTE_H
#define COLLSHIM_SHIM_NCCL_REROUTE_H

#include "shim/nccl/call.h"
#include "shim/nccl/comm.h"

/* A call outside of groups, rerouted or natively. */
ncclResult_t nccl_reroute(const struct nccl_call *call);

/* Why a call is native, as far as can be said without waiting; REASON_NONE: it may be rerouted. */
enum reason nccl_unit_gate(const struct nccl_comm *c, const struct nccl_call *call);

/* May any of the calls be rerouted? Waits for nothing. */
int nccl_unit_is_candidate(const struct nccl_comm *c, const struct nccl_call *call, int n);

/* Run it, outside of NCCL's groups. Ranks of a communicator wait for each other: a thread each. */
ncclResult_t nccl_unit_run(struct nccl_comm *c, struct nccl_call *call, int n);

#endif
