/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reduction kernels. One body for every operation and type: these kernels are bound by device
 * memory, so what matters is that every thread has several 16-byte loads under way before it
 * combines anything. All sources are read and the result is stored in one pass.
 *
 * Operations are combined in a type that holds more (cuda_reduce.def): a fused reduction of eight
 * fp16 buffers rounds once. Integers wrap as unsigned ones do, whatever C says of signed overflow.
 *
 * Nothing here waits for another thread, so the tests run the same source on the CPU, thread by
 * thread (test/gpusim/twins.cpp).
 */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <stdint.h>

#include "transports/cuda_reduce_args.h"

/* A CPU forgives a wide access that is not aligned, a device does not: the tests look here. */
#ifndef COLLSHIM_WIDE_ACCESS
#define COLLSHIM_WIDE_ACCESS(pointer)
#endif

namespace
{

template <class T> struct complex {
    T re, im;
};

/* Elements -------------------------------------------------------------------------------- */
#define REDUCE_TYPE(name, stored, held_in)                                                         \
    struct type_##name {                                                                           \
        using value = stored;                                                                      \
        using held = held_in;                                                                      \
    };
#include "transports/cuda_reduce.def"
#undef REDUCE_TYPE

template <class T> struct as_unsigned {
    using type = T;
};
template <> struct as_unsigned<int32_t> {
    using type = uint32_t;
};
template <> struct as_unsigned<int64_t> {
    using type = uint64_t;
};

/* Operations: combine two, and finish what was combined ------------------------------------- */
struct plain {
    template <class V, class H> static __device__ H finish(H a, uint32_t)
    {
        return a;
    }
};

struct op_sum : plain {
    template <class H> static __device__ H of(H a, H b)
    {
        using U = typename as_unsigned<H>::type;
        return H(U(a) + U(b));
    }
    template <class T> static __device__ complex<T> of(complex<T> a, complex<T> b)
    {
        return {a.re + b.re, a.im + b.im};
    }
};

struct op_prod : plain {
    template <class H> static __device__ H of(H a, H b)
    {
        using U = typename as_unsigned<H>::type;
        return H(U(a) * U(b));
    }
    template <class T> static __device__ complex<T> of(complex<T> a, complex<T> b)
    {
        return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    }
};

/* A NaN gives way to a number, in either order, as in fmin(). */
struct op_min : plain {
    template <class H> static __device__ H of(H a, H b)
    {
        return a != a ? b : b < a ? b : a;
    }
};

struct op_max : plain {
    template <class H> static __device__ H of(H a, H b)
    {
        return a != a ? b : b > a ? b : a;
    }
};

/* The sum is brought to the element's range first: the same bits as dividing a stored sum. */
struct op_mean : op_sum {
    template <class V, class H> static __device__ H finish(H a, uint32_t divisor)
    {
        return divide<V>(a, divisor);
    }
    template <class V> static __device__ float divide(float a, uint32_t n)
    {
        return a / float(n);
    }
    template <class V> static __device__ double divide(double a, uint32_t n)
    {
        return a / double(n);
    }
    template <class V> static __device__ int32_t divide(int32_t a, uint32_t n)
    {
        return int32_t(int64_t(V(a)) / int64_t(n));
    }
    template <class V> static __device__ uint32_t divide(uint32_t a, uint32_t n)
    {
        return V(a) / n;
    }
    template <class V> static __device__ int64_t divide(int64_t a, uint32_t n)
    {
        return a / int64_t(n);
    }
    template <class V> static __device__ uint64_t divide(uint64_t a, uint32_t n)
    {
        return a / n;
    }
};

#define INTEGER_OP(name, expression)                                                               \
    struct op_##name : plain {                                                                     \
        template <class H> static __device__ H of(H a, H b)                                        \
        {                                                                                          \
            return H(expression);                                                                  \
        }                                                                                          \
    };
INTEGER_OP(land, a && b)
INTEGER_OP(lor, a || b)
INTEGER_OP(lxor, !a != !b)
INTEGER_OP(band, a &b)
INTEGER_OP(bor, a | b)
INTEGER_OP(bxor, a ^ b)

/* The body ----------------------------------------------------------------------------------- */
constexpr unsigned WIDE = 16;

template <class V> struct alignas(WIDE) pack {
    V lane[WIDE / sizeof(V)];
};

template <class V> union wide {
    uint4 bits;
    pack<V> values;
    __device__ wide() : bits()
    {
    }
};

template <class V> __device__ pack<V> load(const void *from, uint64_t index)
{
    wide<V> w;
    COLLSHIM_WIDE_ACCESS(from);
    w.bits = static_cast<const uint4 *>(from)[index];
    return w.values;
}

