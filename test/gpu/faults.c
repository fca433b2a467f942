/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every call of the driver that a struct device makes, failing one after the other, and each of
 * them as the one at which the device is lost: an error or the right result, an end, and everything
 * given back. On the simulated driver alone.
 */
#include <errno.h>
#include <string.h>

#include "test/gpu/gpu.h"
#include "transports/cuda/cuda_memory.h"

enum { COUNT = 1000, BYTES = COUNT * sizeof(int32_t) };

/* The application's buffers. */
struct given {
    CUdeviceptr a, b;
};

/* Wait for a job: 0, or the device's code. */
static int finish(struct device *d, int rc, unsigned job)
{
    while (rc == 0 && (rc = d->test(d->state, job)) == 0)
        ;
    return rc > 0 ? 0 : rc;
}

/* b = a + a, by a cell, and once through what other processes would see. */
static int use(struct device *d, const struct given *g)
{
    int32_t *cell = d->cells(d->state, BYTES);
    struct device_window w;
    unsigned job = 0;
    int rc = cell ? d->copy(d->state, cell, (void *)g->a, BYTES, &job) : -ENOMEM;

    rc = finish(d, rc, job);
    if (!rc)
        rc = finish(d, d->combine(d->state, (void *)g->a, cell, (void *)g->b, BYTES, &job), job);
    char *window = rc ? NULL : d->window(d->state, &w);
    if (window)
        rc = finish(d, d->copy(d->state, window, (void *)g->b, BYTES, &job), job);
    if (window && !rc)
        rc = finish(d, d->copy(d->state, (void *)g->b, window, BYTES, &job), job);
    return rc;
}

/* The shim's work for a call, with all its memory. */
static int call(struct cuda_gpu *gpu, const struct given *g)
{
    int rc = -EIO;

    if (!cuda_gpu_combines(gpu, KERNEL_I32, KERNEL_SUM) || !cuda_gpu_scratch(gpu, BYTES) ||
        !cuda_gpu_pinned(gpu, BYTES))
        return rc;
    struct device *d = cuda_gpu_begin(gpu, KERNEL_I32, KERNEL_SUM);
    if (!d)
        return rc;
    rc = use(d, g);
    if (rc)
        d->settle(d->state);
    cuda_gpu_end(gpu);
    return rc;
}

/* A communicator's life with two calls: 0, or an error. Both are made, after any result of the
   first. */
static int live(const struct given *g, int32_t *result)
{
    struct cuda_gpu *gpu = NULL;
    struct cuda_place place;
    int rc, first;

    if (!cuda_place_of((void *)g->a, &place))
        return -EIO;
    rc = cuda_gpu_open(&place, &gpu);
    if (rc)
        return rc;
    first = call(gpu, g);
    rc = call(gpu, g);
    if (!rc)
        rc = cuda_move(&place, result, (void *)g->b, BYTES);
    cuda_gpu_close(gpu);
    return first ? first : rc;
}

static int is_right(const int32_t *result)
{
    for (int32_t i = 0; i < COUNT; i++)
        if (result[i] != 2 * i)
            return 0;
    return 1;
}

/* A call that gives something back leaves it there when it fails, and without the context nothing
   can be given back. */
static int gives_back(const char *name)
{
    return !strcmp(name, "CtxPushCurrent") || strstr(name, "Free") || strstr(name, "Destroy") ||
           strstr(name, "Unload") || strstr(name, "Release");
}

static const char *const names[] = {
#define CUDA_CALL(name, version) #name,
#include "transports/cuda/cuda_calls.def"
#undef CUDA_CALL
};

/* Returns how often a call was made to fail. */
static int fail_each(const struct given *g, int32_t *result, int lost)
{
    int (*fail)(const char *, long, int) =
        (int (*)(const char *, long, int))gpu_simulated("gpusim_fail");
    int (*lose)(const char *, long) = (int (*)(const char *, long))gpu_simulated("gpusim_lose");
    int (*failed)(void) = (int (*)(void))gpu_simulated("gpusim_failed");
    int (*left_over)(void) = (int (*)(void))gpu_simulated("gpusim_left_over");
    int times = 0;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (long nth = 1, happened = 1; happened; nth++) {
            int before = left_over();

            memset(result, 0, BYTES);
            if (lost)
                lose(names[i], nth);
            else
                fail(names[i], nth, CUDA_ERROR_OUT_OF_MEMORY);
            int rc = live(g, result);
            happened = failed();
            fail(NULL, 0, 0);
            times += happened != 0;
            gpu_check(rc < 0 || is_right(result), "cu%s %s at its %ld. call: right or an error",
                      names[i], lost ? "loses the device" : "fails", nth);
            if (!lost && !gives_back(names[i]))
                gpu_check(left_over() == before, "cu%s fails at its %ld. call: %d things left over",
                          names[i], nth, left_over() - before);
        }
    return times;
}

void gpu_test_faults(void)
{
    struct given g = {gpu_alloc(BYTES), gpu_alloc(BYTES)};
    static int32_t numbers[COUNT], result[COUNT];

    for (int32_t i = 0; i < COUNT; i++)
        numbers[i] = i;
    MUST(MemcpyHtoD(g.a, numbers, BYTES));
    gpu_check(live(&g, result) == 0 && is_right(result), "nothing fails, and the sum is right");
    int times = fail_each(&g, result, 0);
    gpu_check(times > 100, "calls that were made to fail: %d", times);
    times = fail_each(&g, result, 1);
    gpu_check(times > 100, "calls at which the device was lost: %d", times);
    MUST(MemFree(g.a));
    MUST(MemFree(g.b));
}
