/* SPDX-License-Identifier: BSD-3-Clause */
/* The kind of a pointer, moving bytes, and the order of a call (transports/cuda/cuda_memory.h). */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "test/gpu/gpu.h"
#include "transports/cuda/cuda_memory.h"

#define N ((size_t)1 << 20)

static void test_what_it_is(CUdeviceptr device, void *pinned)
{
    struct cuda_place place;
    CUdeviceptr other = 0;
    char *plain = malloc(N);

    gpu_check(cuda_place_of((void *)(device + 1000), &place) && place.before == 1000 &&
                  place.after >= N - 1000,
              "a pointer into an allocation is a place, with what is before and after it");
    gpu_check(!cuda_place_of(plain, &place) && !cuda_place_of(&place, &place),
              "ordinary memory is none, without an error");
    gpu_check(!cuda_place_of(pinned, &place), "pinned memory is none");
    gpu_check(!cuda_place_of(NULL, &place), "NULL is none");
    if (cu->MemAllocManaged(&other, N, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS) {
        gpu_check(cuda_place_of((void *)other, &place), "managed memory is one");
        MUST(MemFree(other));
    } else {
        gpu_skip("managed memory", "cuMemAllocManaged refuses");
    }
    if (cu->MemAllocAsync(&other, N, NULL) == CUDA_SUCCESS) {
        gpu_check(cuda_place_of((void *)(other + 1), &place), "pool memory is one");
        gpu_check(cuda_move(&place, plain, (void *)other, N) == 0, "and can be moved from");
        MUST(MemFreeAsync(other, NULL));
    } else {
        gpu_skip("pool memory", "cuMemAllocAsync refuses");
    }
    free(plain);
}

static void CUDA_CB be_slow(void *unused)
{
    const struct timespec moment = {0, 20000000};

    (void)unused;
    nanosleep(&moment, NULL);
}

/* After work of the default stream that is not waited for. */
static void test_moving(CUdeviceptr device)
{
    const struct cuda_piece pieces[] = {{0, 1}, {7, 100}, {N - 3, 3}};
    unsigned char *host = gpu_pinned(N), *image = malloc(N); /* pinned: copies do not wait */
    struct cuda_place place;
    int right = 1;

    memset(host, 0, N);
    memset(image, 9, N);
    cuda_place_of((void *)device, &place);
    MUST(LaunchHostFunc(NULL, be_slow, NULL));
    MUST(MemsetD8Async(device, 5, N, NULL));
    gpu_check(cuda_move_pieces(&place, (void *)device, image, pieces, 3) == 0 &&
                  cuda_move(&place, host, (void *)device, N) == 0,
              "bytes are moved");
    for (size_t i = 0; i < N; i++)
        right &= host[i] == (i == 0 || (i >= 7 && i < 107) || i >= N - 3 ? 9 : 5);
    gpu_check(right, "after the default stream's work, and the pieces alone");
    MUST(MemFreeHost(host));
    free(image);
}

static void finish(struct device *d, int rc, unsigned job)
{
    while (rc == 0 && (rc = d->test(d->state, job)) == 0)
        ;
    gpu_check(rc == 1, "a job is done");
}

static int all_are(const unsigned char *p, int value)
{
    for (size_t i = 0; i < N; i++)
        if (p[i] != value)
            return 0;
    return 1;
}

/* Three ways to go, each after a default stream that takes its time. */
static void test_a_call(CUdeviceptr device)
{
    CUdeviceptr other = gpu_alloc(N);
    unsigned char *host = malloc(N), *cell;
    struct cuda_place place;
    struct cuda_gpu *gpu = NULL;
    struct device *d = NULL;
    unsigned job = 0;
    int rc;

    cuda_place_of((void *)device, &place);
    gpu_check(cuda_gpu_open(&place, &gpu) == 0, "a device opens");
    for (int way = 0; way < 3 && gpu; way++) {
        MUST(MemsetD8Async(device, 0xee, N, NULL));
        MUST(MemsetD8Async(other, 0xee, N, NULL));
        MUST(LaunchHostFunc(NULL, be_slow, NULL));
        MUST(MemsetD8Async(device, 1, N, NULL));
        d = cuda_gpu_begin(gpu, KERNEL_NONE, KERNEL_SUM);
        if (!gpu_check(d != NULL, "a call begins"))
            break;
        cell = d->cells(d->state, N);
        memset(cell, 2, N);
        if (way == 0)
            rc = d->copy(d->state, cell, (void *)device, N, &job);
        else if (way == 1)
            rc = d->copy(d->state, (void *)device, cell, N, &job);
        else
            rc = d->copy(d->state, (void *)other, (void *)device, N, &job);
        finish(d, rc, job);
        cuda_gpu_end(gpu);
        if (way == 0)
            gpu_check(all_are(cell, 1), "a copy to the host comes after the default stream");
        MUST(MemcpyDtoH(host, way == 2 ? other : device, N));
        if (way == 1)
            gpu_check(all_are(host, 2), "a copy from the host comes after the default stream");
        if (way == 2)
            gpu_check(all_are(host, 1), "a copy on the device comes after the default stream");
    }
    cuda_gpu_close(gpu);
    MUST(MemFree(other));
    free(host);
}

void gpu_test_places(void)
{
    CUdeviceptr device = gpu_alloc(N);
    void *pinned = gpu_pinned(N);

    test_what_it_is(device, pinned);
    test_moving(device);
    test_a_call(device);
    MUST(MemFreeHost(pinned));
    MUST(MemFree(device));
}
