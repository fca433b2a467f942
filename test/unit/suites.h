/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions that make the suites of suites.def. */
#ifndef COLLSHIM_TEST_UNIT_SUITES_H
#define COLLSHIM_TEST_UNIT_SUITES_H

#include <check.h>

#define SUITE(name) Suite *suite_##name(void);
#include "test/unit/suites.def"
#undef SUITE

#endif
