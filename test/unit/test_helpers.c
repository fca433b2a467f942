/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Helpers as processes: the application does not notice them, and no end of either side leaves
 * anything. Each test starts its own in a process of its own (Check forks), which is the owner.
 */
#define _GNU_SOURCE
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "config/base/near.h"
#include "shim/helper/environment.h"
#include "shim/helper/helpers.h"
#include "shim/helper/silence.h"
#include "test/unit/random.h"
#include "test/unit/suites.h"

enum { HELPERS = 2, SECONDS = 5 };

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

/* A file of /proc, 0-terminated; its length, or 0. */
static size_t proc_file(int pid, const char *name, char *text, size_t size)
{
    char path[64];
    size_t n = 0;

    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    FILE *f = fopen(path, "re");
    if (f) {
        n = fread(text, 1, size - 1, f);
        fclose(f);
    }
    text[n] = 0;
    return n;
}

/* Is that the helper of that owner, and alive? Its open files tell the owner: its mailbox, which
   only the two know, and here the mark that the tests put into the environment. */
static int is_helper(int pid, const char *mark)
{
    char text[16384], *state;

    if (!proc_file(pid, "comm", text, sizeof text) || strcmp(text, "collshim-helper\n") != 0)
        return 0;
    proc_file(pid, "stat", text, sizeof text);
    state = strrchr(text, ')');
    if (!state || state[2] == 'Z' || state[2] == 'X')
        return 0;
    size_t n = proc_file(pid, "environ", text, sizeof text);
    return memmem(text, n, mark, strlen(mark)) != NULL;
}

/* Helpers that live with that mark; their numbers to pid[HELPERS]. */
static int find_helpers(const char *mark, int *pid)
{
    DIR *d = opendir("/proc");
    struct dirent *e;
    int n = 0;

    while (d && (e = readdir(d)))
        if (atoi(e->d_name) > 0 && is_helper(atoi(e->d_name), mark) && n < HELPERS)
            pid[n++] = atoi(e->d_name);
    closedir(d);
    return n;
}

static int all_gone(const char *mark)
{
    int pid[HELPERS];

    for (int tries = 0; tries < SECONDS * 100; tries++, nap())
        if (!find_helpers(mark, pid))
            return 1;
    return 0;
}

/* A mark of this test's own, that helpers get by UCX's prefix. */
static const char *make_mark(void)
{
    static char mark[64];

    snprintf(mark, sizeof mark, "UCX_COLLSHIM_TEST=%d.", (int)getpid());
    char *value = strchr(mark, '=');
    *value = 0;
    setenv(mark, value + 1, 1);
    setenv("UCX_TLS", "tcp,self", 1);
    setenv("UCX_WARN_UNUSED_ENV_VARS", "n", 1);
    *value = '=';
    return mark;
}

static int signals;

static void note_signal(int number)
{
    (void)number;
    signals++;
}

/* Start them; returns 0 where there is no helper program, which the build says. */
static int started(const char **why)
{
    helpers_init(MAILBOX_FOR_MPI);
    int n = helpers_start(HELPERS, why);
    if (n == 0 && strstr(*why, "no collshim-helper")) {
        printf("skipped: %s\n", *why);
        return 0;
    }
    ck_assert_msg(n == HELPERS, "%d helpers: %s", n, *why);
    return 1;
}

