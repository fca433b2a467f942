/* SPDX-License-Identifier: BSD-3-Clause */
/* The keeper of this process's notice board, between notice_board.c and notice_keeper.c. */
#ifndef COLLSHIM_SHIM_NCCL_NOTICE_KEEPER_H
#define COLLSHIM_SHIM_NCCL_NOTICE_KEEPER_H

#include <stdint.h>

/* Start the thread on a listening descriptor that does not block, which it keeps. Once in a
 * process, and once in the child of a fork. Returns 0 or -1. */
int notice_keeper_start(int fd);

/* Is it the number of an id that this process made? Any thread. */
int notice_is_token(uint64_t token);

/* NOTICE_PATIENCE_S, for tests of the keeper. */
extern int notice_patience_ms;

#endif
