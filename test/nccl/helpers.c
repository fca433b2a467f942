/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes that help a rank (COLLSHIM_PPG), while something happens to them. A rank knows its own
 * by a variable that it has set, which they are given. Where there are none, as without the
 * preload, these cases are ordinary sums.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/nccl/ranks.h"

enum { PATIENCE_MS = 15000 };

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
    text[n] = '\0';
    return n;
}

static int is_own_helper(int pid)
{
    static char text[1 << 17];
    char mark[64];

    proc_file(pid, "comm", text, sizeof text);
    if (strcmp(text, "collshim-helper\n") != 0)
        return 0;
    size_t n = proc_file(pid, "environ", text, sizeof text);
    int length = snprintf(mark, sizeof mark, "NCCL_RANKS_OWNER=%d", (int)getpid()) + 1;
    return memmem(text, n, mark, (size_t)length) != NULL;
}

/* The helpers of this rank; returns how many. */
static int find_helpers(int *pid, int most)
{
    DIR *d = opendir("/proc");
    struct dirent *e;
    int n = 0;

    while (d && n < most && (e = readdir(d)))
        if (atoi(e->d_name) > 0 && is_own_helper(atoi(e->d_name)))
            pid[n++] = atoi(e->d_name);
    if (d)
        closedir(d);
    return n;
}

static void signal_a_helper(int number)
{
    int pid[64], n = find_helpers(pid, 64);

    if (n)
        kill(pid[n / 2], number);
}

static void kill_a_helper(void)
{
    signal_a_helper(SIGKILL);
}

/* A sum over all ranks: rank r brings r + 1 and the element's number. */
static float *sum_data(struct rank *r)
{
    float *host = malloc(r->count * sizeof *host), *data = device_new(r->count * sizeof *host);

    if (!host)
        abort();
    for (size_t i = 0; i < r->count; i++)
        host[i] = (float)(r->rank + 1) + (float)(i % 1000);
    device_write(data, host, r->count * sizeof *host);
    free(host);
    return data;
}

static ncclResult_t sum_call(struct rank *r, float *data)
{
    return ncclAllReduce(data, data, r->count, ncclFloat, ncclSum, r->comm, r->stream);
}

static void sum_check(struct rank *r, float *data, const char *what)
{
    float *host = malloc(r->count * sizeof *host);
    size_t wrong = 0;
    int n = r->nranks;

    if (!host)
        abort();
    device_read(host, data, r->count * sizeof *host);
    for (size_t i = 0; i < r->count; i++)
        wrong += host[i] != (float)(n * (n + 1) / 2) + (float)n * (float)(i % 1000);
    check(r, !wrong, "%s: %zu elements are wrong", what, wrong);
    device_free(data);
    free(host);
}

/* Wait for the stream as a careful program does. Returns what NCCL says meanwhile. */
static ncclResult_t careful_wait(struct rank *r)
{
    ncclResult_t state = ncclSuccess;

    for (int i = 0; i < PATIENCE_MS; i++) {
        if (cu->StreamQuery(r->stream) == CUDA_SUCCESS)
            return state;
        if (!state)
            NCCL(ncclCommGetAsyncError(r->comm, &state));
        usleep(1000);
    }
    check(r, 0, "the stream does not go on (%d)", state);
    _exit(1);
}

static void sum_once(struct rank *r, const char *what)
{
    float *data = sum_data(r);
    ncclResult_t result = sum_call(r, data);

    check(r, result == ncclSuccess, "%s: %d", what, result);
    check(r, careful_wait(r) == ncclSuccess, "%s: an error behind the call", what);
    sum_check(r, data, what);
}

/* A call that has begun on all ranks loses a helper of one: all are told, none hangs, one more call
   says so, and the communicator is the library's from then on. */
