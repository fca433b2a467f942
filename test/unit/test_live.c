/* SPDX-License-Identifier: BSD-3-Clause */
/* The counters that other processes read. Check runs each test in a process of its own. */
#define _GNU_SOURCE
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/decide/base/settings.h"
#include "shim/record/counts/count.h"
#include "shim/record/counts/live.h"
#include "test/unit/suites.h"

/* The descriptor of the shared counters in this process, or -1. */
static int shared_fd(void)
{
    for (int fd = 3; fd < 1024; fd++) {
        char path[32], link[64] = "";

        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        if (readlink(path, link, sizeof link - 1) > 0 && strstr(link, LIVE_NAME))
            return fd;
    }
    return -1;
}

/* Native Bcasts for lack of size, as a reader has them. */
static uint64_t as_read(int fd)
{
    static struct live_counts counts;
    struct live_header h;

    ck_assert_int_eq(pread(fd, &h, sizeof h, 0), sizeof h);
    ck_assert_int_eq(memcmp(h.magic, LIVE_MAGIC, sizeof h.magic), 0);
    ck_assert_uint_eq(h.layout, LIVE_LAYOUT);
    ck_assert_uint_eq(h.counts_bytes, sizeof counts);
    ck_assert_int_eq(pread(fd, &counts, sizeof counts, h.counts_at), sizeof counts);
    return counts.native[COLL_BCAST][REASON_SMALL];
}

static void open_shared(void)
{
    settings.calls = "";
    live_open("MPI");
}

START_TEST(test_live__a_reader_sees_what_is_counted)
{
    struct stat st;

    open_shared();
    int fd = shared_fd();
    ck_assert_int_ge(fd, 0);
    ck_assert(!fstat(fd, &st) && (st.st_mode & 07777) == 0600);
    ck_assert_int_eq(st.st_blocks * 512, st.st_size); /* all of it is allocated */
    ck_assert_int_ne(ftruncate(fd, 0), 0);
    count_native(COLL_BCAST, REASON_SMALL);
    count_native(COLL_BCAST, REASON_SMALL);
    ck_assert_uint_eq(as_read(fd), 2);
    ck_assert_uint_eq(counters.live.native[COLL_BCAST][REASON_SMALL], 2);
}
END_TEST

START_TEST(test_live__a_child_has_counters_of_its_own)
{
    int status;

    open_shared();
    count_native(COLL_BCAST, REASON_SMALL);
    pid_t child = fork();
    if (!child) {
        int before = shared_fd();

        count_native(COLL_BCAST, REASON_SMALL);
        live_rank(1, 2);
        _exit(before < 0 && shared_fd() >= 0 && as_read(shared_fd()) == 2 ? 0 : 1);
    }
    ck_assert(child > 0 && waitpid(child, &status, 0) == child && !status);
    ck_assert_uint_eq(as_read(shared_fd()), 1);
    ck_assert_uint_eq(counters.live.native[COLL_BCAST][REASON_SMALL], 1);
}
END_TEST

START_TEST(test_live__a_closed_descriptor_is_left_alone)
{
    int status;

    open_shared();
    int fd = shared_fd();
    ck_assert_int_eq(dup2(STDERR_FILENO, fd), fd); /* the program's own, by that number */
    live_rank(0, 2);
    count_native(COLL_BCAST, REASON_SMALL);
    pid_t child = fork();
    if (!child)
        _exit(fcntl(fd, F_GETFD) < 0);
    ck_assert(child > 0 && waitpid(child, &status, 0) == child && !status);
    ck_assert_uint_eq(counters.live.native[COLL_BCAST][REASON_SMALL], 1);
}
END_TEST

/* 0: no file may be so large; 1: no more descriptors; 2: the mode is off */
START_TEST(test_live__without_room_the_counters_are_private)
{
    struct rlimit none = {.rlim_cur = _i == 1 ? 3 : 4096, .rlim_max = 4096};

    if (_i < 2)
        ck_assert(!setrlimit(_i ? RLIMIT_NOFILE : RLIMIT_FSIZE, &none));
    settings.cfg.mode = _i == 2 ? CFG_MODE_OFF : CFG_MODE_ON;
    while (_i == 1 && dup(STDERR_FILENO) >= 0)
        ;
    open_shared();
    live_rank(0, 2);
    count_native(COLL_BCAST, REASON_SMALL);
    live_close();
    ck_assert_int_lt(shared_fd(), 0);
    ck_assert_uint_eq(counters.live.native[COLL_BCAST][REASON_SMALL], 1);
}
END_TEST

Suite *suite_live(void)
{
    Suite *s = suite_create("live");
    TCase *t = tcase_create("live");

    tcase_add_test(t, test_live__a_reader_sees_what_is_counted);
    tcase_add_test(t, test_live__a_child_has_counters_of_its_own);
    tcase_add_test(t, test_live__a_closed_descriptor_is_left_alone);
    tcase_add_loop_test(t, test_live__without_room_the_counters_are_private, 0, 3);
    suite_add_tcase(s, t);
    return s;
}
