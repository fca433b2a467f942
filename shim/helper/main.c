/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * collshim-helper: carries a slice of its owner's collectives, as one of several processes that
 * work for one rank. Started by collshim alone (helpers.h); it decides nothing, and has no command
 * line. Its mailbox tells its purpose (work.h). It sleeps unless there is an order, something
 * arrived, or its owner is gone. A descriptor of the owner tells the last for certain, in every way
 * that the owner can end.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/helper/work.h"

#ifndef HELPER_MPI
#define HELPER_MPI 0
#endif
#ifndef HELPER_NCCL
#define HELPER_NCCL 0
#endif

/* Keep only what the helper was given of its owner. The launcher waits for the ends of the owner's
   output, and the owner acts on the job's signals. */
static void detach(void)
{
    int nowhere = open("/dev/null", O_RDWR);

    for (int fd = 0; nowhere >= 0 && fd < 3; fd++)
        dup2(nowhere, fd);
    if (syscall(SYS_close_range, HELPER_FD_END, ~0u, 0) != 0) {
        struct rlimit limit;
        int end = getrlimit(RLIMIT_NOFILE, &limit) ? 1024 : (int)limit.rlim_cur;

        for (int fd = HELPER_FD_END; fd < end; fd++)
            close(fd);
    }
    for (int s = 1; s < SIGRTMAX; s++)
        if (s != SIGSEGV && s != SIGBUS && s != SIGILL && s != SIGFPE && s != SIGABRT)
            signal(s, SIG_IGN);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (chdir("/") != 0)
        return; /* it holds its owner's directory, which is harmless */
}

/* The mailbox's bell is a word of memory, since a descriptor in the application's process could be
   closed by the application. The main thread sleeps on descriptors. No descriptor tells that the
   owner's process has become another program. */
static void *pass_the_bell_on(void *work)
{
    struct helper_work *w = work;
    uint32_t heard = 0;
    uint64_t one = 1;

    for (;;) {
        uint32_t now = atomic_load(&w->box->bell);

        if (atomic_load(&w->box->quit) || leash_is_loose(HELPER_FD_LEASH))
            _exit(0);
        if (now == heard)
            mailbox_wait(&w->box->bell, now);
        else if (write(w->bell, &one, sizeof one) == sizeof one)
            heard = now;
    }
    return NULL;
}

/* Returns 0, or -1 with the mailbox's `why` set. */
static int make_ready(struct helper_work *w)
{
    w->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (w->bell < 0) {
        snprintf(w->box->why, sizeof w->box->why, "no descriptor is left");
        return -1;
    }
#if HELPER_MPI
    if (w->box->work == MAILBOX_FOR_MPI)
        return work_ready_mpi(w);
#endif
#if HELPER_NCCL
    if (w->box->work == MAILBOX_FOR_NCCL)
        return work_ready_nccl(w);
#endif
    snprintf(w->box->why, sizeof w->box->why, "collshim-helper was built without the headers of %s",
             w->box->work == MAILBOX_FOR_MPI ? "UCX" : "NCCL and CUDA");
    return -1;
}

static void work_on(struct helper_work *w)
{
#if HELPER_MPI
    if (w->box->work == MAILBOX_FOR_MPI)
        work_on_mpi(w);
#endif
#if HELPER_NCCL
    if (w->box->work == MAILBOX_FOR_NCCL)
        work_on_nccl(w);
#endif
}

int main(void)
{
    struct helper_work w = {0};
    pthread_t thread;

    if (mailbox_join(HELPER_FD_MAILBOX, &w.box)) {
        fprintf(stderr, "collshim-helper: started by collshim, never by hand; see COLLSHIM_PPG\n");
        return 1;
    }
    w.box->helper_pid = getpid();
    pthread_mutex_lock(&w.box->alive);
    detach();
    sched_setaffinity(0, sizeof w.box->cpus, &w.box->cpus);
    prctl(PR_SET_TIMERSLACK, 1000); /* moments are short */
    if (make_ready(&w) == 0 && pthread_create(&thread, NULL, pass_the_bell_on, &w) != 0)
        snprintf(w.box->why, sizeof w.box->why, "no thread can be started");
    if (write(HELPER_FD_READY, "", 1) != 1 || w.box->why[0])
        return 1;
    close(HELPER_FD_READY);
    work_on(&w);
    return 1;
}
