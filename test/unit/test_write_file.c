/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "config/base/write_file.h"
#include "test/unit/folder.h"
#include "test/unit/suites.h"

static int named; /* as on a file system that has no files without a name */

/* In front of libc's, for all of this program. */
int openat(int at, const char *path, int flags, ...)
{
    va_list args;
    mode_t mode;

    va_start(args, flags);
    mode = va_arg(args, mode_t);
    va_end(args);
    if (named && (flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return (int)syscall(SYS_openat, at, path, flags, mode);
}

static char dir[FOLDER_PATH];

static void setup(void)
{
    folder_make(dir);
    ck_assert_int_eq(chdir(dir), 0);
    umask(022);
}

/* Each test takes away what it has made; what it did not make keeps the folder from going. */
static void teardown(void)
{
    ck_assert_int_eq(rmdir(dir), 0);
}

static void print_short(FILE *f)
{
    fprintf(f, "new\n");
}

static void print_long(FILE *f)
{
    for (int i = 0; i < 100000; i++)
        fprintf(f, "%07d\n", i);
}

static void put(const char *path, const char *text, mode_t mode)
{
    FILE *f = fopen(path, "w");

    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
    ck_assert_int_eq(chmod(path, mode), 0);
}

static void want(const char *path, const char *text, mode_t mode)
{
    char got[64] = "";
    struct stat st;
    FILE *f = fopen(path, "r");

    ck_assert_ptr_nonnull(f);
    ck_assert_uint_le(fread(got, 1, sizeof got - 1, f), sizeof got);
    fclose(f);
    ck_assert_str_eq(got, text);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, mode);
    ck_assert_uint_eq(st.st_nlink, 1);
}

static void want_refused(const char *path, const char *reason)
{
    const char *why = NULL;

    ck_assert_int_lt(config_write_file(path, print_short, &why), 0);
    ck_assert_str_eq(why, reason);
}

START_TEST(test_write_file__a_new_file_has_the_mode_of_any_output)
{
    const char *why;

    named = _i;
    ck_assert_int_eq(config_write_file("file", print_short, &why), 0);
    want("file", "new\n", 0644);
    umask(077);
    ck_assert_int_eq(unlink("file"), 0);
    ck_assert_int_eq(config_write_file("./file", print_short, &why), 0);
    want("file", "new\n", 0600);
    unlink("file");
}
END_TEST

START_TEST(test_write_file__a_file_is_replaced_whole_and_keeps_its_mode)
{
    const char *why;

    named = _i;
    put("file", "an old text that is longer\n", 0640);
    ck_assert_int_eq(config_write_file("file", print_short, &why), 0);
    want("file", "new\n", 0640);
    unlink("file");
}
END_TEST

START_TEST(test_write_file__only_a_regular_file_is_replaced)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "socket"};
    int s = socket(AF_UNIX, SOCK_STREAM, 0);

    put("target", "precious\n", 0644);
    ck_assert_int_eq(symlink("target", "link"), 0);
    ck_assert_int_eq(symlink("nowhere", "dangling"), 0);
    ck_assert_int_eq(mkfifo("fifo", 0666), 0);
    ck_assert_int_eq(bind(s, (struct sockaddr *)&name, sizeof name), 0);
    want_refused("link", "a symbolic link, not a regular file");
    want_refused("dangling", "a symbolic link, not a regular file");
    want_refused("fifo", "a FIFO, not a regular file");
    want_refused("socket", "a socket, not a regular file");
    want_refused("/dev/full", "a device, not a regular file");
    want_refused(dir, "a directory, not a regular file");
    want_refused("./", "a directory, not a regular file");
    want_refused("none/file", "no such directory");
    want_refused("target/file", "no such directory: part of the path is a file");
    want("target", "precious\n", 0644);
    close(s);
    unlink("target");
    unlink("link");
    unlink("dangling");
    unlink("fifo");
    unlink("socket");
}
END_TEST

START_TEST(test_write_file__a_link_on_the_way_is_followed)
{
    const char *why;

    ck_assert_int_eq(mkdir("folder", 0755), 0);
    ck_assert_int_eq(symlink("folder", "way"), 0);
    ck_assert_int_eq(config_write_file("way/file", print_short, &why), 0);
    want("folder/file", "new\n", 0644);
    unlink("folder/file");
    unlink("way");
    rmdir("folder");
}
END_TEST

START_TEST(test_write_file__what_may_not_be_written_stays)
{
    named = _i;
    put("file", "old\n", 0444);
    chmod(dir, 0555);
    if (geteuid() == 0)
        ck_assert_int_eq(seteuid(65534), 0);
    want_refused("file", "no permission to write there");
    want_refused("other", "no permission to write there");
    if (getuid() == 0)
        ck_assert_int_eq(seteuid(0), 0);
    chmod(dir, 0755);
    want("file", "old\n", 0444);
    unlink("file");
}
END_TEST

/* The signal that goes with it would end the process. */
START_TEST(test_write_file__too_large_a_file_leaves_the_old_one)
{
    struct rlimit limit = {.rlim_cur = 4096, .rlim_max = RLIM_INFINITY};
    const char *why;

    named = _i;
    put("file", "old\n", 0644);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_int_eq(config_write_file("file", print_long, &why), -EFBIG);
    ck_assert_str_eq(why, "larger than a file may be (ulimit -f)");
    ck_assert_int_eq(config_write_file("other", print_long, &why), -EFBIG);
    want("file", "old\n", 0644);
    unlink("file");
}
END_TEST

/* Run with descriptor 2 being this one; the reason, or "". */
static const char *write_to(int fd, void (*print)(FILE *f))
{
    int kept = dup(2);
    const char *why = "";

    dup2(fd, 2);
    if (config_write_file("/dev/stderr", print, &why) == 0)
        why = "";
    dup2(kept, 2);
    close(kept);
    return why;
}

START_TEST(test_write_file__its_own_streams_are_not_waited_for)
{
    char got[16] = "";
    const char *why;
    sigset_t pending;
    int ends[2];

    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_str_eq(write_to(ends[1], print_short), "");
    ck_assert_int_eq(read(ends[0], got, sizeof got), 4);
    ck_assert_str_eq(got, "new\n");
    ck_assert_str_eq(write_to(ends[1], print_long), "nobody reads it");
    close(ends[0]);
    ck_assert_str_eq(write_to(ends[1], print_short), "closed");
    close(ends[1]);
    sigpending(&pending);
    ck_assert(!sigismember(&pending, SIGPIPE));
    ck_assert_int_eq(config_write_file("/dev/null", print_long, &why), 0);
    ck_assert(config_write_is_device("/dev/stdout") && !config_write_is_device("/dev/stdout.x"));
}
END_TEST

Suite *suite_write_file(void)
{
    Suite *s = suite_create("write_file");
    TCase *t = tcase_create("write_file");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, test_write_file__a_new_file_has_the_mode_of_any_output, 0, 2);
    tcase_add_loop_test(t, test_write_file__a_file_is_replaced_whole_and_keeps_its_mode, 0, 2);
    tcase_add_test(t, test_write_file__only_a_regular_file_is_replaced);
    tcase_add_test(t, test_write_file__a_link_on_the_way_is_followed);
    tcase_add_loop_test(t, test_write_file__what_may_not_be_written_stays, 0, 2);
    tcase_add_loop_test(t, test_write_file__too_large_a_file_leaves_the_old_one, 0, 2);
    tcase_add_test(t, test_write_file__its_own_streams_are_not_waited_for);
    suite_add_tcase(s, t);
    return s;
}
