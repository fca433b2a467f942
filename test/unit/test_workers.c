/* SPDX-License-Identifier: BSD-3-Clause */
/* Hands: every part is done once and before the call returns, by any thread. */
#define _GNU_SOURCE
#include <check.h>
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/unit/suites.h"
#include "transports/base/workers.h"

struct count {
    atomic_int times[WORKERS_MOST];
    int plain[WORKERS_MOST]; /* the caller sees the writes of a part */
    int round;
};

static void note(void *context, int part)
{
    struct count *c = context;

    atomic_fetch_add(&c->times[part], 1);
    c->plain[part] = c->round;
}

static struct workers *open_workers(int threads)
{
    struct workers *h = NULL;
    cpu_set_t cpus;

    ck_assert_int_eq(sched_getaffinity(0, sizeof cpus, &cpus), 0);
    ck_assert_int_eq(workers_open(threads, &cpus, sizeof cpus, &h), 0);
    ck_assert_int_eq(workers_count(h), threads + 1);
    return h;
}

START_TEST(test_workers__every_part_is_done_once)
{
    static const int threads[] = {1, 2, 3, WORKERS_MOST - 1};
    struct workers *h = open_workers(threads[_i]);
    struct count c = {.round = 0};

    for (int round = 1; round <= 2000; round++) {
        int parts = 1 + round % (round % 7 ? 5 : WORKERS_MOST);

        if (round % 100 == 1) /* with workers, and now and then while they sleep */
            (round % 300 == 1 ? workers_rest : workers_wake)(h);
        memset(&c, 0, sizeof c);
        c.round = round;
        workers_run(h, parts, note, &c);
        for (int i = 0; i < WORKERS_MOST; i++) {
            ck_assert_int_eq(atomic_load(&c.times[i]), i < parts);
            ck_assert_int_eq(c.plain[i], i < parts ? round : 0);
        }
    }
    workers_close(h);
}
END_TEST

static void wait_for_another(void *context, int part)
{
    atomic_int *met = context;

    (void)part;
    atomic_fetch_add(met, 1);
    while (atomic_load(met) < 2) /* for ever, were both parts the caller's */
        sched_yield();
}

START_TEST(test_workers__parts_are_done_at_the_same_time)
{
    struct workers *h = open_workers(1);
    atomic_int met = 0;

    workers_wake(h);
    workers_run(h, 2, wait_for_another, &met);
    ck_assert_int_eq(atomic_load(&met), 2);
    workers_close(h);
}
END_TEST

/* Where a part is done: on which processors, and do signals come there? */
struct place {
    atomic_int met, alone; /* threads that came; of them on one processor */
    int signals;           /* that another thread than the caller would get */
    pthread_t caller;
};

static void look(void *context, int part)
{
    struct place *p = context;
    sigset_t blocked;
    cpu_set_t cpus;

    (void)part;
    if (!pthread_equal(pthread_self(), p->caller)) {
        sched_getaffinity(0, sizeof cpus, &cpus);
        atomic_fetch_add(&p->alone, CPU_COUNT(&cpus) == 1);
        pthread_sigmask(SIG_SETMASK, NULL, &blocked);
        p->signals = !sigismember(&blocked, SIGTERM) || !sigismember(&blocked, SIGALRM);
    }
    atomic_fetch_add(&p->met, 1);
    while (atomic_load(&p->met) < 2)
        sched_yield();
}

START_TEST(test_workers__stay_where_they_are_put_and_get_no_signals)
{
    struct place p = {.caller = pthread_self()};
    struct workers *h = NULL;
    cpu_set_t own, one;
    int cpu = 0;

    ck_assert_int_eq(sched_getaffinity(0, sizeof own, &own), 0);
    while (!CPU_ISSET(cpu, &own))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ck_assert_int_eq(workers_open(1, &one, sizeof one, &h), 0);
    workers_wake(h);
    workers_run(h, 2, look, &p);
    ck_assert_int_eq(atomic_load(&p.alone), 1);
    ck_assert_int_eq(p.signals, 0);
    workers_close(h);
}
END_TEST

/* Threads of this process that are awake, the calling one not counted. */
static int awake(void)
{
    char path[300], text[512];
    struct dirent *entry;
    DIR *tasks = opendir("/proc/self/task");
    int n = 0;

    ck_assert_ptr_nonnull(tasks);
    while ((entry = readdir(tasks))) {
        if (entry->d_name[0] == '.' || atoi(entry->d_name) == getpid())
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/stat", entry->d_name);
        FILE *f = fopen(path, "re");
        size_t bytes = f ? fread(text, 1, sizeof text - 1, f) : 0;
        if (f)
            fclose(f);
        text[bytes] = 0;
        n += strstr(text, ") S ") == NULL;
    }
    closedir(tasks);
    return n;
}

/* Between calls the processors are the application's. */
START_TEST(test_workers__sleep_while_nobody_wants_them)
{
    struct workers *h = open_workers(3);
    struct count c = {.round = 1};

    for (int round = 0; round < 20; round++) {
        workers_wake(h);
        workers_run(h, 4, note, &c);
        workers_rest(h);
        while (awake()) /* for ever, if one of them went on looking for work */
            sched_yield();
    }
    workers_close(h);
}
END_TEST

Suite *suite_workers(void)
{
    Suite *s = suite_create("workers");
    TCase *t = tcase_create("workers");

    tcase_add_loop_test(t, test_workers__every_part_is_done_once, 0, 4);
    tcase_add_test(t, test_workers__parts_are_done_at_the_same_time);
    tcase_add_test(t, test_workers__stay_where_they_are_put_and_get_no_signals);
    tcase_add_test(t, test_workers__sleep_while_nobody_wants_them);
    suite_add_tcase(s, t);
    return s;
}