START_TEST(test_helpers__the_application_does_not_notice_them)
{
    const char *why, *mark = make_mark();
    int pid[HELPERS], fd = open("/dev/null", O_RDONLY); /* inheritable */
    char text[16384];

    signal(SIGCHLD, note_signal);
    setenv("OMPI_COMM_WORLD_RANK", "3", 1);
    setenv("LD_PRELOAD", "libnone.so", 1);
    if (!started(&why))
        return;
    ck_assert_int_eq(find_helpers(mark, pid), HELPERS);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    ck_assert_int_eq(errno, ECHILD);
    ck_assert_int_eq(signals, 0);
    for (int i = 0; i < HELPERS; i++) {
        size_t n = proc_file(pid[i], "environ", text, sizeof text);
        ck_assert_ptr_null(memmem(text, n, "OMPI_", 5));
        ck_assert_ptr_null(memmem(text, n, "LD_PRELOAD", 10));
        snprintf(text, sizeof text, "/proc/%d/fd/%d", pid[i], fd);
        char target[256];
        ssize_t length = readlink(text, target, sizeof target - 1);
        target[length > 0 ? length : 0] = 0;
        ck_assert_msg(fd < HELPER_FD_END || strcmp(target, "/dev/null") != 0,
                      "descriptor %d was inherited", fd);
        for (int k = 0; k < 3; k++) {
            snprintf(text, sizeof text, "/proc/%d/fd/%d", pid[i], k);
            length = readlink(text, target, sizeof target - 1);
            target[length > 0 ? length : 0] = 0;
            ck_assert_str_eq(target, "/dev/null");
        }
    }
    helpers_dismiss();
    ck_assert_int_eq(all_gone(mark), 1);
    ck_assert_int_eq(helpers_start(HELPERS, &why), 0); /* not again */
}
END_TEST

/* As on Linux before 5.3, from here on in this process and all that it starts. */
static void refuse_pidfds(void)
{
    struct sock_filter rule[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rule / sizeof *rule, rule};

    must(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
             !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program),
         "no seccomp");
}

/* The loop: on a system that tells of a process's end, and on one that does not. */
START_TEST(test_helpers__an_owner_that_is_killed_takes_them_along)
{
    const char *mark = make_mark();
    int pid[HELPERS], ready[2];
    char word;

    ck_assert_int_eq(pipe(ready), 0);
    pid_t owner = fork();
    if (owner == 0) {
        const char *why;
        if (_i)
            refuse_pidfds();
        word = started(&why) ? 'y' : 'n';
        must(write(ready[1], &word, 1) == 1, "no word");
        for (;;)
            pause();
    }
    ck_assert_int_eq(read(ready[0], &word, 1), 1);
    ck_assert_int_eq(find_helpers(mark, pid), word == 'y' ? HELPERS : 0);
    kill(owner, SIGKILL);
    waitpid(owner, NULL, 0);
    ck_assert_int_eq(all_gone(mark), 1);
}
END_TEST

/* It becomes another program, while a child of its, which has all that it had, lives on. */
START_TEST(test_helpers__an_owner_that_becomes_another_program_loses_them)
{
    const char *mark = make_mark();
    int pid[HELPERS], ready[2], go[2];
    char word;

    ck_assert_int_eq(pipe(ready), 0);
    ck_assert_int_eq(pipe(go), 0);
    pid_t owner = fork();
    if (owner == 0) {
        const char *why;
        word = started(&why) ? 'y' : 'n';
        close(go[1]);
        must(write(ready[1], &word, 1) == 1, "no word");
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (;;)
                pause();
        }
        must(read(go[0], &word, 1) == 1, "no word back");
        unsetenv("UCX_COLLSHIM_TEST");
        execlp("sleep", "sleep", "60", NULL);
    }
    ck_assert_int_eq(read(ready[0], &word, 1), 1);
    int helpers = word == 'y' ? HELPERS : 0;
    nanosleep(&(struct timespec){.tv_sec = 3}, NULL); /* they have looked */
    ck_assert_int_eq(find_helpers(mark, pid), helpers);
    ck_assert_int_eq(write(go[1], "", 1), 1);
    ck_assert_int_eq(all_gone(mark), 1);
    ck_assert_int_eq(waitpid(owner, NULL, WNOHANG), 0);
    kill(owner, SIGKILL);
}
END_TEST

/* The order is one that cannot be served without peers, so that only the death ends it. */
START_TEST(test_helpers__a_death_is_seen_whatever_it_died_of)
{
    const char *why, *mark = make_mark();
    int pid[HELPERS];

    if (!started(&why))
        return;
    int channel = helpers_take_channel();
    ck_assert_int_ge(channel, 0);
    for (int i = 0; i < HELPERS; i++) {
        helpers_post(i, channel, &(struct mailbox_order){.kind = MAILBOX_CLOSE});
        while (helpers_look(i, channel) == HELPERS_WORKS)
            sched_yield();
        ck_assert_int_eq(helpers_look(i, channel), HELPERS_DONE);
    }
    ck_assert_int_eq(find_helpers(mark, pid), HELPERS);
    for (int i = 0; i < HELPERS; i++)
        kill(pid[i], SIGKILL);
    ck_assert_int_eq(all_gone(mark), 1);
    for (int i = 0; i < HELPERS; i++) {
        helpers_post(i, channel, &(struct mailbox_order){.kind = MAILBOX_CLOSE});
        ck_assert_int_eq(helpers_look(i, channel), HELPERS_FAILED);
        ck_assert_int_eq(helpers_look(i, channel), HELPERS_FAILED); /* nor does looking change it */
    }
}
END_TEST

