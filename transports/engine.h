/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The progress engine: runs one rank's plan over a transport. There are no steps
 * and no barriers; whatever chunk is ready is moved. It knows no algorithm and runs
 * any plan that the checker accepts.
 *
 * An engine serves one plan, again and again, by one thread at a time.
 */
#ifndef COLLSHIM_TRANSPORTS_ENGINE_H
#define COLLSHIM_TRANSPORTS_ENGINE_H

#include "planners/plan.h"
#include "transports/device.h"
#include "transports/xport.h"

struct engine;

/* Where a call's bytes are, packed. Borrowed until the call ends. */
struct engine_buffers {
    const void *input; /* plan->input_bytes; may be the rank's own place in output */
    void *output;      /* plan->output_bytes */
    void *scratch;     /* plan->scratch_bytes, or NULL if 0 */
    void *host;        /* plan->host_bytes, or NULL if 0 */
    /* NULL if the plan combines nothing. grain: bytes of an element, or 0 where it is not. */
    xport_combine combine;
    void *combine_context;
    size_t grain;
    /* Whose memory input, output and scratch are; host is pinned then. NULL: all is the host's. */
    struct device *device;
    /* Told, unless NULL, when the last operation with host memory of the plan's own is done (1),
       and the last of all others (0): once each, of those that there are. */
    void (*part_done)(void *context, int host);
    void *part_context;
    /* Non-zero: the call has failed on this rank already, and buffers may be NULL. It takes part
       all the same, so that nobody waits for it; all whose result hangs on it fail too. */
    int failed;
};

/*
 * An engine for a plan. plan and xport are borrowed and must outlive it.
 * Returns 0 and *engine_p (free with engine_free), or -ENOMEM.
 */
int engine_create(const struct plan *plan, struct xport *xport, struct engine **engine_p);
void engine_free(struct engine *e); /* NULL is fine; not while a call is under way */

/*
 * Run the plan to its end, yielding the CPU while nothing moves. Returns 0, the transport's error
 * code, or a negative code where a device failed (buffers->failed, if that came first): here, or on
 * a rank whose data was needed here (-EIO), or where a message had another length than this plan
 * says (-EMSGSIZE). The next call may go well.
 */
int engine_run(struct engine *e, const struct engine_buffers *buffers);

/*
 * The same in small steps, for whoever drives several engines from one thread: begin once,
 * then step until *state is ENGINE_DONE. Returns 0 or the transport's error code, after which
 * the call has ended.
 */
enum engine_state { ENGINE_DONE, ENGINE_IDLE, ENGINE_MOVED };
int engine_begin(struct engine *e, const struct engine_buffers *buffers);
int engine_step(struct engine *e, enum engine_state *state);

#endif
