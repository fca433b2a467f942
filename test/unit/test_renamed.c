/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Old names of settings: each works, costs one line that has the new one, and is no problem. A new
 * name wins, unless its value is from a lower source.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "config/settings/settings.h"
#include "test/unit/folder.h"
#include "test/unit/suites.h"

static struct cfg c;
static char folder[FOLDER_PATH], yaml[96], site[96], config_variable[128], site_variable[128];

static void setup(void)
{
    folder_make(folder);
    snprintf(yaml, sizeof yaml, "%s/job.yaml", folder);
    snprintf(site, sizeof site, "%s/collshim.yaml", folder);
    snprintf(config_variable, sizeof config_variable, "COLLSHIM_CONFIG=%s", yaml);
    snprintf(site_variable, sizeof site_variable, "COLLSHIM_TEST_SITE=%s", folder);
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    ck_assert_int_eq(fclose(f), 0);
}

/* Up to three variables; the first NULL ends them. */
static void load(char *a, char *b, char *d)
{
    cfg_load(&c, (char *[]){a, b, d, NULL});
}

/* "choose=always" */
static void want_value(const char *pair)
{
    char value[CFG_TEXT_MAX], shown[CFG_TEXT_MAX + 64] = "";
    size_t size = strcspn(pair, "=");

    for (int id = 0; id < CFG_COUNT; id++)
        if (!strncmp(cfg_rows[id].name, pair, size) && !cfg_rows[id].name[size]) {
            cfg_value_text(&c, (enum cfg_id)id, value, sizeof value);
            snprintf(shown, sizeof shown, "%s=%s", cfg_rows[id].name, value);
        }
    ck_assert_str_eq(shown, pair);
}

/* No problem, and these lines; the path, if any, is in front of them. */
static void want_lines(const char *path, const char *lines)
{
    char want[512];

    snprintf(want, sizeof want, "%s%s%s", path, *path ? ": " : "", lines);
    ck_assert_msg(c.problems == 0 && c.rules.problems == 0, "%s%s", c.problem, c.rules.note);
    ck_assert_str_eq(c.rules.note, want);
}

static const struct {
    char *variable;
    const char *line, *means;
} each[] = {
    {"COLLSHIM_GUARD=0", "COLLSHIM_GUARD=0: write COLLSHIM_CHOOSE=always\n", "choose=always"},
    {"COLLSHIM_GUARD=on", "COLLSHIM_GUARD=1: write COLLSHIM_CHOOSE=measure\n", "choose=measure"},
    {"COLLSHIM_REPRODUCIBLE=1", "COLLSHIM_REPRODUCIBLE=1: write COLLSHIM_CHOOSE=model\n",
     "choose=model"},
    {"COLLSHIM_REPRODUCIBLE=0", "COLLSHIM_REPRODUCIBLE=0: write COLLSHIM_CHOOSE=measure\n",
     "choose=measure"},
    {"COLLSHIM_SPOOL=/a/spool", "COLLSHIM_SPOOL=/a/spool: write COLLSHIM_REPORT=/a/spool\n",
     "report=/a/spool"},
    {"COLLSHIM_COMPARE_SIZES=0",
     "COLLSHIM_COMPARE_SIZES=0: write COLLSHIM_TEST_COMPARE_SIZES=0, which is for tests\n",
     "test_compare_sizes=0"},
    {"COLLSHIM_SITE=/", "COLLSHIM_SITE=/: write COLLSHIM_TEST_SITE=/, which is for tests\n",
     "test_site=/"},
    {"COLLSHIM_SHM=copy", "COLLSHIM_SHM=copy: write COLLSHIM_TEST_SHM=copy, which is for tests\n",
     "test_shm=copy"},
    {"COLLSHIM_HOST_THREADS=3",
     "COLLSHIM_HOST_THREADS=3: write COLLSHIM_TEST_HOST_THREADS=3, which is for tests\n",
     "test_host_threads=3"},
};
enum { EACH = sizeof each / sizeof *each };