static enum helpers_state await_order(int helper, int channel)
{
    enum helpers_state state;

    while ((state = helpers_look(helper, channel)) == HELPERS_WORKS)
        nap();
    return state;
}

/* One that works again in time is left alone. One that is not told by its state, as if it hung, has
   longer: here a tracer stops its working thread. The loop: an order that writes to its owner's
   memory, and one that does not. */
START_TEST(test_helpers__one_that_does_nothing_is_ended)
{
    const struct mailbox_order order = {.kind = _i ? MAILBOX_STORE : MAILBOX_CLOSE};
    const char *why, *mark = make_mark();
    int pid[HELPERS], status;

    silence_stopped_most = 2;
    silence_most = 3;
    if (!started(&why))
        return;
    int channel = helpers_take_channel(), n = find_helpers(mark, pid);
    ck_assert_int_eq(n, HELPERS);
    for (int i = 0; i < HELPERS; i++)
        kill(pid[i], SIGSTOP);
    for (int i = 0; i < HELPERS; i++) {
        helpers_post(i, channel, &order);
        ck_assert_int_eq(helpers_look(i, channel), HELPERS_WORKS);
    }
    nanosleep(&(struct timespec){.tv_sec = 1, .tv_nsec = 200000000}, NULL);
    ck_assert_int_eq(helpers_look(0, channel), HELPERS_WORKS); /* asked once */
    for (int i = 0; i < HELPERS; i++)
        kill(pid[i], SIGCONT);
    for (int i = 0; i < HELPERS; i++)
        ck_assert_int_eq(await_order(i, channel), HELPERS_DONE);
    for (int i = 0; i < HELPERS; i++)
        must(i ? !kill(pid[i], SIGSTOP)
               : !ptrace(PTRACE_SEIZE, pid[i], 0, 0) && !ptrace(PTRACE_INTERRUPT, pid[i], 0, 0) &&
                     waitpid(pid[i], &status, __WALL) == pid[i],
             "no helper stops");
    for (int i = 0; i < HELPERS; i++)
        helpers_post(i, channel, &order);
    for (int working = HELPERS; working; nap()) {
        working = 0;
        for (int i = 0; i < HELPERS; i++)
            working += helpers_look(i, channel) == HELPERS_WORKS;
    }
    for (int i = 0; i < HELPERS; i++)
        ck_assert_int_eq(helpers_look(i, channel), HELPERS_FAILED);
    ck_assert_msg(!_i || !find_helpers(mark, pid),
                  "a helper may still write to its owner's memory");
    ck_assert_int_eq(all_gone(mark), 1);
}
END_TEST

/* The value of a variable, or NULL. */
static const char *value_of(char *const *environment, const char *name)
{
    size_t length = strlen(name);

    for (; *environment; environment++)
        if (!strncmp(*environment, name, length) && (*environment)[length] == '=')
            return *environment + length + 1;
    return NULL;
}

START_TEST(test_helpers__each_gets_one_of_the_network_devices)
{
    static const struct {
        const char *list, *given[4];
    } cases[] = {{"UCX_NET_DEVICES=rail0", {"rail0", "rail0", "rail0", "rail0"}},
                 {"UCX_NET_DEVICES=rail0,rail1", {"rail1", "rail0", "rail1", "rail0"}},
                 {"UCX_NET_DEVICES=a:1,bb:1,c:2", {"bb:1", "c:2", "a:1", "bb:1"}},
                 {"UCX_NET_DEVICES=^a,b", {"^a,b", "^a,b", "^a,b", "^a,b"}},
                 {"UCX_NET_DEVICES=", {"", "", "", ""}}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int helper = 0; helper < 4; helper++) {
            char *all[] = {"PATH=/bin", (char *)cases[i].list, "UCX_TLS=tcp", "OMPI_X=1", NULL};
            char **given = environment_of(all, helper, MAILBOX_FOR_MPI);

            ck_assert_str_eq(value_of(given, "UCX_NET_DEVICES"), cases[i].given[helper]);
            ck_assert_str_eq(value_of(given, "UCX_TLS"), "tcp");
            ck_assert_ptr_null(value_of(given, "OMPI_X"));
            ck_assert_ptr_null(value_of(given, "PATH"));
            free(given);
        }
}
END_TEST

