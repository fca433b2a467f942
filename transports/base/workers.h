/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that help a caller. A piece of work is cut, and any free thread takes a part. The caller
 * does the parts that no thread has begun, so a thread without a processor delays only the part it
 * has taken. Between workers_wake and workers_rest the threads look for work all the time, because
 * parts take only some us; otherwise they sleep. Thread rule: one thread at a time.
 */
#ifndef COLLSHIM_TRANSPORTS_WORKERS_H
#define COLLSHIM_TRANSPORTS_WORKERS_H

#include <stddef.h>

enum { WORKERS_MOST = 64 };

struct workers;

/*
 * Start 1 to WORKERS_MOST - 1 threads beside the caller's. They run on these CPUs (a cpu_set_t of
 * that many bytes) and get no signals. Returns 0 and *workers_p (end with workers_close), -ENOMEM
 * or -EAGAIN.
 */
int workers_open(int threads, const void *cpus, size_t cpus_bytes, struct workers **workers_p);
void workers_close(struct workers *h); /* NULL is fine */

void workers_wake(struct workers *h);
void workers_rest(struct workers *h);

int workers_count(const struct workers *h); /* with the caller */

/* Have work(context, 0) ... work(context, parts - 1) done, in any order and at the same time;
   returns when all are. parts: 1 to WORKERS_MOST. */
void workers_run(struct workers *h, int parts, void (*work)(void *context, int part),
                 void *context);

#endif
