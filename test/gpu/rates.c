/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The device's rates, printed, not judged. Bytes are those that device memory reads and writes; the
 * best of several runs, timed by events. On the simulated driver they are the model's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "test/gpu/gpu.h"
#include "transports/base/kernels.h"

#define RUNS 10

struct rig {
    CUstream stream;
    CUevent from, to;
    size_t bytes;
    CUdeviceptr device[CUDA_REDUCE_SOURCES + 1];
    void *host;
    struct cuda_reducer *reducer;
    double copy_rate; /* bytes/s of device to device, read and written */
};

struct run {
    void (*go)(struct rig *, const struct run *);
    enum reduce_op op;
    enum reduce_type type;
    uint32_t sources;
};

static void go_copy(struct rig *r, const struct run *run)
{
    (void)run;
    MUST(MemcpyDtoDAsync(r->device[0], r->device[1], r->bytes, r->stream));
}

static void go_up(struct rig *r, const struct run *run)
{
    (void)run;
    MUST(MemcpyHtoDAsync(r->device[0], r->host, r->bytes, r->stream));
}

static void go_down(struct rig *r, const struct run *run)
{
    (void)run;
    MUST(MemcpyDtoHAsync(r->host, r->device[0], r->bytes, r->stream));
}

static void go_reduce(struct rig *r, const struct run *run)
{
    struct cuda_reduce_args args = {.dst = (void *)r->device[CUDA_REDUCE_SOURCES],
                                    .count = r->bytes / reduce_type_bytes(run->type),
                                    .sources = run->sources};

    for (uint32_t s = 0; s < run->sources; s++)
        args.src[s] = (const void *)r->device[s];
    gpu_check(cuda_reduce(r->reducer, run->op, run->type, &args, r->stream) == 0, "a timed kernel");
}

static double seconds(struct rig *r, const struct run *run)
{
    float best = 1e30f, ms;

    for (int i = 0; i < RUNS + 2; i++) {
        MUST(EventRecord(r->from, r->stream));
        run->go(r, run);
        MUST(EventRecord(r->to, r->stream));
        MUST(EventSynchronize(r->to));
        MUST(EventElapsedTime(&ms, r->from, r->to));
        if (i >= 2 && ms < best)
            best = ms;
    }
    return (double)best / 1e3;
}

static void print_copy(struct rig *r, const char *name, const struct run *run, unsigned touched)
{
    double rate = (double)r->bytes * touched / seconds(r, run);

    if (run->go == go_copy)
        r->copy_rate = rate;
    printf("  %-28s %8.1f GB/s\n", name, rate / 1e9);
}

static void print_reduce(struct rig *r, enum reduce_op op, enum reduce_type type, uint32_t sources)
{
    struct run run = {go_reduce, op, type, sources};
    double rate = (double)r->bytes * (sources + 1) / seconds(r, &run);
    char name[64];

    snprintf(name, sizeof name, "%s of %s, %u sources", reduce_op_name(op), reduce_type_name(type),
             sources);
    printf("  %-28s %8.1f GB/s  %.2f of the device copy\n", name, rate / 1e9, rate / r->copy_rate);
}

/* The rate that the memory's clock and width allow: no copy reaches quite that. */
static void print_limit(void)
{
    int khz = 0, bits = 0;
    CUdevice d;

    MUST(CtxGetDevice(&d));
    if (cu->DeviceGetAttribute(&khz, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, d) == CUDA_SUCCESS &&
        cu->DeviceGetAttribute(&bits, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, d) ==
            CUDA_SUCCESS &&
        khz > 0 && bits > 0)
        printf("  %-28s %8.1f GB/s\n", "memory, two bits per clock",
               2e3 * khz * (double)bits / 8 / 1e9);
}

