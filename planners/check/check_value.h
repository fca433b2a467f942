/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The symbolic contents of a byte, for the checker only.
 *
 * Every input byte of a rank has a logical position (where it belongs in the result). A byte of a
 * buffer then holds the combination of the bytes that a set of ranks contributed at one logical
 * position. A buffer is kept as spans of bytes with the same set and the same distance to their
 * logical position. So checking costs time per operation and not per byte.
 *
 * A combination also has a way: which sums were formed from which. Operations commute but do not
 * associate to the bit, so two combinations of one set are equal to the bit if their ways are.
 */
#ifndef COLLSHIM_PLANNERS_CHECK_VALUE_H
#define COLLSHIM_PLANNERS_CHECK_VALUE_H

#include <stdint.h>

/* Interned sets of ranks, each with the way it was combined. Ids 0 .. nranks-1 are the sets of one
   rank. */
struct check_sets {
    int nranks, words; /* words of ranks; one more is a hash of the way */
    uint64_t *bits;    /* [count * (words + 1)] owned */
    uint32_t count, room;
    uint32_t *slot; /* [nslots] owned: a set's id + 1 near its hash, or 0 */
    uint32_t nslots, filled;
};

int check_sets_init(struct check_sets *s, int nranks); /* 0 or -ENOMEM */
void check_sets_free(struct check_sets *s);
/* The union of two disjoint sets. Returns its id, -EEXIST if they share a rank, or -ENOMEM. */
int64_t check_sets_join(struct check_sets *s, uint32_t a, uint32_t b);
/* Have both the same ranks? Their ways may differ. */
int check_sets_equal(const struct check_sets *s, uint32_t a, uint32_t b);
/* A rank that both sets hold, or -1. */
int check_sets_shared(const struct check_sets *s, uint32_t a, uint32_t b);

struct check_span {
    uint64_t from, to; /* bytes of the buffer */
    int64_t shift;     /* logical position minus buffer position */
    uint32_t set;
};

/* A buffer: defined spans, sorted, not touching where they could be one. */
struct check_buffer {
    struct check_span *span; /* [count] owned */
    uint32_t count, room;
};

/* Replace [from, to) by n spans (positions of this buffer, in order). 0 or -ENOMEM. */
int check_buffer_write(struct check_buffer *b, uint64_t from, uint64_t to,
                       const struct check_span *span, uint32_t n);
/*
 * The spans of [from, to), clipped, appended to *out (a scratch buffer that is emptied first).
 * Returns 0, -ENODATA with *hole set to the first undefined byte, or -ENOMEM.
 */
int check_buffer_read(const struct check_buffer *b, uint64_t from, uint64_t to,
                      struct check_buffer *out, uint64_t *hole);
void check_buffer_free(struct check_buffer *b);

#endif
