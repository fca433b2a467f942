/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datatypes with a type map that the test keeps itself: which basic kind lies where, in map
 * order. From that the test writes and checks buffers byte by byte without asking MPI how it
 * understood the type. Random types of one signature: the sender's and the receiver's maps
 * may differ, and so may those of two ranks.
 */
#ifndef COLLSHIM_TEST_MPI_TYPEMAP_H
#define COLLSHIM_TEST_MPI_TYPEMAP_H

#include <complex.h>
#include <stddef.h>

#include "test/mpi/harness.h"

enum kind {
    KIND_CHAR,
    KIND_SHORT,
    KIND_INT,
    KIND_LONG,
    KIND_UINT64,
    KIND_FLOAT,
    KIND_DOUBLE,
    KIND_LONG_DOUBLE,
    KIND_COMPLEX,
    KINDS
};

/* Alignment is the size: all displacements below are multiples of it. */
static const struct {
    MPI_Datatype type;
    int size;
    int valued; /* bytes that count; the rest is padding, which a copy may drop */
} kinds[KINDS] = {
    [KIND_CHAR] = {MPI_CHAR, 1, 1},
    [KIND_SHORT] = {MPI_SHORT, sizeof(short), sizeof(short)},
    [KIND_INT] = {MPI_INT, sizeof(int), sizeof(int)},
    [KIND_LONG] = {MPI_LONG, sizeof(long), sizeof(long)},
    [KIND_UINT64] = {MPI_UINT64_T, 8, 8},
    [KIND_FLOAT] = {MPI_FLOAT, 4, 4},
    [KIND_DOUBLE] = {MPI_DOUBLE, 8, 8},
    [KIND_LONG_DOUBLE] = {MPI_LONG_DOUBLE, sizeof(long double), sizeof(long double) == 16 ? 10 : 8},
    [KIND_COMPLEX] = {MPI_C_DOUBLE_COMPLEX, 16, 16},
};

/* The predefined pairs: equal in signature to a struct of the two. */
#define PAIR_AT(c_type)                                                                            \
    offsetof(                                                                                      \
        struct {                                                                                   \
            c_type a;                                                                              \
            int b;                                                                                 \
        },                                                                                         \
        b)
#define PAIR_SIZE(c_type)                                                                          \
    sizeof(struct {                                                                                \
        c_type a;                                                                                  \
        int b;                                                                                     \
    })
static const struct {
    MPI_Datatype type;
    enum kind first;
    int second_at, extent;
} pairs[] = {
    {MPI_FLOAT_INT, KIND_FLOAT, PAIR_AT(float), PAIR_SIZE(float)},
    {MPI_DOUBLE_INT, KIND_DOUBLE, PAIR_AT(double), PAIR_SIZE(double)},
    {MPI_LONG_INT, KIND_LONG, PAIR_AT(long), PAIR_SIZE(long)},
    {MPI_SHORT_INT, KIND_SHORT, PAIR_AT(short), PAIR_SIZE(short)},
    {MPI_LONG_DOUBLE_INT, KIND_LONG_DOUBLE, PAIR_AT(long double), PAIR_SIZE(long double)},
    {MPI_2INT, KIND_INT, PAIR_AT(int), PAIR_SIZE(int)},
};
enum { PAIRS = sizeof pairs / sizeof *pairs };

struct entry {
    enum kind kind;
    MPI_Aint at;
};

struct typemap {
    MPI_Datatype type;
    int derived; /* to be freed */
    int n;
    struct entry *entry; /* [n] owned */
    MPI_Aint lb, extent;
};

static void typemap_free(struct typemap *t)
{
    if (t->derived)
        MPI_Type_free(&t->type);
    free(t->entry);
}

static struct typemap typemap_room(int n)
{
    struct typemap t = {.derived = 1, .entry = malloc((size_t)n * sizeof(struct entry))};

    if (!t.entry)
        abort();
    return t;
}

/* Append the map of `in`, moved by `at`. */
static void typemap_add(struct typemap *t, const struct typemap *in, MPI_Aint at)
{
    for (int i = 0; i < in->n; i++)
        t->entry[t->n++] = (struct entry){in->entry[i].kind, in->entry[i].at + at};
}

/* Bounds are always set by hand: what MPI derives for a struct depends on the compiler. */
static void typemap_resize(struct typemap *t, MPI_Aint lb, MPI_Aint extent)
{
    MPI_Datatype old = t->type;

    MPI_Type_create_resized(old, lb, extent, &t->type);
    if (t->derived)
        MPI_Type_free(&old);
    t->derived = 1;
    t->lb = lb;
    t->extent = extent;
}

static struct typemap typemap_kind(enum kind kind)
{
    struct typemap t = typemap_room(1);

    t.type = kinds[kind].type;
    t.derived = 0;
    t.entry[t.n++] = (struct entry){kind, 0};
    t.extent = kinds[kind].size;
    return t;
}

static struct typemap typemap_pair(int p)
{
    struct typemap t = typemap_room(2);

    t.type = pairs[p].type;
    t.derived = 0;
    t.entry[t.n++] = (struct entry){pairs[p].first, 0};
    t.entry[t.n++] = (struct entry){KIND_INT, pairs[p].second_at};
    t.extent = pairs[p].extent;
    return t;
}

static MPI_Aint round_up(MPI_Aint at, MPI_Aint step)
{
    return (at + step - 1) / step * step;
}

static void shuffle(struct draw *d, int *order, int n)
{
    for (int i = 0; i < n; i++)
        order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int j = draw_below(d, i + 1), swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
}

