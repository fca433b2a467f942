/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "shim/nccl/helpers/ppg_orders.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* For an answer: joining a communicator of NCCL's takes seconds on a large machine. */
enum { PATIENCE_S = 30 };

static struct {
    pthread_mutex_t lock;  /* of what follows, and of posting */
    pthread_mutex_t plans; /* of the windows, in which plans are handed over */
    CUcontext context;     /* of the device that is served; NULL: not opened yet */
    int n;                 /* helpers that are ready */
    unsigned channels;     /* in use, a bit each */
    uint32_t ticket[NCCL_ORDERS_CHANNELS];
    const char *why;
    struct nccl_orders *orders[HELPERS_MAX]; /* borrowed from the helpers, for good */
    CUdeviceptr address[HELPERS_MAX];        /* of orders->channel */
} desks = {.lock = PTHREAD_MUTEX_INITIALIZER, .plans = PTHREAD_MUTEX_INITIALIZER, .why = ""};

uint32_t *ppg_orders_ticket(int channel)
{
    return &desks.ticket[channel];
}

struct nccl_order_channel *ppg_orders_at(int helper, int channel)
{
    return &desks.orders[helper]->channel[channel];
}

CUdeviceptr ppg_orders_address(int helper, const _Atomic uint32_t *counter)
{
    return desks.address[helper] +
           (CUdeviceptr)((const char *)counter - (const char *)desks.orders[helper]->channel);
}

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

static int is_stopped(const int *stop)
{
    return stop && __atomic_load_n(stop, __ATOMIC_ACQUIRE);
}

static int is_answered(uint32_t kind)
{
    return kind != NCCL_ORDER_RUN && kind != NCCL_ORDER_LEAVE && kind != NCCL_ORDER_CUT;
}

/* Lock held. Returns 1 if there was room. */
static int try_post(int helper, const struct nccl_order *o)
{
    struct nccl_orders *d = desks.orders[helper];
    uint32_t posted = atomic_load_explicit(&d->posted, memory_order_relaxed);

    if (posted - atomic_load_explicit(&d->taken, memory_order_acquire) >= NCCL_ORDERS_QUEUED)
        return 0;
    d->order[posted % NCCL_ORDERS_QUEUED] = *o;
    if (is_answered(o->kind))
        atomic_fetch_add(&d->channel[o->channel].asked, 1);
    atomic_store_explicit(&d->posted, posted + 1, memory_order_release);
    return 1;
}

int ppg_orders_post(int helper, const struct nccl_order *o, const int *stop)
{
    for (;;) {
        pthread_mutex_lock(&desks.lock);
        int posted = try_post(helper, o);
        pthread_mutex_unlock(&desks.lock);
        if (posted) {
            helpers_ring(helper);
            return 0;
        }
        if (is_stopped(stop) || !helpers_lives(helper))
            return -1;
        nap();
    }
}

static int await(struct nccl_order_channel *c, int helper, const int *stop)
{
    const time_t until = time(NULL) + PATIENCE_S;

    while (atomic_load_explicit(&c->answered, memory_order_acquire) != atomic_load(&c->asked)) {
        if (!helpers_lives(helper) || is_stopped(stop) || time(NULL) > until) {
            snprintf(c->why, sizeof c->why, "%s",
                     helpers_lives(helper) ? "a helper does not answer" : "a helper died");
            return -1;
        }
        nap();
    }
    return c->status;
}

int ppg_orders_await(int helper, int channel, const int *stop)
{
    return await(ppg_orders_at(helper, channel), helper, stop);
}

int ppg_orders_ask(int helper, const struct nccl_order *o, const int *stop)
{
    return ppg_orders_post(helper, o, stop) ? -1 : ppg_orders_await(helper, o->channel, stop);
}

