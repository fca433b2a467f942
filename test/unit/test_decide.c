/* SPDX-License-Identifier: BSD-3-Clause */
/* Questions of both backends: the gate, the named algorithm, modes, and whether a plan may be used
   again. */
#include <check.h>
#include <string.h>

#include "shim/decide/base/plan_key.h"
#include "shim/decide/choose/choose.h"
#include "shim/decide/choose/gate.h"
#include "test/unit/suites.h"

enum { MIB = 1 << 20 };
#define C COLL_ALLREDUCE

static const struct plan_algorithm forced = {.name = "forced"}, profiled = {.name = "profiled"};

/* The defaults, as far as deciding looks at them. */
static void open_settings(void)
{
    memset(&settings, 0, sizeof settings);
    settings.cfg.choose = CFG_CHOOSE_MEASURE;
    settings.cfg.mode = CFG_MODE_ON;
    settings.cfg.min_bytes = 65536;
    settings.choice[C].served = 1;
}

START_TEST(test_decide__gate)
{
    ck_assert_int_eq(gate_collective(C), REASON_NONE);
    ck_assert_int_eq(gate_bytes(65535), REASON_SMALL);
    ck_assert_int_eq(gate_bytes(65536), REASON_NONE);
    ck_assert_int_eq(gate_rounding(1), REASON_NONE);
    ck_assert_int_eq(gate_always(C), 0);
    settings.cfg.exact = 1;
    ck_assert_int_eq(gate_rounding(1), REASON_EXACT);
    ck_assert_int_eq(gate_rounding(0), REASON_NONE);
    settings.choice[C].served = 0;
    ck_assert_int_eq(gate_collective(C), REASON_NO_ALGORITHM);
    settings.choice[C].native = 1;
    ck_assert_int_eq(gate_collective(C), REASON_CHOSEN);
    settings.choice[C].forced = &forced;
    ck_assert_int_eq(gate_always(C), 1);
}
END_TEST

/* COLLSHIM_ALGORITHM before the profile before the model; a chunk that the user says before the
   row's. */
START_TEST(test_decide__who_names_it)
{
    struct tuning_row row = {.algorithm = &profiled, .recipe = "r", .chunk_bytes = 4096, .ppg = 2};
    struct plan_request q = {.collective = C, .nbytes = MIB, .ppg = 4};
    struct plan_candidate c;

    ck_assert_int_eq(choose_named(&q, NULL, &c), 0);
    ck_assert_int_eq(choose_named(&q, &row, &c), 1);
    ck_assert_ptr_eq(c.algorithm, &profiled);
    ck_assert_str_eq(c.recipe, "r");
    ck_assert_uint_eq(c.chunk_bytes, 4096);
    ck_assert_int_eq(c.ppg, 2);
    settings.cfg.chunk_bytes = 8192;
    ck_assert_int_eq(choose_named(&q, &row, &c), 1);
    ck_assert_uint_eq(c.chunk_bytes, 0);
    settings.choice[C].forced = &forced;
    ck_assert_int_eq(choose_named(&q, &row, &c), 1);
    ck_assert_ptr_eq(c.algorithm, &forced);
    ck_assert_ptr_null(c.recipe);
    ck_assert_int_eq(c.ppg, 4);
}
END_TEST

START_TEST(test_decide__when_the_guard_measures)
{
    ck_assert_int_eq(choose_is_guarded(C), 1);
    settings.choice[C].forced = &forced;
    ck_assert_int_eq(choose_is_guarded(C), 0);
    open_settings();
    settings.cfg.choose = CFG_CHOOSE_MODEL;
    ck_assert_int_eq(choose_is_guarded(C), 0);
    open_settings();
    settings.cfg.min_bytes = 0;
    ck_assert_int_eq(choose_is_guarded(C), 0);
    open_settings();
    settings.cfg.mode = CFG_MODE_VERIFY;
    ck_assert_int_eq(choose_is_guarded(C), 0);
}
END_TEST

START_TEST(test_decide__modes)
{
    unsigned turn = 0;

    ck_assert_int_eq(choose_way(&turn), CHOOSE_REROUTED);
    settings.cfg.mode = CFG_MODE_VERIFY;
    ck_assert_int_eq(choose_way(&turn), CHOOSE_BOTH);
    ck_assert_uint_eq(turn, 0);
    settings.cfg.mode = CFG_MODE_AB;
    ck_assert_int_eq(choose_way(&turn), CHOOSE_NATIVE);
    ck_assert_int_eq(choose_way(&turn), CHOOSE_REROUTED);
    ck_assert_int_eq(choose_way(&turn), CHOOSE_NATIVE);
}
END_TEST

/* A plan is used again for an equal request, after any change of the memory that described it. */
START_TEST(test_decide__plan_keys)
{
    struct topo topo = {.nranks = 2};
    uint64_t demand[4] = {0, 5, 6, 0};
    size_t bytes[2] = {3, 4};
    char recipe[] = "split=1";
    struct plan_request q = {.collective = C, .topo = &topo, .nbytes = MIB, .recipe = recipe};
    struct plan_key k, d, b;

    ck_assert_int_eq(plan_key_set(&k, &q, &forced, 7), 0);
    ck_assert_int_eq(plan_key_is(&k, &q, &forced, 7), 1);
    ck_assert_int_eq(plan_key_is(&k, &q, &profiled, 7), 0);
    ck_assert_int_eq(plan_key_is(&k, &q, &forced, 8), 0);
    recipe[6] = '2';
    ck_assert_int_eq(plan_key_is(&k, &q, &forced, 7), 0);
    recipe[6] = '1';
    q.nbytes = MIB + 1;
    ck_assert_int_eq(plan_key_is(&k, &q, &forced, 7), 0);
    ck_assert_int_eq(plan_key_is_near(&k, &q, &forced), 1);
    q.nbytes = MIB;
    q.demand = demand;
    ck_assert_int_eq(plan_key_is(&k, &q, &forced, 7), 0);
    ck_assert_int_eq(plan_key_set(&d, &q, &forced, 0), 0);
    ck_assert_int_eq(plan_key_is(&d, &q, &forced, 0), 1);
    demand[1]++;
    ck_assert_int_eq(plan_key_is(&d, &q, &forced, 0), 0);
    q.demand = NULL;
    q.bytes = bytes;
    ck_assert_int_eq(plan_key_set(&b, &q, &forced, 0), 0);
    q.nbytes = 0;
    ck_assert_int_eq(plan_key_is(&b, &q, &forced, 0), 1);
    bytes[1]++;
    ck_assert_int_eq(plan_key_is(&b, &q, &forced, 0), 0);
    plan_key_clear(&k);
    plan_key_clear(&d);
    plan_key_clear(&b);
    ck_assert_int_eq(plan_key_is(&k, &q, &forced, 7), 0);
}
END_TEST

Suite *suite_decide(void)
{
    Suite *s = suite_create("decide");
    TCase *t = tcase_create("decide");

    tcase_add_checked_fixture(t, open_settings, NULL);
    tcase_add_test(t, test_decide__gate);
    tcase_add_test(t, test_decide__who_names_it);
    tcase_add_test(t, test_decide__when_the_guard_measures);
    tcase_add_test(t, test_decide__modes);
    tcase_add_test(t, test_decide__plan_keys);
    suite_add_tcase(s, t);
    return s;
}
