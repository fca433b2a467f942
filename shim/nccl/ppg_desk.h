/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This process's helpers for NCCL, and the orders to them (shim/helper/desk.h). They serve one
 * device, that of the first communicator which wanted them.
 *
 * Thread rule: any thread; a channel belongs to one thread at a time.
 */
#ifndef COLLSHIM_SHIM_NCCL_PPG_DESK_H
#define COLLSHIM_SHIM_NCCL_PPG_DESK_H

#include "shim/helper/crew.h"
#include "shim/helper/desk.h"
#include "shim/nccl/comm.h"

/* How many helpers there are for the communicator, whose context is current: at most wanted. If
 * fewer, *why is one half sentence. The first call starts them. */
int ppg_desk_open(const struct nccl_comm *c, int wanted, const char **why);

/* A channel that no communicator uses, or -1. */
int ppg_desk_take(void);
void ppg_desk_return(int channel);

/* The last ticket of a channel: its communicators follow each other in one count. */
uint32_t *ppg_desk_ticket(int channel);

struct desk_channel *ppg_desk_at(int helper, int channel);
/* The counter there, as the device sees it. */
CUdeviceptr ppg_desk_address(int helper, const _Atomic uint32_t *counter);

/* Give an order. Waits while the helper is as many orders behind as there is room for. Returns 0,
 * or -1 where it is dead or *stop is set (NULL: never). */
int ppg_desk_post(int helper, const struct desk_order *o, const int *stop);

/* The answer to the last order of the channel that has one: 0, or -1 with the channel's `why`. */
int ppg_desk_await(int helper, int channel, const int *stop);

/* Both. */
int ppg_desk_ask(int helper, const struct desk_order *o, const int *stop);

/* Hand over a plan, and wait for the answer. */
int ppg_desk_plan(int helper, struct desk_order *o, const struct rounds *r, const int *stop);

#endif
