/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This process's helpers for NCCL, and the orders to them (shim/helper/nccl_orders.h). They serve
 * one device, that of the first communicator which wanted them.
 *
 * Thread rule: any thread; a channel belongs to one thread at a time.
 */
#ifndef COLLSHIM_SHIM_NCCL_PPG_ORDERS_H
#define COLLSHIM_SHIM_NCCL_PPG_ORDERS_H

#include "shim/helper/helpers.h"
#include "shim/helper/nccl_orders.h"
#include "shim/nccl/comm/comm.h"

/* How many helpers there are for the communicator, whose context is current: at most wanted. If
 * fewer, *why is one half sentence. The first call starts them. */
int ppg_orders_open(const struct nccl_comm *c, int wanted, const char **why);

/* A channel that no communicator uses, or -1. */
int ppg_orders_take(void);
void ppg_orders_return(int channel);

/* The last ticket of a channel: its communicators follow each other in one count. */
uint32_t *ppg_orders_ticket(int channel);

struct nccl_order_channel *ppg_orders_at(int helper, int channel);
/* The counter there, as the device sees it. */
CUdeviceptr ppg_orders_address(int helper, const _Atomic uint32_t *counter);

/* Give an order. Waits while the helper is as many orders behind as there is room for. Returns 0,
 * or -1 where it is dead or *stop is set (NULL: never). */
int ppg_orders_post(int helper, const struct nccl_order *o, const int *stop);

/* The answer to the last order of the channel that has one: 0, or -1 with the channel's `why`. */
int ppg_orders_await(int helper, int channel, const int *stop);

/* Both. */
int ppg_orders_ask(int helper, const struct nccl_order *o, const int *stop);

/* Hand over a plan, and wait for the answer. */
int ppg_orders_plan(int helper, struct nccl_order *o, const struct rounds *r, const int *stop);

#endif
