/* SPDX-License-Identifier: BSD-3-Clause */
/* An Allreduce in slices, by this process and its helpers (ppg.h). */
#ifndef COLLSHIM_SHIM_NCCL_PPG_RUN_H
#define COLLSHIM_SHIM_NCCL_PPG_RUN_H

#include "planners/choose/choose.h"
#include "shim/nccl/call/call.h"
#include "shim/nccl/comm/comm.h"

/*
 * Run the call in that many slices, at most ppg_slices() of them: by a schedule, or (algorithm
 * NULL) by the library's own Allreduce for each. patient: as of a bundle (run.h). Returns
 * REASON_NONE and *result, or a reason: then the caller runs it natively, unless *result is an
 * error. Only enqueues.
 */
enum reason ppg_run(struct nccl_comm *c, const struct nccl_call *call,
                    const struct plan_candidate *way, int slices, int patient,
                    ncclResult_t *result);

#endif
