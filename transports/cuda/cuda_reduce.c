/* SPDX-License-Identifier: BSD-3-Clause */
#include "transports/cuda/cuda_reduce.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 256
/* Each thread keeps up to eight 16-byte loads under way. This many waves hide the latency of device
   memory; more only make the launch longer. */
#define WAVES 4

struct cuda_reducer {
    const struct cuda_calls *cu; /* borrowed */
    CUmodule module;
    CUfunction function[REDUCE_OP_COUNT][REDUCE_TYPE_COUNT]; /* NULL where there is none */
    unsigned blocks_at_once;                                 /* of THREADS, on the device */
};

static const char *const kernel_names[REDUCE_OP_COUNT][REDUCE_TYPE_COUNT] = {
#define NAME(kernel) NAME_AS_IS(kernel)
#define NAME_AS_IS(kernel) #kernel
#define REDUCE_KERNEL(op, type)                                                                    \
    [REDUCE_OP_##op][REDUCE_TYPE_##type] = NAME(CUDA_REDUCE_KERNEL(op, type)),
#include "transports/cuda/cuda_reduce.def"
#undef REDUCE_KERNEL
};

static const char *const type_names[] = {
#define REDUCE_TYPE(name, stored, held) [REDUCE_TYPE_##name] = #name,
#include "transports/cuda/cuda_reduce.def"
#undef REDUCE_TYPE
};

static const char *const op_names[] = {
#define REDUCE_OP(name) [REDUCE_OP_##name] = #name,
#include "transports/cuda/cuda_reduce.def"
#undef REDUCE_OP
};

static const unsigned char type_bytes[REDUCE_TYPE_COUNT] = {
    [REDUCE_TYPE_i8] = 1,  [REDUCE_TYPE_i16] = 2,  [REDUCE_TYPE_i32] = 4,  [REDUCE_TYPE_i64] = 8,
    [REDUCE_TYPE_u8] = 1,  [REDUCE_TYPE_u16] = 2,  [REDUCE_TYPE_u32] = 4,  [REDUCE_TYPE_u64] = 8,
    [REDUCE_TYPE_f16] = 2, [REDUCE_TYPE_bf16] = 2, [REDUCE_TYPE_e4m3] = 1, [REDUCE_TYPE_e5m2] = 1,
    [REDUCE_TYPE_f32] = 4, [REDUCE_TYPE_f64] = 8,  [REDUCE_TYPE_c32] = 8,  [REDUCE_TYPE_c64] = 16,
};

/* Complex numbers need only the alignment of their parts. */
static size_t type_alignment(enum reduce_type type)
{
    if (type == REDUCE_TYPE_c32 || type == REDUCE_TYPE_c64)
        return type_bytes[type] / 2;
    return type_bytes[type];
}

/* The image, from cuda_image.S; empty where the build had no nvcc. */
extern const char collshim_cuda_image[] __attribute__((visibility("hidden")));
extern const uint64_t collshim_cuda_image_bytes __attribute__((visibility("hidden")));

const char *reduce_type_name(enum reduce_type type)
{
    return type_names[type];
}

const char *reduce_op_name(enum reduce_op op)
{
    return op_names[op];
}

size_t reduce_type_bytes(enum reduce_type type)
{
    return type_bytes[type];
}

const char *cuda_kernels_built(void)
{
    if (collshim_cuda_image_bytes == 0)
        return "without GPU kernels (no nvcc)";
    return "GPU kernels for " COLLSHIM_CUDA_ARCHS;
}

/* The type whose kernel serves the pair: signed integers wrap as unsigned ones do. */
static enum reduce_type served_as(enum reduce_op op, enum reduce_type type)
{
    if (type > REDUCE_TYPE_i64 || kernel_names[op][type])
        return type;
    return (enum reduce_type)(type - REDUCE_TYPE_i8 + REDUCE_TYPE_u8);
}

int cuda_reduce_exists(enum reduce_op op, enum reduce_type type)
{
    return kernel_names[op][served_as(op, type)] != NULL;
}

static CUresult find_functions(struct cuda_reducer *r)
{
    for (int op = 0; op < REDUCE_OP_COUNT; op++) {
        for (int type = 0; type < REDUCE_TYPE_COUNT; type++) {
            const char *name = kernel_names[op][type];
            CUresult result;

            if (!name)
                continue;
            result = r->cu->ModuleGetFunction(&r->function[op][type], r->module, name);
            if (result != CUDA_SUCCESS)
                return result;
        }
    }
    return CUDA_SUCCESS;
}

static CUresult measure_device(struct cuda_reducer *r)
{
    CUresult result;
    CUdevice device;
    int units, blocks;

    if ((result = r->cu->CtxGetDevice(&device)) != CUDA_SUCCESS ||
        (result = r->cu->DeviceGetAttribute(&units, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                                            device)) != CUDA_SUCCESS ||
        (result = r->cu->OccupancyMaxActiveBlocksPerMultiprocessor(
             &blocks, r->function[REDUCE_OP_sum][REDUCE_TYPE_f32], THREADS, 0)) != CUDA_SUCCESS)
        return result;
    r->blocks_at_once = (unsigned)units * (unsigned)(blocks > 0 ? blocks : 1);
    return CUDA_SUCCESS;
}

int cuda_reducer_create(const struct cuda_calls *cu, struct cuda_reducer **reducer_p)
{
    struct cuda_reducer *r;
    CUresult result;

    if (collshim_cuda_image_bytes == 0)
        return -ENOTSUP;
    r = calloc(1, sizeof *r);
    if (!r)
        return -ENOMEM;
    r->cu = cu;
    result = cu->ModuleLoadData(&r->module, collshim_cuda_image);
    if (result != CUDA_SUCCESS)
        goto free_reducer;
    if ((result = find_functions(r)) != CUDA_SUCCESS ||
        (result = measure_device(r)) != CUDA_SUCCESS)
        goto unload;
    *reducer_p = r;
    return 0;

unload:
    cu->ModuleUnload(r->module);
free_reducer:
    free(r);
    if (result == CUDA_ERROR_NO_BINARY_FOR_GPU || result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
        return -ENOTSUP;
    return result == CUDA_ERROR_OUT_OF_MEMORY ? -ENOMEM : -EIO;
}

void cuda_reducer_free(struct cuda_reducer *r)
{
    if (!r)
        return;
    r->cu->ModuleUnload(r->module);
    free(r);
}

void cuda_reducer_forget(struct cuda_reducer *r)
{
    free(r);
}

static int has_one_source(enum reduce_op op)
{
    return op == REDUCE_OP_divide || op == REDUCE_OP_scale;
}

static int usable(enum reduce_op op, const struct cuda_reduce_args *args, enum reduce_type type)
{
    size_t mask = type_alignment(type) - 1;

    if (has_one_source(op) ? args->sources != 1
                           : args->sources < 2 || args->sources > CUDA_REDUCE_SOURCES)
        return 0;
    if (op == REDUCE_OP_divide && !args->divisor)
        return 0;
    for (uint32_t s = 0; s < args->sources; s++)
        if ((uintptr_t)args->src[s] & mask)
            return 0;
    return ((uintptr_t)args->dst & mask) == 0;
}

/* Blocks of a row, at most one pack for each thread, and at most as many as WAVES fill the device
   with. A row's part follows from the longest row's bytes, so that short ones take nothing from it.
 */
static unsigned blocks_for(const struct cuda_reducer *r, uint64_t longest, uint64_t all)
{
    uint64_t useful = longest / 16 / THREADS + 1;
    double most = (double)r->blocks_at_once * WAVES * (double)longest / (double)all;

    return (double)useful < most ? (unsigned)useful : most > 1 ? (unsigned)most : 1;
}

int cuda_reduce_several(struct cuda_reducer *r, enum reduce_op op, enum reduce_type type,
                        const struct cuda_reduce_args *pass, unsigned n, CUstream stream)
{
    struct cuda_reduce_batch batch;
    void *parameters[] = {&batch};
    CUfunction function = r->function[op][served_as(op, type)];
    uint64_t longest = 0, all = 0;

    if (!function)
        return -ENOTSUP;
    if (n < 1 || n > CUDA_REDUCE_PASSES)
        return -EINVAL;
    for (unsigned i = 0; i < n; i++) {
        uint64_t bytes = pass[i].count * type_bytes[type];

        if (!usable(op, &pass[i], type))
            return -EINVAL;
        longest = bytes > longest ? bytes : longest;
        all += bytes;
    }
    if (all == 0)
        return 0;
    memcpy(batch.pass, pass, n * sizeof *pass);
    return r->cu->LaunchKernel(function, blocks_for(r, longest, all), n, 1, THREADS, 1, 1, 0,
                               stream, parameters, NULL) == CUDA_SUCCESS
               ? 0
               : -EIO;
}

int cuda_reduce(struct cuda_reducer *r, enum reduce_op op, enum reduce_type type,
                const struct cuda_reduce_args *args, CUstream stream)
{
    return cuda_reduce_several(r, op, type, args, 1, stream);
}
