/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stream is a thread with a queue. Streams are slow in different ways when GPUSIM has a seed:
 * each is of one of three classes, since a program whose streams are all equally late shows few
 * faults.
 *
 * The legacy stream and blocking streams wait for each other as CUDA documents it.
 *
 * With CUDA_DEVICE_MAX_CONNECTIONS=1 all streams of a device share one queue to it (CUDA C++
 * Programming Guide, environment variables). A work begins once all before it in the queue have
 * begun. If one waits for its own stream, those behind it wait too.
 */
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "test/gpusim/sim.h"

#define MAGIC 0x73747265616d0001u
#define OVERHEAD_NS 2000 /* of any work: of the order that a device has */

__thread int sim_on_stream_thread;
static uint64_t streams_made;

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static void be_late(const struct stream *s, uint64_t n)
{
    static const long most_us[] = {0, 60, 600};
    uint64_t stream_class = mix(sim_config.seed ^ mix(s->number)) % 3;
    struct timespec pause = {0, 0};

    if (!sim_config.seed || !most_us[stream_class])
        return;
    pause.tv_nsec = (long)(mix(sim_config.seed + s->number * 7919 + n) %
                           (uint64_t)(most_us[stream_class] * 1000));
    nanosleep(&pause, NULL);
}

static struct work *take(struct stream *s)
{
    struct work *next;
    uint32_t ready;

    for (;;) {
        ready = __atomic_load_n(&s->ready, __ATOMIC_ACQUIRE);
        next = __atomic_load_n(&s->head->next, __ATOMIC_ACQUIRE);
        if (next)
            break;
        if (__atomic_load_n(&s->ending, __ATOMIC_ACQUIRE))
            return NULL;
        syscall(SYS_futex, &s->ready, FUTEX_WAIT_PRIVATE, ready, NULL, NULL, 0);
    }
    free(s->head);
    s->head = next;
    return next;
}

static void *run(void *argument)
{
    struct stream *s = argument;
    struct work *w;

    sim_on_stream_thread = 1;
    while ((w = take(s))) {
        uint64_t start = s->now > w->submitted_ns ? s->now : w->submitted_ns;

        be_late(s, w->ticket);
        if (w->place) {
            line_wait(&w->ctx->queue, w->place - 1);
            line_finish(&w->ctx->queue, w->place, start);
        }
        s->now = w->run(w, start + OVERHEAD_NS);
        for (int i = 0; i < WORK_AREAS; i++)
            area_done(w->areas[i]);
        line_finish(&s->line, w->ticket, s->now);
    }
    return NULL;
}

struct stream *stream_make(struct ctx *ctx, unsigned flags)
{
    struct stream *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->head = s->tail = calloc(1, sizeof *s->head);
    s->magic = MAGIC;
    s->ctx = ctx;
    s->flags = flags;
    s->number = __atomic_add_fetch(&streams_made, 1, __ATOMIC_RELAXED);
    pthread_mutex_init(&s->lock, NULL);
    if (!s->head || pthread_create(&s->thread, NULL, run, s)) {
        free(s->head);
        free(s);
        return NULL;
    }
    s->next = __atomic_load_n(&ctx->streams, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&ctx->streams, &s->next, s, 0, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
        ;
    return s;
}

/* One for each thread and device; it stays when the thread ends. */
static struct stream *stream_of_thread(struct ctx *c)
{
    static __thread struct stream *own[SIM_DEVICES];
    struct stream **s = &own[c->device];

    if (!*s)
        *s = stream_make(c, CU_STREAM_DEFAULT);
    return *s;
}

struct stream *stream_of(CUstream handle)
{
    struct stream *s = (struct stream *)handle;
    struct ctx *c = sim_current();

    if (!handle || handle == CU_STREAM_LEGACY)
        return c ? c->legacy : NULL;
    if (handle == CU_STREAM_PER_THREAD)
        return c ? stream_of_thread(c) : NULL;
    if (s->magic == MAGIC)
        return s;
    sim_violation("a stream is used that is not one");
    return NULL;
}

struct work *work_new(uint64_t (*run_it)(struct work *, uint64_t))
{
    struct work *w = calloc(1, sizeof *w);

