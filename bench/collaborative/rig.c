/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/collaborative/rig.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void rig_must(CUresult result, const char *what)
{
    if (result == CUDA_SUCCESS)
        return;
    fprintf(stderr, "bench_collaborative: %s: %s\n", what, cuda_result_name(result));
    exit(1);
}

double rig_clock_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t modelled_ns(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    uint64_t (*now)(void);

    *(void **)&now = dlsym(library, "gpusim_now_ns");
    return now();
}

static double now_s(const struct rig *g)
{
    return g->simulated ? (double)modelled_ns() / 1e9 : rig_clock_s();
}

void rig_enter(struct rig_rank *r)
{
    rig_must(r->rig->cu->CtxSetCurrent(r->context), "cuCtxSetCurrent");
}

static int on_host(const struct rig *g, const void *p)
{
    for (int i = 0; i < g->n; i++)
        if ((uintptr_t)p - (uintptr_t)g->rank[i].host < g->bytes)
            return 1;
    return 0;
}

/* ---- jobs ---- */

/* The last work put into the stream is a job of the rank's; its number, or -1. */
static int note_job(struct rig_rank *r, CUstream stream)
{
    struct rig *g = r->rig;

    for (int i = 0; i < RIG_JOBS; i++) {
        struct rig_job *j = &r->job[i];

        if (j->state != RIG_FREE)
            continue;
        *j = (struct rig_job){.event = j->event, .owner = r, .state = RIG_RUNNING};
        MUST(EventRecord(j->event, stream));
        return i;
    }
    return -1;
}

static void finish_job(struct rig_job *j)
{
    if (!j->send) {
        j->state = RIG_OVER;
        return;
    }
    j->send->done = j->receive->done = 1;
    j->state = RIG_FREE;
}

/* Wait until its end is known, without letting the modelled host go on. */
static void find_end(struct rig *g, struct rig_job *j)
{
    float ms;
    CUresult result;

    while ((result = g->cu->EventElapsedTime(&ms, g->zero, j->event)) == CUDA_ERROR_NOT_READY)
        ;
    rig_must(result, "cuEventElapsedTime");
    j->end_ns = (uint64_t)((double)ms * 1e6) + 1;
}

/* Report finished jobs: on a device all of them, otherwise the earliest. */
static void progress(struct rig *g)
{
    struct rig_job *first = NULL;

    for (int r = 0; r < g->n; r++)
        for (int i = 0; i < RIG_JOBS; i++) {
            struct rig_job *j = &g->rank[r].job[i];

            if (j->state != RIG_RUNNING)
                continue;
            if (!g->simulated) {
                if (g->cu->EventQuery(j->event) == CUDA_SUCCESS)
                    finish_job(j);
                continue;
            }
            if (!j->end_ns)
                find_end(g, j);
            if (!first || j->end_ns < first->end_ns)
                first = j;
        }
    if (!first)
        return;
    rig_enter(first->owner);
    MUST(EventSynchronize(first->event));
    finish_job(first);
}

/* ---- struct device ---- */

static int report(struct rig_rank *r, CUstream stream, unsigned *job)
{
    int number = note_job(r, stream);

    *job = (unsigned)number;
    return number < 0 ? -EAGAIN : 0;
}

static int rig_copy(void *state, void *dst, const void *src, size_t bytes, unsigned *job)
{
    struct rig_rank *r = state;
    struct rig *g = r->rig;
    CUstream stream = r->stream[on_host(g, dst) ? RIG_DOWN : on_host(g, src) ? RIG_UP : RIG_INSIDE];

    rig_enter(r);
    MUST(MemcpyAsync((CUdeviceptr)dst, (CUdeviceptr)src, bytes, stream));
    return report(r, stream, job);
}

