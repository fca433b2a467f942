/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Elements are combined by the kernels of transports/. Types without a kernel are combined by the
 * library's MPI_Reduce_local: their form is the library's own (Fortran's LOGICAL), or they are rare
 * (numbers of 16 and 128 bits).
 */
#include "shim/mpi/call/reduction.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "shim/decide/base/thread_own.h"
#include "shim/mpi/api/calls.h"
#include "shim/mpi/call/predefined.h"

/* The types for which MPI defines an operation. */
enum { INTEGERS = 1, COUNTS = 2, REALS = 4, COMPLEXES = 8, TRUTHS = 16, RAW = 32, PAIRS = 64 };

static int group_of(const struct predefined *p)
{
    static const int of_single[PREDEFINED_KINDS] = {
        [SIGNED] = INTEGERS, [UNSIGNED] = INTEGERS, [COUNTING] = COUNTS,
        [C_REAL] = REALS,    [F_REAL] = REALS,      [BRAIN_REAL] = REALS,
        [BOOL] = TRUTHS,     [LOGICAL] = TRUTHS,    [BYTES] = RAW};

    return p->layout == SINGLE ? of_single[p->kind] : p->layout == COMPLEX ? COMPLEXES : PAIRS;
}

static const struct {
    MPI_Op op;
    int groups;
    int rounds; /* on REALS and COMPLEXES */
    enum kernel_op kernel;
} operations[] = {
    {MPI_SUM, INTEGERS | COUNTS | REALS | COMPLEXES, 1, KERNEL_SUM},
    {MPI_PROD, INTEGERS | COUNTS | REALS | COMPLEXES, 1, KERNEL_PROD},
    {MPI_MAX, INTEGERS | COUNTS | REALS, 0, KERNEL_MAX},
    {MPI_MIN, INTEGERS | COUNTS | REALS, 0, KERNEL_MIN},
    {MPI_LAND, INTEGERS | TRUTHS, 0, KERNEL_LAND},
    {MPI_LOR, INTEGERS | TRUTHS, 0, KERNEL_LOR},
    {MPI_LXOR, INTEGERS | TRUTHS, 0, KERNEL_LXOR},
    {MPI_BAND, INTEGERS | COUNTS | RAW, 0, KERNEL_BAND},
    {MPI_BOR, INTEGERS | COUNTS | RAW, 0, KERNEL_BOR},
    {MPI_BXOR, INTEGERS | COUNTS | RAW, 0, KERNEL_BXOR},
    {MPI_MAXLOC, PAIRS, 0, KERNEL_MAXLOC},
    {MPI_MINLOC, PAIRS, 0, KERNEL_MINLOC},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };
_Static_assert((int)PREDEFINED_ROWS *(int)OPERATIONS <= (int)REDUCTION_PAIRS,
               "reduction.h counts too few pairs");

/* How the first number of an element is written, if it is real. */
static enum reduction_real real_of(const struct predefined *p)
{
    if (p->kind != C_REAL && p->kind != F_REAL && p->kind != BRAIN_REAL)
        return REAL_NOT;
    switch (p->part) {
    case 2:
        return p->kind == BRAIN_REAL ? REAL_16_BRAIN : REAL_16;
    case 4:
        return REAL_32;
    case 8:
        return REAL_64;
    default:
        return p->kernel ? REAL_LONG_DOUBLE : REAL_128;
    }
}

static int look_up(MPI_Datatype type, MPI_Op op, struct reduction *r)
{
    struct predefined p;
    int i = 0;

    while (i < OPERATIONS && operations[i].op != op)
        i++;
    if (i == OPERATIONS || !predefined_of(type, &p) || !(operations[i].groups & group_of(&p)))
        return 0;
    *r = (struct reduction){.type = type,
                            .op = op,
                            .extent = p.extent,
                            .pair = p.row * OPERATIONS + i,
                            .real = real_of(&p),
                            .index_bytes = p.layout == TWICE      ? p.part
                                           : p.layout == WITH_INT ? sizeof(int)
                                                                  : 0,
                            .rounds = operations[i].rounds && group_of(&p) & (REALS | COMPLEXES),
                            .kernel = kernel_find(p.kernel, operations[i].kernel),
                            .kernel_type = p.kernel,
                            .kernel_op = operations[i].kernel};
    return 1;
}

/* Programs reduce with the same type and operation again and again, and predefined handles mean the
   same for ever. */
int reduction_of(MPI_Datatype type, MPI_Op op, struct reduction *r)
{
    struct reduction *last = &THREAD_OWN(reduction, struct reduction);

    if (!last->extent || last->type != type || last->op != op) {
        if (!look_up(type, op, r))
            return 0;
        *last = *r;
    }
    *r = *last;
    return 1;
}

static int is_aligned(const struct reduction *r, const void *p)
{
    size_t lowest = r->extent & (~r->extent + 1), alignment = lowest < 16 ? lowest : 16;

    return (uintptr_t)p % alignment == 0;
}

/* dst = b op dst, both aligned, by calls whose elements an int counts. */
static void reduce_aligned(const struct reduction *r, const char *b, char *dst, size_t bytes)
{
    const size_t most = (size_t)INT_MAX * r->extent;

    for (size_t at = 0; at < bytes; at += most) {
        size_t piece = bytes - at < most ? bytes - at : most;

        mpi.Reduce_local(b + at, dst + at, (int)(piece / r->extent), r->type, r->op);
    }
}

/* dst = a op b by the library, whose loops want the type's own alignment: what lies elsewhere,
   packed say, goes through a buffer. */
static void combine_by_library(const struct reduction *r, const char *a, const char *b, char *dst,
                               size_t bytes)
{
    _Alignas(16) char mine[2048], other[2048];
    size_t most = sizeof mine / r->extent * r->extent;

    if (is_aligned(r, b) && is_aligned(r, dst)) {
        if (dst != a)
            memcpy(dst, a, bytes);
        reduce_aligned(r, b, dst, bytes);
        return;
    }
    for (size_t at = 0; at < bytes; at += most) {
        size_t piece = bytes - at < most ? bytes - at : most;

        memcpy(mine, a + at, piece);
        memcpy(other, b + at, piece);
        reduce_aligned(r, other, mine, piece);
        memcpy(dst + at, mine, piece);
    }
}

void reduction_combine(void *context, const void *a, const void *b, void *dst, size_t bytes)
{
    const struct reduction *r = context;

    if (r->kernel)
        r->kernel(a, b, dst, bytes / r->extent);
    else
        combine_by_library(r, a, b, dst, bytes);
}

int reduction_by_library(void *context, const void *in, void *inout, int n)
{
    const struct reduction *r = context;

    return mpi.Reduce_local(in, inout, n, r->type, r->op) == MPI_SUCCESS ? 0 : -1;
}
