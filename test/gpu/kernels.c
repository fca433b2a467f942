/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every kernel against a reference that is computed here: exact for integers, and for floats in
 * double, allowing half a unit in the last place of the stored type and the rounding of the sum.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/gpu/gpu.h"

#define GUARD 64
#define GUARD_BYTE 0x5c
#define ROOM (1u << 20)

enum kind { SIGNED, UNSIGNED, FLOAT, COMPLEX };

static const struct format {
    enum kind kind;
    int bytes, exponent, mantissa; /* of one part; bits */
} formats[REDUCE_TYPE_COUNT] = {
    [REDUCE_TYPE_i8] = {SIGNED, 1, 0, 0},    [REDUCE_TYPE_i16] = {SIGNED, 2, 0, 0},
    [REDUCE_TYPE_i32] = {SIGNED, 4, 0, 0},   [REDUCE_TYPE_i64] = {SIGNED, 8, 0, 0},
    [REDUCE_TYPE_u8] = {UNSIGNED, 1, 0, 0},  [REDUCE_TYPE_u16] = {UNSIGNED, 2, 0, 0},
    [REDUCE_TYPE_u32] = {UNSIGNED, 4, 0, 0}, [REDUCE_TYPE_u64] = {UNSIGNED, 8, 0, 0},
    [REDUCE_TYPE_f16] = {FLOAT, 2, 5, 10},   [REDUCE_TYPE_bf16] = {FLOAT, 2, 8, 7},
    [REDUCE_TYPE_e4m3] = {FLOAT, 1, 4, 3},   [REDUCE_TYPE_e5m2] = {FLOAT, 1, 5, 2},
    [REDUCE_TYPE_f32] = {FLOAT, 4, 8, 23},   [REDUCE_TYPE_f64] = {FLOAT, 8, 11, 52},
    [REDUCE_TYPE_c32] = {COMPLEX, 4, 8, 23}, [REDUCE_TYPE_c64] = {COMPLEX, 8, 11, 52},
};

struct shape {
    size_t count;
    uint32_t sources;
    size_t skip[3]; /* elements before dst, the first source, the others */
    int in_place;
    uint64_t operand; /* of operations of one source: the divisor, or the factor as an element */
};

static int has_one_source(enum reduce_op op)
{
    return op == REDUCE_OP_divide || op == REDUCE_OP_scale;
}

static uint64_t bits_at(const void *p, int bytes)
{
    uint64_t bits = 0;

    memcpy(&bits, p, (size_t)bytes);
    return bits;
}

static double decode(const struct format *f, uint64_t bits)
{
    int bias = (1 << (f->exponent - 1)) - 1;
    int e = (int)(bits >> f->mantissa & ((1u << f->exponent) - 1));
    double m = (double)(bits & (((uint64_t)1 << f->mantissa) - 1));
    double v = e ? ldexp(m + ldexp(1, f->mantissa), e - bias - f->mantissa)
                 : ldexp(m, 1 - bias - f->mantissa);

    return bits >> (f->exponent + f->mantissa) & 1 ? -v : v;
}

/* Random values near 1, so that products of all sources stay in every format's range. */
static void fill(const struct format *f, unsigned char *p, size_t parts)
{
    for (size_t i = 0; i < parts; i++, p += f->bytes) {
        uint64_t bits = gpu_random();

        if (f->kind >= FLOAT) {
            uint64_t e = (uint64_t)((1 << (f->exponent - 1)) - 1) - (bits >> 62 & 1);
            uint64_t sign = bits >> 61 & 1;

            bits &= ((uint64_t)1 << f->mantissa) - 1;
            bits |= e << f->mantissa | sign << (f->exponent + f->mantissa);
        } else if (bits >> 60 == 0) {
            bits = 0; /* logical operations are about zeroes */
        }
        memcpy(p, &bits, (size_t)f->bytes);
    }
}

