/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The path of the application's calls. First, are they worth a reroute (one rule, the same answer
 * on every rank)? Then comes the schedule, then the stream. A bundle is one call of a rank on a
 * communicator, or the calls of a group on it. Each of its collectives is judged for itself, so
 * that ranks may use groups as they like. The guard weighs the bundle as a whole, because the
 * library merges the calls that it gets together.
 */
#ifndef COLLSHIM_SHIM_NCCL_REROUTE_H
#define COLLSHIM_SHIM_NCCL_REROUTE_H

#include "shim/nccl/call/call.h"
#include "shim/nccl/comm/comm.h"

/* A call outside of groups, rerouted or natively. */
ncclResult_t nccl_reroute(const struct nccl_call *call);

/* Run it, outside of NCCL's groups. Ranks of a communicator wait for each other: a thread each. */
ncclResult_t nccl_reroute_bundle(struct nccl_comm *c, struct nccl_call *call, int n);

#endif
