/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffers that the program registers with a communicator (ncclCommRegister). NCCL wants both ends
 * of a message registered, or neither; each end looks for itself. A schedule's messages go between
 * the program's buffers and scratch. So if any rank has a registered buffer, all calls are native.
 *
 * A rank registers by itself, at any time, while the hosts of others are ahead with calls that they
 * have decided already. So from the first rerouted call on NCCL does not get a registration until
 * the ranks have agreed on native calls: it is kept back, with a handle of ours. Registering is a
 * hint, and NCCL itself does nothing if NCCL_LOCAL_REGISTER=0.
 *
 * A communicator has three states, and all ranks leave each by an agreement at the same call.
 *   1. No call is rerouted yet: NCCL gets every registration at once. The agreement before the
 * first reroute asks for registrations. If there is one, the communicator is native for good.
 *   2. Calls may be rerouted: registrations are kept back. Calls 2, 4, 8, ... ask again, and an
 *      exchange of messages asks each time (sets.h).
 *   3. A rank has said that it has one: all calls are native. NCCL gets the registrations that were
 *      kept back, and later ones at once.
 * So a call is decided in state 2 on all ranks or on none, and NCCL then knows of no registered
 * buffer on any rank. It looks for buffers when a message is called or captured, so no message of
 * ours has one registered end. A board that does not answer changes no state.
 *
 * A window is registered by all ranks together between the same calls, in a group before its calls:
 * the communicator is native at once. A child has registrations of its own.
 *
 * Thread rule: any thread at any time that holds the communicator's entry.
 */
#ifndef COLLSHIM_SHIM_NCCL_REGISTERED_H
#define COLLSHIM_SHIM_NCCL_REGISTERED_H

#include "shim/nccl/call/call.h"

struct nccl_comm;

/* ncclCommRegister and ncclCommDeregister, with their results and arguments. c: the entry of the
 * communicator; registered_drop() takes NULL where there is none, or none any more. */
ncclResult_t registered_add(struct nccl_comm *c, void *buffer, size_t bytes, void **handle);
ncclResult_t registered_drop(struct nccl_copy *copy, struct nccl_comm *c, ncclComm_t comm,
                             void *handle);

/* Keep back what is registered from now on. Returns whether anything is registered or kept back. */
int registered_hold(struct nccl_comm *c);

/* Nothing is rerouted but by another agreement: NCCL hears of what was kept back, and of what
 * follows. A buffer that NCCL refuses now stays unregistered, and a line says so. */
void registered_release(struct nccl_comm *c);

/* The communicator's entry ends. */
void registered_forget(struct nccl_comm *c);

/* Would NCCL register a buffer of the call by itself, where it is captured? It does so with memory
 * that it can export: such as is mapped (cuMemMap, ncclMemAlloc, PyTorch's expandable segments). */
int registered_in_graph(const struct nccl_comm *c, const struct nccl_call *call);

#endif