static uint64_t integer_op(enum reduce_op op, enum kind kind, uint64_t a, uint64_t b)
{
    int less = kind == SIGNED ? (int64_t)b < (int64_t)a : b < a;

    switch (op) {
    case REDUCE_OP_sum:
        return a + b;
    case REDUCE_OP_prod:
    case REDUCE_OP_scale:
        return a * b;
    case REDUCE_OP_divide:
        return kind == SIGNED ? (uint64_t)((int64_t)a / (int64_t)b) : a / b;
    case REDUCE_OP_min:
        return less ? b : a;
    case REDUCE_OP_max:
        return less ? a : b;
    case REDUCE_OP_land:
        return a && b;
    case REDUCE_OP_lor:
        return a || b;
    case REDUCE_OP_lxor:
        return !a != !b;
    case REDUCE_OP_band:
        return a & b;
    case REDUCE_OP_bor:
        return a | b;
    default:
        return a ^ b;
    }
}

static uint64_t widen(const struct format *f, uint64_t bits)
{
    int unused = 64 - 8 * f->bytes;

    return f->kind == SIGNED ? (uint64_t)((int64_t)(bits << unused) >> unused)
                             : bits << unused >> unused;
}

static int integer_right(const struct format *f, enum reduce_op op, const struct shape *s,
                         unsigned char *const *source, size_t i, const unsigned char *got)
{
    size_t at = i * (size_t)f->bytes;
    uint64_t sum = widen(f, bits_at(source[0] + at, f->bytes));

    for (uint32_t n = 1; n < s->sources; n++)
        sum = widen(f, integer_op(op, f->kind, sum, widen(f, bits_at(source[n] + at, f->bytes))));
    if (has_one_source(op))
        sum = integer_op(op, f->kind, sum, widen(f, s->operand));
    return widen(f, bits_at(got + at, f->bytes)) == widen(f, sum);
}

static double float_op(enum reduce_op op, double a, double b)
{
    switch (op) {
    case REDUCE_OP_prod:
    case REDUCE_OP_scale:
        return a * b;
    case REDUCE_OP_divide:
        return a / b;
    case REDUCE_OP_min:
        return fmin(a, b);
    case REDUCE_OP_max:
        return fmax(a, b);
    default:
        return a + b;
    }
}

/* Half a unit of the stored type at v, and as much of the type it is combined in per operation. */
static double allowed(const struct format *f, double v, double size, uint32_t sources)
{
    int e, lowest = 2 - (1 << (f->exponent - 1)), held = f->mantissa > 23 ? 52 : 23;

    frexp(v, &e);
    e = e - 1 < lowest ? lowest : e - 1;
    return ldexp(0.5, e - f->mantissa) + size * (double)sources * ldexp(1, -held);
}

static int float_right(const struct format *f, enum reduce_op op, const struct shape *s,
                       unsigned char *const *source, size_t i, const unsigned char *got)
{
    size_t at = i * (size_t)f->bytes;
    double v = decode(f, bits_at(source[0] + at, f->bytes)), size = fabs(v);

    for (uint32_t n = 1; n < s->sources; n++) {
        double b = decode(f, bits_at(source[n] + at, f->bytes));

        v = float_op(op, v, b);
        size = op == REDUCE_OP_prod ? fabs(v) : size + fabs(b);
    }
    if (has_one_source(op)) {
        v = float_op(op, v, op == REDUCE_OP_scale ? decode(f, s->operand) : (double)s->operand);
        size = fabs(v);
    }
    return fabs(decode(f, bits_at(got + at, f->bytes)) - v) <= allowed(f, v, size, s->sources);
}

