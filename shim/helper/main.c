/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * collshim-helper: carries a slice of its owner's collectives, as one of several processes that
 * work for one rank. Started by collshim alone (crew.h); it knows no MPI, decides nothing, and has
 * no command line.
 *
 * It sleeps unless there is an order, something arrived, or its owner is gone. A descriptor of the
 * owner tells the latter for certain, whichever way the owner ends.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "shim/helper/channel.h"
#include "shim/helper/mailbox.h"
#include "transports/ucx.h"

/* Fruitless rounds before it sleeps: long enough that a peer's answer on a fast network finds it
   awake, short enough that on a shared core nobody waits for it. */
enum { ROUNDS = 64 };

struct helper {
    struct mailbox *box;
    struct ucx *ucx;
    struct channel *channel[MAILBOX_CHANNELS];
    int bell; /* an eventfd that says that the mailbox's bell has rung */
};

/* Nothing of the owner's but what it was given: its launcher waits for the ends of its output, and
   signals that the job gets are the owner's to act on. */
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
        return; /* it holds its owner's directory, which harms nobody */
}

/* Is the owner's memory within reach? 0, or the errno that says no. */
static int32_t try_reach(struct mailbox *box)
{
    uint64_t read = 0, written = MAILBOX_PROBE_WRITTEN;
    struct iovec own = {&read, sizeof read},
                 theirs = {(void *)(uintptr_t)box->address_of_probe, sizeof read};

    if (process_vm_readv(box->owner_pid, &own, 1, &theirs, 1, 0) != sizeof read)
        return errno;
    if (read != MAILBOX_PROBE_READ) /* another process of that number, in other name spaces */
        return ESRCH;
    own.iov_base = &written;
    return process_vm_writev(box->owner_pid, &own, 1, &theirs, 1, 0) == sizeof read ? 0 : errno;
}

/* Returns 0, or -1 with the mailbox's `why` set. */
static int make_ready(struct helper *h)
{
    struct mailbox *box = h->box;
    size_t bytes;

    if (ucx_open(&h->ucx, box->why, sizeof box->why))
        return -1;
    const void *address = ucx_address(h->ucx, &bytes);
    h->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (bytes > sizeof box->address || h->bell < 0) {
        snprintf(box->why, sizeof box->why,
                 h->bell < 0 ? "no descriptor is left"
                             : "UCX: an address of %zu bytes, room for %d",
                 bytes, MAILBOX_ADDRESS_MAX);
        return -1;
    }
    memcpy(box->address, address, bytes);
    box->address_bytes = (uint32_t)bytes;
    for (int i = 0; i < MAILBOX_CHANNELS; i++)
        if (!(h->channel[i] = channel_open(box, HELPER_FD_MAILBOX, i, h->ucx))) {
            snprintf(box->why, sizeof box->why, "out of memory");
            return -1;
        }
    box->unreachable = try_reach(box);
    return 0;
}

/* The mailbox's bell is a word of memory, since the application's process is to hold no descriptor
   that it might close; the main thread sleeps on descriptors. */
static void *pass_the_bell_on(void *helper)
{
    struct helper *h = helper;
    uint32_t heard = 0;
    uint64_t one = 1;

    for (;;) {
        uint32_t now = atomic_load(&h->box->bell);

        if (atomic_load(&h->box->quit))
            _exit(0);
        if (now == heard)
            mailbox_wait(&h->box->bell, now);
        else if (write(h->bell, &one, sizeof one) == sizeof one)
            heard = now;
    }
    return NULL;
}

/* polls: for a moment only. */
static void sleep_until_something(struct helper *h, int polls)
{
    static const struct timespec moment = {.tv_nsec = 20000};
    struct pollfd on[] = {{.fd = h->bell, .events = POLLIN},
                          {.fd = ucx_event_fd(h->ucx), .events = POLLIN},
                          {.fd = HELPER_FD_OWNER, .events = POLLIN}};
    uint64_t rung;

    if (!ucx_may_sleep(h->ucx))
        return;
    ppoll(on, sizeof on / sizeof *on, polls ? &moment : NULL, NULL);
    if (on[2].revents)
        _exit(0);
    if (on[0].revents && read(h->bell, &rung, sizeof rung) < 0)
        return;
}

static void work(struct helper *h)
{
    for (int fruitless = 0;;) {
        int moved = 0, waits = 0, polls = 0;

        for (int i = 0; i < MAILBOX_CHANNELS; i++) {
            enum channel_state state = channel_step(h->channel[i]);
            moved |= state == CHANNEL_MOVED;
            polls |= state == CHANNEL_POLLS;
            waits |= state == CHANNEL_WAITS || state == CHANNEL_POLLS;
        }
        moved |= ucx_progress(h->ucx);
        fruitless = moved ? 0 : fruitless + 1;
        if (waits && fruitless < ROUNDS)
            sched_yield();
        else if (!moved)
            sleep_until_something(h, polls);
    }
}

int main(void)
{
    struct helper h = {0};
    pthread_t thread;

    if (mailbox_join(HELPER_FD_MAILBOX, &h.box)) {
        fprintf(stderr, "collshim-helper: started by collshim, never by hand; see COLLSHIM_PPG\n");
        return 1;
    }
    pthread_mutex_lock(&h.box->alive);
    detach();
    sched_setaffinity(0, sizeof h.box->cpus, &h.box->cpus);
    prctl(PR_SET_TIMERSLACK, 1000); /* moments are short */
    if (make_ready(&h) == 0 && pthread_create(&thread, NULL, pass_the_bell_on, &h) != 0)
        snprintf(h.box->why, sizeof h.box->why, "no thread can be started");
    if (write(HELPER_FD_READY, "", 1) != 1 || h.box->why[0])
        return 1;
    close(HELPER_FD_READY);
    work(&h);
}