static void lose_a_helper(struct rank *r, int number)
{
    CUdeviceptr flag = (CUdeviceptr)device_new(4);
    CUstream other = stream_new();
    ncclResult_t state = ncclSuccess;
    uint32_t zero = 0;
    int pid[64], helped;

    sum_once(r, "before");
    helped = find_helpers(pid, 64);
    device_write((void *)flag, &zero, sizeof zero);
    CUDA(StreamWaitValue32(r->stream, flag, 1, CU_STREAM_WAIT_VALUE_EQ));
    float *data = sum_data(r);
    NCCL(sum_call(r, data));
    ranks_meet(r);
    if (r->rank == r->nranks - 1)
        signal_a_helper(number);
    for (int i = 0; helped && state == ncclSuccess && i < PATIENCE_MS; i++) {
        NCCL(ncclCommGetAsyncError(r->comm, &state));
        usleep(1000);
    }
    check(r, state == (helped ? ncclSystemError : ncclSuccess), "told of the loss: %d", state);
    CUDA(StreamWriteValue32(other, flag, 1, CU_STREAM_WRITE_VALUE_DEFAULT));
    careful_wait(r);
    if (helped) {
        check(r, sum_call(r, data) == ncclSystemError, "the call behind a lost one succeeds");
        device_free(data);
    } else {
        sum_check(r, data, "no helpers");
    }
    for (int i = 0; i < 3; i++) {
        data = sum_data(r);
        NCCL(sum_call(r, data));
        stream_wait(r->stream);
        sum_check(r, data, "after the loss");
    }
    check(r, find_helpers(pid, 64) == 0 || !helped, "helpers are left behind");
    NCCL(ncclCommDestroy(r->comm));
    r->comm = ranks_comm(r);
    sum_once(r, "a communicator made after the loss");
    device_free((void *)flag);
    CUDA(StreamDestroy(other));
}

static void test_helper_killed(struct rank *r)
{
    lose_a_helper(r, SIGKILL);
}

/* The same of one that is stopped, which its owner finds out within some seconds, and ends. */
static void test_helper_stopped(struct rank *r)
{
    lose_a_helper(r, SIGSTOP);
}

/* Between calls nothing is lost, and the program hears of nothing. All ranks know once their own
   helpers have been sent away. */
static void test_helper_killed_idle(struct rank *r)
{
    int pid[64];

    sum_once(r, "before");
    ranks_meet(r);
    if (r->rank == 0)
        kill_a_helper();
    for (int i = 0; i < PATIENCE_MS && find_helpers(pid, 64); i++)
        usleep(1000);
    ranks_meet(r);
    for (int i = 0; i < 5; i++)
        sum_once(r, "after an idle helper died");
}

/* At any moment. Every call that is not said to be lost is right; and calls are lost no longer than
   until all know. */
static void test_helper_killed_anytime(struct rank *r)
{
    enum { CALLS = 40, LATEST = 20 };
    int lost = 0, when = rand() % LATEST;

    ranks_tell(r, &when, sizeof when);
    for (int i = 0; i < CALLS; i++) {
        float *data = sum_data(r);
        ncclResult_t result = sum_call(r, data), state;

        if (i == when && r->rank == 0)
            kill_a_helper();
        state = careful_wait(r);
        if (result == ncclSuccess && state == ncclSuccess) {
            sum_check(r, data, "a call that is not lost");
            continue;
        }
        check(r, result == ncclSuccess || result == ncclSystemError, "a lost call: %d", result);
        check(r, i >= when, "call %d is lost before there was a loss, %d", i, when);
        lost += result != ncclSuccess;
        device_free(data);
        for (int k = 0; k < 1000 && state == ncclSuccess; k++)
            NCCL(ncclCommGetAsyncError(r->comm, &state));
        /* The error stays; what the stream says from here on is the result. */
        for (int k = i + 1; k < CALLS; k++) {
            data = sum_data(r);
            result = sum_call(r, data);
            stream_wait(r->stream);
            if (result == ncclSuccess && k > i + 3)
                sum_check(r, data, "after the loss");
            else
                device_free(data);
            lost += result != ncclSuccess;
        }
        break;
    }
    check(r, lost <= 3, "%d calls were lost", lost);
}

/* A rank that is killed, or aborts: its helpers end with it (the script looks). */
static void end_by(struct rank *r, int signal)
{
    sum_once(r, "before");
    ranks_meet(r);
    if (r->rank == 0)
        kill(getpid(), signal);
    pause();
}