static int rig_combine(void *state, const void *a, const void *b, void *dst, size_t bytes,
                       unsigned *job)
{
    struct rig_rank *r = state;
    struct cuda_reduce_args args = {.dst = dst, .src = {a, b}, .count = bytes / 4, .sources = 2};

    rig_enter(r);
    int rc = cuda_reduce(r->reducer, REDUCE_OP_sum, REDUCE_TYPE_u32, &args, r->stream[RIG_INSIDE]);
    return rc ? rc : report(r, r->stream[RIG_INSIDE], job);
}

static int rig_test(void *state, unsigned job)
{
    struct rig_rank *r = state;

    if (r->job[job].state != RIG_OVER)
        return 0;
    r->job[job].state = RIG_FREE;
    return 1;
}

/* On the GPU: what is combined there comes straight from the peer's. */
static void *rig_cells(void *state, size_t bytes)
{
    struct rig_rank *r = state;
    struct rig *g = r->rig;

    rig_enter(r);
    if (bytes > r->cell_bytes) {
        if (r->cell)
            MUST(MemFree(r->cell));
        MUST(MemAlloc(&r->cell, bytes));
        r->cell_bytes = bytes;
    }
    return (void *)r->cell; /* NOLINT: an address of the device's */
}

static void rig_settle(void *state)
{
    struct rig_rank *r = state;

    for (int way = 0; way < RIG_WAYS; way++)
        r->rig->cu->StreamSynchronize(r->stream[way]);
}

/* ---- struct xport ---- */

void rig_sum_on_host(void *context, const void *a, const void *b, void *dst, size_t bytes)
{
    const uint32_t *x = a, *y = b;
    uint32_t *to = dst;

    (void)context;
    for (size_t i = 0; i < bytes / sizeof *to; i++)
        to[i] = x[i] + y[i];
}

static void deliver(struct rig_rank *from, struct rig_post *send, struct rig_rank *to,
                    struct rig_post *receive)
{
    struct rig *g = to->rig;

    send->met = receive->met = 1;
    if (on_host(g, send->from)) {
        if (receive->combine)
            rig_sum_on_host(NULL, receive->reduce.own, send->from, receive->reduce.dst,
                            send->length);
        else
            memcpy(receive->to, send->from, send->length);
        send->done = receive->done = 1;
        return;
    }
    rig_enter(to);
    MUST(MemcpyPeerAsync((CUdeviceptr)receive->to, to->context, (CUdeviceptr)send->from,
                         from->context, send->length, to->from[from->rank]));
    int job = note_job(to, to->from[from->rank]);
    if (job < 0)
        rig_must(CUDA_ERROR_UNKNOWN, "more jobs than a rank can have");
    to->job[job].send = send;
    to->job[job].receive = receive;
}

static int post(struct rig_rank *r, struct rig_post p)
{
    struct rig_post *mine = malloc(sizeof *mine), **end = &r->posts;
    struct rig_rank *there = &r->rig->rank[p.peer];

    if (!mine)
        return -ENOMEM;
    *mine = p;
    if (mine->combine)
        mine->combine = &mine->reduce;
    while (*end)
        end = &(*end)->next;
    *end = mine;
    for (struct rig_post *o = there->posts; o; o = o->next)
        if (!o->met && o->peer == r->rank && o->tag == p.tag && !o->from != !p.from) {
            deliver(p.from ? r : there, p.from ? mine : o, p.from ? there : r, p.from ? o : mine);
            break;
        }
    return 0;
}

static int rig_send(void *state, unsigned slot, const void *buf, size_t length, int peer, int tag)
{
    return post(state, (struct rig_post){
                           .from = buf, .length = length, .slot = slot, .peer = peer, .tag = tag});
}

static int rig_recv(void *state, unsigned slot, void *buf, size_t length, int peer, int tag)
{
    return post(state, (struct rig_post){
                           .to = buf, .length = length, .slot = slot, .peer = peer, .tag = tag});
}

static int always(void *state, int peer, int tag)
{
    (void)state, (void)peer, (void)tag;
    return 1;
}

