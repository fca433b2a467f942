/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ranks of a collective on GPUs, all of them in one process and one thread: a struct device and
 * a struct xport each. Messages of device memory are copies from GPU to GPU, those of host memory
 * are done by this thread; so a plan meets the links it was made for.
 *
 * On the simulated driver, time is the model's. Jobs end in its order: the earliest one outstanding
 * is reported when nothing else can go on. Processors take no time. On a device, time is the
 * clock's. Rank r is on GPU r, or on one of those that there are.
 */
#ifndef COLLSHIM_BENCH_COLLABORATIVE_RIG_H
#define COLLSHIM_BENCH_COLLABORATIVE_RIG_H

#include "transports/cuda/cuda_reduce.h"
#include "transports/engine/engine.h"

enum { RIG_RANKS = 8, RIG_JOBS = 512 };
enum rig_way { RIG_DOWN, RIG_UP, RIG_INSIDE, RIG_WAYS };

struct rig_job {
    CUevent event;
    struct rig_rank *owner;
    struct rig_post *send, *receive; /* a copy between ranks: what it completes */
    uint64_t end_ns;                 /* of the model; 0: not known yet */
    enum { RIG_FREE, RIG_RUNNING, RIG_OVER } state;
};

/* A posted send or receive. */
struct rig_post {
    struct rig_post *next;
    const char *from;
    char *to;
    size_t length;
    const struct xport_reduce *combine; /* or NULL */
    struct xport_reduce reduce;
    int peer, tag;
    unsigned slot;
    int met, done;
};

struct rig_rank {
    struct rig *rig;
    int rank;
    CUcontext context;
    CUstream stream[RIG_WAYS], from[RIG_RANKS];
    struct cuda_reducer *reducer;
    struct rig_job job[RIG_JOBS];
    CUdeviceptr input, output, cell;
    size_t cell_bytes;
    char *host; /* pinned */
    struct rig_post *posts;
    struct device device;
    struct xport xport;
};

struct rig {
    const struct cuda_calls *cu;
    int n, simulated, devices;
    size_t bytes;
    CUevent zero;   /* time is counted from here */
    double start;   /* of the last run */
    double part[2]; /* seconds until the devices' part was done on all ranks, and the host's */
    struct rig_rank rank[RIG_RANKS];
};

/* n ranks with buffers of so many bytes. Ends the program with a line if the driver refuses; 77
   where there is none. */
void rig_open(struct rig *g, int n, size_t bytes);
void rig_close(struct rig *g);

/* Fill all inputs, run a plan per rank, and say how many seconds it took; negative if a rank's
   output is not the sum of all inputs. */
double rig_run(struct rig *g, const struct plan *const *plan);

/* For the rig's own files. The first ends the program with a line if a call of the driver's was
   refused. The others make a rank's device the current one, read the clock, and combine unsigned
   ints. */
void rig_must(CUresult result, const char *what);
#define MUST(call) rig_must(g->cu->call, #call)
void rig_enter(struct rig_rank *r);
double rig_clock_s(void);
void rig_sum_on_host(void *context, const void *a, const void *b, void *dst, size_t bytes);

/* rig_rates.c. Bytes per second of copies between two GPUs, of copies to the host, and of combining
   on a GPU. They are measured in chunks of that size, one behind the other: each takes its time to
   begin. */
double rig_rate_between(struct rig *g, size_t chunk);
double rig_rate_down(struct rig *g, size_t chunk);
double rig_rate_combining(struct rig *g, size_t chunk);
/* Seconds that a copy to the host takes to begin. */
double rig_latency_down(struct rig *g);
/* Rates of this thread: copying and combining in host memory, shared by all ranks; nearly infinite
   on the simulated driver. */
double rig_rate_processor(struct rig *g);

#endif