/* A struct of the kinds, whose members lie in memory in another order than in the map. */
static struct typemap typemap_struct(struct draw *d, const enum kind *member, int n)
{
    struct typemap t = typemap_room(n);
    MPI_Datatype types[8];
    MPI_Aint displs[8], end = 0, widest = 1;
    int ones[8], order[8], gap = draw_below(d, 2);

    shuffle(d, order, n);
    for (int i = 0; i < n; i++) {
        int m = order[i], size = kinds[member[m]].size;
        displs[m] = round_up(end, size) + gap * size;
        end = displs[m] + size;
        widest = size > widest ? size : widest;
    }
    for (int i = 0; i < n; i++) {
        types[i] = kinds[member[i]].type;
        ones[i] = 1;
        t.entry[t.n++] = (struct entry){member[i], displs[i]};
    }
    MPI_Type_create_struct(n, ones, displs, types, &t.type);
    /* Without gaps, size and extent may well be equal although the order is not. */
    typemap_resize(&t, 0, round_up(end, gap ? 16 : widest));
    return t;
}

static struct typemap typemap_contiguous(const struct typemap *in, int k)
{
    struct typemap t = typemap_room(k * in->n);

    for (int i = 0; i < k; i++)
        typemap_add(&t, in, i * in->extent);
    MPI_Type_contiguous(k, in->type, &t.type);
    t.lb = in->lb;
    t.extent = k * in->extent;
    return t;
}

static struct typemap typemap_vector(const struct typemap *in, int k, int stride)
{
    struct typemap t = typemap_room(k * in->n);

    for (int i = 0; i < k; i++)
        typemap_add(&t, in, (MPI_Aint)i * stride * in->extent);
    MPI_Type_vector(k, 1, stride, in->type, &t.type);
    t.lb = in->lb;
    t.extent = ((k - 1) * stride + 1) * in->extent;
    return t;
}

/* k places in any order, from `first` extents on, every `step` extents. */
static struct typemap typemap_indexed(struct draw *d, const struct typemap *in, int k, int first,
                                      int step)
{
    struct typemap t = typemap_room(k * in->n);
    int order[64], displs[64], ones[64];

    shuffle(d, order, k);
    for (int i = 0; i < k; i++) {
        ones[i] = 1;
        displs[i] = first + order[i] * step;
        typemap_add(&t, in, displs[i] * in->extent);
    }
    MPI_Type_indexed(k, ones, displs, in->type, &t.type);
    t.lb = in->lb + first * in->extent;
    t.extent = ((k - 1) * step + 1) * in->extent;
    return t;
}

/* k elements in the middle row of a 3 x (k + 2) array. */
static struct typemap typemap_subarray(const struct typemap *in, int k)
{
    struct typemap t = typemap_room(k * in->n);
    int sizes[] = {3, k + 2}, part[] = {1, k}, start[] = {1, 1};

    for (int i = 0; i < k; i++)
        typemap_add(&t, in, (k + 2 + 1 + i) * in->extent);
    MPI_Type_create_subarray(2, sizes, part, start, MPI_ORDER_C, in->type, &t.type);
    t.extent = 3 * (k + 2) * in->extent;
    return t;
}

static struct typemap draw_unit(struct draw *d, const enum kind *member, int n)
{
    if (n == 1)
        return typemap_kind(member[0]);
    if (n == 2 && member[1] == KIND_INT && draw_below(d, 2))
        for (int p = 0; p < PAIRS; p++)
            if (pairs[p].first == member[0])
                return typemap_pair(p);
    return typemap_struct(d, member, n);
}

static struct typemap draw_repeated(struct draw *d, const struct typemap *unit, int k)
{
    switch (draw_below(d, 6)) {
    case 0:
        return typemap_vector(unit, k, 1 + draw_below(d, 3));
    case 1:
        return typemap_indexed(d, unit, k, 0, 1);
    case 2:
        return typemap_indexed(d, unit, k, draw_below(d, 7) - 5, 1 + draw_below(d, 2));
    case 3:
        return typemap_contiguous(unit, k);
    case 4:
        return typemap_subarray(unit, k);
    default: {
        struct typemap once = typemap_contiguous(unit, k);
        struct typemap twice = typemap_contiguous(&once, 1);
        typemap_free(&once);
        return twice;
    }
    }
}

/*
 * A random committed type whose signature is member[0 .. n) k times (n <= 8, k <= 64). Free with
 * typemap_free.
 */
static UNUSED struct typemap typemap_draw(struct draw *d, const enum kind *member, int n, int k)
{
    struct typemap t = draw_unit(d, member, n);

    if (k > 1 || draw_below(d, 2)) {
        struct typemap unit = t;
        t = draw_repeated(d, &unit, k);
        typemap_free(&unit);
    }
    if (draw_below(d, 4) == 0) {
        struct typemap inner = t;
        t = typemap_room(inner.n);
        typemap_add(&t, &inner, 0);
        MPI_Type_dup(inner.type, &t.type);
        t.lb = inner.lb;
        t.extent = inner.extent;
        typemap_free(&inner);
    }
    if (draw_below(d, 4) == 0) {
        MPI_Aint step = 16 * draw_below(d, 3);
        typemap_resize(&t, t.lb - step, t.extent + step + 16 * draw_below(d, 2));
    }
    if (t.derived)
        MPI_Type_commit(&t.type);
    MPI_Aint lb, extent;
    MPI_Type_get_extent(t.type, &lb, &extent);
    if (lb != t.lb || extent != t.extent)
        fail("the test's own map is wrong: lb %ld extent %ld, MPI has %ld and %ld", (long)t.lb,
             (long)t.extent, (long)lb, (long)extent);
    return t;
}

#endif