static int rig_recv_reduce(void *state, unsigned slot, const struct xport_reduce *r, int peer,
                           int tag)
{
    return post(state, (struct rig_post){.to = r->dst,
                                         .length = r->length,
                                         .combine = r,
                                         .reduce = *r,
                                         .slot = slot,
                                         .peer = peer,
                                         .tag = tag});
}

static int rig_poll(void *state, unsigned *done, unsigned *ndone)
{
    struct rig_rank *r = state;

    *ndone = 0;
    for (struct rig_post **at = &r->posts; *at;) {
        struct rig_post *p = *at;

        if (!p->done) {
            at = &p->next;
            continue;
        }
        done[(*ndone)++] = p->slot;
        *at = p->next;
        free(p);
    }
    return 0;
}

static int rig_reserve(void *state, unsigned nslots)
{
    (void)state, (void)nslots;
    return 0;
}

static void rig_abandon(void *state)
{
    (void)state; /* the program ends */
}

/* ---- ranks ---- */

static void make_rank(struct rig *g, int rank)
{
    struct rig_rank *r = &g->rank[rank];
    void *host;
    CUdevice d;

    *r = (struct rig_rank){.rig = g, .rank = rank};
    MUST(DeviceGet(&d, rank % g->devices));
    MUST(DevicePrimaryCtxRetain(&r->context, d));
    rig_enter(r);
    for (int i = 0; i < RIG_WAYS; i++)
        MUST(StreamCreateWithPriority(&r->stream[i], CU_STREAM_NON_BLOCKING, 0));
    for (int i = 0; i < g->n; i++)
        MUST(StreamCreateWithPriority(&r->from[i], CU_STREAM_NON_BLOCKING, 0));
    for (int i = 0; i < RIG_JOBS; i++)
        MUST(EventCreate(&r->job[i].event, CU_EVENT_DEFAULT));
    MUST(MemAlloc(&r->input, g->bytes));
    MUST(MemAlloc(&r->output, g->bytes));
    MUST(MemHostAlloc(&host, g->bytes, CU_MEMHOSTALLOC_PORTABLE));
    r->host = host;
    if (cuda_reducer_create(g->cu, &r->reducer))
        rig_must(CUDA_ERROR_NOT_SUPPORTED, "kernels");
    r->device = (struct device){.state = r,
                                .copy = rig_copy,
                                .combine = rig_combine,
                                .test = rig_test,
                                .cells = rig_cells,
                                .settle = rig_settle};
    r->xport = (struct xport){.name = "rig",
                              .state = r,
                              .send = rig_send,
                              .recv = rig_recv,
                              .reduces = always,
                              .recv_reduce = rig_recv_reduce,
                              .moves_device = always,
                              .poll = rig_poll,
                              .reserve = rig_reserve,
                              .abandon = rig_abandon};
}

void rig_open(struct rig *g, int n, size_t bytes)
{
    *g = (struct rig){.cu = cuda_open(CUDA_LOAD), .n = n, .bytes = bytes};
    if (!g->cu || g->cu->Init(0) == CUDA_ERROR_NO_DEVICE) {
        printf("skip: %s\n", g->cu ? "no device" : cuda_missing());
        exit(77);
    }
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    g->simulated = library && dlsym(library, "gpusim_now_ns");
    MUST(DeviceGetCount(&g->devices));
    for (int r = 0; r < n; r++)
        make_rank(g, r);
    for (int r = 0; r < n; r++)
        for (int p = 0; p < n; p++) {
            rig_enter(&g->rank[r]);
            if (g->rank[r].context != g->rank[p].context)
                g->cu->CtxEnablePeerAccess(g->rank[p].context, 0); /* else by way of the host */
        }
    rig_enter(&g->rank[0]);
    MUST(EventCreate(&g->zero, CU_EVENT_DEFAULT));
    MUST(EventRecord(g->zero, g->rank[0].stream[RIG_INSIDE]));
    MUST(EventSynchronize(g->zero));
}

