// SPDX-License-Identifier: BSD-3-Clause
// Combining on the CPU, all ranks at once and rounded once; what NCCL says of each operation.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <nccl.h>
#include <stdint.h>
#include <string.h>
#include <type_traits>

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

// Products of a rank's scalar are elements again. Averages: floats are divided before they are
// summed, integers when the sum is back in their range.
template <class T, class H>
static void run(int op, const void *const *src, int n, uint64_t count, const uint64_t *scale,
                void *dst)
{
    constexpr bool is_integer = std::is_integral<T>::value;

    for (uint64_t i = 0; i < count; i++) {
        H sum = H(0);

        for (int s = 0; s < n; s++) {
            H x = held<T, H>(static_cast<const T *>(src[s])[i]);

            if (scale) {
                T by;

                memcpy(&by, &scale[s], sizeof by);
                x = held<T, H>(T(x * held<T, H>(by)));
            }
            if (op == ncclAvg && !is_integer)
                x = H(x / H(n));
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
        if (op == ncclAvg && is_integer)
            sum = held<T, H>(T(sum)) / H(n);
        static_cast<T *>(dst)[i] = T(sum);
    }
}

static void (*const types[])(int, const void *const *, int, uint64_t, const uint64_t *, void *) = {
    run<int8_t, int32_t>,        run<uint8_t, uint32_t>,    run<int32_t, int64_t>,
    run<uint32_t, uint64_t>,     run<int64_t, __int128>,    run<uint64_t, uint64_t>,
    run<__half, float>,          run<float, float>,         run<double, double>,
    run<__nv_bfloat16, float>,   run<__nv_fp8_e4m3, float>, run<__nv_fp8_e5m2, float>,
};
static_assert(sizeof types / sizeof types[0] == ncclNumTypes, "a row per type");

extern "C" {
void combine(int type, int op, const void *const *src, int n, uint64_t count,
             const uint64_t *scale, void *dst);

void combine(int type, int op, const void *const *src, int n, uint64_t count,
             const uint64_t *scale, void *dst)
{
    types[type](op, src, n, count, scale, dst);
}
}
