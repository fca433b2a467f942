/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine on real bytes: all ranks in one process over a transport that delays, holds
 * back and reorders completions as it likes (by a seed), for every algorithm.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "planners/check_meaning.h"
#include "test/unit/loopback.h"
#include "test/unit/random.h"
#include "test/unit/suites.h"
#include "transports/engine.h"

enum { MOST_RANKS = 12 };

/* What rank contributes to a logical position (see planners/check_meaning.h). */
static unsigned char contribution(uint32_t rank, uint64_t logical, uint64_t seed)
{
    uint64_t mixed = (logical + 1) * 2654435761u * (rank + 1) + seed * 97;

    return (unsigned char)(mixed >> 7);
}

/* Bytes combine by addition, whatever the size of an element. */
static void add_bytes(void *context, const void *a, const void *b, void *dst, size_t bytes)
{
    const unsigned char *x = a, *y = b;
    unsigned char *to = dst;

    if (bytes % *(size_t *)context)
        ck_abort_msg("half an element is combined");
    for (size_t i = 0; i < bytes; i++)
        to[i] = (unsigned char)(x[i] + y[i]);
}

struct member {
    struct plan *plan;
    struct engine *engine;
    struct xport xport;
    unsigned char *input, *output, *scratch;
    int finished;
};

static void fill(unsigned char *to, struct check_buffer *held, uint64_t seed)
{
    for (uint32_t i = 0; i < held->count; i++)
        for (uint64_t at = held->span[i].from; at < held->span[i].to; at++)
            to[at] = contribution(held->span[i].set, at + (uint64_t)held->span[i].shift, seed);
    check_buffer_free(held);
}

static void open_member(struct member *m, const struct plan_algorithm *a, struct plan_request *q,
                        struct loopback *net, uint64_t seed)
{
    struct check_buffer input = {0}, output = {0};
    size_t in_bytes = plan_input_bytes(q, q->rank), out_bytes = plan_output_bytes(q, q->rank);

    ck_assert_int_eq(a->build(q, &m->plan), 0);
    loopback_attach(net, q->rank, &m->xport);
    ck_assert_int_eq(engine_create(m->plan, &m->xport, &m->engine), 0);
    m->input = malloc(in_bytes + 1);
    m->output = malloc(out_bytes + 1);
    m->scratch = malloc(m->plan->scratch_bytes + 1);
    memset(m->output, 0xee, out_bytes + 1);
    memset(m->scratch, 0xdd, m->plan->scratch_bytes + 1);
    ck_assert_int_eq(check_before(q, q->rank, &input, &output), 0);
    fill(m->input, &input, seed);
    fill(m->output, &output, seed);
    struct engine_buffers buffers = {.input = m->input,
                                     .output = m->output,
                                     .scratch = m->scratch,
                                     .combine = add_bytes,
                                     .combine_context = &q->grain,
                                     .grain = q->grain};
    ck_assert_int_eq(engine_begin(m->engine, &buffers), 0);
}

static void close_member(struct member *m, const struct plan_request *q, int rank, uint64_t seed)
{
    struct check_buffer expected = {0};
    uint32_t all = UINT32_MAX;
    char text[1024];

    ck_assert_int_eq(check_after(q, rank, all, &expected), 0);
    for (uint32_t i = 0; i < expected.count; i++)
        for (uint64_t at = expected.span[i].from; at < expected.span[i].to; at++) {
            uint64_t logical = at + (uint64_t)expected.span[i].shift;
            unsigned char want = 0;

            if (expected.span[i].set != all)
                want = contribution(expected.span[i].set, logical, seed);
            else
                for (int r = 0; r < q->topo->nranks; r++)
                    want = (unsigned char)(want + contribution((uint32_t)r, logical, seed));
            if (m->output[at] != want) /* an assertion that holds costs a system call */
                ck_abort_msg("seed %llu, rank %d, byte %llu: %s", (unsigned long long)seed, rank,
                             (unsigned long long)at, rng_request_text(q, text));
        }
    ck_assert_uint_eq(m->output[plan_output_bytes(q, rank)], 0xee); /* nothing past the end */
    ck_assert_uint_eq(m->scratch[m->plan->scratch_bytes], 0xdd);
    check_buffer_free(&expected);
    engine_free(m->engine);
    plan_free(m->plan);
    free(m->input);
    free(m->output);
    free(m->scratch);
}

static void run(const struct plan_algorithm *a, int collective, uint64_t seed)
{
    struct rng r = {seed};
    struct plan_request q = rng_request(&r, (enum plan_collective)collective, MOST_RANKS, 1500);
    int nranks = q.topo->nranks, left = nranks;
    struct member member[MOST_RANKS] = {{0}};
    struct loopback *net = loopback_open(nranks, seed);

    for (q.rank = 0; q.rank < nranks; q.rank++)
        open_member(&member[q.rank], a, &q, net, seed);
    for (long step = 0; left; step++) {
        struct member *m = &member[rng_below(&r, (uint32_t)nranks)];
        enum engine_state state;

        if (step >= 3000000)
            ck_abort_msg("seed %llu: no end in sight", (unsigned long long)seed);
        if (m->finished)
            continue;
        if (engine_step(m->engine, &state))
            ck_abort_msg("seed %llu: a step failed", (unsigned long long)seed);
        m->finished = state == ENGINE_DONE;
        left -= m->finished;
    }
    for (int rank = 0; rank < nranks; rank++)
        close_member(&member[rank], &q, rank, seed);
    ck_assert_uint_eq(loopback_unmatched(net), 0);
    loopback_close(net);
    rng_request_free(&q);
}

START_TEST(test_engine__every_algorithm_delivers_over_a_slow_and_unfair_transport)
{
    for (int a = 0; a < plan_algorithm_count; a++)
        for (int c = 0; c < COLL_COUNT; c++)
            if (plan_algorithms[a]->collectives & 1u << c)
                for (uint64_t seed = 1; seed <= 150; seed++)
                    run(plan_algorithms[a], c, seed);
}
END_TEST

static int broken_send(void *state, unsigned slot, const void *buf, size_t length, int peer,
                       int lane)
{
    (void)state, (void)slot, (void)buf, (void)length, (void)peer, (void)lane;
    return 17;
}

START_TEST(test_engine__a_transport_error_ends_the_call_with_its_code)
{
    struct plan_builder *b = plan_build_begin(0, 2, 16);
    struct loopback *net = loopback_open(2, 1);
    struct plan *p = NULL;
    struct engine *e = NULL;
    struct xport x;
    char bytes[64] = "";

    plan_send(b, 1, 0, PLAN_INPUT, 0, 64);
    ck_assert_int_eq(plan_build_finish(b, "test", 64, 0, 0, &p), 0);
    loopback_attach(net, 0, &x);
    x.send = broken_send;
    ck_assert_int_eq(engine_create(p, &x, &e), 0);
    ck_assert_int_eq(engine_run(e, &(struct engine_buffers){.input = bytes}), 17);
    engine_free(e);
    plan_free(p);
    loopback_close(net);
}
END_TEST

Suite *suite_engine(void)
{
    Suite *s = suite_create("engine");
    TCase *t = tcase_create("engine");

    tcase_set_timeout(t, 120);
    tcase_add_test(t, test_engine__every_algorithm_delivers_over_a_slow_and_unfair_transport);
    tcase_add_test(t, test_engine__a_transport_error_ends_the_call_with_its_code);
    suite_add_tcase(s, t);
    return s;
}
