/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/unit/member.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "planners/check/check_meaning.h"
#include "test/unit/random.h"

/* A rank's contribution to a logical position (see planners/check/check_meaning.h). */
static unsigned char contribution(uint32_t rank, uint64_t logical, uint64_t seed)
{
    uint64_t mixed = (logical + 1) * 2654435761u * (rank + 1) + seed * 97;

    return (unsigned char)(mixed >> 7);
}

/* Bytes combine by addition, at any size of an element. */
static void add_bytes(void *context, const void *a, const void *b, void *dst, size_t bytes)
{
    const unsigned char *x = a, *y = b;
    unsigned char *to = dst;

    must(bytes % *(size_t *)context == 0, "half an element is combined");
    for (size_t i = 0; i < bytes; i++)
        to[i] = (unsigned char)(x[i] + y[i]);
}

static void fill(unsigned char *to, struct check_buffer *held, uint64_t seed)
{
    for (uint32_t i = 0; i < held->count; i++)
        for (uint64_t at = held->span[i].from; at < held->span[i].to; at++)
            to[at] = contribution(held->span[i].set, at + (uint64_t)held->span[i].shift, seed);
    check_buffer_free(held);
}

static void note_part(void *context, int host)
{
    struct member *m = context;

    m->parts_done[host]++;
}

/* A part of which there is anything has ended once. */
static void assert_parts_ended(const struct member *m)
{
    int there[2] = {0};

    for (uint32_t i = 0; i < m->plan->nops; i++)
        there[plan_uses_host(&m->plan->ops[i])] = 1;
    ck_assert_int_eq(m->parts_done[0], there[0]);
    ck_assert_int_eq(m->parts_done[1], there[1]);
}

void member_open(struct member *m, const struct plan_algorithm *a, struct plan_request *q,
                 uint64_t seed)
{
    struct check_buffer input = {0}, output = {0};
    size_t in_bytes = plan_input_bytes(q, q->rank), out_bytes = plan_output_bytes(q, q->rank);

    ck_assert_int_eq(a->build(q, &m->plan), 0);
    ck_assert_int_eq(engine_create(m->plan, &m->xport, &m->engine), 0);
    m->input = malloc(in_bytes + 1);
    m->output = malloc(out_bytes + 1);
    m->scratch = malloc(m->plan->scratch_bytes + 1);
    memset(m->output, 0xee, out_bytes + 1);
    memset(m->scratch, 0xdd, m->plan->scratch_bytes + 1);
    m->host = malloc(m->plan->host_bytes + 1);
    memset(m->host, 0xcc, m->plan->host_bytes + 1);
    ck_assert_int_eq(check_before(q, q->rank, &input, &output), 0);
    fill(m->input, &input, seed);
    fill(m->output, &output, seed);
    const unsigned char *held[3][2] = {{m->input, m->input + in_bytes + 1},
                                       {m->output, m->output + out_bytes + 1},
                                       {m->scratch, m->scratch + m->plan->scratch_bytes + 1}};
    memcpy(m->held, held, sizeof held);
    if (m->on_device)
        m->late = late_device_open(m->held, 3, add_bytes, &q->grain, seed + (uint64_t)q->rank,
                                   m->fail_at, &m->device);
    struct engine_buffers buffers = {.device = m->late ? &m->device : NULL,
                                     .failed = m->failed,
                                     .input = m->input,
                                     .output = m->output,
                                     .scratch = m->scratch,
                                     .host = m->host,
                                     .combine = add_bytes,
                                     .combine_context = &q->grain,
                                     .grain = q->grain,
                                     .part_done = note_part,
                                     .part_context = m};
    ck_assert_int_eq(engine_begin(m->engine, &buffers), 0);
}

/* Sets of ranks from this number on are the first so many; others are a rank. */
enum { FIRST = 1 << 20 };

static int expect(const struct plan_request *q, int rank, struct check_buffer *expected)
{
    uint32_t *first = calloc((size_t)q->topo->nranks + 1, sizeof *first);

    ck_assert_ptr_nonnull(first);
    for (int n = 0; n <= q->topo->nranks; n++)
        first[n] = FIRST + (uint32_t)n;
    int rc = check_after(q, rank, first, expected);
    free(first);
    return rc;
}

void member_close(struct member *m, const struct plan_request *q, int rank, uint64_t seed)
{
    struct check_buffer expected = {0};
    char text[1024];

    ck_assert_int_eq(expect(q, rank, &expected), 0);
    for (uint32_t i = 0; !m->error && i < expected.count; i++)
        for (uint64_t at = expected.span[i].from; at < expected.span[i].to; at++) {
            uint64_t logical = at + (uint64_t)expected.span[i].shift;
            uint32_t set = expected.span[i].set;
            unsigned char want = set < FIRST ? contribution(set, logical, seed) : 0;

            for (uint32_t r = 0; set >= FIRST && r < set - FIRST; r++)
                want = (unsigned char)(want + contribution(r, logical, seed));
            must(m->output[at] == want, "seed %llu, rank %d, byte %llu: %s",
                 (unsigned long long)seed, rank, (unsigned long long)at, rng_request_text(q, text));
        }
    ck_assert_uint_eq(m->output[plan_output_bytes(q, rank)], 0xee); /* nothing past the end */
    ck_assert_uint_eq(m->scratch[m->plan->scratch_bytes], 0xdd);
    ck_assert_uint_eq(m->host[m->plan->host_bytes], 0xcc);
    if (m->finished) /* by the engine */
        assert_parts_ended(m);
    check_buffer_free(&expected);
    engine_free(m->engine);
    if (m->late)
        late_device_close(m->late);
    plan_free(m->plan);
    free(m->input);
    free(m->output);
    free(m->scratch);
    free(m->host);
}
