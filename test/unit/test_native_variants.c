/* SPDX-License-Identifier: BSD-3-Clause */
/* The library's own algorithms: their rough times, and their names in settings. */
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

/* Seconds of a call of 16 blocks of 1 MB, over rails of 1 MB/s where memory is no limit: blocks
   that cross the busiest rail, as they can be counted by hand. */
static double blocks(const char *topology, enum plan_collective c, const char *name)
{
    struct variant_set set = all_of(VARIANT_OPENMPI);
    struct topo *t = NULL;
    char why[256];

    ck_assert_msg(topo_parse(topology, 0, &t, why, sizeof why) == 0, "%s", why);
    struct plan_request q = request(c, t, plan_is_vector(c) ? 16000000 : 1000000);
    double seconds = plan_variant_seconds(plan_variant_find(&set, c, name), &q, 16000000);
    topo_free(t);
    return seconds;
}

START_TEST(test_variants__seconds_are_those_of_the_busiest_rail)
{
#define AFFINE "node:4 rank:4 rail:4@8Mbit link_shm:1TB/s"
    static const struct {
        const char *topology;
        enum plan_collective collective;
        const char *name;
        double blocks;
    } cases[] = {
        {AFFINE, COLL_ALLGATHER, "ring", 15},             /* one rank of a node sends each */
        {AFFINE, COLL_ALLGATHER, "neighbor", 8},          /* every other step leaves the node */
        {AFFINE, COLL_ALLGATHER, "bruck", 1 + 2 + 4 + 8}, /* every step does, of some rank */
        {AFFINE, COLL_ALLGATHER, "recursive_doubling", 4 + 8},
        {AFFINE, COLL_ALLGATHER, "linear", 12 + 12 * 16},      /* all blocks to each, by the root */
        {AFFINE, COLL_ALLREDUCE, "rabenseifner", 2 * (2 + 1)}, /* the large ones stay inside */
        {AFFINE, COLL_ALLREDUCE, "recursive_doubling", 2 * 16},
        {AFFINE, COLL_ALLREDUCE, "ring", 2 * 15},
        {AFFINE, COLL_REDUCE_SCATTER_BLOCK, "recursive_halving", 8 + 4},
        {AFFINE, COLL_REDUCE_SCATTER_BLOCK, "butterfly", 2 + 1},
        {AFFINE, COLL_ALLTOALL, "pairwise", 15},
        {AFFINE, COLL_ALLTOALL, "linear", 12},
        {AFFINE, COLL_BCAST, "binomial", 2 * 16},
        {AFFINE, COLL_GATHER, "basic_linear", 12},
        {AFFINE " rail_of:all", COLL_ALLGATHER, "ring", 15. / 4},
        {AFFINE " place:cyclic", COLL_ALLGATHER, "ring", 15}, /* every rank of a node sends */
        {AFFINE " place:cyclic", COLL_ALLREDUCE, "rabenseifner", 2 * (8 + 4)},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double seconds = blocks(cases[i].topology, cases[i].collective, cases[i].name);

        ck_assert_msg(fabs(seconds / cases[i].blocks - 1) < .02, "%s %s: %g, not %g",
                      plan_collective_name(cases[i].collective), cases[i].name, seconds,
                      cases[i].blocks);
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
    tcase_add_test(t, test_variants__seconds_are_those_of_the_busiest_rail);
    tcase_add_test(t, test_variants__names_lead_back);
    tcase_add_test(t, test_variants__a_name_in_the_setting);
    suite_add_tcase(s, t);
    return s;
}