    if (w)
        w->run = run_it;
    return w;
}

void work_drop(struct work *w)
{
    for (int i = 0; i < WORK_AREAS; i++)
        area_done(w->areas[i]);
    free(w);
}

static void queue(struct stream *s, struct work *w)
{
    w->ctx = s->ctx;
    w->submitted_ns = sim_host_now();
    pthread_mutex_lock(&s->lock);
    w->ticket = line_issue(&s->line);
    if (sim_config.one_queue)
        w->place = line_issue(&s->ctx->queue);
    __atomic_store_n(&s->tail->next, w, __ATOMIC_RELEASE);
    s->tail = w;
    __atomic_add_fetch(&s->ready, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&s->lock);
    syscall(SYS_futex, &s->ready, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static uint64_t run_wait(struct work *w, uint64_t start)
{
    uint64_t end = line_wait(w->line.line, w->line.ticket);

    return end > start ? end : start;
}

static void wait_for(struct stream *s, struct line *l)
{
    struct work *w = work_new(run_wait);

    if (!w)
        abort(); /* a test's process, out of memory */
    w->line.line = l;
    w->line.ticket = line_issued(l);
    queue(s, w);
}

static void order_legacy(struct stream *s)
{
    struct ctx *c = s->ctx;

    if (s->flags & CU_STREAM_NON_BLOCKING)
        return;
    if (s != c->legacy) {
        if (!line_is_done(&c->legacy->line, line_issued(&c->legacy->line)))
            wait_for(s, &c->legacy->line);
        return;
    }
    for (struct stream *o = __atomic_load_n(&c->streams, __ATOMIC_ACQUIRE); o; o = o->next)
        if (o != s && o->magic == MAGIC && !(o->flags & CU_STREAM_NON_BLOCKING))
            wait_for(s, &o->line);
}

CUresult stream_submit(struct stream *s, struct work *w)
{
    if (s->capture)
        return capture_add(s->capture, w);
    stream_queue(s, w);
    return CUDA_SUCCESS;
}

void stream_queue(struct stream *s, struct work *w)
{
    order_legacy(s);
    queue(s, w);
}

CUresult stream_drain(struct stream *s)
{
    if (s->capture)
        return capture_spoil(s->capture);
    sim_host_advance(line_wait(&s->line, line_issued(&s->line)));
    return __atomic_load_n(&s->ctx->sticky, __ATOMIC_RELAXED);
}

CUresult sim_StreamCreateWithPriority(CUstream *handle, unsigned flags, int priority)
{
    CUresult bad = sim_enter(SIM_StreamCreateWithPriority);
    struct ctx *c = sim_current();
    struct stream *s;

    (void)priority;
    if (bad || !c)
        return bad ? bad : CUDA_ERROR_INVALID_CONTEXT;
    if (flags & ~(unsigned)CU_STREAM_NON_BLOCKING)
        return CUDA_ERROR_INVALID_VALUE;
    s = stream_make(c, flags);
    *handle = (CUstream)s;
    sim_own(s != NULL);
    return s ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* The work queued is done first; the struct stays, so that a later use is seen to be one. */
CUresult sim_StreamDestroy(CUstream handle)
{
    CUresult bad = sim_enter(SIM_StreamDestroy);
    struct stream *s = bad || !handle ? NULL : stream_of(handle);

    if (!s)
        return bad ? bad : CUDA_ERROR_INVALID_HANDLE;
    __atomic_store_n(&s->ending, 1, __ATOMIC_RELEASE);
    __atomic_add_fetch(&s->ready, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &s->ready, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    pthread_join(s->thread, NULL);
    sim_own(-1);
    s->magic = 0;
    return CUDA_SUCCESS;
}

CUresult sim_StreamSynchronize(CUstream handle)
{
    CUresult bad = sim_enter(SIM_StreamSynchronize);
    struct stream *s = bad ? NULL : stream_of(handle);

    if (!s || sim_dropped(SIM_StreamSynchronize))
        return bad ? bad : s ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    return stream_drain(s);
}

CUresult sim_StreamQuery(CUstream handle)
{
    CUresult bad = sim_enter(SIM_StreamQuery);
    struct stream *s = bad ? NULL : stream_of(handle);

    if (!s)
        return bad ? bad : CUDA_ERROR_INVALID_HANDLE;
    if (s->capture)
        return capture_spoil(s->capture);
    return line_is_done(&s->line, line_issued(&s->line)) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult sim_StreamGetCtx(CUstream handle, CUcontext *ctx)
{
    CUresult bad = sim_enter(SIM_StreamGetCtx);
    struct stream *s = bad ? NULL : stream_of(handle);

    if (!s)
        return bad ? bad : CUDA_ERROR_INVALID_HANDLE;
    *ctx = (CUcontext)s->ctx;
    return CUDA_SUCCESS;
}

CUresult sim_CtxSynchronize(void)
{
    CUresult bad = sim_enter(SIM_CtxSynchronize);
    struct ctx *c = sim_current();

    if (bad || !c)
        return bad ? bad : CUDA_ERROR_INVALID_CONTEXT;
    for (struct stream *s = __atomic_load_n(&c->streams, __ATOMIC_ACQUIRE); s; s = s->next)
        if (s->magic == MAGIC)
            stream_drain(s);
    return __atomic_load_n(&c->sticky, __ATOMIC_RELAXED);
}
