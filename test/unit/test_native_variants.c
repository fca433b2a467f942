/* SPDX-License-Identifier: BSD-3-Clause */
/* The library's own algorithms: their rows, and their names in settings. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "planners/choose/variants.h"
#include "planners/choose/wanted.h"
#include "shim/record/counts/live_layout.h"
#include "test/unit/suites.h"

static struct variant_set all_of(enum variant_library library)
{
    struct variant_set set = {0};

    for (int i = 0; i < plan_variant_count; i++)
        if (plan_variants[i].library == library)
            variant_set_add(&set, i);
    return set;
}

/* Open MPI's nonoverlapping Allreduce calls the Reduce and the Bcast of its communicator. */
START_TEST(test_variants__nothing_is_forced_under_nonoverlapping)
{
    struct variant_set set = all_of(VARIANT_OPENMPI);
    const struct plan_variant *over = plan_variant_find(&set, COLL_ALLREDUCE, "nonoverlapping");

    ck_assert_ptr_nonnull(over);
    for (int i = 0; i < plan_variant_count; i++) {
        const struct plan_variant *v = &plan_variants[i];

        if (v->library == VARIANT_OPENMPI &&
            (v->collective == COLL_REDUCE || v->collective == COLL_BCAST))
            ck_assert_msg(v->number != over->number || v->segment != over->segment,
                          "%s of %s shares its communicator", plan_variant_name(v),
                          plan_collective_name(v->collective));
    }
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

    tcase_add_test(t, test_variants__nothing_is_forced_under_nonoverlapping);
    tcase_add_test(t, test_variants__names_lead_back);
    tcase_add_test(t, test_variants__a_name_in_the_setting);
    suite_add_tcase(s, t);
    return s;
}
