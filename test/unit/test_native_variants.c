/* SPDX-License-Identifier: BSD-3-Clause */
/* The library's own algorithms as candidates: of the set alone, in order, and named as users do. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planners/variants.h"
#include "planners/wanted.h"
#include "shim/decide/live.h"
#include "test/unit/suites.h"
#include "test/unit/test_topo.h"

static struct variant_set all_of(enum variant_library library)
{
    struct variant_set set = {0};

    for (int i = 0; i < plan_variant_count; i++)
        if (plan_variants[i].library == library)
            variant_set_add(&set, i);
    return set;
}

static struct plan_request request(enum plan_collective c, const struct topo *t, size_t nbytes)
{
    return (struct plan_request){.collective = c, .topo = t, .nbytes = nbytes, .grain = 1};
}

START_TEST(test_variants__candidates_are_of_the_set_in_order)
{
    struct variant_set set = all_of(_i ? VARIANT_MPICH : VARIANT_OPENMPI), none = {0};
    struct plan_candidate c[PLAN_CANDIDATES];
    struct topo *t = NULL;
    char why[256];

    ck_assert_int_eq(topo_parse("node:4 gpu:4 rail:4", 0, &t, why, sizeof why), 0);
    for (int collective = 0; collective < COLL_COUNT; collective++) {
        struct plan_request q = request((enum plan_collective)collective, t, 4096);
        int n = plan_variant_candidates(&set, &q, 65536, c, PLAN_CANDIDATES);

        ck_assert_int_le(n, VARIANT_CANDIDATES);
        for (int i = 0; i < n; i++) {
            const struct plan_variant *v = plan_variant_of(c[i].algorithm);

            ck_assert_ptr_nonnull(v);
            ck_assert(variant_set_has(&set, plan_variant_index(v)));
            ck_assert_int_eq((int)v->collective, collective);
            ck_assert(isfinite(c[i].seconds) && c[i].seconds > 0);
            ck_assert(!i || c[i - 1].seconds <= c[i].seconds);
        }
        ck_assert_int_eq(plan_variant_candidates(&none, &q, 65536, c, PLAN_CANDIDATES), 0);
        ck_assert_int_le(plan_variant_candidates(&set, &q, 65536, c, 1), 1);
    }
    topo_free(t);
}
END_TEST

/* The first candidate of an Allgather of so many bytes in all, on 4 nodes of 4 ranks. */
static const char *first_of_allgather(uint64_t total)
{
    struct variant_set set = all_of(VARIANT_OPENMPI);
    struct plan_candidate c[1];
    struct topo *t = NULL;
    char why[256];

    ck_assert_int_eq(topo_parse("node:4 gpu:4 rail:4", 0, &t, why, sizeof why), 0);
    struct plan_request q = request(COLL_ALLGATHER, t, (size_t)total / 16);
    ck_assert_int_eq(plan_variant_candidates(&set, &q, total, c, 1), 1);
    topo_free(t);
    return c[0].algorithm->name;
}

START_TEST(test_variants__few_steps_for_small_calls)
{
    const char *small = first_of_allgather(1024);

    ck_assert_msg(strcmp(small, "native:ring") && strcmp(small, "native:neighbor"), "%s", small);
}
END_TEST

START_TEST(test_variants__names_lead_back)
{
    struct variant_set set[] = {all_of(VARIANT_OPENMPI), all_of(VARIANT_MPICH),
                                all_of(VARIANT_NCCL)};

    ck_assert_ptr_null(plan_variant_of(plan_algorithms[0]));
    ck_assert_ptr_null(plan_variant_of(NULL));
    for (int i = 0; i < plan_variant_count; i++) {
        const struct plan_variant *v = &plan_variants[i];

        ck_assert_ptr_eq(plan_variant_of(&v->row), v);
        ck_assert_ptr_eq(plan_variant_find(&set[v->library], v->collective, plan_variant_name(v)),
                         v);
        ck_assert_ptr_eq(plan_variant_named(v->library, v->collective, plan_variant_name(v)), v);
        ck_assert_int_lt(plan_variant_place(v), LIVE_VARIANTS);
        ck_assert_ptr_eq(plan_variant_at(v->collective, plan_variant_place(v)), v);
    }
}
END_TEST

START_TEST(test_variants__a_name_in_the_setting)
{
    struct choice choice[COLL_COUNT] = {0};
    struct cfg cfg;

    setenv("COLLSHIM_ALGORITHM", "allgather=native:ring,bcast=native,reduce=parallel_rings", 1);
    cfg_load(&cfg, NULL);
    wanted_open(&cfg, choice);
    unsetenv("COLLSHIM_ALGORITHM");
    ck_assert_int_eq(cfg.problems, 0);
    ck_assert_str_eq(choice[COLL_ALLGATHER].variant, "ring");
    ck_assert(choice[COLL_ALLGATHER].native && !choice[COLL_ALLGATHER].forced);
    ck_assert_str_eq(choice[COLL_BCAST].variant, "");
    ck_assert(choice[COLL_BCAST].native);
    ck_assert(!choice[COLL_REDUCE].native && choice[COLL_REDUCE].forced);

    struct choice nameless[COLL_COUNT] = {0};
    setenv("COLLSHIM_ALGORITHM", "allgather=native:", 1);
    cfg_load(&cfg, NULL);
    wanted_open(&cfg, nameless);
    unsetenv("COLLSHIM_ALGORITHM");
    ck_assert_int_eq(cfg.problems, 1);
    ck_assert(nameless[COLL_ALLGATHER].native && !nameless[COLL_ALLGATHER].variant[0]);
}
END_TEST

Suite *suite_native_variants(void)
{
    Suite *s = suite_create("native variants");
    TCase *t = tcase_create("variants");

    tcase_add_loop_test(t, test_variants__candidates_are_of_the_set_in_order, 0, 2);
    tcase_add_test(t, test_variants__few_steps_for_small_calls);
    tcase_add_test(t, test_variants__names_lead_back);
    tcase_add_test(t, test_variants__a_name_in_the_setting);
    suite_add_tcase(s, t);
    return s;
}
