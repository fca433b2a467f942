/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Logical positions: the offset in the packed vector of all blocks, or in the vector.
 */
#include "planners/check/check_meaning.h"

#include <errno.h>

static uint64_t block_start(const struct plan_request *q, int rank)
{
    uint64_t start = 0;

    if (!q->bytes)
        return (uint64_t)rank * q->nbytes;
    for (int r = 0; r < rank; r++)
        start += q->bytes[r];
    return start;
}

/* The place of entry i of the demand among all entries, row by row. */
static uint64_t message_start(const struct plan_request *q, uint64_t i)
{
    uint64_t start = 0;

    while (i--)
        start += q->demand[i];
    return start;
}

/* `length` bytes at `at` hold the contribution of `set` to logical position `logical` and on. */
static int put(struct check_buffer *b, uint64_t at, uint64_t length, uint32_t set, uint64_t logical)
{
    struct check_span s = {at, at + length, (int64_t)(logical - at), set};

    return length ? check_buffer_write(b, at, at + length, &s, 1) : 0;
}

int check_before(const struct plan_request *q, int rank, struct check_buffer *input,
                 struct check_buffer *output)
{
    uint64_t bytes = plan_block_bytes(q, rank), start = block_start(q, rank);
    uint64_t all = block_start(q, q->topo->nranks);
    uint32_t own = (uint32_t)rank;
    int combines = plan_is(q->collective, PLAN_COMBINES);

    switch ((enum plan_side)plan_collectives[q->collective].input) {
    case PLAN_NOTHING:
        return rank == q->root ? put(output, 0, q->nbytes, own, 0) : 0;
    case PLAN_VECTOR:
        return put(plan_in_place(q, rank) ? output : input, 0, q->nbytes, own, 0);
    case PLAN_BLOCK:
        return plan_in_place(q, rank) ? put(output, start, bytes, own, start)
                                      : put(input, 0, bytes, own, start);
    case PLAN_BLOCKS: /* not combined: what rank s has for rank d is at s * nranks + d */
        return put(input, 0, all, own, combines ? 0 : (uint64_t)rank * all);
    case PLAN_ROOT_BLOCKS:
        return rank == q->root ? put(input, 0, all, own, 0) : 0;
    case PLAN_ROW:
        return put(input, 0, plan_input_bytes(q, rank), own,
                   message_start(q, (uint64_t)rank * (uint64_t)q->topo->nranks));
    case PLAN_ROOT_VECTOR: /* outputs alone */
    case PLAN_COLUMN:
    case PLAN_PREFIX:
    case PLAN_PREFIX_BEFORE:
        break;
    }
    return -EINVAL;
}

/* All blocks, each from its own rank. */
static int gathered(const struct plan_request *q, struct check_buffer *expected)
{
    int rc = 0;

    for (int r = 0; !rc && r < q->topo->nranks; r++)
        rc = put(expected, block_start(q, r), plan_block_bytes(q, r), (uint32_t)r,
                 block_start(q, r));
    return rc;
}

/* That rank's block of every rank's input. */
static int exchanged(const struct plan_request *q, int rank, struct check_buffer *expected)
{
    uint64_t nranks = (uint64_t)q->topo->nranks, bytes = q->nbytes;
    int rc = 0;

    for (uint64_t s = 0; !rc && s < nranks; s++)
        rc = put(expected, s * bytes, bytes, (uint32_t)s, (s * nranks + (uint64_t)rank) * bytes);
    return rc;
}

/* The blocks that all ranks have for that rank, by sender. */
static int delivered(const struct plan_request *q, int rank, struct check_buffer *expected)
{
    uint64_t nranks = (uint64_t)q->topo->nranks, at = 0;
    int rc = 0;

    for (uint64_t s = 0; !rc && s < nranks; s++) {
        uint64_t i = s * nranks + (uint64_t)rank;
        rc = put(expected, at, q->demand[i], (uint32_t)s, message_start(q, i));
        at += q->demand[i];
    }
    return rc;
}

int check_after(const struct plan_request *q, int rank, const uint32_t *first,
                struct check_buffer *expected)
{
    int combines = plan_is(q->collective, PLAN_COMBINES);
    uint32_t from = combines ? first[q->topo->nranks] : (uint32_t)q->root;

    switch ((enum plan_side)plan_collectives[q->collective].output) {
    case PLAN_VECTOR:
        return put(expected, 0, q->nbytes, from, 0);
    case PLAN_ROOT_VECTOR:
        return rank == q->root ? put(expected, 0, q->nbytes, from, 0) : 0;
    case PLAN_BLOCK:
        return plan_in_place(q, rank)
                   ? 0
                   : put(expected, 0, plan_block_bytes(q, rank), from, block_start(q, rank));
    case PLAN_BLOCKS:
        return plan_is(q->collective, PLAN_SPREADS) ? gathered(q, expected)
                                                    : exchanged(q, rank, expected);
    case PLAN_ROOT_BLOCKS:
        return rank == q->root ? gathered(q, expected) : 0;
    case PLAN_COLUMN:
        return delivered(q, rank, expected);
    case PLAN_PREFIX:
        return put(expected, 0, q->nbytes, first[rank + 1], 0);
    case PLAN_PREFIX_BEFORE:
        return rank ? put(expected, 0, q->nbytes, first[rank], 0) : 0;
    case PLAN_NOTHING: /* inputs alone */
    case PLAN_ROW:
        break;
    }
    return -EINVAL;
}
