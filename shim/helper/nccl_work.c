/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work for NCCL: the owner's orders one after the other, for all its communicators. An order that
 * waits for other processes (joining a communicator, ending one) has its own thread: those
 * processes may wait for the orders behind it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/base/near.h"
#include "shim/helper/nccl_carrier.h"
#include "shim/helper/work.h"

/* While work is under way, its communicators are asked so often whether they failed. */
enum { CHECK_MS = 100 };

/* Memory of the owner that is open here: once each, as CUDA allows, and never closed. The owner
   hands its memory on from one communicator to the next and never frees it. */
struct opened {
    struct opened *next;
    unsigned char handle[NCCL_ORDERS_HANDLE_BYTES];
    char *at;
};

static struct {
    struct nccl_orders *orders;
    int processes; /* of its owner's */
    struct mailbox_map payload, window;
    struct nccl_calls nccl;
    struct nccl_shared shared;
    CUcontext context;
    struct nccl_carrier carrier[NCCL_ORDERS_CHANNELS];
    struct opened *opened;
} nccl_helper;

static void answer(struct nccl_order_channel *c, int status)
{
    c->status = status;
    atomic_fetch_add_explicit(&c->answered, 1, memory_order_release);
}

/* The owner's own libraries, by path: a later search by name then finds these. */
static int load_libraries(struct nccl_order_channel *c)
{
    struct nccl_orders *d = nccl_helper.orders;
    const char *missing;
    void *library;

    if (!dlopen(d->cuda_path, RTLD_NOW | RTLD_GLOBAL) ||
        !(nccl_helper.shared.cu = cuda_open(CUDA_LOAD)))
        return nccl_order_say(c, "%.100s cannot be loaded", d->cuda_path);
    library = dlopen(d->nccl_path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return nccl_order_say(c, "%.100s cannot be loaded", d->nccl_path);
    missing = nccl_calls_open(library, &nccl_helper.nccl);
    nccl_helper.shared.nccl = &nccl_helper.nccl;
    return missing ? nccl_order_say(c, "%.100s has no %s", d->nccl_path, missing) : 0;
}

/* The owner's device has another number here if the program chose among devices by itself. */
static int find_device(struct nccl_order_channel *c, CUdevice *device)
{
    const struct cuda_calls *cu = nccl_helper.shared.cu;
    CUresult result = cu->Init(0);
    char bus[32];
    int n = 0;

    if (result == CUDA_SUCCESS)
        result = cu->DeviceGetCount(&n);
    for (int i = 0; i < n && result == CUDA_SUCCESS; i++)
        if (cu->DeviceGet(device, i) == CUDA_SUCCESS &&
            cu->DeviceGetPCIBusId(bus, sizeof bus, *device) == CUDA_SUCCESS &&
            !strcmp(bus, nccl_helper.orders->bus))
            return 0;
    return nccl_order_say(c, "a helper cannot open device %s (%s)", nccl_helper.orders->bus,
                          result == CUDA_SUCCESS ? "not visible" : cuda_result_name(result));
}

static int open_device(struct nccl_order_channel *c)
{
    const struct cuda_calls *cu = nccl_helper.shared.cu;
    CUdeviceptr base;
    CUresult result;
    CUdevice device = 0;

    if (find_device(c, &device))
        return -1;
    near_device(nccl_helper.orders->bus, nccl_helper.processes);
    result = cu->DevicePrimaryCtxRetain(&nccl_helper.context, device);
    if (result == CUDA_SUCCESS)
        result = cu->CtxSetCurrent(nccl_helper.context);
    if (result == CUDA_SUCCESS)
        result =
            cu->MemHostRegister(nccl_helper.orders->channel, sizeof nccl_helper.orders->channel,
                                CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_PORTABLE);
    if (result == CUDA_SUCCESS)
        result = cu->MemHostGetDevicePointer(&base, nccl_helper.orders->channel, 0);
    if (result != CUDA_SUCCESS)
        return nccl_order_say(c, "a helper has no room on the device (%s)",
                              cuda_result_name(result));
    for (int i = 0; i < NCCL_ORDERS_CHANNELS; i++) {
        struct nccl_order_channel *at = &nccl_helper.orders->channel[i];
        CUdeviceptr here = base + (CUdeviceptr)i * sizeof *at;

        nccl_helper.carrier[i] =
            (struct nccl_carrier){.shared = &nccl_helper.shared,
                                  .at = at,
                                  .go = here + offsetof(struct nccl_order_channel, go),
                                  .done = here + offsetof(struct nccl_order_channel, done)};
    }
    if (cuda_reducer_create(cu, &nccl_helper.shared.reducer))
        nccl_helper.shared.reducer = NULL;
    return 0;
}

static int make_id(struct nccl_order_channel *c)
{
    ncclUniqueId id;

    if (nccl_helper.nccl.GetUniqueId(&id) != ncclSuccess)
        return nccl_order_say(c, "ncclGetUniqueId failed in a helper");
    memcpy(c->id, &id, sizeof c->id);
    return 0;
}

static int open_memory(struct nccl_carrier *s, const struct nccl_order *o)
{
    struct opened *m = nccl_helper.opened;
    CUipcMemHandle handle;
    CUdeviceptr at;
    CUresult result;

    _Static_assert(sizeof handle == NCCL_ORDERS_HANDLE_BYTES, "a handle must fit");
    while (m && memcmp(m->handle, o->handle, sizeof m->handle) != 0)
        m = m->next;
    if (!m) {
        m = malloc(sizeof *m);
        if (!m)
            return nccl_order_say(s->at, "out of memory");
        memcpy(&handle, o->handle, sizeof handle);
        result = nccl_helper.shared.cu->IpcOpenMemHandle(&at, handle,
                                                         CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
        if (result != CUDA_SUCCESS) {
            free(m);
            return nccl_order_say(s->at, "memory cannot be shared with a helper (%s)",
                                  cuda_result_name(result));
        }
        *m = (struct opened){.next = nccl_helper.opened, .at = (char *)at};
        memcpy(m->handle, o->handle, sizeof m->handle);
        nccl_helper.opened = m;
    }
    s->memory = m->at + o->offset;
    return 0;
}

/* Orders with their own thread. */
struct errand {
    struct nccl_carrier *carrier;
    struct nccl_order order;
    ncclComm_t comm; /* owned: to be ended */
};

static void *run_errand(void *data)
{
    struct errand *e = data;
    struct nccl_carrier *s = e->carrier;

    nccl_helper.shared.cu->CtxSetCurrent(nccl_helper.context);
    if (e->order.kind == NCCL_ORDER_JOIN) {
        int rc = nccl_carrier_join(s, &e->order);

        atomic_store(&s->at->joined, rc == 0);
        answer(s->at, rc);
    } else {
        nccl_carrier_end(s, e->comm, e->order.kind == NCCL_ORDER_CUT);
        atomic_store(&s->at->broken, 0);
        atomic_store(&s->at->joined, 0);
    }
    free(e);
    return NULL;
}

static int start_errand(struct nccl_carrier *s, const struct nccl_order *o)
{
    struct errand *e = malloc(sizeof *e);
    pthread_t thread;

    if (e)
        *e = (struct errand){s, *o, s->comm};
    if (e && o->kind != NCCL_ORDER_JOIN)
        s->comm = NULL; /* no thread uses it from here on: an abort frees it with work under way */
    if (!e || pthread_create(&thread, NULL, run_errand, e)) {
        free(e);
        return nccl_order_say(s->at, "a helper has no memory, or no thread");
    }
    pthread_detach(thread);
    return 0;
}

static int start(struct nccl_order_channel *c)
{
    if (nccl_helper.context)
        return 0;
    return load_libraries(c) || open_device(c) ? -1 : 0;
}

static int take_plan(struct nccl_carrier *s, const struct nccl_order *o)
{
    size_t bytes = o->nsteps * sizeof(struct round_step);

    if (mailbox_map_window(HELPER_FD_MAILBOX, 0, bytes + 1, &nccl_helper.window))
        return nccl_order_say(s->at, "a plan of %zu bytes cannot be handed over", bytes);
    return nccl_carrier_plan(s, o, nccl_helper.window.at);
}

static void obey(const struct nccl_order *o)
{
    struct nccl_carrier *s = &nccl_helper.carrier[o->channel];
    struct nccl_order_channel *c = &nccl_helper.orders->channel[o->channel];

    switch ((enum nccl_order_kind)o->kind) {
    case NCCL_ORDER_START:
        answer(c, start(c));
        break;
    case NCCL_ORDER_ID:
        answer(c, make_id(c));
        break;
    case NCCL_ORDER_STAGE:
        answer(c, open_memory(s, o));
        break;
    case NCCL_ORDER_PLAN:
        answer(c, take_plan(s, o));
        break;
    case NCCL_ORDER_RUN:
        if (nccl_carrier_run(s, o))
            atomic_store(&c->broken, 1);
        break;
    case NCCL_ORDER_JOIN:
        if (start_errand(s, o))
            answer(c, -1);
        break;
    case NCCL_ORDER_LEAVE:
    case NCCL_ORDER_CUT:
        if (start_errand(s, o)) /* never taken again, which does no harm */
            atomic_store(&c->broken, 1);
        break;
    }
}

/* Returns 1 if work is under way. */
static int check_seats(void)
{
    int works = 0;

    for (int i = 0; i < NCCL_ORDERS_CHANNELS && nccl_helper.context; i++) {
        struct nccl_carrier *s = &nccl_helper.carrier[i];

        if (!atomic_load(&s->at->joined) || !nccl_carrier_works(s))
            continue;
        works = 1;
        if (!atomic_load(&s->at->broken) && nccl_carrier_check(s))
            atomic_store(&s->at->broken, 1);
    }
    return works;
}

static void *end_with_owner(void *unused)
{
    struct pollfd owner = {.fd = HELPER_FD_OWNER, .events = POLLIN};

    (void)unused;
    while (poll(&owner, 1, -1) < 0 && errno == EINTR)
        ;
    _exit(0);
}

int work_ready_nccl(struct helper_work *w)
{
    pthread_t thread;

    if (mailbox_map_payload(HELPER_FD_MAILBOX, 0, sizeof(struct nccl_orders),
                            &nccl_helper.payload) ||
        pthread_create(&thread, NULL, end_with_owner, NULL)) {
        snprintf(w->box->why, sizeof w->box->why, "a helper has no memory, or no thread");
        return -1;
    }
    nccl_helper.orders = (struct nccl_orders *)nccl_helper.payload.at;
    nccl_helper.processes = w->box->processes;
    return 0;
}

void work_on_nccl(struct helper_work *w)
{
    struct nccl_orders *d = nccl_helper.orders;
    struct pollfd bell = {.fd = w->bell, .events = POLLIN};

    for (;;) {
        uint32_t taken = atomic_load(&d->taken);
        uint64_t rung;

        work_beat(w->box);
        while (taken != atomic_load_explicit(&d->posted, memory_order_acquire)) {
            struct nccl_order order = d->order[taken % NCCL_ORDERS_QUEUED];

            atomic_store_explicit(&d->taken, ++taken, memory_order_release);
            obey(&order);
        }
        poll(&bell, 1, check_seats() ? CHECK_MS : -1);
        if (read(w->bell, &rung, sizeof rung) < 0)
            continue;
    }
}
