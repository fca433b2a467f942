/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/record/report/job.h"
#include "shim/record/report/spool.h"
#include "test/unit/folder.h"
#include "test/unit/suites.h"

static char dir[FOLDER_PATH], own[96], trouble[96];

static void setup(void)
{
    folder_make(dir);
    ck_assert_int_eq(chmod(dir, 01733), 0);
    snprintf(own, sizeof own, "%s/%u", dir, (unsigned)geteuid());
    snprintf(trouble, sizeof trouble, "%s/elsewhere", dir);
    job_open();
}

static void print_report(FILE *f)
{
    fputs("{}\n", f);
}

static void print_long(FILE *f)
{
    for (int i = 0; i < 1000; i++)
        fputs("0123456789", f);
}

static int files_in(const char *path, char *last, size_t size)
{
    DIR *d = opendir(path);
    struct dirent *e;
    int n = 0;

    last[0] = 0;
    while (d && (e = readdir(d)))
        if (e->d_name[0] != '.' || e->d_name[1] == 'c') {
            n++;
            if (strcmp(e->d_name, last) > 0)
                snprintf(last, size, "%s", e->d_name);
        }
    if (d)
        closedir(d);
    return n;
}

static void put(const char *name, int bytes)
{
    char path[160];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", own, name);
    f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    for (int i = 0; i < bytes; i++)
        fputc('x', f);
    fclose(f);
}

START_TEST(test_spool__a_user_has_a_directory_of_his_own)
{
    const struct spool_caps caps = {10, 1000000};
    char name[256];
    const char *why;
    struct stat st;

    ck_assert_int_eq(spool_write(dir, &caps, print_report, &why), 0);
    ck_assert_int_eq(spool_write(dir, &caps, print_report, &why), 0); /* instead of the first */
    ck_assert_int_eq(files_in(own, name, sizeof name), 1);
    ck_assert_int_eq(stat(own, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0700);
}
END_TEST

START_TEST(test_spool__a_group_reads_where_the_spool_says_so)
{
    const struct spool_caps caps = {10, 1000000};
    const char *why;
    struct stat st;

    ck_assert_int_eq(chmod(dir, 03733), 0);
    ck_assert_int_eq(spool_write(dir, &caps, print_report, &why), 0);
    ck_assert_int_eq(stat(own, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0750);
}
END_TEST

START_TEST(test_spool__the_oldest_make_room)
{
    struct spool_caps caps = {4, 1000000};
    char name[256], path[256];
    const char *why;

    ck_assert_int_eq(mkdir(own, 0700), 0);
    for (int i = 0; i < 9; i++) {
        snprintf(path, sizeof path, "%012d-0-h-1.json", i);
        put(path, 100);
    }
    put("notes.txt", 100); /* another user's file: stays */
    ck_assert_int_eq(spool_write(dir, &caps, print_report, &why), 0);
    ck_assert_int_eq(files_in(own, name, sizeof name), 5);
    snprintf(path, sizeof path, "%s/%012d-0-h-1.json", own, 6);
    ck_assert_int_eq(access(path, F_OK), 0);
    snprintf(path, sizeof path, "%s/%012d-0-h-1.json", own, 5);
    ck_assert_int_ne(access(path, F_OK), 0);
    caps = (struct spool_caps){100, 10150};
    ck_assert_int_eq(spool_write(dir, &caps, print_long, &why), 0);
    ck_assert_int_eq(files_in(own, name, sizeof name), 3); /* the note, one old one, ours */
}
END_TEST

static void want_refused(const char *reason)
{
    const struct spool_caps caps = {10, 1000000};
    const char *why = "";

    ck_assert_int_lt(spool_write(dir, &caps, print_report, &why), 0);
    ck_assert_msg(strstr(why, reason) != NULL, "%s", why);
}

START_TEST(test_spool__what_others_may_change_is_refused)
{
    char name[256];

    ck_assert_int_eq(mkdir(own, 0700), 0);
    ck_assert_int_eq(chmod(own, 0777), 0);
    want_refused("others may write to the directory");
    ck_assert_int_eq(files_in(own, name, sizeof name), 0);
    rmdir(own);
    ck_assert_int_eq(chmod(dir, 0777), 0);
    want_refused("chmod +t");
    if (chown(dir, 65534, (gid_t)-1) == 0) { /* another user's, whose group may write there */
        ck_assert_int_eq(chmod(dir, 0770), 0);
        want_refused("chmod +t");
    }
    ck_assert_int_eq(access(own, F_OK), -1);
}
END_TEST

/* Any user of the spool can make another one's directory first. The loop: a link, a
   file, another user's directory. */
START_TEST(test_spool__a_directory_of_another_user_blocks_no_report)
{
    const struct spool_caps caps = {10, 1000000};
    const char *why;
    char name[256], path[512];
    FILE *f;

    ck_assert_int_eq(mkdir(trouble, 0700), 0);
    if (_i == 0)
        ck_assert_int_eq(symlink("elsewhere", own), 0);
    if (_i == 1 && (f = fopen(own, "w")))
        fclose(f);
    if (_i == 2 && (geteuid() || mkdir(own, 0700) || chown(own, 20000, 20000)))
        return; /* which root alone can make */
    ck_assert_int_eq(spool_write(dir, &caps, print_report, &why), 0);
    ck_assert_int_eq(files_in(trouble, name, sizeof name), 0);
    ck_assert_int_eq(_i == 2 ? files_in(own, name, sizeof name) : 0, 0);
    ck_assert_int_eq(rmdir(trouble), 0);
    ck_assert_int_eq(files_in(dir, name, sizeof name), 2);
    snprintf(path, sizeof path, "%s/%s", dir, name);
    ck_assert_msg(!strncmp(path, own, strlen(own)) && strlen(path) == strlen(own) + 17, "%s", path);
    ck_assert_int_eq(files_in(path, name, sizeof name), 1);
}
END_TEST

START_TEST(test_spool__a_spool_that_is_not_there_is_not_made)
{
    const struct spool_caps caps = {10, 1000000};
    const char *why = "";

    ck_assert_int_eq(spool_write(trouble, &caps, print_report, &why), -ENOENT);
    ck_assert_str_eq(why, "no such directory");
    ck_assert_int_eq(access(trouble, F_OK), -1);
}
END_TEST

Suite *suite_spool(void)
{
    Suite *s = suite_create("spool");
    TCase *t = tcase_create("spool");

    tcase_add_checked_fixture(t, setup, NULL);
    tcase_add_test(t, test_spool__a_user_has_a_directory_of_his_own);
    tcase_add_test(t, test_spool__a_group_reads_where_the_spool_says_so);
    tcase_add_test(t, test_spool__the_oldest_make_room);
    tcase_add_test(t, test_spool__what_others_may_change_is_refused);
    tcase_add_loop_test(t, test_spool__a_directory_of_another_user_blocks_no_report, 0, 3);
    tcase_add_test(t, test_spool__a_spool_that_is_not_there_is_not_made);
    suite_add_tcase(s, t);
    return s;
}