/* i counts parts: the real and the imaginary ones by turns. */
static int complex_right(const struct format *f, enum reduce_op op, const struct shape *s,
                         unsigned char *const *source, size_t i, const unsigned char *got)
{
    size_t re = i / 2 * 2 * (size_t)f->bytes, im = re + (size_t)f->bytes;
    double v[2] = {decode(f, bits_at(source[0] + re, f->bytes)),
                   decode(f, bits_at(source[0] + im, f->bytes))};
    double size = fabs(v[0]) + fabs(v[1]);

    if (op == REDUCE_OP_sum)
        return float_right(f, op, s, source, i, got);
    for (uint32_t n = 1; n < s->sources; n++) {
        double a = decode(f, bits_at(source[n] + re, f->bytes));
        double b = decode(f, bits_at(source[n] + im, f->bytes));
        double was = v[0];

        v[0] = was * a - v[1] * b;
        v[1] = was * b + v[1] * a;
        size *= fabs(a) + fabs(b);
    }
    return fabs(decode(f, bits_at(got + (i & 1 ? im : re), f->bytes)) - v[i & 1]) <=
           allowed(f, v[i & 1], 4 * size, s->sources);
}

struct bench {
    struct cuda_reducer *reducer;
    CUstream stream;
    CUdeviceptr device[CUDA_REDUCE_SOURCES + 1];
    unsigned char *host[CUDA_REDUCE_SOURCES], *got; /* pinned */
};

static size_t elements_wrong(const struct format *f, enum reduce_op op, const struct shape *s,
                             unsigned char *const *source, const unsigned char *got)
{
    size_t wrong = 0, parts = s->count * (f->kind == COMPLEX ? 2 : 1);

    for (size_t i = 0; i < parts; i++)
        wrong += f->kind == COMPLEX ? !complex_right(f, op, s, source, i, got)
                 : f->kind == FLOAT ? !float_right(f, op, s, source, i, got)
                                    : !integer_right(f, op, s, source, i, got);
    return wrong;
}

static size_t guards_wrong(const unsigned char *at, size_t bytes)
{
    size_t wrong = 0;

    for (size_t i = 0; i < GUARD; i++)
        wrong += (at[i] != GUARD_BYTE) + (at[GUARD + bytes + i] != GUARD_BYTE);
    return wrong;
}

/* Bring in what a pass reads; `base` is the part of all buffers that is its own. */
static struct cuda_reduce_args set_up(struct bench *b, enum reduce_op op, enum reduce_type type,
                                      const struct shape *s, size_t base)
{
    const struct format *f = &formats[type];
    size_t size = reduce_type_bytes(type), bytes = s->count * size;
    struct cuda_reduce_args args = {
        .count = s->count, .sources = s->sources, .divisor = (uint32_t)s->operand};
    CUdeviceptr dst = b->device[CUDA_REDUCE_SOURCES] + base + GUARD + s->skip[0] * size;

    MUST(MemsetD8Async(dst - GUARD, GUARD_BYTE, bytes + 2 * (size_t)GUARD, b->stream));
    for (uint32_t n = 0; n < s->sources; n++) {
        CUdeviceptr at = b->device[n] + base + GUARD + s->skip[n ? 2 : 1] * size;

        if (n == 0 && s->in_place)
            at = dst;
        fill(f, b->host[n] + base, bytes / (size_t)f->bytes);
        args.src[n] = (const void *)at;
        if (bytes)
            MUST(MemcpyHtoDAsync(at, b->host[n] + base, bytes, b->stream));
    }
    args.dst = (void *)dst;
    if (op == REDUCE_OP_scale && s->in_place) {
        unsigned char *factor = b->host[CUDA_REDUCE_SOURCES - 1] + base;

        args.factor_at = (void *)(b->device[CUDA_REDUCE_SOURCES - 1] + base);
        memcpy(factor, &s->operand, size);
        MUST(MemcpyHtoDAsync((CUdeviceptr)args.factor_at, factor, size, b->stream));
    } else {
        args.factor = s->operand;
    }
    return args;
}

