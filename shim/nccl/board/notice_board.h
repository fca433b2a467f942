/* SPDX-License-Identifier: BSD-3-Clause */
/* A new board, for the process that makes a unique id. */
#ifndef COLLSHIM_SHIM_NCCL_NOTICE_BOARD_H
#define COLLSHIM_SHIM_NCCL_NOTICE_BOARD_H

#include <nccl.h>

/* Keep a board for a new id, and write where into it. Without one (no address in the id, no socket)
 * the id stays as it is, and no rank finds a board. Any thread. */
void notice_keep(ncclUniqueId *id);

#endif
