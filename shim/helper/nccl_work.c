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

#include "config/near.h"
#include "shim/helper/nccl_seat.h"
#include "shim/helper/work.h"

/* While work is under way, its communicators are asked so often whether they failed. */
enum { CHECK_MS = 100 };

/* Memory of the owner that is open here: once each, as CUDA allows, and never closed. The owner
   hands its memory on from one communicator to the next and never frees it. */
struct opened {
    struct opened *next;
    unsigned char handle[DESK_HANDLE_BYTES];
    char *at;
};

static struct {
    struct desk *desk;
    int processes; /* of its owner's */
    struct mailbox_map papers, window;
    struct nccl_calls nccl;
    struct nccl_bench bench;
    CUcontext context;
    struct nccl_seat seat[DESK_CHANNELS];
    struct opened *opened;
} desk_work;

static void answer(struct desk_channel *c, int status)
{
    c->status = status;
    atomic_fetch_add_explicit(&c->answered, 1, memory_order_release);
}

/* The owner's own libraries, by path: a later search by name then finds these. */
static int load_libraries(struct desk_channel *c)
{
    struct desk *d = desk_work.desk;
    const char *missing;
    void *library;

    if (!dlopen(d->cuda_path, RTLD_NOW | RTLD_GLOBAL) ||
        !(desk_work.bench.cu = cuda_open(CUDA_LOAD)))
        return desk_say(c, "%.100s cannot be loaded", d->cuda_path);
    library = dlopen(d->nccl_path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return desk_say(c, "%.100s cannot be loaded", d->nccl_path);
    missing = nccl_calls_open(library, &desk_work.nccl);
    desk_work.bench.nccl = &desk_work.nccl;
    return missing ? desk_say(c, "%.100s has no %s", d->nccl_path, missing) : 0;
}

/* The owner's device has another number here if the program chose among devices by itself. */
static int find_device(struct desk_channel *c, CUdevice *device)
{
    const struct cuda_calls *cu = desk_work.bench.cu;
    CUresult result = cu->Init(0);
    char bus[32];
    int n = 0;

    if (result == CUDA_SUCCESS)
        result = cu->DeviceGetCount(&n);
    for (int i = 0; i < n && result == CUDA_SUCCESS; i++)
        if (cu->DeviceGet(device, i) == CUDA_SUCCESS &&
            cu->DeviceGetPCIBusId(bus, sizeof bus, *device) == CUDA_SUCCESS &&
            !strcmp(bus, desk_work.desk->bus))
            return 0;
    return desk_say(c, "a helper cannot open device %s (%s)", desk_work.desk->bus,
                    result == CUDA_SUCCESS ? "not visible" : cuda_result_name(result));
}

static int open_device(struct desk_channel *c)
{
    const struct cuda_calls *cu = desk_work.bench.cu;
    CUdeviceptr base;
    CUresult result;
    CUdevice device = 0;

    if (find_device(c, &device))
        return -1;
    near_device(desk_work.desk->bus, desk_work.processes);
    result = cu->DevicePrimaryCtxRetain(&desk_work.context, device);
    if (result == CUDA_SUCCESS)
        result = cu->CtxSetCurrent(desk_work.context);
    if (result == CUDA_SUCCESS)
        result = cu->MemHostRegister(desk_work.desk->channel, sizeof desk_work.desk->channel,
                                     CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_PORTABLE);
    if (result == CUDA_SUCCESS)
        result = cu->MemHostGetDevicePointer(&base, desk_work.desk->channel, 0);
    if (result != CUDA_SUCCESS)
        return desk_say(c, "a helper has no room on the device (%s)", cuda_result_name(result));
    for (int i = 0; i < DESK_CHANNELS; i++) {
        struct desk_channel *at = &desk_work.desk->channel[i];
        CUdeviceptr here = base + (CUdeviceptr)i * sizeof *at;

        desk_work.seat[i] = (struct nccl_seat){.bench = &desk_work.bench,
                                               .at = at,
                                               .go = here + offsetof(struct desk_channel, go),
                                               .done = here + offsetof(struct desk_channel, done)};
    }
    if (cuda_reducer_create(cu, &desk_work.bench.reducer))
        desk_work.bench.reducer = NULL;
    return 0;
}

static int make_id(struct desk_channel *c)
{
    ncclUniqueId id;

    if (desk_work.nccl.GetUniqueId(&id) != ncclSuccess)
        return desk_say(c, "ncclGetUniqueId failed in a helper");
    memcpy(c->id, &id, sizeof c->id);
    return 0;
}

static int open_memory(struct nccl_seat *s, const struct desk_order *o)
{
    struct opened *m = desk_work.opened;
    CUipcMemHandle handle;
    CUdeviceptr at;
    CUresult result;

    _Static_assert(sizeof handle == DESK_HANDLE_BYTES, "a handle must fit");
    while (m && memcmp(m->handle, o->handle, sizeof m->handle) != 0)
        m = m->next;
    if (!m) {
        m = malloc(sizeof *m);
        if (!m)
            return desk_say(s->at, "out of memory");
        memcpy(&handle, o->handle, sizeof handle);
        result =
            desk_work.bench.cu->IpcOpenMemHandle(&at, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
        if (result != CUDA_SUCCESS) {
            free(m);
            return desk_say(s->at, "memory cannot be shared with a helper (%s)",
                            cuda_result_name(result));
        }
        *m = (struct opened){.next = desk_work.opened, .at = (char *)at};
        memcpy(m->handle, o->handle, sizeof m->handle);
        desk_work.opened = m;
    }
    s->memory = m->at + o->offset;
    return 0;
}

/* Orders with their own thread. */
struct errand {
    struct nccl_seat *seat;
    struct desk_order order;
    ncclComm_t comm; /* owned: to be ended */
};

static void *run_errand(void *data)
{
    struct errand *e = data;
    struct nccl_seat *s = e->seat;

    desk_work.bench.cu->CtxSetCurrent(desk_work.context);
    if (e->order.kind == DESK_JOIN) {
        int rc = nccl_seat_join(s, &e->order);

        atomic_store(&s->at->joined, rc == 0);
        answer(s->at, rc);
    } else {
        nccl_seat_end(s, e->comm, e->order.kind == DESK_CUT);
        atomic_store(&s->at->broken, 0);
        atomic_store(&s->at->joined, 0);
    }
    free(e);
    return NULL;
}

static int start_errand(struct nccl_seat *s, const struct desk_order *o)
{
    struct errand *e = malloc(sizeof *e);
    pthread_t thread;

    if (e)
        *e = (struct errand){s, *o, s->comm};
    if (e && o->kind != DESK_JOIN)
        s->comm = NULL; /* no thread uses it from here on: an abort frees it with work under way */
    if (!e || pthread_create(&thread, NULL, run_errand, e)) {
        free(e);
        return desk_say(s->at, "a helper has no memory, or no thread");
    }
    pthread_detach(thread);
    return 0;
}

static int start(struct desk_channel *c)
{
    if (desk_work.context)
        return 0;
    return load_libraries(c) || open_device(c) ? -1 : 0;
}

static int take_plan(struct nccl_seat *s, const struct desk_order *o)
{
    size_t bytes = o->nsteps * sizeof(struct round_step);

    if (mailbox_map_window(HELPER_FD_MAILBOX, 0, bytes + 1, &desk_work.window))
        return desk_say(s->at, "a plan of %zu bytes cannot be handed over", bytes);
    return nccl_seat_plan(s, o, desk_work.window.at);
}

static void obey(const struct desk_order *o)
{
    struct nccl_seat *s = &desk_work.seat[o->channel];
    struct desk_channel *c = &desk_work.desk->channel[o->channel];

    switch ((enum desk_kind)o->kind) {
    case DESK_START:
        answer(c, start(c));
        break;
    case DESK_ID:
        answer(c, make_id(c));
        break;
    case DESK_STAGE:
        answer(c, open_memory(s, o));
        break;
    case DESK_PLAN:
        answer(c, take_plan(s, o));
        break;
    case DESK_RUN:
        if (nccl_seat_run(s, o))
            atomic_store(&c->broken, 1);
        break;
    case DESK_JOIN:
        if (start_errand(s, o))
            answer(c, -1);
        break;
    case DESK_LEAVE:
    case DESK_CUT:
        if (start_errand(s, o)) /* never taken again, which does no harm */
            atomic_store(&c->broken, 1);
        break;
    }
}

/* Returns 1 if work is under way. */
static int check_seats(void)
{
    int works = 0;

    for (int i = 0; i < DESK_CHANNELS && desk_work.context; i++) {
        struct nccl_seat *s = &desk_work.seat[i];

        if (!atomic_load(&s->at->joined) || !nccl_seat_works(s))
            continue;
        works = 1;
        if (!atomic_load(&s->at->broken) && nccl_seat_check(s))
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

int work_ready_nccl(struct work *w)
{
    pthread_t thread;

    if (mailbox_map_papers(HELPER_FD_MAILBOX, 0, sizeof(struct desk), &desk_work.papers) ||
        pthread_create(&thread, NULL, end_with_owner, NULL)) {
        snprintf(w->box->why, sizeof w->box->why, "a helper has no memory, or no thread");
        return -1;
    }
    desk_work.desk = (struct desk *)desk_work.papers.at;
    desk_work.processes = w->box->processes;
    return 0;
}

void work_on_nccl(struct work *w)
{
    struct desk *d = desk_work.desk;
    struct pollfd bell = {.fd = w->bell, .events = POLLIN};

    for (;;) {
        uint32_t taken = atomic_load(&d->taken);
        uint64_t rung;

        while (taken != atomic_load_explicit(&d->posted, memory_order_acquire)) {
            struct desk_order order = d->order[taken % DESK_ORDERS];

            atomic_store_explicit(&d->taken, ++taken, memory_order_release);
            obey(&order);
        }
        poll(&bell, 1, check_seats() ? CHECK_MS : -1);
        if (read(w->bell, &rung, sizeof rung) < 0)
            continue;
    }
}
