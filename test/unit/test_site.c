/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A site's folder: its file is read before the user's, locks hold, and processes that are left out
 * run natively. In doubt, all are left out.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/settings/settings.h"
#include "test/unit/folder.h"
#include "test/unit/suites.h"

static struct cfg c;
static char folder[FOLDER_PATH], file[96], stop[96], variable[128];

static void setup(void)
{
    folder_make(folder);
    snprintf(file, sizeof file, "%s/collshim.yaml", folder);
    snprintf(stop, sizeof stop, "%s/off", folder);
    snprintf(variable, sizeof variable, "COLLSHIM_TEST_SITE=%s", folder);
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    ck_assert_int_eq(fclose(f), 0);
}

/* With up to three more variables; the first NULL ends them. */
static int load(char *a, char *b, char *d)
{
    return cfg_load(&c, (char *[]){variable, a, b, d, NULL});
}

static int load_site(const char *yaml)
{
    write_file(file, yaml);
    return load(NULL, NULL, NULL);
}

static void assert_left_out(const char *why)
{
    ck_assert_msg(strstr(c.rules.left_out, why) != NULL, "'%s' has no '%s'", c.rules.left_out, why);
    ck_assert_int_eq(c.mode, CFG_MODE_OFF);
    ck_assert_int_eq(c.origin[CFG_mode], CFG_FROM_SITE);
}

static void assert_takes_part(void)
{
    ck_assert_str_eq(c.rules.left_out, "");
    ck_assert_int_eq(c.mode, CFG_MODE_ON);
}

START_TEST(test_users_come_after_the_site)
{
    write_file(file, "min_bytes: 1M\nlog: info\nreport: a.json\n");
    ck_assert_int_eq(load("COLLSHIM_MIN_BYTES=2M", "COLLSHIM_REPORT=", NULL), 0);
    ck_assert_uint_eq(c.min_bytes, 2 << 20);
    ck_assert_int_eq(c.log, CFG_LEVEL_INFO);
    ck_assert_int_eq(c.origin[CFG_log], CFG_FROM_SITE);
    ck_assert_int_eq(c.origin[CFG_min_bytes], CFG_FROM_ENVIRONMENT);
    ck_assert_str_eq(c.report, "");
    ck_assert_str_eq(c.rules.note, "");
    assert_takes_part();
}
END_TEST

START_TEST(test_a_lock_holds_and_is_said)
{
    write_file(file, "lock: [min_bytes, choose]\nmin_bytes: 1M\n");
    ck_assert_int_eq(load("COLLSHIM_MIN_BYTES=2M", "COLLSHIM_CHOOSE=measure", NULL), 0);
    ck_assert_uint_eq(c.min_bytes, 1 << 20);
    ck_assert_int_eq(c.origin[CFG_min_bytes], CFG_FROM_SITE);
    ck_assert(strstr(c.rules.note, "COLLSHIM_MIN_BYTES=2M: ") == c.rules.note);
    ck_assert_ptr_nonnull(strstr(c.rules.note, "locks min_bytes, which stays 1MiB\n"));
    ck_assert_ptr_null(strstr(c.rules.note, "choose")); /* the user wants the same */
    ck_assert_int_eq(c.rules.problems, 0);
}
END_TEST

START_TEST(test_a_lock_before_its_value_and_without_one)
{
    write_file(file, "lock: mode, exact\nexact: 1\n");
    ck_assert_int_eq(load("COLLSHIM_EXACT=0", "COLLSHIM_MODE=off", NULL), 0);
    ck_assert_int_eq(c.exact, 1);
    ck_assert_int_eq(c.mode, CFG_MODE_ON);
}
END_TEST

START_TEST(test_a_locked_config_is_not_read)
{
    write_file(file, "lock: config\n");
    ck_assert_int_eq(load("COLLSHIM_CONFIG=/nonexistent.yaml", NULL, NULL), 0);
    ck_assert_str_eq(c.config, "");
    ck_assert_ptr_nonnull(strstr(c.rules.note, "locks config, which stays empty"));
}
END_TEST

START_TEST(test_stop_file)
{
    write_file(stop, "");
    load(NULL, NULL, NULL);
    assert_left_out("/off is there: the site has stopped collshim");
    write_file(file, "lock: mode\nmode: ab\n");
    load("COLLSHIM_MODE=on", NULL, NULL);
    assert_left_out("/off is there");
    unlink(stop);
    load(NULL, NULL, NULL);
    ck_assert_int_eq(c.mode, CFG_MODE_AB);
    ck_assert_int_eq(symlink("off", stop), 0); /* it exists, with any target */
    load(NULL, NULL, NULL);
    assert_left_out("/off is there");
}
END_TEST

START_TEST(test_programs)
{
    load_site("skip_programs: [lammps*, un?t]\n");
    assert_left_out("skip_programs has ");
    load_site("skip_programs: un?t\n");
    assert_left_out("/unit");
    load_site("skip_programs: '*/unit'\n");
    assert_left_out("/unit");
    load_site("skip_programs: [units, nit, '/unit', un]\n");
    assert_takes_part();
}
END_TEST

START_TEST(test_users)
{
    char number[64];

    write_file(file, "skip_users: [alice, bob]\n");
    load("USER=bob", NULL, NULL);
    assert_left_out("skip_users has this user");
    load("USER=bo", NULL, NULL);
    assert_takes_part();
    load(NULL, NULL, NULL);
    assert_takes_part();
    snprintf(number, sizeof number, "skip_users: %lu\n", (unsigned long)getuid());
    load_site(number);
    assert_left_out("skip_users has this user");
}
END_TEST

