/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A struct device over CUDA. Each direction of bytes has its own stream, so that a copy to the
 * host, a copy from it and a kernel run at the same time. The host starts dependent work once a
 * job's event has come, so these streams never wait for each other. The streams do not block the
 * application's. A call begins after the contents of the application's default stream, as
 * cudaMemcpy does. The application must have waited for its other streams, as MPI asks.
 *
 * Streams, events and memory are kept until the communicator is freed: making them stops the
 * device, or costs more than the messages.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transports/cuda/cuda_context.h"
#include "transports/cuda/cuda_memory.h"
#include "transports/cuda/cuda_reduce.h"

enum way { TO_HOST, FROM_HOST, INSIDE, WAYS };

struct job {
    CUevent event;
    int next_free; /* index, or -1 */
};

struct area {
    void *at;
    size_t bytes;
};

struct cuda_gpu {
    const struct cuda_calls *cu; /* borrowed, for good */
    struct cuda_place place;
    struct cuda_entry entry;
    CUstream stream[WAYS];
    CUevent begun;
    struct job *job; /* [jobs] owned */
    int jobs, first_free;
    struct area scratch, pinned, cells; /* owned */
    struct area window;                 /* owned: what other processes reach */
    struct device_window as_told;       /* and how; bytes 0: they cannot */
    int no_window;
    struct cuda_reducer *reducer; /* owned; NULL before the first use */
    int no_kernels;               /* loading them failed */
    enum reduce_type type;
    enum reduce_op op;
    struct device device;
};

/* From the CPU's types and operations to the device's; anything else has no kernel. */
static const signed char types[KERNEL_TYPES] = {
#define TYPE(ours, theirs) [KERNEL_##ours] = 1 + REDUCE_TYPE_##theirs
    TYPE(I8, i8),   TYPE(I16, i16), TYPE(I32, i32), TYPE(I64, i64), TYPE(U8, u8),
    TYPE(U16, u16), TYPE(U32, u32), TYPE(U64, u64), TYPE(F32, f32), TYPE(F64, f64),
    TYPE(C32, c32), TYPE(C64, c64), TYPE(BOOL, u8),
#undef TYPE
};
static const signed char ops[KERNEL_OPS] = {
#define OP(ours, theirs) [KERNEL_##ours] = 1 + REDUCE_OP_##theirs
    OP(SUM, sum), OP(PROD, prod), OP(MAX, max),   OP(MIN, min), OP(LAND, land),
    OP(LOR, lor), OP(LXOR, lxor), OP(BAND, band), OP(BOR, bor), OP(BXOR, bxor),
#undef OP
};

