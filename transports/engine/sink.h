/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory where a failed call receives bytes that it does not need. All engines of a process
 * share it, as no rank reads there. It is address space until a call fails.
 */
#ifndef COLLSHIM_TRANSPORTS_SINK_H
#define COLLSHIM_TRANSPORTS_SINK_H

#include <stddef.h>

/* At least so many bytes, for the life of the process; NULL: no memory. Any thread. */
char *sink_get(size_t bytes);

#endif