START_TEST(test_renamed__each_works_and_costs_a_line)
{
    load(each[_i].variable, NULL, NULL);
    want_lines("", each[_i].line);
    want_value(each[_i].means);
}
END_TEST

START_TEST(test_renamed__each_has_a_test)
{
    for (int id = CFG_COUNT; id < CFG_ALL; id++) {
        size_t size = strlen(cfg_rows[id].variable);
        int found = 0;

        for (int i = 0; i < EACH; i++)
            found |= !strncmp(each[i].variable, cfg_rows[id].variable, size) &&
                     each[i].variable[size] == '=';
        ck_assert_msg(found, "%s", cfg_rows[id].variable);
    }
}
END_TEST

/* GUARD and REPRODUCIBLE, which are one setting now, in the order of the environment. */
START_TEST(test_renamed__two_of_one_setting)
{
    static char *const both[][2] = {{"COLLSHIM_GUARD=0", "COLLSHIM_REPRODUCIBLE=0"},
                                    {"COLLSHIM_GUARD=0", "COLLSHIM_REPRODUCIBLE=1"},
                                    {"COLLSHIM_GUARD=1", "COLLSHIM_REPRODUCIBLE=0"},
                                    {"COLLSHIM_GUARD=1", "COLLSHIM_REPRODUCIBLE=1"}};
    static const char *const means[] = {"choose=always", "choose=model", "choose=measure",
                                        "choose=model"};

    load(both[_i][0], both[_i][1], NULL);
    want_value(means[_i]);
    load(both[_i][1], both[_i][0], NULL);
    want_value(means[_i]);
    write_file(yaml, _i & 1 ? "reproducible: 1\n" : "reproducible: 0\n");
    load(both[_i][0], config_variable, NULL);
    want_value(means[_i]);
}
END_TEST

START_TEST(test_renamed__the_new_name_wins)
{
    load("COLLSHIM_GUARD=0", "COLLSHIM_CHOOSE=model", NULL);
    want_lines("", "COLLSHIM_GUARD=0: not used, because COLLSHIM_CHOOSE is set\n");
    want_value("choose=model");
    load("COLLSHIM_CHOOSE=measure", "COLLSHIM_REPRODUCIBLE=1", NULL);
    want_lines("", "COLLSHIM_REPRODUCIBLE=1: not used, because COLLSHIM_CHOOSE is set\n");
    want_value("choose=measure");
    load("COLLSHIM_SPOOL=/a/spool", "COLLSHIM_REPORT=", NULL);
    want_lines("", "COLLSHIM_SPOOL=/a/spool: not used, because COLLSHIM_REPORT is set\n");
    want_value("report=");
}
END_TEST

START_TEST(test_renamed__a_bad_value_is_one_as_ever)
{
    load("COLLSHIM_GUARD=2", NULL, NULL);
    ck_assert_int_eq(c.problems, 1);
    ck_assert_ptr_nonnull(strstr(c.problem, "COLLSHIM_GUARD=2: expected 0 or 1"));
    ck_assert_str_eq(c.rules.note, "");
    want_value("choose=measure");
    load("COLLSHIM_HOST_THREADS=65", NULL, NULL);
    ck_assert_int_eq(c.problems, 1);
    ck_assert_ptr_nonnull(strstr(c.problem, "expected 1 to 64"));
    load("COLLSHIM_GUARD=", NULL, NULL);
    want_lines("", "");
}
END_TEST

START_TEST(test_renamed__in_a_file)
{
    write_file(yaml, "guard: off\n");
    load(config_variable, NULL, NULL);
    want_lines(yaml, "guard: 0: write choose: always\n");
    want_value("choose=always");
    ck_assert_int_eq(c.origin[CFG_choose], CFG_FROM_FILE);
    write_file(yaml, "guard: 0\nchoose: model\n");
    load(config_variable, NULL, NULL);
    want_lines(yaml, "guard: 0: not used, because choose is set\n");
    want_value("choose=model");
    write_file(yaml, "guard: 0\nguard: 1\nshm: sideways\n");
    load(config_variable, NULL, NULL);
    ck_assert_int_eq(c.problems, 2);
    want_value("choose=always");
    write_file(yaml, "site: /\n");
    load(config_variable, NULL, NULL);
    ck_assert_int_eq(c.problems, 1);
    ck_assert_ptr_nonnull(strstr(c.problem, "set COLLSHIM_TEST_SITE\n"));
}
END_TEST