template <class V> __device__ void store(void *to, uint64_t index, pack<V> values)
{
    wide<V> w;
    w.values = values;
    COLLSHIM_WIDE_ACCESS(to);
    static_cast<uint4 *>(to)[index] = w.bits;
}

/* Elements before the first 16-byte boundary that dst and all sources have in common; all of them
 * if there is none. */
template <class V> __device__ uint64_t elements_before_wide(const cuda_reduce_args &g)
{
    unsigned off = unsigned(uintptr_t(g.dst) % WIDE);

    for (uint32_t s = 0; s < g.sources; s++)
        if (uintptr_t(g.src[s]) % WIDE != off)
            return g.count;
    off = (WIDE - off) % WIDE;
    if (off % sizeof(V) || off / sizeof(V) > g.count)
        return g.count;
    return off / sizeof(V);
}

template <class Op, class T> __device__ void reduce_one(const cuda_reduce_args &g, uint64_t i)
{
    using V = typename T::value;
    using H = typename T::held;
    H sum = Op::of(H(static_cast<const V *>(g.src[0])[i]), H(static_cast<const V *>(g.src[1])[i]));

    for (uint32_t s = 2; s < g.sources; s++)
        sum = Op::of(sum, H(static_cast<const V *>(g.src[s])[i]));
    static_cast<V *>(g.dst)[i] = V(Op::template finish<V>(sum, g.divisor));
}

/* Reduce N packs, `stride` apart: 2 N loads are under way before the first is used. */
template <class Op, class T, int N>
__device__ void reduce_wide(const cuda_reduce_args &g, uint64_t skip, uint64_t first,
                            uint64_t stride)
{
    using V = typename T::value;
    using H = typename T::held;
    constexpr int L = WIDE / sizeof(V);
    pack<V> a[N], b[N];
    H sum[N][L];

#pragma unroll
    for (int n = 0; n < N; n++) {
        a[n] = load<V>(static_cast<const V *>(g.src[0]) + skip, first + n * stride);
        b[n] = load<V>(static_cast<const V *>(g.src[1]) + skip, first + n * stride);
    }
#pragma unroll
    for (int n = 0; n < N; n++)
#pragma unroll
        for (int l = 0; l < L; l++)
            sum[n][l] = Op::of(H(a[n].lane[l]), H(b[n].lane[l]));
    for (uint32_t s = 2; s < g.sources; s++) {
#pragma unroll
        for (int n = 0; n < N; n++)
            a[n] = load<V>(static_cast<const V *>(g.src[s]) + skip, first + n * stride);
#pragma unroll
        for (int n = 0; n < N; n++)
#pragma unroll
            for (int l = 0; l < L; l++)
                sum[n][l] = Op::of(sum[n][l], H(a[n].lane[l]));
    }
#pragma unroll
    for (int n = 0; n < N; n++) {
#pragma unroll
        for (int l = 0; l < L; l++)
            a[n].lane[l] = V(Op::template finish<V>(sum[n][l], g.divisor));
        store<V>(static_cast<V *>(g.dst) + skip, first + n * stride, a[n]);
    }
}

template <class Op, class T> __device__ void reduce(const cuda_reduce_args &g)
{
    using V = typename T::value;
    constexpr unsigned L = WIDE / sizeof(V);
    constexpr int N = sizeof(V) < 4 ? 2 : 4; /* narrow elements need the registers */
    const uint64_t threads = uint64_t(gridDim.x) * blockDim.x;
    const uint64_t me = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    const uint64_t head = elements_before_wide<V>(g), packs = (g.count - head) / L;
    const uint64_t narrow = g.count - packs * L;
    uint64_t p = me;

    for (; p + (N - 1) * threads < packs; p += N * threads)
        reduce_wide<Op, T, N>(g, head, p, threads);
    for (; p < packs; p += threads)
        reduce_wide<Op, T, 1>(g, head, p, threads);
    for (uint64_t i = me; i < narrow; i += threads)
        reduce_one<Op, T>(g, i < head ? i : i + packs * L);
}

} // namespace

/* __grid_constant__: without it, src[s] makes every thread copy the arguments to its own memory. */
#define REDUCE_KERNEL(op, type)                                                                    \
    extern "C" __global__ void CUDA_REDUCE_KERNEL(op, type)(                                       \
        const __grid_constant__ cuda_reduce_args g)                                                \
    {                                                                                              \
        reduce<op_##op, type_##type>(g);                                                           \
    }
#include "transports/cuda_reduce.def"
#undef REDUCE_KERNEL
