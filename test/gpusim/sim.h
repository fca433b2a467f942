/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulated driver, for tests only: a libcuda.so.1 with several devices in host memory. See
 * README.md for what it models. Inside, every driver function is sim_NAME with the type the table
 * of calls gives it, and begins with sim_enter().
 *
 * Rule for the thread sanitizer: work that CUDA does not order must not be ordered here. Host to
 * stream: the queue's release. Stream to stream and stream to host: struct line alone. No lock is
 * shared between streams' threads, and none of theirs with the host's.
 */
#ifndef COLLSHIM_TEST_GPUSIM_SIM_H
#define COLLSHIM_TEST_GPUSIM_SIM_H

#include <cudaTypedefs.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "transports/cuda/cuda_reduce_args.h"

#define SIM_DEVICES 8
#define SIM_LOST CUDA_ERROR_ECC_UNCORRECTABLE /* the result of every call then */
#define SIM_EXPORT __attribute__((visibility("default")))

/* The functions --------------------------------------------------------------------------- */
enum sim_call {
#define CUDA_CALL(name, version) SIM_##name,
#include "transports/cuda/cuda_calls.def"
#undef CUDA_CALL
    SIM_CALLS
};
#define CUDA_CALL(name, version) __typeof__(*(PFN_cu##name##_v##version)0) sim_##name;
#include "transports/cuda/cuda_calls.def"
#undef CUDA_CALL

/* CUDA_SUCCESS, or what the call has to return at once: a fault to inject, not initialised, used
 * after fork, called from a host function. */
CUresult sim_enter(enum sim_call call);

/* After sim_enter: is this the call that is to do nothing? */
int sim_dropped(enum sim_call call);

/* One thing more (or less) that the program has to give back: memory, a stream, an event, a module.
 */
void sim_own(int more);

/* Something no correct program does: one line on stderr, and counted. */
__attribute__((format(printf, 1, 2))) void sim_violation(const char *format, ...);

/* The settings, from GPUSIM (config.c) ------------------------------------------------------ */
struct sim_config {
    int devices, mps, sm;
    uint64_t seed;              /* 0: no jitter */
    double hbm, peer, h2d, d2h; /* bytes/ns, that is GB/s */
    unsigned char no_peer[SIM_DEVICES][SIM_DEVICES];
    unsigned char over_pcie[SIM_DEVICES][SIM_DEVICES]; /* their link, else NVLink */
    int bus[SIM_DEVICES];                              /* PCI; 0: one of our own */
    struct {
        int call; /* -1: none */
        long nth; /* the nth call of it fails, from 1 */
        CUresult code;
        int happened; /* it has */
    } fail;
    int loses; /* the call that fails is the one at which the devices are lost */
    struct {
        int call; /* -1: none */
        long nth, of;
    } drop;          /* of every so many calls one does nothing and says that all is well */
    int real_clock;  /* of hosts: modelled time goes on while they do something else */
    uint64_t memory; /* of each device, as far as this process uses it; bytes */
    int one_queue;   /* CUDA_DEVICE_MAX_CONNECTIONS=1: stream.c */
    char share[256]; /* a file that processes which share devices name; "": this process alone */
};
extern struct sim_config sim_config;
int sim_config_read(const char *text);              /* 0, or -1 after a line on stderr */
int sim_call_find(const char *name, size_t length); /* -1 if there is none */

/* Modelled time (clock.c) --------------------------------------------------------------------- */
enum sim_link_kind { LINK_HBM, LINK_H2D, LINK_D2H, LINK_PEER };
int sim_clock_start(void);
/* Occupy a link with bytes from `start` on, in what it has free. Returns the end, ns. */
uint64_t sim_link_use(enum sim_link_kind kind, int device, int peer, uint64_t start,
                      uint64_t bytes);
uint64_t sim_host_now(void);
void sim_host_advance(uint64_t to); /* the host has waited until then */

/* Issued and finished work, in order -------------------------------------------------------------
 */
