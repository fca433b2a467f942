/* SPDX-License-Identifier: BSD-3-Clause */
/* In place of all cuda_*.c where the build found no CUDA headers. */
#include <errno.h>
#include <stdio.h>

#include "transports/cuda/cuda_describe.h"
#include "transports/cuda/cuda_memory.h"
#include "transports/cuda/cuda_rates.h"

int cuda_describe(char *text, size_t size)
{
    snprintf(text, size, "built without CUDA: only data in host memory is rerouted");
    return 0;
}

int cuda_rates_measure(struct cuda_rates *r, const char **why)
{
    (void)r;
    *why = "built without CUDA";
    return -ENODEV;
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

void cuda_keep_last(int keep)
{
    (void)keep;
}

int64_t cuda_current_address(void)
{
    return -1;
}

int64_t cuda_place_address(const struct cuda_place *place)
{
    (void)place;
    return -1;
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

int cuda_move_spaced(const struct cuda_place *place, void *dst, size_t dst_stride, const void *src,
                     size_t src_stride, size_t bytes, size_t n)
{
    (void)place, (void)dst, (void)dst_stride, (void)src, (void)src_stride, (void)bytes, (void)n;
    return -EIO;
}

int cuda_bus_id(const struct cuda_place *place, char id[CUDA_BUS_ID])
{
    (void)place, (void)id;
    return -ENODEV;
}

int cuda_start(const char *bus_id, struct cuda_place *place)
{
    (void)bus_id, (void)place;
    return -ENODEV;
}

char *cuda_gpu_lend(struct cuda_gpu *gpu, size_t bytes, struct device_window *w)
{
    (void)gpu, (void)bytes, (void)w;
    return NULL;
}

void cuda_gpu_take_back(struct cuda_gpu *gpu, char *at)
{
    (void)gpu, (void)at;
}

char *cuda_gpu_reach(struct cuda_gpu *gpu, const struct device_window *w)
{
    (void)gpu, (void)w;
    return NULL;
}

void cuda_gpu_leave(struct cuda_gpu *gpu, char *at)
{
    (void)gpu, (void)at;
}
