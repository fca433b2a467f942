/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One call by its schedule: the request to the planners, and the rounds on the stream. Copies bring
 * the application's buffers into the form that all ranks' schedules have.
 */
#ifndef COLLSHIM_SHIM_NCCL_SCHEDULE_H
#define COLLSHIM_SHIM_NCCL_SCHEDULE_H

#include "planners/choose/choose.h"
#include "shim/nccl/call/call.h"
#include "shim/nccl/comm/comm.h"
#include "shim/nccl/run/set.h"

/* The request for a collective, by that way (NULL: none is chosen yet). Its chunk is what the way
 * or the settings say, else 0. */
struct plan_request schedule_request(const struct nccl_call *call, const struct nccl_comm *c,
                                     const struct plan_candidate *way);

/* Scratch that it needs behind the rounds' own: of a kind of call, the same on all ranks. */
uint64_t schedule_beside(const struct nccl_call *call, const struct plan_request *q);

/*
 * On the stream: elements as they are, or scaled as the call does at that time. to may be from.
 * Data that is scaled before is scaled in one pass. A schedule does not know whose a partial sum
 * is, and each rank has its own scalar, so all bytes that leave a rank must be scaled. Reduce and
 * reduce-scatter may not write their input, so theirs goes to scratch.
 */
CUresult schedule_move(const struct nccl_comm *c, const struct nccl_call *call, enum call_time when,
                       char *to, const char *from, uint64_t bytes);

/* Enqueue it. q: the request that the rounds were made for. The device's context is current. */
ncclResult_t schedule_run(struct nccl_comm *c, const struct nccl_call *call, const struct rounds *r,
                          const struct plan_request *q);

/* The same for a set of messages, whose demand the request borrows. */
struct plan_request schedule_set_request(const struct nccl_set *set, const struct nccl_comm *c,
                                         const struct plan_candidate *way);
ncclResult_t schedule_run_set(struct nccl_comm *c, const struct nccl_call *call,
                              const struct nccl_set *set, const struct rounds *r);

#endif
