/* SPDX-License-Identifier: BSD-3-Clause */
/* Which socket a set of processors is on, from a made-up description of a machine. */
#define _GNU_SOURCE
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/base/socket.h"
#include "test/unit/folder.h"
#include "test/unit/suites.h"

static char root[FOLDER_PATH];

static void write_file(int cpu, const char *name, const char *text)
{
    char path[128];

    snprintf(path, sizeof path, "%s/cpu%d/topology/%s", root, cpu, name);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_ge(fputs(text, f), 0);
    ck_assert_int_eq(fclose(f), 0);
}

/* Processors 0 to 3: sockets 0, 0, 1, and one whose files are missing. */
static void make_machine(void)
{
    char path[128];

    folder_make(root);
    for (int cpu = 0; cpu < 3; cpu++) {
        snprintf(path, sizeof path, "%s/cpu%d", root, cpu);
        ck_assert_int_eq(mkdir(path, 0700), 0);
        snprintf(path, sizeof path, "%s/cpu%d/topology", root, cpu);
        ck_assert_int_eq(mkdir(path, 0700), 0);
        write_file(cpu, "physical_package_id", cpu == 2 ? "1\n" : "0\n");
        write_file(cpu, "core_siblings_list", cpu == 2 ? "2\n" : "0-1\n");
    }
}

static int socket_of_two(int a, int b)
{
    cpu_set_t cpus;

    CPU_ZERO(&cpus);
    CPU_SET(a, &cpus);
    CPU_SET(b, &cpus);
    return socket_of(&cpus, root);
}

START_TEST(test_socket__is_known_where_all_processors_share_one)
{
    make_machine();
    ck_assert_int_eq(socket_of_two(0, 1), 0);
    ck_assert_int_eq(socket_of_two(2, 2), 1);
    ck_assert_int_eq(socket_of_two(0, 2), -1);
    ck_assert_int_eq(socket_of_two(1, 3), -1);
    ck_assert_int_eq(socket_of_two(3, 3), -1);
}
END_TEST

Suite *suite_socket(void)
{
    Suite *s = suite_create("socket");
    TCase *t = tcase_create("socket");

    tcase_add_test(t, test_socket__is_known_where_all_processors_share_one);
    suite_add_tcase(s, t);
    return s;
}
