/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The progress engine: runs one rank's plan over a transport. There are no steps and no barriers: a
 * chunk moves as soon as it is ready. It knows no algorithm and runs any plan that the checker
 * accepts.
 *
 * An engine serves one plan, again and again, by one thread at a time.
 */
#ifndef COLLSHIM_TRANSPORTS_ENGINE_H
#define COLLSHIM_TRANSPORTS_ENGINE_H

#include "planners/plan/plan.h"
#include "transports/base/xport.h"
#include "transports/engine/engine_buffers.h"

struct engine;

/*
 * An engine for a plan. plan and xport are borrowed and must outlive it.
 * Returns 0 and *engine_p (free with engine_free), or -ENOMEM.
 */
int engine_create(const struct plan *plan, struct xport *xport, struct engine **engine_p);
void engine_free(struct engine *e); /* NULL is fine; not while a call is under way */

/* Get the memory that the next call in host memory needs of the transport and for its messages, or,
   for_good, that all need. Else a call gets it when it begins. Not while a call is under way on the
   transport. Returns 0 or the transport's error code. */
int engine_reserve(struct engine *e, int for_good);

/*
 * Run the plan to its end, yielding the CPU while nothing moves. Returns 0, the transport's error
 * code, or a negative code. buffers->failed has priority. -EIO: a device failed here, or on a rank
 * whose data was needed here. -EMSGSIZE: a message had another length than this plan says. The next
 * call may succeed.
 */
int engine_run(struct engine *e, const struct engine_buffers *buffers);

/*
 * The same in small steps, for a thread that drives several engines. Begin once, then step until
 * *state is ENGINE_DONE. Returns 0 or the transport's error code, after which the call has ended.
 */
enum engine_state { ENGINE_DONE, ENGINE_IDLE, ENGINE_MOVED };
int engine_begin(struct engine *e, const struct engine_buffers *buffers);
int engine_step(struct engine *e, enum engine_state *state);

#endif
