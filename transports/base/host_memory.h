/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Host memory for the time of a call, kept for the calls behind it.
 *
 * malloc gives blocks of more than 32 MiB back to the system at once. Each call would then pay for
 * all page faults again, and a network's library would register the memory again. Blocks from 1 MiB
 * on are therefore the process's own mappings, of huge pages where the system has them. A block
 * that is given back stays for the next call, unless 64 blocks were taken since it served. All idle
 * blocks together have at most so many bytes as host_memory_keep says. Smaller blocks are malloc's.
 *
 * Any thread may call any function.
 */
#ifndef COLLSHIM_TRANSPORTS_HOST_MEMORY_H
#define COLLSHIM_TRANSPORTS_HOST_MEMORY_H

#include <stddef.h>

/* How many bytes may stay idle; 0, as at first: none. Bytes beyond it are released at once. */
void host_memory_keep(size_t bytes);
size_t host_memory_kept(void);

/* A block of at least so many bytes, 0 too, aligned as malloc's; its content is anything. NULL:
   there is no memory. The caller gives it back. */
void *host_memory_take(size_t bytes);

/* block: of host_memory_take, or NULL. */
void host_memory_give(void *block);

/* The bytes that lie idle now. */
size_t host_memory_idle(void);

#endif