static int grow_jobs(struct cuda_gpu *g)
{
    enum { MORE = 32 };
    struct job *job = realloc(g->job, (size_t)(g->jobs + MORE) * sizeof *job);

    if (!job)
        return -ENOMEM;
    g->job = job;
    for (int i = 0; i < MORE; i++) {
        struct job *new = &g->job[g->jobs];

        if (g->cu->EventCreate(&new->event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
            return i ? 0 : -EIO;
        new->next_free = g->first_free;
        g->first_free = g->jobs++;
    }
    return 0;
}

/* Something has been put into a stream: the job is done when that is. */
static int note_job(struct cuda_gpu *g, enum way way, unsigned *number)
{
    int rc = g->first_free < 0 ? grow_jobs(g) : 0;

    if (rc < 0)
        return rc;
    struct job *job = &g->job[g->first_free];
    if (g->cu->EventRecord(job->event, g->stream[way]) != CUDA_SUCCESS)
        return -EIO;
    *number = (unsigned)g->first_free;
    g->first_free = job->next_free;
    return 0;
}

static int is_inside(const struct area *b, const void *p)
{
    return (uintptr_t)p - (uintptr_t)b->at < b->bytes;
}

static int gpu_copy(void *state, void *dst, const void *src, size_t bytes, unsigned *job)
{
    struct cuda_gpu *g = state;
    enum way way = is_inside(&g->cells, dst) || is_inside(&g->pinned, dst)   ? TO_HOST
                   : is_inside(&g->cells, src) || is_inside(&g->pinned, src) ? FROM_HOST
                                                                             : INSIDE;

    if (g->cu->MemcpyAsync((CUdeviceptr)dst, (CUdeviceptr)src, bytes, g->stream[way]) !=
        CUDA_SUCCESS)
        return -EIO;
    return note_job(g, way, job);
}

/* A kernel reads a cell where it is, across the bus: one pass, and no copy of it on the device. */
static int gpu_combine(void *state, const void *a, const void *b, void *dst, size_t bytes,
                       unsigned *job)
{
    struct cuda_gpu *g = state;
    int rc = cuda_reduce(
        g->reducer, g->op, g->type,
        &(struct cuda_reduce_args){
            .dst = dst, .src = {a, b}, .count = bytes / reduce_type_bytes(g->type), .sources = 2},
        g->stream[INSIDE]);

    return rc ? rc : note_job(g, INSIDE, job);
}

static int gpu_test(void *state, unsigned number)
{
    struct cuda_gpu *g = state;
    CUresult result = g->cu->EventQuery(g->job[number].event);

    if (result != CUDA_SUCCESS)
        return result == CUDA_ERROR_NOT_READY ? 0 : -EIO;
    g->job[number].next_free = g->first_free;
    g->first_free = (int)number;
    return 1;
}

static void free_area(struct cuda_gpu *g, struct area *b, int pinned)
{
    if (b->at && pinned)
        g->cu->MemFreeHost(b->at);
    else if (b->at)
        g->cu->MemFree((CUdeviceptr)b->at);
    *b = (struct area){0};
}

/* Room for so many bytes, a quarter more than asked for if it has to grow again. */
static void *grow(struct cuda_gpu *g, struct area *b, size_t bytes, int pinned)
{
    CUdeviceptr device;
    CUresult result;

    if (bytes <= b->bytes)
        return bytes ? b->at : NULL;
    if (b->bytes)
        bytes += bytes / 4;
    free_area(g, b, pinned);
    if (pinned) {
        result = g->cu->MemHostAlloc(&b->at, bytes, CU_MEMHOSTALLOC_PORTABLE);
    } else {
        result = g->cu->MemAlloc(&device, bytes);
        b->at = (void *)device; /* NOLINT: an address of the device's */
    }
    if (result != CUDA_SUCCESS)
        b->at = NULL;
    b->bytes = b->at ? bytes : 0;
    return b->at;
}

static void *gpu_cells(void *state, size_t bytes)
{
    struct cuda_gpu *g = state;

    return grow(g, &g->cells, bytes, 1);
}

static char *gpu_window(void *state, struct device_window *w)
{
    struct cuda_gpu *g = state;
    CUipcMemHandle handle;

    if (!g->window.at && !g->no_window) {
        if (!grow(g, &g->window, DEVICE_WINDOW_BYTES, 0) ||
            g->cu->IpcGetMemHandle(&handle, (CUdeviceptr)g->window.at) != CUDA_SUCCESS) {
            free_area(g, &g->window, 0);
            g->no_window = 1;
            return NULL;
        }
        g->as_told = (struct device_window){.bytes = DEVICE_WINDOW_BYTES, .pid = getpid()};
        memcpy(g->as_told.handle, &handle, sizeof handle);
    }
    *w = g->as_told;
    return g->window.at;
}

static char *gpu_reach(void *state, const struct device_window *w)
{
    struct cuda_gpu *g = state;
    CUipcMemHandle handle;
    CUdeviceptr at;

    memcpy(&handle, w->handle, sizeof handle);
    if (w->pid == getpid() ||
        g->cu->IpcOpenMemHandle(&at, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) != CUDA_SUCCESS)
        return NULL;
    return (char *)at; /* NOLINT: an address of the device's */
}

static void gpu_leave(void *state, char *at)
{
    struct cuda_gpu *g = state;
    struct cuda_entry entry;

    if (cuda_enter(g->cu, &g->place, &entry) < 0)
        return;
    g->cu->IpcCloseMemHandle((CUdeviceptr)at);
    cuda_leave(g->cu, &entry);
}

static int gpu_pull(void *state, void *host, const char *from, size_t bytes)
{
    struct cuda_gpu *g = state;

    return cuda_move(&g->place, host, from, bytes);
}

/* The events of what was abandoned are free again, all of them. */
static void gpu_settle(void *state)
{
    struct cuda_gpu *g = state;

    for (int way = 0; way < WAYS; way++)
        g->cu->StreamSynchronize(g->stream[way]);
    g->first_free = -1;
    for (int i = 0; i < g->jobs; i++) {
        g->job[i].next_free = g->first_free;
        g->first_free = i;
    }
}

/* In the context. */
static int make(struct cuda_gpu *g)
{
    for (int way = 0; way < WAYS; way++)
        if (g->cu->StreamCreateWithPriority(&g->stream[way], CU_STREAM_NON_BLOCKING, 0) !=
            CUDA_SUCCESS)
            return -EIO;
    if (g->cu->EventCreate(&g->begun, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
        return -EIO;
    return grow_jobs(g);
}

static void unmake(struct cuda_gpu *g)
{
    const struct cuda_calls *cu = g->cu;

    cuda_reducer_free(g->reducer);
    for (int i = 0; i < g->jobs; i++)
        cu->EventDestroy(g->job[i].event);
    if (g->begun)
        cu->EventDestroy(g->begun);
    for (int way = 0; way < WAYS; way++)
        if (g->stream[way])
            cu->StreamDestroy(g->stream[way]);
    free_area(g, &g->scratch, 0);
    free_area(g, &g->pinned, 1);
    free_area(g, &g->cells, 1);
    free_area(g, &g->window, 0);
}

int cuda_gpu_open(const struct cuda_place *place, struct cuda_gpu **gpu_p)
{
    const struct cuda_calls *cu = cuda_if_loaded();
    struct cuda_gpu *g = calloc(1, sizeof *g);
    struct cuda_entry entry;

    if (!g || !cu) {
        free(g);
        return g ? -EIO : -ENOMEM;
    }
    *g = (struct cuda_gpu){.cu = cu, .place = *place, .first_free = -1};
    g->device = (struct device){.state = g,
                                .copy = gpu_copy,
                                .combine = gpu_combine,
                                .test = gpu_test,
                                .cells = gpu_cells,
                                .window = gpu_window,
                                .reach = gpu_reach,
                                .leave = gpu_leave,
                                .pull = gpu_pull,
                                .settle = gpu_settle};
    if (cuda_enter(cu, place, &entry) < 0) {
        free(g);
        return -EIO;
    }
    int rc = make(g);
    if (rc)
        unmake(g);
    cuda_leave(cu, &entry);
    if (rc)
        free(g->job), free(g);
    else
        *gpu_p = g;
    return rc;
}

void cuda_gpu_close(struct cuda_gpu *g)
{
    struct cuda_entry entry;

    if (!g)
        return;
    if (cuda_enter(g->cu, &g->place, &entry) == 0) {
        unmake(g);
        cuda_leave(g->cu, &entry);
    } else { /* without its context, everything of the driver's is gone already */
        cuda_reducer_forget(g->reducer);
    }
    free(g->job);
    free(g);
}

int cuda_gpu_is_at(const struct cuda_gpu *g, const struct cuda_place *place)
{
    return g->place.context == place->context && g->place.device == place->device;
}

int cuda_gpu_combines(struct cuda_gpu *g, enum kernel_type type, enum kernel_op op)
{
    struct cuda_entry entry;

    if (!types[type] || !ops[op] || g->no_kernels ||
        !cuda_reduce_exists((enum reduce_op)(ops[op] - 1), (enum reduce_type)(types[type] - 1)))
        return 0;
    if (g->reducer)
        return 1;
    if (cuda_enter(g->cu, &g->place, &entry) < 0)
        return 0;
    g->no_kernels = cuda_reducer_create(g->cu, &g->reducer) != 0;
    cuda_leave(g->cu, &entry);
    return !g->no_kernels;
}

static void *grow_outside(struct cuda_gpu *g, struct area *b, size_t bytes, int pinned)
{
    struct cuda_entry entry;
    void *at;

    if (bytes <= b->bytes)
        return bytes ? b->at : NULL;
    if (cuda_enter(g->cu, &g->place, &entry) < 0)
        return NULL;
    at = grow(g, b, bytes, pinned);
    cuda_leave(g->cu, &entry);
    return at;
}

void *cuda_gpu_scratch(struct cuda_gpu *g, size_t bytes)
{
    return grow_outside(g, &g->scratch, bytes, 0);
}

void *cuda_gpu_pinned(struct cuda_gpu *g, size_t bytes)
{
    return grow_outside(g, &g->pinned, bytes, 1);
}

/* CUDA maps so much at once: smaller allocations share it, and would be exported with each other.
 */
enum { EXPORT_GRAIN = 2 << 20 };

char *cuda_gpu_lend(struct cuda_gpu *g, size_t bytes, struct device_window *w)
{
    const struct cuda_calls *cu = g->cu;
    struct cuda_entry entry;
    CUipcMemHandle handle;
    CUdeviceptr at = 0;

    if (w)
        bytes = (bytes + EXPORT_GRAIN - 1) / EXPORT_GRAIN * EXPORT_GRAIN;
    if (!bytes || cuda_enter(cu, &g->place, &entry) < 0)
        return NULL;
    if (cu->MemAlloc(&at, bytes) != CUDA_SUCCESS)
        at = 0;
    if (at && w && cu->IpcGetMemHandle(&handle, at) != CUDA_SUCCESS) {
        cu->MemFree(at);
        at = 0;
    }
    cuda_leave(cu, &entry);
    if (at && w) {
        *w = (struct device_window){.bytes = bytes, .pid = getpid()};
        memcpy(w->handle, &handle, sizeof handle);
    }
    return (char *)at; /* NOLINT: an address of the device's */
}

void cuda_gpu_take_back(struct cuda_gpu *g, char *at)
{
    struct cuda_entry entry;

    if (!at || cuda_enter(g->cu, &g->place, &entry) < 0)
        return;
    g->cu->MemFree((CUdeviceptr)at);
    cuda_leave(g->cu, &entry);
}

char *cuda_gpu_reach(struct cuda_gpu *g, const struct device_window *w)
{
    struct cuda_entry entry;

    if (cuda_enter(g->cu, &g->place, &entry) < 0)
        return NULL;
    char *at = gpu_reach(g, w);
    cuda_leave(g->cu, &entry);
    return at;
}

void cuda_gpu_leave(struct cuda_gpu *g, char *at)
{
    if (at)
        gpu_leave(g, at);
}

struct device *cuda_gpu_begin(struct cuda_gpu *g, enum kernel_type type, enum kernel_op op)
{
    const struct cuda_calls *cu = g->cu;
    CUresult result;

    if (type != KERNEL_NONE) {
        g->type = (enum reduce_type)(types[type] - 1);
        g->op = (enum reduce_op)(ops[op] - 1);
    }
    if (cuda_enter(cu, &g->place, &g->entry) < 0)
        return NULL;
    result = cu->EventRecord(g->begun, CU_STREAM_LEGACY);
    for (int way = 0; way < WAYS && result == CUDA_SUCCESS; way++)
        result = cu->StreamWaitEvent(g->stream[way], g->begun, CU_EVENT_WAIT_DEFAULT);
    if (result == CUDA_SUCCESS)
        return &g->device;
    cuda_leave(cu, &g->entry);
    return NULL;
}

void cuda_gpu_end(struct cuda_gpu *g)
{
    cuda_leave(g->cu, &g->entry);
}