START_TEST(test_renamed__the_higher_source_wins)
{
    write_file(yaml, "choose: always\n");
    load(config_variable, "COLLSHIM_REPRODUCIBLE=1", NULL);
    want_lines("", "COLLSHIM_REPRODUCIBLE=1: write COLLSHIM_CHOOSE=model\n");
    want_value("choose=model");
    load(config_variable, "COLLSHIM_GUARD=1", NULL); /* takes back what GUARD=0 was */
    want_value("choose=measure");
    load(config_variable, "COLLSHIM_REPRODUCIBLE=0", NULL); /* which is not what it took back */
    want_value("choose=always");
    write_file(yaml, "guard: 0\n");
    load(config_variable, "COLLSHIM_GUARD=1", NULL);
    want_lines("", "COLLSHIM_GUARD=1: write COLLSHIM_CHOOSE=measure\n");
    want_value("choose=measure");
    load(config_variable, "COLLSHIM_CHOOSE=model", NULL);
    want_lines(yaml, "guard: 0: not used, because COLLSHIM_CHOOSE is set\n");
    want_value("choose=model");
}
END_TEST

START_TEST(test_renamed__in_the_sites_file)
{
    char lines[512];

    write_file(site, "spool: /a/spool\n");
    load(site_variable, NULL, NULL);
    want_lines(site, "spool: /a/spool: write report: /a/spool\n");
    want_value("report=/a/spool");
    ck_assert_int_eq(c.origin[CFG_report], CFG_FROM_SITE);
    write_file(site, "guard: 0\nlock: guard\n");
    load(site_variable, "COLLSHIM_REPRODUCIBLE=1", NULL);
    want_value("choose=always");
    load(site_variable, "COLLSHIM_CHOOSE=model", NULL);
    want_value("choose=always");
    ck_assert_int_eq(c.origin[CFG_choose], CFG_FROM_SITE);
    snprintf(lines, sizeof lines, "%s:2: lock: guard: write choose\n", site);
    ck_assert(strstr(c.rules.note, lines) == c.rules.note);
    ck_assert_ptr_nonnull(strstr(c.rules.note, "COLLSHIM_CHOOSE=model: "));
    ck_assert_ptr_nonnull(strstr(c.rules.note, "locks choose, which stays always\n"));
    ck_assert_int_eq(c.problems + c.rules.problems, 0);
}
END_TEST

/* An old name does not open a lock of the new one. */
START_TEST(test_renamed__a_lock_holds)
{
    write_file(site, "lock: choose\nchoose: model\n");
    load(site_variable, "COLLSHIM_GUARD=0", NULL);
    want_value("choose=model");
    ck_assert_ptr_nonnull(strstr(c.rules.note, "COLLSHIM_CHOOSE=always: "));
    ck_assert_ptr_nonnull(strstr(c.rules.note, "locks choose, which stays model\n"));
}
END_TEST

Suite *suite_renamed(void)
{
    Suite *s = suite_create("renamed");
    TCase *t = tcase_create("renamed");

    tcase_add_checked_fixture(t, setup, NULL);
    tcase_add_loop_test(t, test_renamed__each_works_and_costs_a_line, 0, EACH);
    tcase_add_test(t, test_renamed__each_has_a_test);
    tcase_add_loop_test(t, test_renamed__two_of_one_setting, 0, 4);
    tcase_add_test(t, test_renamed__the_new_name_wins);
    tcase_add_test(t, test_renamed__a_bad_value_is_one_as_ever);
    tcase_add_test(t, test_renamed__in_a_file);
    tcase_add_test(t, test_renamed__the_higher_source_wins);
    tcase_add_test(t, test_renamed__in_the_sites_file);
    tcase_add_test(t, test_renamed__a_lock_holds);
    suite_add_tcase(s, t);
    return s;
}
