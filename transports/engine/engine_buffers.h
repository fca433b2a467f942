/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory that a call of the engine works on. */
#ifndef COLLSHIM_TRANSPORTS_ENGINE_BUFFERS_H
#define COLLSHIM_TRANSPORTS_ENGINE_BUFFERS_H

#include <stddef.h>

#include "transports/base/device.h"
#include "transports/base/xport.h"

/* The packed buffers of a call. Borrowed until the call ends. */
struct engine_buffers {
    const void *input; /* plan->input_bytes; may be the rank's own place in output */
    void *output;      /* plan->output_bytes */
    void *scratch;     /* plan->scratch_bytes, or NULL if 0 */
    void *host;        /* plan->host_bytes, or NULL if 0 */
    /* NULL if the plan combines nothing. grain: bytes of an element, or 0 where it is not. */
    xport_combine combine;
    void *combine_context;
    size_t grain;
    /* The device of input, output and scratch; host is pinned then. NULL: they are in host memory.
     */
    struct device *device;
    /* Called, unless NULL, once for each kind of operation that the plan has. 1: the last operation
       with host memory of the plan's own is done. 0: the last of all others is. */
    void (*part_done)(void *context, int host);
    void *part_context;
    /* Called, unless NULL, when a message from that peer has come in. */
    void (*landed)(void *context, int peer);
    void *landed_context;
    /* Non-zero: the call has failed on this rank already, and buffers may be NULL. The rank takes
       part, so that no other rank waits for it. Results that depend on it fail too. */
    int failed;
};

#endif
