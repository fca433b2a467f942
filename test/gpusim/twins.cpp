// SPDX-License-Identifier: BSD-3-Clause
// The kernels' own source compiled for the CPU and run thread by thread: no second implementation
// that could agree with the tests and disagree with the GPU.
#include <stdint.h>
#include <vector_types.h>

namespace
{
thread_local uint3 threadIdx, blockIdx;
thread_local dim3 blockDim, gridDim;
} // namespace

extern "C" void sim_violation(const char *format, ...);
#define COLLSHIM_WIDE_ACCESS(pointer)                                                              \
    do {                                                                                           \
        if (uintptr_t(pointer) % 16)                                                               \
            sim_violation("a kernel's 16-byte access is not aligned");                             \
    } while (0)
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#include "transports/cuda/cuda_kernels.cu"

struct twin {
    const char *name;
    void (*kernel)(cuda_reduce_batch);
    size_t element;
};

extern "C" {
#define NAME(kernel) NAME_AS_IS(kernel)
#define NAME_AS_IS(kernel) #kernel
extern const twin sim_twins[] = {
#define REDUCE_KERNEL(op, type)                                                                    \
    {NAME(CUDA_REDUCE_KERNEL(op, type)), CUDA_REDUCE_KERNEL(op, type),                             \
     sizeof(type_##type::value)},
#include "transports/cuda/cuda_reduce.def"
#undef REDUCE_KERNEL
};
extern const int sim_twin_count = sizeof sim_twins / sizeof sim_twins[0];

void sim_twin_run(const twin *t, const cuda_reduce_batch *batch, unsigned blocks, unsigned rows,
                  unsigned threads)
{
    gridDim.x = blocks;
    gridDim.y = rows;
    blockDim.x = threads;
    for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++)
        for (blockIdx.y = 0; blockIdx.y < rows; blockIdx.y++)
            for (threadIdx.x = 0; threadIdx.x < threads; threadIdx.x++)
                t->kernel(*batch);
}
}
