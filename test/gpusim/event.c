/* SPDX-License-Identifier: BSD-3-Clause */
/* Events. A wait binds to the record that was called last, at the time of the call. */
#define _GNU_SOURCE /* memfd_create */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test/gpusim/sim.h"

#define MAGIC 0x6576656e74000002u

struct event {
    struct event *next; /* among the destroyed ones */
    uint64_t magic;
    struct ctx *ctx;
    unsigned flags;
    struct line *line;       /* for other processes: in a file of its own */
    int fd;                  /* -1 if not exported by this process */
    struct capture *capture; /* of which the last record became part; else NULL */
};

struct event_handle {
    uint64_t magic;
    int pid, fd;
};

static struct event *destroyed; /* kept, so that a later use is seen to be one */

static struct event *event_of(CUevent handle)
{
    struct event *e = (struct event *)handle;

    if (e && e->magic == MAGIC)
        return e;
    sim_violation("an event is used that is not one");
    return NULL;
}

static struct line *map_line(int fd)
{
    void *at = mmap(NULL, sizeof(struct line), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    return at == MAP_FAILED ? NULL : at;
}

static struct event *event_make(struct ctx *c, unsigned flags)
{
    struct event *e = calloc(1, sizeof *e);

    if (!e)
        return NULL;
    e->magic = MAGIC;
    e->ctx = c;
    e->flags = flags;
    e->fd = -1;
    return e;
}

CUresult sim_EventCreate(CUevent *handle, unsigned flags)
{
    CUresult bad = sim_enter(SIM_EventCreate);
    struct ctx *c = sim_current();
    struct event *e;

    if (bad || !c)
        return bad ? bad : CUDA_ERROR_INVALID_CONTEXT;
    if ((flags & CU_EVENT_INTERPROCESS) && !(flags & CU_EVENT_DISABLE_TIMING))
        return CUDA_ERROR_INVALID_VALUE;
    e = event_make(c, flags);
    if (!e)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (flags & CU_EVENT_INTERPROCESS) {
        e->fd = memfd_create("gpusim-event", MFD_CLOEXEC);
        if (e->fd >= 0 && ftruncate(e->fd, sizeof *e->line) == 0)
            e->line = map_line(e->fd);
    } else {
        e->line = calloc(1, sizeof *e->line);
    }
    *handle = (CUevent)e;
    sim_own(e->line != NULL);
    return e->line ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* Queued waits and records still use the line: it is not given back. */
CUresult sim_EventDestroy(CUevent handle)
{
    CUresult bad = sim_enter(SIM_EventDestroy);
    struct event *e = bad ? NULL : event_of(handle);

    if (!e)
        return bad ? bad : CUDA_ERROR_INVALID_HANDLE;
    if (e->fd >= 0)
        close(e->fd);
    e->magic = 0;
    sim_own(-1);
    e->next = __atomic_load_n(&destroyed, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&destroyed, &e->next, e, 0, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
        ;
    return CUDA_SUCCESS;
}

static uint64_t run_record(struct work *w, uint64_t start)
{
    line_finish(w->line.line, w->line.ticket, start);
    return start;
}

/* A launch counts as a call of all records and waits in the graph. */
static int record_again(struct work *w)
{
    w->line.ticket = line_issue(w->line.line);
    return 0;
}

static int wait_again(struct work *w)
{
    w->line.ticket = line_issued(w->line.line);
    return 0;
}

static CUresult record(enum sim_call call, CUevent handle, CUstream stream, int external)
{
    CUresult bad = sim_enter(call);
    struct event *e = bad ? NULL : event_of(handle);
    struct stream *s = bad ? NULL : stream_of(stream);
    struct work *w;

    if (!e || !s || sim_dropped(call))
        return bad ? bad : e && s ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    if (external && !s->capture)
        return CUDA_ERROR_INVALID_VALUE;
    if (e->ctx != s->ctx) {
        sim_violation("an event is recorded in a stream of another context");
        return CUDA_ERROR_INVALID_HANDLE;
    }
    e->capture = external ? NULL : s->capture;
    if (e->capture) /* the order of the calls is the graph's */
        return CUDA_SUCCESS;
    w = work_new(run_record);
    if (!w)
        return CUDA_ERROR_OUT_OF_MEMORY;
    w->again = record_again;
    w->line.line = e->line;
    if (!external)
        record_again(w);
    return stream_submit(s, w);
}

CUresult sim_EventRecord(CUevent handle, CUstream stream)
{
    return record(SIM_EventRecord, handle, stream, 0);
}

CUresult sim_EventRecordWithFlags(CUevent handle, CUstream stream, unsigned flags)
{
    return record(SIM_EventRecordWithFlags, handle, stream, flags == CU_EVENT_RECORD_EXTERNAL);
}

static uint64_t run_wait(struct work *w, uint64_t start)
{
    uint64_t end = line_wait(w->line.line, w->line.ticket);

    return end > start ? end : start;
}

CUresult sim_StreamWaitEvent(CUstream stream, CUevent handle, unsigned flags)
{
    CUresult bad = sim_enter(SIM_StreamWaitEvent);
    struct event *e = bad ? NULL : event_of(handle);
    struct stream *s = bad ? NULL : stream_of(stream);
    struct work *w;

    if (!e || !s || sim_dropped(SIM_StreamWaitEvent))
        return bad ? bad : e && s ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    if (flags == CU_EVENT_WAIT_EXTERNAL && !s->capture)
        return CUDA_ERROR_INVALID_VALUE;
    if (flags != CU_EVENT_WAIT_EXTERNAL && (e->capture || s->capture))
        return capture_join(s, e->capture);
    w = work_new(run_wait);
    if (!w)
        return CUDA_ERROR_OUT_OF_MEMORY;
    w->again = wait_again;
    w->line.line = e->line;
    wait_again(w);
    return stream_submit(s, w);
}

CUresult sim_EventQuery(CUevent handle)
{
    CUresult bad = sim_enter(SIM_EventQuery);
    struct event *e = bad ? NULL : event_of(handle);

    if (!e || sim_dropped(SIM_EventQuery))
        return bad ? bad : e ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    if (e->capture)
        return CUDA_ERROR_CAPTURED_EVENT;
    return line_is_done(e->line, line_issued(e->line)) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult sim_EventSynchronize(CUevent handle)
{
    CUresult bad = sim_enter(SIM_EventSynchronize);
    struct event *e = bad ? NULL : event_of(handle);

    if (!e)
        return bad ? bad : CUDA_ERROR_INVALID_HANDLE;
    if (e->capture)
        return CUDA_ERROR_CAPTURED_EVENT;
    sim_host_advance(line_wait(e->line, line_issued(e->line)));
    return CUDA_SUCCESS;
}

CUresult sim_EventElapsedTime(float *ms, CUevent from, CUevent to)
{
    CUresult bad = sim_enter(SIM_EventElapsedTime);
    struct event *a = bad ? NULL : event_of(from), *b = bad ? NULL : event_of(to);

    if (!a || !b)
        return bad ? bad : CUDA_ERROR_INVALID_HANDLE;
    if ((a->flags | b->flags) & CU_EVENT_DISABLE_TIMING || !line_issued(a->line) ||
        !line_issued(b->line))
        return CUDA_ERROR_INVALID_HANDLE;
    if (!line_is_done(a->line, line_issued(a->line)) ||
        !line_is_done(b->line, line_issued(b->line)))
        return CUDA_ERROR_NOT_READY;
    *ms = (float)(((double)line_time(b->line, b->line->done) -
                   (double)line_time(a->line, a->line->done)) /
                  1e6);
    return CUDA_SUCCESS;
}

CUresult sim_IpcGetEventHandle(CUipcEventHandle *out, CUevent handle)
{
    CUresult bad = sim_enter(SIM_IpcGetEventHandle);
    struct event *e = bad ? NULL : event_of(handle);
    struct event_handle h;

    if (!e || e->fd < 0)
        return bad ? bad : CUDA_ERROR_INVALID_HANDLE;
    h = (struct event_handle){MAGIC, getpid(), e->fd};
    memset(out, 0, sizeof *out);
    memcpy(out, &h, sizeof h);
    return CUDA_SUCCESS;
}

CUresult sim_IpcOpenEventHandle(CUevent *handle, CUipcEventHandle in)
{
    CUresult bad = sim_enter(SIM_IpcOpenEventHandle);
    struct ctx *c = sim_current();
    struct event_handle h;
    struct event *e;
    char path[64];
    int fd;

    memcpy(&h, &in, sizeof h);
    if (bad || !c)
        return bad ? bad : CUDA_ERROR_INVALID_CONTEXT;
    if (h.magic != MAGIC || h.pid == getpid())
        return CUDA_ERROR_INVALID_HANDLE;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", h.pid, h.fd);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return CUDA_ERROR_MAP_FAILED;
    e = event_make(c, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
    if (e)
        e->line = map_line(fd);
    close(fd);
    if (!e || !e->line)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *handle = (CUevent)e;
    sim_own(1);
    return CUDA_SUCCESS;
}