static void test_rank_killed(struct rank *r)
{
    end_by(r, SIGKILL);
}

static void test_rank_aborted(struct rank *r)
{
    end_by(r, SIGABRT);
}

/* Until a signal kills it: nothing of it is left (the script looks). */
static void test_rank_endless(struct rank *r)
{
    for (;;)
        sum_once(r, "one of many");
}

/* A program with children of its own sees no others, and helpers outlive these. */
static void test_forks(struct rank *r)
{
    enum { CHILDREN = 3 };
    int ended = 0;

    sum_once(r, "before");
    fflush(NULL);
    for (int i = 0; i < CHILDREN; i++)
        if (fork() == 0)
            _exit(0);
    while (wait(NULL) > 0)
        ended++;
    check(r, ended == CHILDREN && errno == ECHILD, "%d children ended, and then: %s", ended,
          strerror(errno));
    for (int i = 0; i < 3; i++)
        sum_once(r, "with children that have ended");
}

/* Clock ticks that a process has worked; -1: there is none. */
static long ticks_of(int pid)
{
    unsigned long user = 0, system = 0;
    char text[1024], *at;

    proc_file(pid, "stat", text, sizeof text);
    at = strrchr(text, ')');
    if (!at ||
        sscanf(at, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2)
        return -1;
    return (long)(user + system);
}

/* A debugger attaches to rank 0 alone, stops it while the others are in a call, and leaves. Its
   helper has nothing to do meanwhile: it lives, and sleeps. */
static void test_debugged(struct rank *r)
{
    enum { STOPPED_MS = 1000, TENTH = 10 };
    int status = 0, owner = getpid(), helper[1], helped;

    sum_once(r, "before");
    helped = find_helpers(helper, 1);
    ranks_meet(r);
    if (r->rank == 0) {
        fflush(NULL);
        pid_t debugger = fork();
        if (debugger == 0) {
            int well = !ptrace(PTRACE_SEIZE, owner, NULL, NULL) &&
                       !ptrace(PTRACE_INTERRUPT, owner, NULL, NULL) &&
                       waitpid(owner, &status, __WALL) == owner;

            long before = helped ? ticks_of(helper[0]) : 0;
            usleep(STOPPED_MS * 1000);
            long after = helped ? ticks_of(helper[0]) : 0;
            ptrace(PTRACE_DETACH, owner, NULL, NULL);
            if (!well)
                _exit(1);
            _exit(before < 0 || after < 0 || after - before > sysconf(_SC_CLK_TCK) / TENTH ? 2 : 0);
        }
        check(r, waitpid(debugger, &status, 0) == debugger && status != 1 << 8,
              "a debugger was refused");
        check(r, status != 2 << 8, "the helper of a stopped rank died, or works");
    }
    for (int i = 0; i < 3; i++)
        sum_once(r, "beside a debugger");
}

/* Communicators that use helpers one beside the other, and more of them than helpers can serve. */
static void test_many_communicators(struct rank *r)
{
    enum { MANY = 10 };
    ncclComm_t first = r->comm, comm[MANY];

    for (int i = 0; i < MANY; i++)
        comm[i] = ranks_comm(r);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < MANY; i++) {
            r->comm = comm[i];
            sum_once(r, "one of many communicators");
        }
    for (int i = 0; i < MANY; i++)
        NCCL(ncclCommDestroy(comm[i]));
    r->comm = first;
    sum_once(r, "after many");
}

const struct test_case cases_helpers[] = {
    {"many_communicators", test_many_communicators},
    {"helper_killed", test_helper_killed},
    {"helper_stopped", test_helper_stopped},
    {"helper_killed_idle", test_helper_killed_idle},
    {"helper_killed_anytime", test_helper_killed_anytime},
    {"rank_killed", test_rank_killed},
    {"rank_aborted", test_rank_aborted},
    {"rank_endless", test_rank_endless},
    {"forks", test_forks},
    {"debugged", test_debugged},
    {NULL, NULL},
};
