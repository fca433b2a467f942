/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A helper's side of one channel: the orders of one communicator, a step at a time, so that several
 * channels take turns.
 */
#ifndef COLLSHIM_SHIM_HELPER_CHANNEL_H
#define COLLSHIM_SHIM_HELPER_CHANNEL_H

#include "shim/helper/mailbox.h"
#include "transports/net/ucx.h"

struct channel;

/* Channel number `index` of the mailbox behind fd. All borrowed. Returns NULL if out of memory. */
struct channel *channel_open(struct mailbox *box, int fd, int index, struct ucx *ucx);

/* The result of the last step: nothing to do, or an order waits for others (perhaps for a device,
   which gives no signal), or something moved. */
enum channel_state { CHANNEL_IDLE, CHANNEL_WAITS, CHANNEL_POLLS, CHANNEL_MOVED };
enum channel_state channel_step(struct channel *c);

#endif