enum { LINE_TIMES = 16 };
struct line {
    uint32_t issued, done;
    uint64_t ns[LINE_TIMES]; /* modelled times of the last ones, by ticket */
};
uint32_t line_issue(struct line *l);
void line_finish(struct line *l, uint32_t ticket, uint64_t ns);
int line_is_done(const struct line *l, uint32_t ticket);
uint64_t line_wait(const struct line *l, uint32_t ticket); /* returns its time */
uint64_t line_time(const struct line *l,
                   uint32_t ticket); /* it is done; the last one's if long ago */
uint32_t line_issued(const struct line *l);

/* Devices and contexts (device.c)
 * ------------------------------------------------------------------ */
struct stream;
struct ctx {
    int device, retained;
    unsigned char peer[SIM_DEVICES]; /* access enabled to */
    struct stream *legacy;           /* the stream named NULL */
    struct stream *streams;          /* list */
    struct line queue;               /* where there is one: works issued, and those begun */
    CUresult sticky;                 /* after an illegal access: every later call gives it */
};
extern struct ctx sim_ctxs[SIM_DEVICES];
struct ctx *sim_current(void); /* NULL if none */
int sim_can_peer(int a, int b);

/* Memory (memory.c)
 * --------------------------------------------------------------------------------- */
enum area_kind {
    AREA_DEVICE,
    AREA_POOL,
    AREA_MANAGED,
    AREA_MAPPED, /* a part of a reservation (mapped.c) */
    AREA_IMPORT,
    AREA_PINNED,
    AREA_REGISTERED
};
struct area_header { /* the first page of a device allocation's file; shared by its importers */
    uint32_t imports, freed;
    uint64_t ns; /* modelled time of the last write of a stream's value */
};
struct area {
    struct area *next;
    uintptr_t base; /* the application's address: device memory allows no host access */
    size_t bytes;
    char *alias;                /* where the bytes are */
    struct area_header *header; /* NULL for host memory */
    int fd, device, refs;
    enum area_kind kind;
    int mapped; /* host memory: devices have it in their reach */
    uint64_t id;
    uint32_t users;         /* work under way */
    uintptr_t reserved;     /* MAPPED: where the reservation begins, */
    size_t reserved_bytes;  /* its length, */
    unsigned users_allowed; /* and a bit for each device that may use this part */
};
#define SIM_PAGE 4096
/* Take so much of a device's memory, or give it back (negative). Returns 0, or -1: there is not as
 * much. */
int sim_memory_take(int device, int64_t bytes);
int area_is_host(const struct area *a);
struct area *area_find(uintptr_t p); /* that holds p, or NULL */
void area_add(struct area *a);
void area_spoil(struct area *a); /* the contents of a fresh allocation are not defined */
void area_remove(struct area *a);
struct area *area_map(int fd, size_t bytes, int device, enum area_kind kind); /* NULL: no memory */
void area_unmap(struct area *a);
struct area *area_find_file(const void *key, int (*same)(const struct area *, const void *));
/* Check a range that work will touch and keep its area in use. Plain host memory gives *area NULL
 * and the pointer itself. Returns NULL for a range that runs over its area. */
char *area_use(uintptr_t p, size_t bytes, struct area **area);
/* Keep one in use that was so before. Returns 0, or -1: it has gone meanwhile. */
int area_use_again(struct area *a, uint64_t id);
void area_done(struct area *a); /* NULL is fine */
/* Before memory goes: a violation if work under way uses it. `what` does it. */
void area_settle(struct area *a, const char *what);
/* A lost device has nothing of other processes open any more. */
void area_lose_imports(void);
struct ctx;
/* May work of that context use the area, as far as MAPPED ones say? */
int area_allows(const struct area *a, const struct ctx *c);

/* Streams (stream.c)
 * ------------------------------------------------------------------------------------ */
