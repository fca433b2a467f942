/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A buffer as the test sees it: every byte from the lowest to the highest that a call may touch,
 * poisoned all over and with a margin at both ends. A second image holds the call's expected bytes,
 * so a byte written into a gap shows as surely as a wrong value.
 */
#ifndef COLLSHIM_TEST_MPI_IMAGE_H
#define COLLSHIM_TEST_MPI_IMAGE_H

#include "test/mpi/typemap.h"

enum { IMAGE_MARGIN = 64, IMAGE_POISON = 0xa5 };

struct image {
    unsigned char *byte; /* [size] owned */
    MPI_Aint low;        /* the displacement of byte[0] from the buffer's address */
    size_t size;
};

/* The places of blocks. The bounds cover all of them before any image is made. */
struct bounds {
    MPI_Aint low, high;
};

static void bounds_cover(struct bounds *b, const struct typemap *t, MPI_Aint at, int count)
{
    for (int i = 0; count > 0 && i < t->n; i++) {
        MPI_Aint first = at + t->entry[i].at, last = first + (count - 1) * t->extent;
        MPI_Aint low = first < last ? first : last, high = first < last ? last : first;
        b->low = low < b->low ? low : b->low;
        high += kinds[t->entry[i].kind].size;
        b->high = high > b->high ? high : b->high;
    }
}

static struct image image_make(const struct bounds *b)
{
    struct image m = {.low = b->low / 64 * 64 - 2 * IMAGE_MARGIN};

    m.size = (size_t)(b->high - m.low + IMAGE_MARGIN);
    m.byte = aligned_alloc(64, (m.size + 63) / 64 * 64);
    if (!m.byte)
        abort();
    memset(m.byte, IMAGE_POISON, m.size);
    return m;
}

/* The program's buffer for MPI. */
static UNUSED void *image_buffer(const struct image *m)
{
    return m->byte - m->low;
}

/* Element `index` of a sender's packed data, in some call. */
static void value_of(uint64_t call, int sender, uint64_t index, enum kind kind, void *value)
{
    uint64_t h = mix(mix(call * 1000 + (uint64_t)sender) + index);
    float f = (float)(h % 1000003) / 7;
    double d = (double)(h % 1000000007) / 7;
    long double ld = (long double)h / 7;
    double pair[2] = {d, -d};

    memset(value, 0, (size_t)kinds[kind].size);
    switch (kind) {
    case KIND_FLOAT:
        memcpy(value, &f, sizeof f);
        break;
    case KIND_DOUBLE:
        memcpy(value, &d, sizeof d);
        break;
    case KIND_LONG_DOUBLE:
        memcpy(value, &ld, (size_t)kinds[kind].valued);
        break;
    case KIND_COMPLEX:
        memcpy(value, pair, sizeof pair);
        break;
    default:
        memcpy(value, &h, (size_t)kinds[kind].size);
    }
}

/* Write a sender's data as count elements of t at displacement `at`. */
static void image_write(struct image *m, const struct typemap *t, MPI_Aint at, int count,
                        uint64_t call, int sender)
{
    for (int e = 0; e < count; e++)
        for (int i = 0; i < t->n; i++)
            value_of(call, sender, (uint64_t)e * (uint64_t)t->n + (uint64_t)i, t->entry[i].kind,
                     m->byte + (at + e * t->extent + t->entry[i].at - m->low));
}

/* Padding inside a long double counts for nothing: take it over before comparing. */
static UNUSED void image_ignore_padding(struct image *got, const struct image *want,
                                        const struct typemap *t, MPI_Aint at, int count)
{
    for (int e = 0; e < count; e++)
        for (int i = 0; i < t->n; i++) {
            MPI_Aint place = at + e * t->extent + t->entry[i].at - got->low;
            int valued = kinds[t->entry[i].kind].valued, size = kinds[t->entry[i].kind].size;
            memcpy(got->byte + place + valued, want->byte + place + valued,
                   (size_t)(size - valued));
        }
}

/* The displacement of the first byte that differs, or 0 and *differs = 0. */
static UNUSED MPI_Aint image_differs(const struct image *got, const struct image *want,
                                     int *differs)
{
    for (size_t i = 0; i < got->size; i++)
        if (got->byte[i] != want->byte[i]) {
            *differs = 1;
            return got->low + (MPI_Aint)i;
        }
    *differs = 0;
    return 0;
}

#endif
