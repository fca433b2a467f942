/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reduction kernels. One body serves every operation and type. These kernels are bound by
 * device memory, so every thread has several 16-byte loads under way before it combines anything.
 * All sources are read and the result is stored in one pass; a launch does several passes, each by
 * a row of the grid.
 *
 * Operations are combined in a type that holds more (cuda_reduce.def): a fused reduction of eight
 * fp16 buffers rounds once. Integers wrap as unsigned ones do; C leaves signed overflow undefined.
 *
 * Nothing here waits for another thread, so the tests run the same source on the CPU, thread by
 * thread (test/gpusim/twins.cpp).
 */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <stdint.h>
#include <string.h>

#include "transports/cuda/cuda_reduce_args.h"

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
#include "transports/cuda/cuda_reduce.def"
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

/* Operations that combine two ---------------------------------------------------------------- */
struct op_sum {
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

struct op_prod {
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
struct op_min {
    template <class H> static __device__ H of(H a, H b)
    {
        return a != a ? b : b < a ? b : a;
    }
};

struct op_max {
    template <class H> static __device__ H of(H a, H b)
    {
        return a != a ? b : b > a ? b : a;
    }
};

#define INTEGER_OP(name, expression)                                                               \
    struct op_##name {                                                                             \
        template <class H> static __device__ H of(H a, H b)                                        \
        {                                                                                          \
            return H(expression);                                                                  \
        }                                                                                          \
    };
INTEGER_OP(land, a &&b)
INTEGER_OP(lor, a || b)
INTEGER_OP(lxor, !a != !b)
INTEGER_OP(band, a &b)
INTEGER_OP(bor, a | b)
INTEGER_OP(bxor, a ^ b)

/* Operations of one source, with an operand ------------------------------------------------------
 */

/* Integers as C divides them: towards 0. */
template <class T> struct op_divide {
    using H = typename T::held;
    H divisor;

    __device__ op_divide(const cuda_reduce_args &g) : divisor(H(g.divisor))
    {
    }
    __device__ H of(H a) const
    {
        return a / divisor;
    }
};

template <class T> struct op_scale {
    using H = typename T::held;
    H factor;

    __device__ op_scale(const cuda_reduce_args &g)
    {
        typename T::value element;

        memcpy(&element, g.factor_at ? g.factor_at : &g.factor, sizeof element);
        factor = H(element);
    }
    __device__ H of(H a) const
    {
        return op_prod::of(a, factor);
    }
};

/* The bodies --------------------------------------------------------------------------------- */
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
   if there is none. */
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

/* Two or more sources. */
template <class Op, class T> struct combine {
    using V = typename T::value;
    using H = typename T::held;

    __device__ combine(const cuda_reduce_args &)
    {
    }
    __device__ void one(const cuda_reduce_args &g, uint64_t i) const
    {
        H sum =
            Op::of(H(static_cast<const V *>(g.src[0])[i]), H(static_cast<const V *>(g.src[1])[i]));

        for (uint32_t s = 2; s < g.sources; s++)
            sum = Op::of(sum, H(static_cast<const V *>(g.src[s])[i]));
        static_cast<V *>(g.dst)[i] = V(sum);
    }

    /* N packs, `stride` apart: 2 N loads are under way before the first is used. */
    template <int N>
    __device__ void wide(const cuda_reduce_args &g, uint64_t skip, uint64_t first,
                         uint64_t stride) const
    {
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
                a[n].lane[l] = V(sum[n][l]);
            store<V>(static_cast<V *>(g.dst) + skip, first + n * stride, a[n]);
        }
    }
};

/* One source. */
template <class Op, class T> struct change {
    using V = typename T::value;
    using H = typename T::held;
    Op op;

    __device__ change(const cuda_reduce_args &g) : op(g)
    {
    }
    __device__ void one(const cuda_reduce_args &g, uint64_t i) const
    {
        static_cast<V *>(g.dst)[i] = V(op.of(H(static_cast<const V *>(g.src[0])[i])));
    }
    template <int N>
    __device__ void wide(const cuda_reduce_args &g, uint64_t skip, uint64_t first,
                         uint64_t stride) const
    {
        constexpr int L = WIDE / sizeof(V);
        pack<V> a[N];

#pragma unroll
        for (int n = 0; n < N; n++)
            a[n] = load<V>(static_cast<const V *>(g.src[0]) + skip, first + n * stride);
#pragma unroll
        for (int n = 0; n < N; n++) {
#pragma unroll
            for (int l = 0; l < L; l++)
                a[n].lane[l] = V(op.of(H(a[n].lane[l])));
            store<V>(static_cast<V *>(g.dst) + skip, first + n * stride, a[n]);
        }
    }
};

/* Functions that run an operation of either kind. */
template <template <class> class Op, class T> change<Op<T>, T> body_of(T);
template <class Op, class T> combine<Op, T> body_of(T);

template <class Body> __device__ void run(const cuda_reduce_args &g)
{
    using V = typename Body::V;
    constexpr unsigned L = WIDE / sizeof(V);
    constexpr int N = sizeof(V) < 4 ? 2 : 4; /* narrow elements need the registers */
    const Body body(g);
    const uint64_t threads = uint64_t(gridDim.x) * blockDim.x;
    const uint64_t me = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    const uint64_t head = elements_before_wide<V>(g), packs = (g.count - head) / L;
    const uint64_t narrow = g.count - packs * L;
    uint64_t p = me;

    for (; p + (N - 1) * threads < packs; p += N * threads)
        body.template wide<N>(g, head, p, threads);
    for (; p < packs; p += threads)
        body.template wide<1>(g, head, p, threads);
    for (uint64_t i = me; i < narrow; i += threads)
        body.one(g, i < head ? i : i + packs * L);
}

} // namespace

/* __grid_constant__: without it, src[s] makes every thread copy the arguments to its own memory. */
#define REDUCE_KERNEL(op, type)                                                                    \
    extern "C" __global__ void CUDA_REDUCE_KERNEL(op, type)(                                       \
        const __grid_constant__ cuda_reduce_batch g)                                               \
    {                                                                                              \
        run<decltype(body_of<op_##op>(type_##type()))>(g.pass[blockIdx.y]);                        \
    }
#include "transports/cuda/cuda_reduce.def"
#undef REDUCE_KERNEL