/* 5 % of 4000 jobs take part, and all processes of a job find the same. */
START_TEST(test_share)
{
    int taking = 0;
    char job[64];

    write_file(file, "share: 5%\n");
    for (int i = 0; i < 4000; i++) {
        int first;

        snprintf(job, sizeof job, "SLURM_JOB_ID=%d", 7000000 + i);
        load(job, NULL, NULL);
        first = !c.rules.left_out[0];
        load("PMIX_NAMESPACE=other", job, "COLLSHIM_MODE=on");
        ck_assert_int_eq(!c.rules.left_out[0], first);
        taking += first;
    }
    ck_assert_int_gt(taking, 140);
    ck_assert_int_lt(taking, 260);
    load(NULL, NULL, NULL);
    assert_left_out("the job has no id");
    load_site("share: 100%\n");
    assert_takes_part();
    write_file(file, "share: 0%\n");
    load("SLURM_JOB_ID=1", NULL, NULL);
    assert_left_out("job 1 is not among those");
}
END_TEST

static const struct {
    const char *yaml, *says; /* behind FILE */
    int left_out;
} bad[] = {
    {"share: 5\n", ":1: share: 5: expected a percentage", 1},
    {"share: 101%\n", ":1: share: 101%: expected a percentage", 1},
    {"share: -1%\n", ":1: share: -1%: expected a percentage", 1},
    {"share: 99999999999999999999%\n", ":1: share: 99999999999999999999%: expected", 1},
    {"skip_users: {a: b}\n", ":1: skip_users: expected words", 1},
    {"skip_users: [[a]]\n", ":1: skip_users: expected words", 1},
    {"- mode\n", ":1: expected lines", 1},
    {"mode: [1\n", ":2: not YAML", 1},
    {"lock: [mod]\n", ":1: lock: mod: no such setting; the nearest is mode", 0},
    {"min_bytes: many\n", ":1: min_bytes: many: expected a size", 0},
    {"min_byts: 1\n", ":1: min_byts: no such setting; the nearest is min_bytes", 0},
    {"site: /x\n", ":1: site: a settings file cannot name another", 0},
    {"# nothing yet\n", "", 0},
};

START_TEST(test_what_is_wrong_is_the_sites)
{
    int line = bad[_i].says[0] != 0;

    ck_assert_int_eq(load_site(bad[_i].yaml), 0);
    ck_assert_int_eq(c.problems, 0);
    ck_assert_int_eq(c.rules.problems, line);
    ck_assert_int_eq(strncmp(c.rules.note, file, line ? strlen(file) : 0), 0);
    ck_assert_msg(strstr(c.rules.note, bad[_i].says) != NULL, "%s", c.rules.note);
    ck_assert_int_eq(c.rules.left_out[0] != 0, bad[_i].left_out);
}
END_TEST

START_TEST(test_a_file_that_cannot_be_read)
{
    ck_assert_int_eq(mkfifo(file, 0600), 0);
    load(NULL, NULL, NULL); /* and does not wait */
    assert_left_out("cannot be used");
    unlink(file);
    ck_assert_int_eq(symlink(file, file), 0);
    load(NULL, NULL, NULL);
    assert_left_out("cannot be used");
    ck_assert_ptr_nonnull(strstr(c.rules.note, "too many symbolic links"));
    unlink(file);
    ck_assert_int_eq(mkdir(file, 0700), 0);
    load(NULL, NULL, NULL);
    assert_left_out("cannot be used");
    rmdir(file);
    write_file(file, "");
    ck_assert_int_eq(truncate(file, (off_t)1 << 40), 0); /* sparse */
    load(NULL, NULL, NULL);
    assert_left_out("cannot be used");
    ck_assert_ptr_nonnull(strstr(c.rules.note, "too large"));
}
END_TEST

START_TEST(test_users_files_have_no_rules)
{
    static char config[128];

    write_file(file, "skip_programs: '*'\nshare: 0%\n");
    snprintf(config, sizeof config, "COLLSHIM_CONFIG=%s", file);
    ck_assert_int_eq(cfg_load(&c, (char *[]){config, NULL}), 2);
    assert_takes_part();
}
END_TEST

START_TEST(test_no_folder)
{
    ck_assert_int_eq(cfg_load(&c, (char *[]){"COLLSHIM_TEST_SITE=/nonexistent", NULL}), 1);
    ck_assert(strstr(c.problem, "COLLSHIM_TEST_SITE=/nonexistent: no such folder") == c.problem);
    assert_takes_part();
    ck_assert_int_eq(load(NULL, NULL, NULL), 0); /* an empty one is none */
    assert_takes_part();
}
END_TEST

Suite *suite_site(void)
{
    Suite *s = suite_create("site");
    TCase *t = tcase_create("site");

    if (access(COLLSHIM_SITE_DIR, F_OK) == 0) {
        puts("skipped: site, since this machine has settings of its own in " COLLSHIM_SITE_DIR);
        return s;
    }
    tcase_add_checked_fixture(t, setup, NULL);
    tcase_add_test(t, test_users_come_after_the_site);
    tcase_add_test(t, test_a_lock_holds_and_is_said);
    tcase_add_test(t, test_a_lock_before_its_value_and_without_one);
    tcase_add_test(t, test_a_locked_config_is_not_read);
    tcase_add_test(t, test_stop_file);
    tcase_add_test(t, test_programs);
    tcase_add_test(t, test_users);
    tcase_add_test(t, test_share);
    tcase_add_loop_test(t, test_what_is_wrong_is_the_sites, 0, sizeof bad / sizeof *bad);
    tcase_add_test(t, test_a_file_that_cannot_be_read);
    tcase_add_test(t, test_users_files_have_no_rules);
    tcase_add_test(t, test_no_folder);
    suite_add_tcase(s, t);
    return s;
}