/* Nothing that a tool has preloaded or that the driver loads for it; for NCCL all else. */
START_TEST(test_helpers__tools_are_left_to_the_ranks)
{
    char *all[] = {"CUDA_INJECTION64_PATH=a",
                   "NVTX_INJECTION64_PATH=b",
                   "LD_PRELOAD=c",
                   "CUDA_VISIBLE_DEVICES=1",
                   "NCCL_NET=d",
                   "COLLSHIM_PPG=2",
                   "NCCL_COMM_BLOCKING=0",
                   NULL};

    for (int work = MAILBOX_FOR_MPI; work <= MAILBOX_FOR_NCCL; work++) {
        char **given = environment_of(all, 0, (enum mailbox_work)work);

        ck_assert_str_eq(value_of(given, "CUDA_VISIBLE_DEVICES"), "1");
        ck_assert_int_eq(value_of(given, "NCCL_NET") != NULL, work == MAILBOX_FOR_NCCL);
        ck_assert_ptr_null(value_of(given, "CUDA_INJECTION64_PATH"));
        ck_assert_ptr_null(value_of(given, "NVTX_INJECTION64_PATH"));
        ck_assert_ptr_null(value_of(given, "LD_PRELOAD"));
        ck_assert_ptr_null(value_of(given, "COLLSHIM_PPG"));
        ck_assert_ptr_null(value_of(given, "NCCL_COMM_BLOCKING"));
        free(given);
    }
}
END_TEST

/* A device whose cores are the last of those that this process may use. */
static int write_list(const char *device, const cpu_set_t *own, int *last)
{
    const char *devices = "/sys/bus/pci/devices";
    char path[128];

    for (*last = CPU_SETSIZE - 1; !CPU_ISSET(*last, own); --*last)
        ;
    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("tmpfs", devices, "tmpfs", 0, NULL))
        return 0;
    snprintf(path, sizeof path, "%s/%s", devices, device);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/%s/local_cpulist", devices, device);
    FILE *f = fopen(path, "we");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_gt(fprintf(f, "%d,%d-%d\n", *last, CPU_SETSIZE - 2, CPU_SETSIZE - 1), 0);
    ck_assert_int_eq(fclose(f), 0);
    return 1;
}

/* The driver writes a device's address in capitals, the system does not. */
START_TEST(test_helpers__a_device_draws_only_where_there_is_room)
{
    cpu_set_t before, after;
    int last;

    ck_assert_int_eq(sched_getaffinity(0, sizeof before, &before), 0);
    if (!write_list("0000:ab:1f.0", &before, &last)) {
        printf("skipped: no name space of its own (%s)\n", strerror(errno));
        return;
    }
    near_device("0000:FF:1F.7", 1);
    near_device("0000:AB:1F.0", 2);
    ck_assert_int_eq(sched_getaffinity(0, sizeof after, &after), 0);
    ck_assert_int_eq(CPU_EQUAL(&before, &after), 1);
    near_device("0000:AB:1F.0", 1);
    ck_assert_int_eq(sched_getaffinity(0, sizeof after, &after), 0);
    ck_assert_int_eq(CPU_COUNT(&after), 1);
    ck_assert_int_ne(CPU_ISSET(last, &after), 0);
}
END_TEST

