/* SPDX-License-Identifier: BSD-3-Clause */
/* All unit tests in one program; CK_RUN_SUITE and CK_RUN_CASE pick some of them. */
#include <stdlib.h>

#include "test/unit/folder.h"
#include "test/unit/suites.h"

/* Seconds a test may take: ends what hangs, and nothing that merely shares its processors. */
#define TIMEOUT "900"

static int run(void)
{
    setenv("CK_DEFAULT_TIMEOUT", TIMEOUT, 0); /* read as each case is made */
    SRunner *r = srunner_create(suite_settings());

    srunner_add_suite(r, suite_renamed());
    srunner_add_suite(r, suite_topo());
    srunner_add_suite(r, suite_plan());
    srunner_add_suite(r, suite_check());
    srunner_add_suite(r, suite_engine());
    srunner_add_suite(r, suite_load());
    srunner_add_suite(r, suite_follow());
    srunner_add_suite(r, suite_model());
    srunner_add_suite(r, suite_compose());
    srunner_add_suite(r, suite_variants());
    srunner_add_suite(r, suite_lanes());
    srunner_add_suite(r, suite_lengths());
    srunner_add_suite(r, suite_ucx());
    srunner_add_suite(r, suite_compose_recipes());
    srunner_add_suite(r, suite_shm());
    srunner_add_suite(r, suite_route());
    srunner_add_suite(r, suite_shm_board());
    srunner_add_suite(r, suite_shm_joint());
    srunner_add_suite(r, suite_kernels());
    srunner_add_suite(r, suite_arithmetic());
    srunner_add_suite(r, suite_choose());
    srunner_add_suite(r, suite_native_variants());
    srunner_add_suite(r, suite_pick());
    srunner_add_suite(r, suite_profile());
    srunner_add_suite(r, suite_decide());
    srunner_add_suite(r, suite_guard());
    srunner_add_suite(r, suite_guard_bounds());
    srunner_add_suite(r, suite_guard_expects());
    srunner_add_suite(r, suite_guard_later());
    srunner_add_suite(r, suite_evidence());
    srunner_add_suite(r, suite_belief());
    srunner_add_suite(r, suite_store());
    srunner_add_suite(r, suite_workers());
    srunner_add_suite(r, suite_host_memory());
    srunner_add_suite(r, suite_cpulist());
    srunner_add_suite(r, suite_json());
    srunner_add_suite(r, suite_write_file());
    srunner_add_suite(r, suite_site());
    srunner_add_suite(r, suite_preload_list());
    srunner_add_suite(r, suite_socket());
    srunner_add_suite(r, suite_watch());
    srunner_add_suite(r, suite_balance());
    srunner_add_suite(r, suite_collaborative());
    srunner_add_suite(r, suite_correction());
    srunner_add_suite(r, suite_windows());
    srunner_add_suite(r, suite_slices());
    srunner_add_suite(r, suite_helpers());
    srunner_add_suite(r, suite_rounds());
    srunner_add_suite(r, suite_call_site());
    srunner_add_suite(r, suite_spool());
    srunner_add_suite(r, suite_live());
    srunner_add_suite(r, suite_rail_count());
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(void)
{
    return folder_run(run);
}
