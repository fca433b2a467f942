/* SPDX-License-Identifier: BSD-3-Clause */
/* May a call be rerouted at all? Nothing here waits. */
#ifndef COLLSHIM_SHIM_NCCL_GATE_H
#define COLLSHIM_SHIM_NCCL_GATE_H

#include "shim/nccl/call/call.h"
#include "shim/nccl/comm/comm.h"

/* Why a call is native on any communicator; REASON_NONE: its own is to be asked. */
enum reason nccl_gate_call(const struct nccl_call *call);

/* Why a call is native, as far as is known by now; REASON_NONE: it may be rerouted. */
enum reason nccl_gate(const struct nccl_comm *c, const struct nccl_call *call);

/* May any of the calls be rerouted? */
int nccl_gate_any(const struct nccl_comm *c, const struct nccl_call *call, int n);

#endif
