/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine on real bytes: all ranks in one process over a transport that delays, holds
 * back and reorders completions as it likes (by a seed), for every algorithm.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>

#include "test/unit/loopback.h"
#include "test/unit/member.h"
#include "test/unit/random.h"
#include "test/unit/suites.h"
#include "transports/engine/engine.h"

enum { MOST_RANKS = 12 };

/* Where the ranks' buffers lie, and what fails. */
enum circumstances { HOST, DEVICES, FAILURES };

static void draw_circumstances(struct rng *r, enum circumstances what, struct member *m)
{
    if (what == HOST)
        return;
    m->on_device = rng_below(r, 4) > 0;
    if (what == DEVICES || rng_below(r, 3))
        return;
    if (m->on_device && rng_below(r, 3))
        m->fail_at = 1 + (int)rng_below(r, 40);
    else
        m->failed = -EINVAL;
}

/* A rank that has failed knows it, and if any rank knows of a failure, some rank has failed. */
static void want_consistent(const struct member *m, int nranks)
{
    int failed = 0, know = 0;

    for (int i = 0; i < nranks; i++) {
        int first = m[i].failed || (m[i].late && late_device_failed(m[i].late));
        failed += first;
        know += m[i].error != 0;
        must(!first || m[i].error, "a rank has failed and does not say so");
    }
    must(failed || !know, "an error out of nothing");
}

static void run(const struct plan_algorithm *a, int collective, uint64_t seed,
                enum circumstances what)
{
    struct rng r = {seed};
    struct plan_request q = rng_request(&r, (enum plan_collective)collective, MOST_RANKS, 1500);
    int nranks = q.topo->nranks, left = nranks;
    struct member member[MOST_RANKS] = {{0}};
    struct loopback *net = loopback_open(nranks, seed);

    for (q.rank = 0; q.rank < nranks; q.rank++) {
        loopback_attach(net, q.rank, &member[q.rank].xport);
        draw_circumstances(&r, what, &member[q.rank]);
        member_open(&member[q.rank], a, &q, seed);
    }
    for (long step = 0; left; step++) {
        struct member *m = &member[rng_below(&r, (uint32_t)nranks)];
        enum engine_state state;

        must(step < 3000000, "seed %llu: no end in sight", (unsigned long long)seed);
        if (m->finished)
            continue;
        m->error = engine_step(m->engine, &state);
        must(!m->error || what == FAILURES, "the engine fails");
        m->finished = state == ENGINE_DONE;
        must(m->finished || !m->error, "an error before the end");
        left -= m->finished;
    }
    want_consistent(member, nranks);
    for (int rank = 0; rank < nranks; rank++)
        member_close(&member[rank], &q, rank, seed);
    ck_assert_uint_eq(loopback_unmatched(net), 0);
    loopback_close(net);
    rng_request_free(&q);
}

START_TEST(test_engine__every_algorithm_delivers_over_a_slow_and_unfair_transport)
{
    for (int a = 0; a < plan_algorithm_count; a++)
        for (int c = 0; c < COLL_COUNT; c++)
            if (plan_algorithms[a]->collectives & 1u << c)
                for (uint64_t seed = 1; seed <= rng_seeds(150); seed++)
                    run(plan_algorithms[a], c, seed, HOST);
}
END_TEST

START_TEST(test_engine__buffers_on_the_device_of_any_of_the_ranks)
{
    for (int a = 0; a < plan_algorithm_count; a++)
        for (int c = 0; c < COLL_COUNT; c++)
            if (plan_algorithms[a]->collectives & 1u << c)
                for (uint64_t seed = 1; seed <= rng_seeds(60); seed++)
                    run(plan_algorithms[a], c, seed, DEVICES);
}
END_TEST

START_TEST(test_engine__who_fails_keeps_nobody_waiting_and_nobody_takes_its_data)
{
    for (int a = 0; a < plan_algorithm_count; a++)
        for (int c = 0; c < COLL_COUNT; c++)
            if (plan_algorithms[a]->collectives & 1u << c)
                for (uint64_t seed = 1; seed <= rng_seeds(60); seed++)
                    run(plan_algorithms[a], c, seed, FAILURES);
}
END_TEST

/* Rank 0 sends one length and rank 1 expects another; then rank 1 sends something back. */
static struct plan *ping_pong(int rank, uint64_t length)
{
    struct plan_builder *b = plan_build_begin(rank, 2, 64);
    struct plan *p = NULL;

    if (rank == 0) {
        plan_send(b, 1, 0, PLAN_INPUT, 0, length);
        plan_recv(b, 1, 0, PLAN_OUTPUT, 0, 16);
    } else {
        uint32_t first = plan_recv(b, 0, 0, PLAN_OUTPUT, 0, length);
        plan_send(b, 0, 0, PLAN_INPUT, 0, 16);
        plan_after(b, first);
    }
    ck_assert_int_eq(plan_build_finish(b, "test", 64, 64, 0, 0, &p), 0);
    return p;
}

static void count_landed(void *context, int peer)
{
    int *landed = context;

    landed[peer]++;
}