/* Asking does not wait, and waiting is short once the answer is yes. */
START_TEST(test_helpers__it_can_be_asked_whether_they_are_ready)
{
    const char *why, *mark = make_mark();
    int pid[HELPERS];

    helpers_init(MAILBOX_FOR_MPI);
    helpers_begin(HELPERS);
    for (int tries = 0; tries < 2000 && !helpers_settled(); tries++)
        nap();
    ck_assert_int_eq(helpers_settled(), 1);
    if (!started(&why))
        return;
    ck_assert_int_eq(helpers_settled(), 1);
    ck_assert_int_eq(find_helpers(mark, pid), HELPERS);
    helpers_dismiss();
    ck_assert_int_eq(all_gone(mark), 1);
}
END_TEST

/* Name spaces of this process's own, with an empty /dev/shm. Returns 0 if the system refuses. */
static int set_apart(void)
{
    return unshare(CLONE_NEWNS | CLONE_NEWIPC) == 0 &&
           mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", "/dev/shm", "tmpfs", 0, NULL) == 0;
}

/* Segments of System V, each of which goes with its last user. Returns how many there are. in_use:
   each is looked at: one that no peer has was attached once by UCX, unless that tried something
   with a page, and before that as it was made. */
static int segments(int in_use)
{
    enum { PAGE = 4096 };
    char line[512];
    unsigned mode, size, attached;
    int n = 0;
    FILE *f = fopen("/proc/sysvipc/shm", "re");

    ck_assert_ptr_nonnull(f);
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "%*d %*d %o %u %*d %*d %u", &mode, &size, &attached) == 3) {
            n++;
            ck_assert(!in_use || mode == 01600);
            ck_assert(!in_use || attached == (size > PAGE ? 2 : 1));
        }
    fclose(f);
    return n;
}

START_TEST(test_helpers__no_shared_memory_has_a_name)
{
    const char *why, *mark = make_mark();
    char event[4096];

    if (!set_apart()) {
        printf("skipped: no name spaces of its own (%s)\n", strerror(errno));
        return;
    }
    int watch = inotify_init1(IN_NONBLOCK);
    ck_assert_int_ge(inotify_add_watch(watch, "/dev/shm", IN_CREATE), 0);
    if (!started(&why))
        return;
    ck_assert_int_eq(read(watch, event, sizeof event), -1);
    ck_assert_int_eq(errno, EAGAIN);
    ck_assert_int_ge(segments(1), HELPERS);
    helpers_dismiss();
    ck_assert_int_eq(all_gone(mark), 1);
    for (int i = 0; i < 100 * SECONDS && segments(0); i++)
        nap(); /* a process is not seen any more before its memory is gone */
    ck_assert_int_eq(segments(0), 0);
}
END_TEST

START_TEST(test_helpers__channels_run_out)
{
    int channel[MAILBOX_CHANNELS];

    for (int i = 0; i < MAILBOX_CHANNELS; i++) {
        channel[i] = helpers_take_channel();
        for (int k = 0; k < i; k++)
            ck_assert_int_ne(channel[i], channel[k]);
    }
    ck_assert_int_eq(helpers_take_channel(), -1);
    helpers_return_channel(channel[3]);
    ck_assert_int_eq(helpers_take_channel(), channel[3]);
}
END_TEST

Suite *suite_helpers(void)
{
    Suite *s = suite_create("helpers");
    TCase *t = tcase_create("processes");

    tcase_add_test(t, test_helpers__the_application_does_not_notice_them);
    tcase_add_loop_test(t, test_helpers__an_owner_that_is_killed_takes_them_along, 0, 2);
    tcase_add_test(t, test_helpers__an_owner_that_becomes_another_program_loses_them);
    tcase_add_test(t, test_helpers__a_death_is_seen_whatever_it_died_of);
    tcase_add_loop_test(t, test_helpers__one_that_does_nothing_is_ended, 0, 2);
    tcase_add_test(t, test_helpers__it_can_be_asked_whether_they_are_ready);
    tcase_add_test(t, test_helpers__each_gets_one_of_the_network_devices);
    tcase_add_test(t, test_helpers__tools_are_left_to_the_ranks);
    tcase_add_test(t, test_helpers__no_shared_memory_has_a_name);
    tcase_add_test(t, test_helpers__a_device_draws_only_where_there_is_room);
    tcase_add_test(t, test_helpers__channels_run_out);
    suite_add_tcase(s, t);
    return s;
}
