/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that help a caller. A piece of work is cut, and any free thread takes a part. The caller
 * does the parts that no thread has begun, so a thread without a processor delays only the part it
 * has taken. Between hands_wake and hands_rest the threads look for work all the time, because
 * parts take only some us; otherwise they sleep. Thread rule: one thread at a time.
 */
#ifndef COLLSHIM_TRANSPORTS_HANDS_H
#define COLLSHIM_TRANSPORTS_HANDS_H

#include <stddef.h>

enum { HANDS_MOST = 64 };

struct hands;

/*
 * Start 1 to HANDS_MOST - 1 threads beside the caller's. They run on these CPUs (a cpu_set_t of
 * that many bytes) and get no signals. Returns 0 and *hands_p (end with hands_close), -ENOMEM or
 * -EAGAIN.
 */
int hands_open(int threads, const void *cpus, size_t cpus_bytes, struct hands **hands_p);
void hands_close(struct hands *h); /* NULL is fine */

void hands_wake(struct hands *h);
void hands_rest(struct hands *h);

int hands_count(const struct hands *h); /* with the caller */

/* Have work(context, 0) ... work(context, parts - 1) done, in any order and at the same time;
   returns when all are. parts: 1 to HANDS_MOST. */
void hands_run(struct hands *h, int parts, void (*work)(void *context, int part), void *context);

#endif
