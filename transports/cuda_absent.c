/* SPDX-License-Identifier: BSD-3-Clause */
/* In place of all cuda_*.c where the build found no CUDA headers. */
#include <errno.h>
#include <stdio.h>

#include "transports/cuda_describe.h"
#include "transports/cuda_memory.h"

int cuda_describe(char *text, size_t size)
{
    snprintf(text, size, "built without CUDA: only data in host memory is rerouted");
    return 0;
}

int cuda_list(struct cuda_device *device, int most)
{
    (void)device, (void)most;
    return 0;
}

enum cuda_link cuda_link_between(int a, int b)
{
    (void)a, (void)b;
    return CUDA_LINK_NONE;
}

int cuda_present(void)
{
    return 0;
}

int cuda_place_of(const void *p, struct cuda_place *place)
{
    (void)p, (void)place;
    return 0;
}

int cuda_move(const struct cuda_place *place, void *dst, const void *src, size_t bytes)
{
    (void)place, (void)dst, (void)src, (void)bytes;
    return -EIO;
}

int cuda_move_pieces(const struct cuda_place *place, void *dst, const void *src,
                     const struct cuda_piece *piece, size_t n)
{
    (void)place, (void)dst, (void)src, (void)piece, (void)n;
    return -EIO;
}

int cuda_gpu_open(const struct cuda_place *place, struct cuda_gpu **gpu_p)
{
    (void)place, (void)gpu_p;
    return -EIO;
}

void cuda_gpu_close(struct cuda_gpu *gpu)
{
    (void)gpu;
}

int cuda_gpu_is_at(const struct cuda_gpu *gpu, const struct cuda_place *place)
{
    (void)gpu, (void)place;
    return 0;
}

int cuda_gpu_combines(struct cuda_gpu *gpu, enum kernel_type type, enum kernel_op op)
{
    (void)gpu, (void)type, (void)op;
    return 0;
}

void *cuda_gpu_scratch(struct cuda_gpu *gpu, size_t bytes)
{
    (void)gpu, (void)bytes;
    return NULL;
}

void *cuda_gpu_pinned(struct cuda_gpu *gpu, size_t bytes)
{
    (void)gpu, (void)bytes;
    return NULL;
}

struct device *cuda_gpu_begin(struct cuda_gpu *gpu, enum kernel_type type, enum kernel_op op)
{
    (void)gpu, (void)type, (void)op;
    return NULL;
}

void cuda_gpu_end(struct cuda_gpu *gpu)
{
    (void)gpu;
}