#define PASS_AREAS (CUDA_REDUCE_SOURCES + 2)
#define WORK_AREAS (CUDA_REDUCE_PASSES * PASS_AREAS)
struct twin;
struct capture;
struct work {
    struct work *next;
    /* on the host, of work out of a graph, at each launch; NULL: it is the same each time */
    int (*again)(struct work *w);
    void *owned; /* freed with the graph that it is part of */
    /* on the stream's thread; returns the modelled end, ns */
    uint64_t (*run)(struct work *w, uint64_t start);
    struct ctx *ctx;
    uint64_t submitted_ns;
    uint32_t ticket, place; /* in its stream; in the device's one queue */
    struct area *areas[WORK_AREAS];
    union {
        struct {
            char *dst;
            const char *src;
            size_t bytes;
            int from, to; /* devices, -1 the host */
            int direct;
            void *staged; /* a copy of what src was at the call, or NULL */
        } copy;
        struct {
            char *dst;
            size_t bytes;
            int value;
        } set;
        struct {
            struct line *line;
            uint32_t ticket;
        } line;
        struct {
            uint32_t *at;
            uint32_t value;
            unsigned flags;
        } value;
        struct {
            const struct twin *twin;
            struct cuda_reduce_batch batch;
            unsigned blocks, rows, threads;
            uint64_t local, host, remote[SIM_DEVICES]; /* bytes */
        } launch;
        struct {
            CUhostFn function;
            void *data;
        } host;
        struct {
            uint64_t (*run)(void *data, uint64_t start);
            void *(*again)(void *data);
            void *data;
        } foreign;
        uintptr_t free;
    };
};

struct stream {
    struct stream *next;
    uint64_t magic;
    struct ctx *ctx;
    unsigned flags;
    struct capture *capture; /* it is part of; else NULL */
    uint64_t number;
    struct line line;
    struct work *tail; /* the host's end of the queue, under `lock` */
    struct work *head; /* the thread's end: the last work taken */
    uint32_t ready;    /* futex: works queued so far */
    int ending;
    pthread_mutex_t lock; /* hosts among themselves */
    pthread_t thread;
    uint64_t now; /* the thread's */
};

/* The stream of a handle in the current context (NULL: the legacy one), or NULL. */
struct stream *stream_of(CUstream handle);
struct stream *stream_make(struct ctx *ctx, unsigned flags);
struct work *work_new(uint64_t (*run)(struct work *, uint64_t));
/* Queue work; the stream owns it from here on, also on failure. */
CUresult stream_submit(struct stream *s, struct work *w);
/* Forget work that was not submitted. */
void work_drop(struct work *w);
CUresult stream_drain(struct stream *s);
/* The same whether or not the stream is in capture: what a launched graph does. */
void stream_queue(struct stream *s, struct work *w);
extern __thread int sim_on_stream_thread;

/* Graphs (graph.c): the work of a stream in capture, in the order of the calls.
 * ------------------------------------------------------------------------------------ */
/* A stream waits for what was captured: it becomes part of the capture. c: the event's, or NULL. */
CUresult capture_join(struct stream *s, struct capture *c);
/* Keep the work, which is the capture's from here on. */
CUresult capture_add(struct capture *c, struct work *w);
/* Something that no capture allows. Returns what the call has to. */
CUresult capture_spoil(struct capture *c);
/* For a call that waits or allocates: the same, if there is a capture that it must not meet. */
CUresult capture_check(enum sim_call call);

/* Kernels (twins.cpp)
 * -------------------------------------------------------------------------------------- */
struct twin {
    const char *name;
    void (*kernel)(struct cuda_reduce_batch);
    size_t element; /* bytes */
};
#ifdef __cplusplus
extern "C" {
#endif
extern const struct twin sim_twins[];
extern const int sim_twin_count;
void sim_twin_run(const struct twin *t, const struct cuda_reduce_batch *batch, unsigned blocks,
                  unsigned rows, unsigned threads);
#ifdef __cplusplus
}
#endif

#endif
