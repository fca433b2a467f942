/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A helper's part of its owner's device: memory there that the owner has lent for one channel's
 * slices. Nothing of CUDA is touched before an owner lends: that takes a context, of some hundred
 * MiB on a real device.
 */
#ifndef COLLSHIM_SHIM_HELPER_OWNER_DEVICE_H
#define COLLSHIM_SHIM_HELPER_OWNER_DEVICE_H

#include "shim/helper/mailbox.h"

struct owner_device {
    struct cuda_gpu *gpu; /* owned */
    char *at;             /* NULL: nothing */
};

/* Open the memory that a MAILBOX_DEVICE names; memory lent before is left. processes: of the rank,
   which share its cores. Returns 0, or a negative code, with which nothing is open. */
int owner_device_open(struct owner_device *r, const struct mailbox_order *o, int processes);

/* All zero is fine. */
void owner_device_close(struct owner_device *r);

#endif
