/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine on real bytes: all ranks in one process over a transport that delays, holds
 * back and reorders completions as it likes (by a seed), for every algorithm.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "planners/registry.h"
#include "test/unit/loopback.h"
#include "test/unit/random.h"
#include "test/unit/suites.h"
#include "transports/engine.h"

enum { MOST_RANKS = 12 };

static unsigned char byte_of(int rank, size_t i, uint64_t seed)
{
    size_t mixed = (i + 1) * 2654435761u * (unsigned)(rank + 1) + seed * 97;

    return (unsigned char)(mixed >> 7);
}

struct member {
    struct plan *plan;
    struct engine *engine;
    struct xport xport;
    unsigned char *input, *output;
    int finished;
};

static void open_member(struct member *m, const struct plan_algorithm *a, struct plan_request *q,
                        struct loopback *net, uint64_t seed)
{
    size_t own = plan_block_bytes(q, q->rank), offset = 0;

    for (int r = 0; r < q->rank; r++)
        offset += plan_block_bytes(q, r);
    ck_assert_int_eq(a->build(q, &m->plan), 0);
    loopback_attach(net, q->rank, &m->xport);
    ck_assert_int_eq(engine_create(m->plan, &m->xport, &m->engine), 0);
    m->output = malloc(plan_total_bytes(q) + 1);
    m->input = malloc(own + 1);
    memset(m->output, 0xee, plan_total_bytes(q) + 1);
    for (size_t i = 0; i < own; i++)
        (q->in_place ? m->output + offset : m->input)[i] = byte_of(q->rank, i, seed);
    struct engine_buffers buffers = {.input = m->input, .output = m->output};
    ck_assert_int_eq(engine_begin(m->engine, &buffers), 0);
}

static void run(const struct plan_algorithm *a, int collective, uint64_t seed)
{
    struct rng r = {seed};
    struct topo *t = rng_topo(&r, MOST_RANKS);
    size_t *bytes = rng_bytes(&r, t->nranks, 3000);
    struct plan_request q = {.collective = (enum plan_collective)collective,
                             .topo = t,
                             .nbytes = bytes[0],
                             .bytes = collective == PLAN_ALLGATHERV ? bytes : NULL,
                             .in_place = (int)rng_below(&r, 2),
                             .chunk_bytes = 1 + rng_below(&r, 700)};
    struct member member[MOST_RANKS] = {{0}};
    struct loopback *net = loopback_open(t->nranks, seed);
    int left = t->nranks;

    for (q.rank = 0; q.rank < t->nranks; q.rank++)
        open_member(&member[q.rank], a, &q, net, seed);
    for (long step = 0; left; step++) {
        struct member *m = &member[rng_below(&r, (uint32_t)t->nranks)];
        enum engine_state state;

        ck_assert_msg(step < 3000000, "seed %llu: no end in sight", (unsigned long long)seed);
        if (m->finished)
            continue;
        ck_assert_int_eq(engine_step(m->engine, &state), 0);
        m->finished = state == ENGINE_DONE;
        left -= m->finished;
    }
    for (int rank = 0; rank < t->nranks; rank++) {
        const unsigned char *at = member[rank].output;
        for (int from = 0; from < t->nranks; from++)
            for (size_t i = 0; i < plan_block_bytes(&q, from); i++, at++)
                ck_assert_msg(*at == byte_of(from, i, seed), "seed %llu: rank %d, block %d, byte %zu",
                              (unsigned long long)seed, rank, from, i);
        ck_assert_uint_eq(*at, 0xee); /* nothing past the end */
        engine_free(member[rank].engine);
        plan_free(member[rank].plan);
        free(member[rank].input);
        free(member[rank].output);
    }
    ck_assert_uint_eq(loopback_unmatched(net), 0);
    loopback_close(net);
    free(bytes);
    topo_free(t);
}

START_TEST(test_engine__every_algorithm_delivers_over_a_slow_and_unfair_transport)
{
    for (int a = 0; a < plan_algorithm_count; a++)
        for (int c = 0; c < PLAN_COLLECTIVE_COUNT; c++)
            if (plan_algorithms[a]->collectives & 1u << c)
                for (uint64_t seed = 1; seed <= 150; seed++)
                    run(plan_algorithms[a], c, seed);
}
END_TEST

static int broken_send(void *state, unsigned slot, const void *buf, size_t length, int peer, int lane)
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
