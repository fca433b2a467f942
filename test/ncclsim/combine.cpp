// SPDX-License-Identifier: BSD-3-Clause
// Combining on the CPU, all ranks at once and rounded once; what NCCL says of each operation.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <nccl.h>
#include <stdint.h>

template <class T> static double read(const void *p)
{
    return double(*static_cast<const T *>(p));
}
template <> double read<__half>(const void *p)
{
    return __half2float(*static_cast<const __half *>(p));
}
template <> double read<__nv_bfloat16>(const void *p)
{
    return __bfloat162float(*static_cast<const __nv_bfloat16 *>(p));
}

// H: what elements are combined in; sums of integers wrap round, so they are unsigned.
template <class T, class H> static H held(const T &x)
{
    return H(x);
}
template <> float held(const __half &x)
{
    return __half2float(x);
}
template <> float held(const __nv_bfloat16 &x)
{
    return __bfloat162float(x);
}

template <class T, class H>
static void run(int op, const void *const *src, int n, uint64_t count, const double *scale,
                void *dst)
{
    for (uint64_t i = 0; i < count; i++) {
        H sum = H(0);

        for (int s = 0; s < n; s++) {
            H x = held<T, H>(static_cast<const T *>(src[s])[i]);

            if (scale)
                x = H(x * H(scale[s]));
            if (s == 0)
                sum = x;
            else if (op == ncclProd)
                sum = H(sum * x);
            else if (op == ncclMax)
                sum = sum < x ? x : sum;
            else if (op == ncclMin)
                sum = x < sum ? x : sum;
            else
                sum = H(sum + x);
        }
        if (op == ncclAvg && !scale)
            sum = H(sum / H(n));
        static_cast<T *>(dst)[i] = T(sum);
    }
}

typedef void (*combine_fn)(int, const void *const *, int, uint64_t, const double *, void *);

static const struct {
    combine_fn run;
    double (*read)(const void *);
} types[] = {
    {run<int8_t, int32_t>, read<int8_t>},
    {run<uint8_t, uint32_t>, read<uint8_t>},
    {run<int32_t, int64_t>, read<int32_t>},
    {run<uint32_t, uint64_t>, read<uint32_t>},
    {run<int64_t, __int128>, read<int64_t>},
    {run<uint64_t, uint64_t>, read<uint64_t>},
    {run<__half, float>, read<__half>},
    {run<float, float>, read<float>},
    {run<double, double>, read<double>},
    {run<__nv_bfloat16, float>, read<__nv_bfloat16>},
    {run<__nv_fp8_e4m3, float>, read<__nv_fp8_e4m3>},
    {run<__nv_fp8_e5m2, float>, read<__nv_fp8_e5m2>},
};
static_assert(sizeof types / sizeof types[0] == ncclNumTypes, "a row per type");

extern "C" {
void combine(int type, int op, const void *const *src, int n, uint64_t count, const double *scale,
             void *dst);
double combine_scalar(int type, const void *p);

void combine(int type, int op, const void *const *src, int n, uint64_t count, const double *scale,
             void *dst)
{
    types[type].run(op, src, n, count, scale, dst);
}

double combine_scalar(int type, const void *p)
{
    return types[type].read(p);
}
}