static void check(struct bench *b, enum reduce_op op, enum reduce_type type, const struct shape *s,
                  const struct cuda_reduce_args *args, size_t base)
{
    size_t bytes = s->count * reduce_type_bytes(type), wrong, touched;
    unsigned char *source[CUDA_REDUCE_SOURCES];

    for (int n = 0; n < CUDA_REDUCE_SOURCES; n++)
        source[n] = b->host[n] + base;
    MUST(MemcpyDtoHAsync(b->got, (CUdeviceptr)args->dst - GUARD, bytes + 2 * (size_t)GUARD,
                         b->stream));
    MUST(StreamSynchronize(b->stream));
    wrong = elements_wrong(&formats[type], op, s, source, b->got + GUARD);
    touched = guards_wrong(b->got, bytes);
    gpu_check(wrong == 0 && touched == 0,
              "%s of %s, %zu elements, %u sources, offsets %zu %zu %zu%s: %zu wrong, %zu bytes "
              "outside",
              reduce_op_name(op), reduce_type_name(type), s->count, s->sources, s->skip[0],
              s->skip[1], s->skip[2], s->in_place ? ", in place" : "", wrong, touched);
}

/* n passes by one launch. */
static void try_shapes(struct bench *b, enum reduce_op op, enum reduce_type type,
                       const struct shape *s, unsigned n)
{
    struct cuda_reduce_args args[CUDA_REDUCE_PASSES];

    for (unsigned i = 0; i < n; i++)
        args[i] = set_up(b, op, type, &s[i], i * ROOM);
    if (!gpu_check(cuda_reduce_several(b->reducer, op, type, args, n, b->stream) == 0,
                   "%s of %s: refused", reduce_op_name(op), reduce_type_name(type)))
        return;
    for (unsigned i = 0; i < n; i++)
        check(b, op, type, &s[i], &args[i], i * ROOM);
}

static void try_pair(struct bench *b, enum reduce_op op, enum reduce_type type)
{
    size_t size = reduce_type_bytes(type);
    struct shape shapes[] = {
        {0, 2, {0, 0, 0}, 0, 0},
        {1, 2, {0, 0, 0}, 0, 0},
        {1000, 2, {0, 0, 0}, 1, 0},
        {1003, 2, {1, 1, 1}, 0, 0},   /* the same offset: head, packs, tail */
        {1003, 3, {16, 0, 16}, 0, 0}, /* offsets differ, all at 16 bytes */
        {77, 2, {1, 0, 2}, 0, 0},     /* no common boundary */
        {1003, CUDA_REDUCE_SOURCES, {3, 3, 3}, 1, 0},
        {ROOM / 2 / size + 5, 2, {1, 1, 1}, 0, 0}, /* several packs per thread on a small device */
    };
    enum { SHAPES = sizeof shapes / sizeof shapes[0] };

    for (size_t i = 0; i < SHAPES; i++) {
        if (has_one_source(op))
            shapes[i].sources = 1;
        if (op == REDUCE_OP_divide)
            shapes[i].operand = 2 + i;
        else if (op == REDUCE_OP_scale)
            fill(&formats[type], (unsigned char *)&shapes[i].operand, 1);
    }
    try_shapes(b, op, type, &shapes[0], 1);
    try_shapes(b, op, type, &shapes[SHAPES - 1], 1);
    try_shapes(b, op, type, &shapes[0], CUDA_REDUCE_PASSES);
    try_shapes(b, op, type, &shapes[SHAPES - 1 - CUDA_REDUCE_PASSES], CUDA_REDUCE_PASSES);
}

