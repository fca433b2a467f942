/* SPDX-License-Identifier: BSD-3-Clause */
/* LD_PRELOAD with collshim in it, after any earlier value. */
#include <check.h>
#include <stdlib.h>

#include "config/base/preload_list.h"
#include "test/unit/suites.h"

#define OURS "/opt/c/lib/libcollshim.so"

static const struct {
    const char *list, *library, *expected;
} rows[] = {
    {NULL, OURS, OURS},
    {"", OURS, OURS},
    {" :: ", OURS, OURS},
    {"tool.so", OURS, OURS ":tool.so"},
    {"a.so b.so", OURS, OURS ":a.so:b.so"},
    {":a.so::b.so: ", OURS, OURS ":a.so:b.so"},
    {OURS, OURS, OURS},
    {"a.so:" OURS ":b.so", OURS, "a.so:" OURS ":b.so"},
    {OURS ":" OURS, OURS, OURS},
    {"/opt/other/libcollshim.so:a.so:libcollshim.so", OURS, OURS ":a.so"},
    {"a.so:/opt/other/libcollshim.so", OURS, "a.so:" OURS},
    {"notlibcollshim.so", OURS, OURS ":notlibcollshim.so"},
    {"libcollshim.so.bak", OURS, OURS ":libcollshim.so.bak"},
    {OURS, NULL, ""},
    {"a.so:libcollshim.so:b.so", NULL, "a.so:b.so"},
    {NULL, NULL, ""},
};

START_TEST(test_list)
{
    char *list = preload_list_with(rows[_i].list, rows[_i].library);

    ck_assert_str_eq(list, rows[_i].expected);
    free(list);
}
END_TEST

START_TEST(test_twice_is_once)
{
    char *once, *twice;

    if (!rows[_i].library)
        return;
    once = preload_list_with(rows[_i].list, rows[_i].library);
    twice = preload_list_with(once, rows[_i].library);
    ck_assert_str_eq(once, twice);
    free(once);
    free(twice);
}
END_TEST

START_TEST(test_paths_that_the_linker_would_cut)
{
    ck_assert(preload_list_can_hold(OURS));
    ck_assert(!preload_list_can_hold("/home/a b/libcollshim.so"));
    ck_assert(!preload_list_can_hold("/a:b/libcollshim.so"));
    ck_assert(!preload_list_can_hold(""));
}
END_TEST

Suite *suite_preload_list(void)
{
    Suite *s = suite_create("preload_list");
    TCase *t = tcase_create("preload_list");

    tcase_add_loop_test(t, test_list, 0, sizeof rows / sizeof *rows);
    tcase_add_loop_test(t, test_twice_is_once, 0, sizeof rows / sizeof *rows);
    tcase_add_test(t, test_paths_that_the_linker_would_cut);
    suite_add_tcase(s, t);
    return s;
}
