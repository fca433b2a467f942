/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A helper's part of its owner's device: memory there that the owner has lent for one channel's
 * slices. Nothing of CUDA is touched before an owner lends: that takes a context, of some hundred
 * MiB on a real device.
 */
#ifndef COLLSHIM_SHIM_HELPER_REACH_H
#define COLLSHIM_SHIM_HELPER_REACH_H

#include "shim/helper/mailbox.h"

struct reach {
    struct cuda_gpu *gpu; /* owned */
    char *lent;           /* NULL: nothing */
};

/* Open the memory that a MAILBOX_REACH names; memory lent before is left. processes: of the rank,
   which share its cores. Returns 0, or a negative code, with which nothing is open. */
int reach_open(struct reach *r, const struct mailbox_order *o, int processes);

/* All zero is fine. */
void reach_close(struct reach *r);

#endif
