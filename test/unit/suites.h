/* SPDX-License-Identifier: BSD-3-Clause */
/* The suites that test/unit/main.c runs. */
#ifndef COLLSHIM_TEST_UNIT_SUITES_H
#define COLLSHIM_TEST_UNIT_SUITES_H

#include <check.h>

Suite *suite_settings(void);
Suite *suite_renamed(void);
Suite *suite_topo(void);
Suite *suite_plan(void);
Suite *suite_check(void);
Suite *suite_engine(void);
Suite *suite_load(void);
Suite *suite_follow(void);
Suite *suite_model(void);
Suite *suite_compose(void);
Suite *suite_variants(void);
Suite *suite_lanes(void);
Suite *suite_lengths(void);
Suite *suite_ucx(void);
Suite *suite_compose_recipes(void);
Suite *suite_shm(void);
Suite *suite_route(void);
Suite *suite_shm_board(void);
Suite *suite_shm_joint(void);
Suite *suite_kernels(void);
Suite *suite_arithmetic(void);
Suite *suite_choose(void);
Suite *suite_pick(void);
Suite *suite_profile(void);
Suite *suite_decide(void);
Suite *suite_guard(void);
Suite *suite_guard_bounds(void);
Suite *suite_guard_expects(void);
Suite *suite_guard_later(void);
Suite *suite_evidence(void);
Suite *suite_belief(void);
Suite *suite_store(void);
Suite *suite_native_variants(void);
Suite *suite_workers(void);
Suite *suite_host_memory(void);
Suite *suite_cpulist(void);
Suite *suite_json(void);
Suite *suite_write_file(void);
Suite *suite_site(void);
Suite *suite_preload_list(void);
Suite *suite_socket(void);
Suite *suite_watch(void);
Suite *suite_balance(void);
Suite *suite_collaborative(void);
Suite *suite_correction(void);
Suite *suite_windows(void);
Suite *suite_slices(void);
Suite *suite_helpers(void);
Suite *suite_rounds(void);
Suite *suite_call_site(void);
Suite *suite_spool(void);
Suite *suite_live(void);
Suite *suite_rail_count(void);

#endif
