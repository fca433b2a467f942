/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several processes for each rank of an NCCL communicator (COLLSHIM_PPG): an Allreduce in slices,
 * of which the first is this process's own, on the application's communicator, and each other one
 * that of a helper, on a communicator of the helpers with the same number. README.md says how a
 * slice gets to its helper and back, and what happens when one dies.
 *
 * Source: Multiple Processes per GPU, 3.1. Thread rule: as struct nccl_comm, but for ppg_end() and
 * ppg_state(), which any thread may call at any time.
 */
#ifndef COLLSHIM_SHIM_NCCL_PPG_H
#define COLLSHIM_SHIM_NCCL_PPG_H

#include "planners/choose.h"
#include "shim/nccl/schedule.h"

struct ppg;

/*
 * How many processes each rank has for this call, 1: itself alone; the same on all ranks. The first
 * time that helpers are wanted it starts them and makes the ranks agree on them, which takes a
 * second or so and waits for no stream.
 */
int ppg_slices(struct nccl_comm *c, const struct nccl_call *call);

/*
 * Run the call in so many slices, at most ppg_slices() of them: by a schedule, or (algorithm NULL)
 * by the library's own Allreduce for each; patient: as of a unit (unit.h). REASON_NONE and *result,
 * or why not: then it is the caller's to run natively, unless *result is an error. Only enqueues.
 */
enum reason ppg_run(struct nccl_comm *c, const struct nccl_call *call,
                    const struct plan_candidate *way, int slices, int patient,
                    ncclResult_t *result);

/* What ncclCommGetAsyncError has to say of the helpers. NULL is fine. */
ncclResult_t ppg_state(struct ppg *p);

/* The communicator ends; at_once: without regard to work under way. Does not wait. NULL is fine. */
void ppg_end(struct ppg *p, int at_once);

/* Nobody will use it any more; it ends by itself. NULL is fine. */
void ppg_forget(struct ppg *p);

#endif
