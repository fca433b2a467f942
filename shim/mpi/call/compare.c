/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Comparing packed data for COLLSHIM_MODE=verify. A long double of x86 has six unused bytes. A
 * library may or may not copy them, so differences there do not count. Their places follow from the
 * order of the type map. A type is decoded to find them, but only if the bytes differ at all.
 */
#include "shim/mpi/call/layout.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "shim/mpi/api/calls.h"
#include "shim/mpi/call/type_parts.h"

/* Bytes of a long double that hold a value. */
#define LONG_DOUBLE_VALUED (LDBL_MANT_DIG == 64 ? 10 : sizeof(long double))

static int mask_of(MPI_Datatype type, unsigned char *mask, size_t size);

static void mask_predefined(MPI_Datatype type, unsigned char *mask, size_t size)
{
    size_t reals = type == MPI_C_LONG_DOUBLE_COMPLEX                        ? 2
                   : type == MPI_LONG_DOUBLE || type == MPI_LONG_DOUBLE_INT ? 1
                                                                            : 0;

    memset(mask, 1, size);
    for (size_t i = 0; i < reals && (i + 1) * sizeof(long double) <= size; i++)
        memset(mask + i * sizeof(long double) + LONG_DOUBLE_VALUED, 0,
               sizeof(long double) - LONG_DOUBLE_VALUED);
}

/* `inner` again and again, `bytes` long in all. */
static int mask_repeated(MPI_Datatype inner, unsigned char *mask, size_t bytes)
{
    MPI_Count size;

    if (mpi.Type_size_x(inner, &size) != MPI_SUCCESS || size < 0 || bytes % (size_t)(size + !size))
        return -1;
    if (!bytes || !size)
        return bytes ? -1 : 0;
    if (mask_of(inner, mask, (size_t)size) < 0)
        return -1;
    for (size_t at = (size_t)size; at < bytes; at += (size_t)size)
        memcpy(mask + at, mask, (size_t)size);
    return 0;
}

/* The members of a struct one after the other. integers: their number, then how many of each. */
static int mask_struct(const int *integers, const MPI_Datatype *types, unsigned char *mask,
                       size_t bytes)
{
    for (int i = 0; i < integers[0]; i++) {
        MPI_Count size;
        if (mpi.Type_size_x(types[i], &size) != MPI_SUCCESS)
            return -1;
        size_t part = (size_t)size * (size_t)integers[1 + i];
        if (part > bytes || mask_repeated(types[i], mask, part) < 0)
            return -1;
        mask += part;
        bytes -= part;
    }
    return 0;
}

/* For each packed byte of one element: does it hold a value? Returns 0 or -1. */
static int mask_of(MPI_Datatype type, unsigned char *mask, size_t size)
{
    struct type_parts p;
    struct type_contents c;
    int rc = -1;

    if (type_parts_of(type, &p) < 0)
        return -1;
    if (type_is_predefined(&p)) {
        mask_predefined(type, mask, size);
        return 0;
    }
    if (type_contents_open(type, &c) < 0)
        return -1;
    if (p.combiner == MPI_COMBINER_STRUCT)
        rc = mask_struct(c.integer, c.type, mask, size);
    else if (p.types == 1) /* all others repeat one type */
        rc = mask_repeated(c.type[0], mask, size);
    type_contents_close(&c);
    return rc;
}

int layout_equal(const struct layout *l, const void *a, const void *b, size_t bytes)
{
    const unsigned char *x = a, *y = b;
    size_t size = (size_t)l->size;
    int equal = 0;

    if (!memcmp(a, b, bytes))
        return 1;
    unsigned char *mask = size ? malloc(size) : NULL;
    if (mask && mask_of(l->type, mask, size) == 0) {
        equal = 1;
        for (size_t i = 0; equal && i < bytes; i++)
            equal = x[i] == y[i] || !mask[i % size];
    }
    free(mask);
    return equal;
}