static double clock_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* One thread, by the loop of the host path; what that could count on per core. */
static void print_cpu(size_t bytes)
{
    kernel_fn add = kernel_find(KERNEL_F32, KERNEL_SUM);
    char *a = calloc(1, bytes), *b = malloc(bytes);
    double copied = 1e30, added = 1e30;

    for (int run = 0; a && b && run < 5; run++) {
        double start = clock_s(), half;

        memcpy(b, a, bytes);
        half = clock_s();
        add(a, b, a, bytes / sizeof(float));
        copied = half - start < copied ? half - start : copied;
        added = clock_s() - half < added ? clock_s() - half : added;
    }
    double copy_rate = 2.0 * (double)bytes / copied, add_rate = 3.0 * (double)bytes / added;
    if (a && b)
        printf("  %-28s %8.1f GB/s\n  %-28s %8.1f GB/s  %.2f of the CPU copy\n",
               "CPU copy, one thread", copy_rate / 1e9, "CPU sum of f32, one thread",
               add_rate / 1e9, add_rate / copy_rate);
    free(a);
    free(b);
}

void gpu_print_rates(void)
{
    static const struct {
        enum reduce_op op;
        enum reduce_type type;
        uint32_t sources;
    } kernels[] = {
        {REDUCE_OP_sum, REDUCE_TYPE_f32, 2},    {REDUCE_OP_sum, REDUCE_TYPE_f32, 4},
        {REDUCE_OP_sum, REDUCE_TYPE_f32, 8},    {REDUCE_OP_sum, REDUCE_TYPE_f64, 2},
        {REDUCE_OP_sum, REDUCE_TYPE_f16, 2},    {REDUCE_OP_sum, REDUCE_TYPE_bf16, 2},
        {REDUCE_OP_sum, REDUCE_TYPE_bf16, 8},   {REDUCE_OP_sum, REDUCE_TYPE_e4m3, 2},
        {REDUCE_OP_sum, REDUCE_TYPE_e5m2, 2},   {REDUCE_OP_max, REDUCE_TYPE_f32, 2},
        {REDUCE_OP_prod, REDUCE_TYPE_c64, 2},   {REDUCE_OP_sum, REDUCE_TYPE_i8, 2},
        {REDUCE_OP_scale, REDUCE_TYPE_bf16, 1}, {REDUCE_OP_bxor, REDUCE_TYPE_u8, 2},
    };
    int simulated = gpu_simulated("gpusim_violations") != NULL;
    struct rig r = {gpu_stream(), gpu_event(CU_EVENT_DEFAULT), gpu_event(CU_EVENT_DEFAULT),
                    .bytes = simulated ? 1u << 22 : 1u << 29};

    for (int i = 0; i <= CUDA_REDUCE_SOURCES; i++) {
        r.device[i] = gpu_alloc(r.bytes);
        MUST(MemsetD8Async(r.device[i], 0, r.bytes, r.stream));
    }
    r.host = gpu_pinned(r.bytes);
    memset(r.host, 0, r.bytes);
    printf("rates, %zu MiB per buffer%s\n", r.bytes >> 20, simulated ? ", simulated" : "");
    print_limit();
    print_copy(&r, "device copy", &(struct run){.go = go_copy}, 2);
    print_copy(&r, "pinned host to device", &(struct run){.go = go_up}, 1);
    print_copy(&r, "device to pinned host", &(struct run){.go = go_down}, 1);
    if (cuda_reducer_create(cu, &r.reducer) == 0)
        for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
            print_reduce(&r, kernels[i].op, kernels[i].type, kernels[i].sources);
    print_cpu(simulated ? 1u << 22 : 1u << 28);
    cuda_reducer_free(r.reducer);
    for (int i = 0; i <= CUDA_REDUCE_SOURCES; i++)
        MUST(MemFree(r.device[i]));
    MUST(MemFreeHost(r.host));
    MUST(EventDestroy(r.from));
    MUST(EventDestroy(r.to));
    MUST(StreamDestroy(r.stream));
}