START_TEST(test_engine__messages_that_come_in_are_told_with_their_peer)
{
    struct loopback *net = loopback_open(2, 1);
    struct xport x[2];
    struct plan *p[2];
    struct engine *e[2];
    char input[64] = "", output[2][64];
    enum engine_state state[2] = {ENGINE_MOVED, ENGINE_MOVED};
    int landed[2][2] = {{0}};

    for (int r = 0; r < 2; r++) {
        p[r] = ping_pong(r, 64);
        loopback_attach(net, r, &x[r]);
        ck_assert_int_eq(engine_create(p[r], &x[r], &e[r]), 0);
        ck_assert_int_eq(engine_begin(e[r], &(struct engine_buffers){.input = input,
                                                                     .output = output[r],
                                                                     .landed = count_landed,
                                                                     .landed_context = landed[r]}),
                         0);
    }
    for (int step = 0; step < 1000; step++)
        for (int r = 0; r < 2; r++)
            if (state[r] != ENGINE_DONE)
                ck_assert_int_eq(engine_step(e[r], &state[r]), 0);
    for (int r = 0; r < 2; r++) {
        ck_assert_int_eq(state[r], ENGINE_DONE);
        ck_assert_int_eq(landed[r][!r], 1);
        ck_assert_int_eq(landed[r][r], 0); /* a send is not told */
        engine_free(e[r]);
        plan_free(p[r]);
    }
    loopback_close(net);
}
END_TEST

START_TEST(test_engine__a_message_of_another_length_fails_the_call_on_all_that_need_it)
{
    static const uint64_t lengths[][2] = {{48, 64}, {64, 48}, {40, 48}};
    const uint64_t *length = lengths[_i];
    struct loopback *net = loopback_open(2, 1);
    struct xport x[2];
    struct plan *p[2];
    struct engine *e[2];
    char input[64] = "", output[2][64];
    enum engine_state state[2] = {ENGINE_MOVED, ENGINE_MOVED};
    int rc[2] = {0, 0};

    loopback_let_lengths_differ(net);
    for (int r = 0; r < 2; r++) {
        p[r] = ping_pong(r, length[r]);
        loopback_attach(net, r, &x[r]);
        ck_assert_int_eq(engine_create(p[r], &x[r], &e[r]), 0);
        ck_assert_int_eq(
            engine_begin(e[r], &(struct engine_buffers){.input = input, .output = output[r]}), 0);
    }
    for (int step = 0; step < 1000; step++)
        for (int r = 0; r < 2; r++)
            if (state[r] != ENGINE_DONE)
                rc[r] = engine_step(e[r], &state[r]);
    ck_assert_int_eq(state[0], ENGINE_DONE);
    ck_assert_int_eq(state[1], ENGINE_DONE);
    ck_assert_int_eq(rc[1], -EMSGSIZE);
    ck_assert_int_eq(rc[0], -EIO);
    ck_assert_uint_eq(loopback_unmatched(net), 0);
    for (int r = 0; r < 2; r++) {
        engine_free(e[r]);
        plan_free(p[r]);
    }
    loopback_close(net);
}
END_TEST

static int broken_send(void *state, unsigned slot, const void *buf, size_t length, int peer,
                       int tag)
{
    (void)state, (void)slot, (void)buf, (void)length, (void)peer, (void)tag;
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
    ck_assert_int_eq(plan_build_finish(b, "test", 64, 0, 0, 0, &p), 0);
    loopback_attach(net, 0, &x);
    x.send = broken_send;
    ck_assert_int_eq(engine_create(p, &x, &e), 0);
    ck_assert_int_eq(engine_run(e, &(struct engine_buffers){.input = bytes}), 17);
    engine_free(e);
    plan_free(p);
    loopback_close(net);
}
END_TEST

START_TEST(test_engine__host_memory_is_a_buffer_of_its_own)
{
    enum { BYTES = 100 };
    struct plan_builder *b = plan_build_begin(0, 1, 16);
    struct loopback *net = loopback_open(1, 1);
    struct plan *p = NULL;
    struct engine *e = NULL;
    struct xport x;
    unsigned char input[BYTES], output[BYTES] = {0}, host[BYTES] = {0};

    for (int i = 0; i < BYTES; i++)
        input[i] = (unsigned char)(i + 1);
    uint32_t up = plan_copy(b, 0, PLAN_INPUT, 0, PLAN_HOST, 0, BYTES);
    plan_copy(b, 1, PLAN_HOST, 0, PLAN_OUTPUT, 0, BYTES);
    plan_after(b, up);
    ck_assert_int_eq(plan_build_finish(b, "test", BYTES, BYTES, 0, BYTES, &p), 0);
    ck_assert_uint_eq(p->host_bytes, BYTES);
    loopback_attach(net, 0, &x);
    ck_assert_int_eq(engine_create(p, &x, &e), 0);
    ck_assert_int_eq(
        engine_run(e, &(struct engine_buffers){.input = input, .output = output, .host = host}), 0);
    ck_assert_mem_eq(host, input, BYTES);
    ck_assert_mem_eq(output, input, BYTES);
    engine_free(e);
    plan_free(p);
    loopback_close(net);
}
END_TEST

Suite *suite_engine(void)
{
    Suite *s = suite_create("engine");
    TCase *t = tcase_create("engine");

    tcase_add_test(t, test_engine__messages_that_come_in_are_told_with_their_peer);
    tcase_add_test(t, test_engine__every_algorithm_delivers_over_a_slow_and_unfair_transport);
    tcase_add_test(t, test_engine__buffers_on_the_device_of_any_of_the_ranks);
    tcase_add_test(t, test_engine__who_fails_keeps_nobody_waiting_and_nobody_takes_its_data);
    tcase_add_loop_test(
        t, test_engine__a_message_of_another_length_fails_the_call_on_all_that_need_it, 0, 3);
    tcase_add_test(t, test_engine__a_transport_error_ends_the_call_with_its_code);
    tcase_add_test(t, test_engine__host_memory_is_a_buffer_of_its_own);
    suite_add_tcase(s, t);
    return s;
}
