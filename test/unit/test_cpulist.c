/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <check.h>

#include "config/base/cpulist.h"
#include "test/unit/suites.h"

START_TEST(test_cpulist__is_read_as_the_kernel_writes_it)
{
    static const struct {
        const char *list;
        int n, first, last;
    } cases[] = {{"0-3\n", 4, 0, 3},   {"3-4,9,11-70\n", 63, 3, 70},
                 {"\n", 0, 0, 0},      {"0-99999\n", CPU_SETSIZE, 0, CPU_SETSIZE - 1},
                 {"99999\n", 0, 0, 0}, {"2", 1, 2, 2},
                 {"7,none", 1, 7, 7},  {"none", 0, 0, 0}};
    cpu_set_t cpus;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cpulist_parse(cases[i].list, &cpus);
        ck_assert_int_eq(CPU_COUNT(&cpus), cases[i].n);
        ck_assert(!cases[i].n ||
                  (CPU_ISSET(cases[i].first, &cpus) && CPU_ISSET(cases[i].last, &cpus)));
    }
}
END_TEST

START_TEST(test_cpulist__a_file_that_is_not_there_leaves_none)
{
    cpu_set_t cpus;

    ck_assert_int_eq(cpulist_read("/sys/devices/system/cpu/online", &cpus), 0);
    ck_assert_int_gt(CPU_COUNT(&cpus), 0);
    ck_assert_int_eq(cpulist_read("/sys/devices/system/cpu/none", &cpus), -1);
    ck_assert_int_eq(CPU_COUNT(&cpus), 0);
}
END_TEST

Suite *suite_cpulist(void)
{
    Suite *s = suite_create("cpulist");
    TCase *t = tcase_create("cpulist");

    tcase_add_test(t, test_cpulist__is_read_as_the_kernel_writes_it);
    tcase_add_test(t, test_cpulist__a_file_that_is_not_there_leaves_none);
    suite_add_tcase(s, t);
    return s;
}
