/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Capture and graphs. A graph is the captured work of all its streams in the order of the calls,
 * which is one that CUDA may choose; a launch queues copies of it on one stream. Records and waits
 * inside a capture need no work therefore, only those that are external to it.
 *
 * A graph does not hold the memory it works on: what has been freed before a launch is a violation.
 */
#include <pthread.h>
#include <stdlib.h>

#include "test/gpusim/sim.h"

#define GRAPH_MAGIC 0x67726170680001u
#define EXEC_MAGIC 0x65786563750001u

struct node {
    struct node *next;
    struct work *work;       /* owned; never run itself */
    uint64_t id[WORK_AREAS]; /* of its areas, which it does not use until it is launched */
};

struct capture { /* and the graph that comes of it; both stay, so that a later use is seen */
    uint64_t magic;
    struct stream *origin;
    pthread_t thread;
    CUstreamCaptureMode mode;
    int spoilt, ended;
    int users; /* the graph and what is made of it */
    struct node *first, **end;
    struct capture *next; /* among those under way, or ended */
};

struct exec {
    uint64_t magic;
    struct capture *graph;
    struct line line; /* launches of one do not overlap */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* hosts among themselves */
static struct capture *under_way, *ended;

static CUresult release(struct capture *c)
{
    if (__atomic_sub_fetch(&c->users, 1, __ATOMIC_ACQ_REL))
        return CUDA_SUCCESS;
    for (struct node *n = c->first, *next; n; n = next) {
        next = n->next;
        free(n->work->owned);
        free(n->work);
        free(n);
    }
    c->first = NULL;
    return CUDA_SUCCESS;
}

CUresult capture_spoil(struct capture *c)
{
    c->spoilt = 1;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult capture_join(struct stream *s, struct capture *c)
{
    if (s->capture == c)
        return CUDA_SUCCESS;
    if (s->capture || c->ended) {
        if (s->capture)
            capture_spoil(s->capture);
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    s->capture = c;
    return CUDA_SUCCESS;
}

CUresult capture_add(struct capture *c, struct work *w)
{
    struct node *n = c->spoilt ? NULL : calloc(1, sizeof *n);

    if (!n) {
        free(w->owned);
        work_drop(w);
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    n->work = w;
    for (int i = 0; i < WORK_AREAS; i++) {
        n->id[i] = w->areas[i] ? w->areas[i]->id : 0;
        area_done(w->areas[i]);
    }
    *c->end = n;
    c->end = &n->next;
    return CUDA_SUCCESS;
}

/* Calls that may wait for the device or change it as a whole. */
static int is_unsafe(enum sim_call call)
{
    static const unsigned char calls[SIM_CALLS] = {
        [SIM_MemAlloc] = 1,          [SIM_MemAllocManaged] = 1, [SIM_MemFree] = 1,
        [SIM_MemHostAlloc] = 1,      [SIM_MemFreeHost] = 1,     [SIM_MemHostRegister] = 1,
        [SIM_MemHostUnregister] = 1, [SIM_MemcpyHtoD] = 1,      [SIM_MemcpyDtoH] = 1,
        [SIM_CtxSynchronize] = 1,    [SIM_EventQuery] = 1,      [SIM_EventSynchronize] = 1,
        [SIM_ModuleLoadData] = 1,    [SIM_ModuleUnload] = 1,    [SIM_IpcOpenMemHandle] = 1,
    };

    return calls[call];
}

/* Unsafe calls of this thread: the captures they must not meet. */
static __thread CUstreamCaptureMode own_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

static int meets(const struct capture *c)
{
    if (own_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return 0;
    if (pthread_equal(c->thread, pthread_self()))
        return c->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    return c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL && own_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

CUresult sim_ThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    CUresult bad = sim_enter(SIM_ThreadExchangeStreamCaptureMode);
    CUstreamCaptureMode before = own_mode;

    if (bad)
        return bad;
    own_mode = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}

CUresult capture_check(enum sim_call call)
{
    CUresult bad = CUDA_SUCCESS;

    if (!__atomic_load_n(&under_way, __ATOMIC_RELAXED) || !is_unsafe(call))
        return CUDA_SUCCESS;
    pthread_mutex_lock(&lock);
    for (struct capture *c = under_way; c; c = c->next)
        if (meets(c))
            bad = capture_spoil(c);
    pthread_mutex_unlock(&lock);
    return bad;
}

CUresult sim_StreamBeginCapture(CUstream handle, CUstreamCaptureMode mode)
{
    CUresult bad = sim_enter(SIM_StreamBeginCapture);
    struct stream *s = bad || !handle ? NULL : stream_of(handle);
    struct capture *c;

    if (!s || s == s->ctx->legacy)
        return bad ? bad : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (s->capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    c = calloc(1, sizeof *c);
    if (!c)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *c = (struct capture){.magic = GRAPH_MAGIC,
                          .origin = s,
                          .thread = pthread_self(),
                          .mode = mode,
                          .users = 1,
                          .end = &c->first};
    s->capture = c;
    pthread_mutex_lock(&lock);
    c->next = under_way;
    __atomic_store_n(&under_way, c, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

CUresult sim_StreamEndCapture(CUstream handle, CUgraph *graph)
{
    CUresult bad = sim_enter(SIM_StreamEndCapture);
    struct stream *s = bad || !handle ? NULL : stream_of(handle);
    struct capture *c = s ? s->capture : NULL, **at = &under_way;

    if (!c || c->origin != s)
        return bad ? bad : CUDA_ERROR_ILLEGAL_STATE;
    if (c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && !pthread_equal(c->thread, pthread_self()))
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    pthread_mutex_lock(&lock);
    while (*at != c)
        at = &(*at)->next;
    __atomic_store_n(at, c->next, __ATOMIC_RELAXED);
    c->next = ended;
    ended = c;
    c->ended = 1;
    pthread_mutex_unlock(&lock);
    for (struct stream *o = __atomic_load_n(&s->ctx->streams, __ATOMIC_ACQUIRE); o; o = o->next)
        if (o->capture == c)
            o->capture = NULL;
    *graph = NULL;
    if (c->spoilt) {
        release(c);
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    sim_own(1);
    *graph = (CUgraph)c;
    return CUDA_SUCCESS;
}

CUresult sim_StreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status)
{
    CUresult bad = sim_enter(SIM_StreamIsCapturing);
    struct stream *s = bad ? NULL : stream_of(handle);

    if (!s)
        return bad ? bad : CUDA_ERROR_INVALID_HANDLE;
    *status = !s->capture          ? CU_STREAM_CAPTURE_STATUS_NONE
              : s->capture->spoilt ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                   : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return CUDA_SUCCESS;
}

CUresult sim_GraphInstantiateWithFlags(CUgraphExec *handle, CUgraph graph, unsigned long long flags)
{
    CUresult bad = sim_enter(SIM_GraphInstantiateWithFlags);
    struct capture *c = (struct capture *)graph;
    struct exec *e;

    if (bad || !c || c->magic != GRAPH_MAGIC || flags)
        return bad ? bad : CUDA_ERROR_INVALID_VALUE;
    e = calloc(1, sizeof *e);
    if (!e)
        return CUDA_ERROR_OUT_OF_MEMORY;
    __atomic_add_fetch(&c->users, 1, __ATOMIC_RELAXED);
    e->magic = EXEC_MAGIC;
    e->graph = c;
    *handle = (CUgraphExec)e;
    sim_own(1);
    return CUDA_SUCCESS;
}

/* A copy for one launch; NULL: what it needs is not there any more. */
static struct work *again(const struct node *n)
{
    struct work *w = malloc(sizeof *w);

    if (!w)
        abort(); /* a test's process, out of memory */
    *w = *n->work;
    for (int i = 0; i < WORK_AREAS; i++)
        if (w->areas[i] && area_use_again(w->areas[i], n->id[i]) < 0) {
            sim_violation("a graph is launched whose memory has been freed");
            w->areas[i] = NULL;
            work_drop(w);
            return NULL;
        }
    if (w->again && w->again(w) < 0) {
        work_drop(w);
        return NULL;
    }
    return w;
}

static uint64_t run_begin(struct work *w, uint64_t start)
{
    uint64_t end = line_wait(w->line.line, w->line.ticket);

    return end > start ? end : start;
}

static uint64_t run_end(struct work *w, uint64_t start)
{
    line_finish(w->line.line, w->line.ticket, start);
    return start;
}

static void mark(struct stream *s, struct line *l, int end)
{
    struct work *w = work_new(end ? run_end : run_begin);

    if (!w)
        abort();
    w->line.line = l;
    w->line.ticket = end ? line_issue(l) : line_issued(l);
    stream_queue(s, w);
}

CUresult sim_GraphLaunch(CUgraphExec handle, CUstream stream)
{
    CUresult bad = sim_enter(SIM_GraphLaunch);
    struct stream *s = bad ? NULL : stream_of(stream);
    struct exec *e = (struct exec *)handle;

    if (!s || !e || e->magic != EXEC_MAGIC)
        return bad ? bad : CUDA_ERROR_INVALID_VALUE;
    if (s->capture)
        return capture_spoil(s->capture); /* a graph inside a graph is not simulated */
    mark(s, &e->line, 0);
    for (const struct node *n = e->graph->first; n && !bad; n = n->next) {
        struct work *w = again(n);

        if (w)
            stream_queue(s, w);
        else
            bad = CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    mark(s, &e->line, 1);
    return bad;
}

CUresult sim_GraphDestroy(CUgraph graph)
{
    CUresult bad = sim_enter(SIM_GraphDestroy);
    struct capture *c = (struct capture *)graph;

    if (bad || !c || c->magic != GRAPH_MAGIC)
        return bad ? bad : CUDA_ERROR_INVALID_VALUE;
    c->magic = 0;
    sim_own(-1);
    return release(c);
}

/* A launch that is under way goes on: it has copies of all. */
CUresult sim_GraphExecDestroy(CUgraphExec handle)
{
    CUresult bad = sim_enter(SIM_GraphExecDestroy);
    struct exec *e = (struct exec *)handle;

    if (bad || !e || e->magic != EXEC_MAGIC)
        return bad ? bad : CUDA_ERROR_INVALID_VALUE;
    e->magic = 0;
    sim_own(-1);
    return release(e->graph);
}
