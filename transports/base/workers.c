/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One word holds the work: its number, how many parts it has, and how many are taken. A thread
 * takes a part by incrementing the last count; this fails if the thread looks at an older work.
 */
#define _GNU_SOURCE
#include "transports/base/workers.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "transports/base/float_mode.h"

enum { PATIENCE = 2000 }; /* looks without result until the CPU is yielded */

struct workers {
    _Alignas(64) _Atomic uint64_t ticket; /* number << 32 | parts << 16 | taken */
    _Alignas(64) _Atomic int done;        /* parts */
    void (*work)(void *context, int part);
    void *context;
    struct float_mode mode; /* the caller's */
    uint32_t number;
    int threads;
    atomic_int awake;
    int closing;
    pthread_mutex_t lock; /* of closing, and of going to sleep */
    pthread_cond_t called;
    pthread_t thread[WORKERS_MOST];
};

static void lose_patience(unsigned *looks)
{
    if (++*looks % PATIENCE == 0)
        sched_yield();
}

/* In the floating-point mode of the thread that called workers_run. */
static void work_alike(struct workers *h, int part)
{
    struct float_mode now;

    float_mode_read(&now);
    float_mode_write(&h->mode, &now);
    h->work(h->context, part);
}

/* Take a part and do it. Returns 0 if there is none. */
static int do_part(struct workers *h)
{
    uint64_t ticket = atomic_load_explicit(&h->ticket, memory_order_acquire);

    for (;;) {
        uint64_t taken = ticket & 0xffff, parts = ticket >> 16 & 0xffff;

        if (taken == parts)
            return 0;
        if (atomic_compare_exchange_weak_explicit(&h->ticket, &ticket, ticket + 1,
                                                  memory_order_acq_rel, memory_order_acquire)) {
            work_alike(h, (int)taken);
            atomic_fetch_add_explicit(&h->done, 1, memory_order_release);
            return 1;
        }
    }
}

/* Returns 0 once there will be no more work. */
static int sleep_until_called(struct workers *h)
{
    int closing;

    pthread_mutex_lock(&h->lock);
    while (!atomic_load(&h->awake) && !h->closing)
        pthread_cond_wait(&h->called, &h->lock);
    closing = h->closing;
    pthread_mutex_unlock(&h->lock);
    return !closing;
}

static void *live(void *state)
{
    struct workers *h = state;
    unsigned looks = 0;

    while (sleep_until_called(h))
        while (atomic_load_explicit(&h->awake, memory_order_relaxed))
            if (!do_part(h))
                lose_patience(&looks);
    return NULL;
}

static int start(struct workers *h, const void *cpus, size_t cpus_bytes)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    int rc = pthread_attr_init(&attributes);

    if (rc)
        return -rc;
    pthread_attr_setaffinity_np(&attributes, cpus_bytes, cpus);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&h->thread[h->threads], &attributes, live, h);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    h->threads += !rc;
    return -rc;
}

int workers_open(int threads, const void *cpus, size_t cpus_bytes, struct workers **workers_p)
{
    struct workers *h = aligned_alloc(64, (sizeof *h + 63) & ~(size_t)63);
    int rc = 0;

    if (!h)
        return -ENOMEM;
    *h = (struct workers){.lock = PTHREAD_MUTEX_INITIALIZER, .called = PTHREAD_COND_INITIALIZER};
    while (!rc && h->threads < threads)
        rc = start(h, cpus, cpus_bytes);
    if (rc) {
        workers_close(h);
        return rc;
    }
    *workers_p = h;
    return 0;
}

void workers_close(struct workers *h)
{
    if (!h)
        return;
    pthread_mutex_lock(&h->lock);
    h->closing = 1;
    atomic_store(&h->awake, 0);
    pthread_cond_broadcast(&h->called);
    pthread_mutex_unlock(&h->lock);
    for (int i = 0; i < h->threads; i++)
        pthread_join(h->thread[i], NULL);
    pthread_cond_destroy(&h->called);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

void workers_wake(struct workers *h)
{
    pthread_mutex_lock(&h->lock);
    atomic_store(&h->awake, 1);
    pthread_cond_broadcast(&h->called);
    pthread_mutex_unlock(&h->lock);
}

void workers_rest(struct workers *h)
{
    atomic_store(&h->awake, 0);
}

int workers_count(const struct workers *h)
{
    return h->threads + 1;
}

void workers_run(struct workers *h, int parts, void (*work)(void *context, int part), void *context)
{
    unsigned looks = 0;

    h->work = work;
    h->context = context;
    float_mode_read(&h->mode);
    atomic_store_explicit(&h->done, 0, memory_order_relaxed);
    atomic_store_explicit(&h->ticket, (uint64_t)++h->number << 32 | (uint64_t)parts << 16,
                          memory_order_release);
    while (do_part(h))
        ;
    while (atomic_load_explicit(&h->done, memory_order_acquire) < parts)
        lose_patience(&looks);
}
