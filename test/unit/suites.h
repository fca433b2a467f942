/* SPDX-License-Identifier: BSD-3-Clause */
/* The suites that test/unit/main.c runs. */
#ifndef COLLSHIM_TEST_UNIT_SUITES_H
#define COLLSHIM_TEST_UNIT_SUITES_H

#include <check.h>

Suite *suite_settings(void);
Suite *suite_topo(void);
Suite *suite_plan(void);
Suite *suite_check(void);
Suite *suite_engine(void);
Suite *suite_balance(void);

#endif
