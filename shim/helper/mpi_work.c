/* SPDX-License-Identifier: BSD-3-Clause */
/* Work for an MPI's ranks: channels that run plans over UCX, a step at a time in turn. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "shim/helper/channel.h"
#include "shim/helper/nameless.h"
#include "shim/helper/work.h"
#include "transports/base/host_memory.h"
#include "transports/net/ucx.h"

/* Rounds without result before it sleeps. A peer's answer on a fast network must find it awake; on
   a shared core no rank must wait for it. */
enum { ROUNDS = 64 };

static struct ucx *ucx;
static struct channel *channel[MAILBOX_CHANNELS];

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

/* Open UCX with these transports. If it refuses them, the environment is as before. */
static int open_with(const char *given, const char *transports, char *why, size_t why_size)
{
    setenv("UCX_TLS", transports, 1);
    if (!ucx_open(&ucx, why, why_size))
        return 0;
    if (given)
        setenv("UCX_TLS", given, 1);
    else
        unsetenv("UCX_TLS");
    why[0] = '\0';
    return -1;
}

/*
 * UCX's settings for a helper, beside those of its user. Over TCP the usual chunks (plan_chunks)
 * are sent without a handshake: over a slow connection, each step of a handshake waits behind the
 * data in the same direction. A list of transports without shared memory was made for an MPI that
 * has its own. Without shared memory, helpers of one host would talk through the network device.
 * UCX may lack it. System V's shared memory is left out, because a SIGKILL can leave it behind.
 */
static int open_ucx(char *why, size_t why_size)
{
    const char *given = getenv("UCX_TLS");
    char before[4096] = "";
    char wanted[sizeof before + 16];

    nameless_begin();
    setenv("UCX_TCP_TX_SEG_SIZE", "64k", 0);
    if (given && strlen(given) < sizeof before) {
        snprintf(before, sizeof before, "%s", given);
        snprintf(wanted, sizeof wanted, "%s,%s", before, before[0] == '^' ? "sysv" : "posix,cma");
    } else if (!given) {
        strcpy(wanted, "^sysv");
    }
    if ((!given || before[0]) && !open_with(given ? before : NULL, wanted, why, why_size))
        return 0;
    return ucx_open(&ucx, why, why_size);
}

int work_ready_mpi(struct helper_work *w)
{
    struct mailbox *box = w->box;
    size_t bytes;

    host_memory_keep(box->kept_bytes);
    if (open_ucx(box->why, sizeof box->why))
        return -1;
    const void *address = ucx_address(ucx, &bytes);
    if (bytes > sizeof box->address) {
        snprintf(box->why, sizeof box->why, "UCX: an address of %zu bytes, room for %d", bytes,
                 MAILBOX_ADDRESS_MAX);
        return -1;
    }
    memcpy(box->address, address, bytes);
    box->address_bytes = (uint32_t)bytes;
    for (int i = 0; i < MAILBOX_CHANNELS; i++)
        if (!(channel[i] = channel_open(box, HELPER_FD_MAILBOX, i, ucx))) {
            snprintf(box->why, sizeof box->why, "out of memory");
            return -1;
        }
    box->unreachable = try_reach(box);
    return 0;
}

/* polls: for a moment only. */
static void sleep_until_something(struct helper_work *w, int polls)
{
    static const struct timespec moment = {.tv_nsec = 20000};
    struct pollfd on[] = {{.fd = w->bell, .events = POLLIN},
                          {.fd = ucx_event_fd(ucx), .events = POLLIN},
                          {.fd = HELPER_FD_OWNER, .events = POLLIN}};
    uint64_t rung;

    if (!ucx_may_sleep(ucx))
        return;
    ppoll(on, sizeof on / sizeof *on, polls ? &moment : NULL, NULL);
    if (on[2].revents)
        _exit(0);
    if (on[0].revents && read(w->bell, &rung, sizeof rung) < 0)
        return;
}

void work_on_mpi(struct helper_work *w)
{
    for (int fruitless = 0;;) {
        int moved = 0, waits = 0, polls = 0;

        work_beat(w->box);
        for (int i = 0; i < MAILBOX_CHANNELS; i++) {
            enum channel_state state = channel_step(channel[i]);
            moved |= state == CHANNEL_MOVED;
            polls |= state == CHANNEL_POLLS;
            waits |= state == CHANNEL_WAITS || state == CHANNEL_POLLS;
        }
        moved |= ucx_progress(ucx);
        fruitless = moved ? 0 : fruitless + 1;
        if (waits && fruitless < ROUNDS)
            sched_yield();
        else if (!moved)
            sleep_until_something(w, polls);
    }
}