static void try_refusals(struct bench *b)
{
    struct cuda_reduce_args args = {.dst = (void *)b->device[0],
                                    .src = {(void *)b->device[0], (void *)(b->device[1] + 2)},
                                    .count = 1,
                                    .sources = 2};

    gpu_check(cuda_reduce(b->reducer, REDUCE_OP_sum, REDUCE_TYPE_f32, &args, b->stream) != 0,
              "a source that is not aligned to its element is refused");
    gpu_check(cuda_reduce_several(b->reducer, REDUCE_OP_sum, REDUCE_TYPE_u8, &args, 0, b->stream) &&
                  cuda_reduce_several(b->reducer, REDUCE_OP_sum, REDUCE_TYPE_u8, &args,
                                      CUDA_REDUCE_PASSES + 1, b->stream),
              "no pass, and more than a launch takes, are refused");
    args.sources = 1;
    gpu_check(cuda_reduce(b->reducer, REDUCE_OP_sum, REDUCE_TYPE_u8, &args, b->stream) != 0,
              "one source is refused");
    gpu_check(cuda_reduce(b->reducer, REDUCE_OP_divide, REDUCE_TYPE_u8, &args, b->stream) != 0,
              "dividing by 0 is refused");
    gpu_check(!cuda_reduce_exists(REDUCE_OP_band, REDUCE_TYPE_f32) &&
                  !cuda_reduce_exists(REDUCE_OP_max, REDUCE_TYPE_c32) &&
                  cuda_reduce_exists(REDUCE_OP_band, REDUCE_TYPE_i64),
              "the table knows what there is");
}

/* A NaN gives way to a number whichever side it is on, as in fmin(). */
static void try_nan(struct bench *b)
{
    static const float in[2][2] = {{NAN, 1}, {2, NAN}};
    const struct cuda_reduce_args args = {.dst = (void *)b->device[2],
                                          .src = {(void *)b->device[0], (void *)b->device[1]},
                                          .count = 2,
                                          .sources = 2};
    float out[2] = {0, 0};

    for (int n = 0; n < 2; n++)
        MUST(MemcpyHtoDAsync(b->device[n], in[n], sizeof in[n], b->stream));
    gpu_check(cuda_reduce(b->reducer, REDUCE_OP_max, REDUCE_TYPE_f32, &args, b->stream) == 0,
              "max of NaN");
    MUST(StreamSynchronize(b->stream));
    MUST(MemcpyDtoH(out, b->device[2], sizeof out));
    gpu_check(out[0] == 2 && out[1] == 1, "max of NaN and 2, 1 and NaN is %g, %g", out[0], out[1]);
}

void gpu_test_kernels(void)
{
    struct bench b = {.stream = gpu_stream()};
    int result = cuda_reducer_create(cu, &b.reducer);

    if (result < 0) {
        if (!strncmp(cuda_kernels_built(), "without", 7))
            gpu_skip("kernels", "this build is %s", cuda_kernels_built());
        else
            gpu_check(0, "the kernels cannot be loaded: %s", strerror(-result));
        return;
    }
    for (int n = 0; n <= CUDA_REDUCE_SOURCES; n++)
        b.device[n] = gpu_alloc((size_t)CUDA_REDUCE_PASSES * ROOM);
    for (int n = 0; n < CUDA_REDUCE_SOURCES; n++)
        b.host[n] = gpu_pinned((size_t)CUDA_REDUCE_PASSES * ROOM);
    b.got = gpu_pinned(ROOM);
    for (int op = 0; op < REDUCE_OP_COUNT; op++)
        for (int type = 0; type < REDUCE_TYPE_COUNT; type++)
            if (cuda_reduce_exists((enum reduce_op)op, (enum reduce_type)type))
                try_pair(&b, (enum reduce_op)op, (enum reduce_type)type);
    try_refusals(&b);
    try_nan(&b);
    for (int n = 0; n <= CUDA_REDUCE_SOURCES; n++)
        MUST(MemFree(b.device[n]));
    for (int n = 0; n < CUDA_REDUCE_SOURCES; n++)
        MUST(MemFreeHost(b.host[n]));
    MUST(MemFreeHost(b.got));
    cuda_reducer_free(b.reducer);
    MUST(StreamDestroy(b.stream));
}