void rig_close(struct rig *g)
{
    for (int i = 0; i < g->n; i++) {
        struct rig_rank *r = &g->rank[i];

        rig_enter(r);
        for (int k = 0; k < RIG_JOBS; k++)
            MUST(EventDestroy(r->job[k].event));
        for (int k = 0; k < RIG_WAYS; k++)
            MUST(StreamDestroy(r->stream[k]));
        for (int k = 0; k < g->n; k++)
            MUST(StreamDestroy(r->from[k]));
        cuda_reducer_free(r->reducer);
        MUST(MemFree(r->input));
        MUST(MemFree(r->output));
        if (r->cell)
            MUST(MemFree(r->cell));
        MUST(MemFreeHost(r->host));
    }
    MUST(EventDestroy(g->zero));
}

/* ---- running ---- */

static uint32_t contribution(int rank, size_t i)
{
    return (uint32_t)(i + 1) * 2654435761u * (uint32_t)(rank + 1);
}

static void fill(struct rig *g, size_t bytes)
{
    for (int r = 0; r < g->n; r++) {
        uint32_t *host = (uint32_t *)(void *)g->rank[r].host;

        for (size_t i = 0; i < bytes / 4; i++)
            host[i] = contribution(r, i);
        rig_enter(&g->rank[r]);
        MUST(MemcpyHtoD(g->rank[r].input, host, bytes));
        memset(host, 0xdd, bytes);
        MUST(MemcpyHtoD(g->rank[r].output, host, bytes));
    }
}

static int is_right(struct rig *g, size_t bytes)
{
    int right = 1;

    for (int r = 0; r < g->n; r++) {
        const uint32_t *host = (const uint32_t *)(void *)g->rank[r].host;

        rig_enter(&g->rank[r]);
        MUST(MemcpyDtoH(g->rank[r].host, g->rank[r].output, bytes));
        for (size_t i = 0; right && i < bytes / 4; i++) {
            uint32_t want = 0;

            for (int p = 0; p < g->n; p++)
                want += contribution(p, i);
            right = host[i] == want;
        }
    }
    return right;
}

static void note_part(void *context, int host)
{
    struct rig *g = context;

    g->part[host] = now_s(g) - g->start;
}

static void begin(struct rig_rank *r, const struct plan *plan, struct engine **e)
{
    struct engine_buffers buffers = {.input = (void *)r->input, /* NOLINT: the device's */
                                     .output = (void *)r->output,
                                     .host = r->host,
                                     .combine = rig_sum_on_host,
                                     .grain = 4,
                                     .device = &r->device,
                                     .part_done = note_part,
                                     .part_context = r->rig};

    if (engine_create(plan, &r->xport, e) || engine_begin(*e, &buffers))
        rig_must(CUDA_ERROR_OUT_OF_MEMORY, "an engine");
}

double rig_run(struct rig *g, const struct plan *const *plan)
{
    struct engine *engine[RIG_RANKS];
    int running[RIG_RANKS], left = g->n;

    fill(g, plan[0]->output_bytes);
    g->start = now_s(g);
    g->part[0] = g->part[1] = 0;
    for (int r = 0; r < g->n; r++) {
        begin(&g->rank[r], plan[r], &engine[r]);
        running[r] = 1;
    }
    while (left) {
        int moved = 0;

        for (int r = 0; r < g->n; r++) {
            enum engine_state state = ENGINE_DONE;

            if (!running[r])
                continue;
            if (engine_step(engine[r], &state))
                rig_must(CUDA_ERROR_UNKNOWN, "engine_step");
            moved |= state != ENGINE_IDLE;
            running[r] = state != ENGINE_DONE;
            left -= !running[r];
        }
        if (!moved || !g->simulated)
            progress(g);
    }
    double seconds = now_s(g) - g->start;
    for (int r = 0; r < g->n; r++)
        engine_free(engine[r]);
    return is_right(g, plan[0]->output_bytes) ? seconds : -1;
}