int ppg_orders_plan(int helper, struct nccl_order *o, const struct rounds *r, const int *stop)
{
    size_t bytes = r->nsteps * sizeof *r->step;
    int rc = -1;

    pthread_mutex_lock(&desks.plans);
    char *room = helpers_window(helper, 0, bytes + 1);
    if (room) {
        memcpy(room, r->step, bytes);
        o->kind = NCCL_ORDER_PLAN;
        o->nsteps = r->nsteps;
        o->scratch_bytes = r->scratch_bytes;
        rc = ppg_orders_ask(helper, o, stop);
    }
    pthread_mutex_unlock(&desks.plans);
    return rc;
}

/* Starting ------------------------------------------------------------------------------------- */

/* As a full path, since a helper is not where its owner is. Returns 0 or -1. */
static int path_of(const void *function, char *path)
{
    Dl_info info;
    char *full = dladdr(function, &info) && info.dli_fname ? realpath(info.dli_fname, NULL) : NULL;
    int well = full && snprintf(path, NCCL_ORDERS_PATH, "%s", full) < NCCL_ORDERS_PATH;

    free(full);
    return well ? 0 : -1;
}

/* The counters in this process's reach, as in the helper's: pinned, and known to the device. */
static int lay_out(int helper, const struct nccl_comm *c)
{
    struct nccl_orders *d = (struct nccl_orders *)helpers_payload(helper, 0, sizeof *d);
    CUdevice device;

    if (!d || path_of((void *)(uintptr_t)c->copy->real.AllReduce, d->nccl_path) ||
        path_of((void *)(uintptr_t)c->cu->Init, d->cuda_path) ||
        c->cu->CtxGetDevice(&device) != CUDA_SUCCESS ||
        c->cu->DeviceGetPCIBusId(d->bus, sizeof d->bus, device) != CUDA_SUCCESS ||
        c->cu->MemHostRegister(d->channel, sizeof d->channel,
                               CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_PORTABLE) !=
            CUDA_SUCCESS ||
        c->cu->MemHostGetDevicePointer(&desks.address[helper], d->channel, 0) != CUDA_SUCCESS)
        return -1;
    desks.orders[helper] = d;
    return 0;
}

/* Lock held. All are told to begin before any is waited for. */
static void start(const struct nccl_comm *c, int wanted)
{
    const struct nccl_order order = {.kind = NCCL_ORDER_START};
    int there = helpers_start(wanted, &desks.why), told = 0;

    while (told < there && lay_out(told, c) == 0) {
        if (!try_post(told, &order))
            break;
        helpers_ring(told);
        told++;
    }
    if (told < there)
        desks.why = "memory cannot be pinned for a helper and this process";
    while (desks.n < told) {
        struct nccl_order_channel *at = ppg_orders_at(desks.n, 0);

        if (await(at, desks.n, NULL)) {
            desks.why = at->why;
            break;
        }
        desks.n++;
    }
}

int ppg_orders_open(const struct nccl_comm *c, int wanted, const char **why)
{
    int n = 0;

    pthread_mutex_lock(&desks.lock);
    if (!desks.context) {
        desks.context = c->device.context;
        start(c, wanted);
    }
    *why = desks.why;
    if (desks.context != c->device.context)
        *why = "this process's helpers serve another device";
    else if (desks.n && !helpers_lives(0))
        *why = "a helper died";
    else
        n = desks.n < wanted ? desks.n : wanted;
    pthread_mutex_unlock(&desks.lock);
    return n;
}

int ppg_orders_take(void)
{
    int channel = -1;

    pthread_mutex_lock(&desks.lock);
    for (int i = 0; channel < 0 && i < NCCL_ORDERS_CHANNELS; i++)
        if (!(desks.channels & 1u << i))
            channel = i;
    if (channel >= 0)
        desks.channels |= 1u << channel;
    pthread_mutex_unlock(&desks.lock);
    return channel;
}

void ppg_orders_return(int channel)
{
    pthread_mutex_lock(&desks.lock);
    desks.channels &= ~(1u << channel);
    pthread_mutex_unlock(&desks.lock);
}
