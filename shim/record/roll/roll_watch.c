/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "shim/record/roll/roll_watch.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "shim/decide/base/say.h"
#include "shim/decide/base/settings.h"
#include "shim/record/roll/roll.h"

#define SECOND 1000000000ull

enum {
    LONGEST_MS = 250, /* between two looks */
    SHORTEST_MS = 20,
    LOOKS = 16, /* in COLLSHIM_STUCK, at least, within these limits */
    HOLD_S = 5, /* a command has ended by then */
    STACK = 1 << 17,
    HIGH_FD = 48 /* as of live.c */
};

void (*roll_watch_start)(int within);
static volatile sig_atomic_t asked;

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

/* Write since when the lines have their states. Returns how long the one has waited that has waited
   longest, in a call or behind a started one. stopped: a time before now that does not count. */
static uint64_t look(struct roll *r, uint64_t now, uint64_t stopped)
{
    uint64_t longest = 0;

    for (int i = 0; i < ROLL_LINES; i++) {
        struct roll_line *l = &r->line[i];
        uint64_t state = __atomic_load_n(&l->state, __ATOMIC_ACQUIRE);

        if (!__atomic_load_n(&l->id, __ATOMIC_ACQUIRE))
            continue;
        if (l->seen != state || !l->since) {
            l->since = now;
            __atomic_store_n(&l->seen, state, __ATOMIC_RELEASE);
        } else {
            l->since += stopped;
        }
        int waits = (state & 1) || l->call[state / 2 % ROLL_CALLS].form == ROLL_STARTED;
        if (state && waits && now - l->since > longest)
            longest = now - l->since;
    }
    __atomic_store_n(&r->beat, now, __ATOMIC_RELEASE);
    return longest;
}

/* Take the name of the job's processes here. Returns its socket, or -1: another process has it. */
static int take_name(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    size_t n = (size_t)snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "collshim-stuck-%u-%d",
                                (unsigned)getuid(), (int)getppid());
    int low = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int fd = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, HIGH_FD);

    if (low >= 0)
        close(low);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&name,
                        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Start the command, and keep the name until it has looked. */
static void start(struct roll *r, int within)
{
    struct timespec tick = {.tv_nsec = SHORTEST_MS * 1000000};
    uint64_t began = now_ns();
    int name = take_name();

    if (name < 0)
        return;
    if (roll_watch_start)
        roll_watch_start(within);
    while (__atomic_load_n(&r->looked, __ATOMIC_ACQUIRE) < began &&
           now_ns() - began < HOLD_S * SECOND)
        nanosleep(&tick, NULL);
    close(name);
}

/* Is the alarm due? */
static int is_due(const struct roll *r, uint64_t waited, uint64_t now)
{
    uint64_t within = (uint64_t)settings.cfg.stuck * SECOND;

    return within && waited >= within && !__atomic_load_n(&r->told, __ATOMIC_ACQUIRE) &&
           now >= __atomic_load_n(&r->next, __ATOMIC_ACQUIRE);
}

static void *watch(void *argument)
{
    struct roll *r = argument;
    uint64_t ms = settings.cfg.stuck ? (uint64_t)settings.cfg.stuck * 1000 / LOOKS : LONGEST_MS;
    struct timespec tick = {.tv_nsec = (ms < LONGEST_MS ? (long)ms : LONGEST_MS) * 1000000};

    /* After a long sleep the process was stopped, as all of a job that is suspended is. */
    for (uint64_t slept = 0;;) {
        uint64_t now = now_ns(), waited = look(r, now, slept > SECOND ? slept : 0);

        if (asked) {
            asked = 0;
            start(r, 0);
        } else if (is_due(r, waited, now)) {
            start(r, settings.cfg.stuck);
        }
        uint64_t before = now_ns();
        nanosleep(&tick, NULL);
        slept = now_ns() - before;
    }
    return NULL;
}

static void on_signal(int number)
{
    (void)number;
    asked = 1;
}

/* A handler of the program's own stays. */
static void listen_to_signal(void)
{
    static const int numbers[] = {
        [CFG_SIGNAL_NONE] = 0, [CFG_SIGNAL_USR1] = SIGUSR1, [CFG_SIGNAL_USR2] = SIGUSR2};
    int number = numbers[settings.cfg.stuck_signal];
    struct sigaction own = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, before;

    if (!number || sigaction(number, NULL, &before))
        return;
    if (before.sa_handler == SIG_DFL)
        sigaction(number, &own, NULL);
    else if (before.sa_handler != on_signal)
        say(CFG_LEVEL_WARN,
            "COLLSHIM_STUCK_SIGNAL: the program or its MPI has a handler for that "
            "signal, which stays; try %s",
            number == SIGUSR1 ? "USR2" : "USR1");
}

void roll_watch_open(void)
{
    static pid_t watched; /* a forked child has no watcher of its own yet */
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;

    if (!roll || watched == getpid() || pthread_attr_init(&attributes))
        return;
    watched = getpid();
    listen_to_signal();
    pthread_attr_setstacksize(&attributes, STACK);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, &attributes, watch, roll))
        say(CFG_LEVEL_WARN, "COLLSHIM_STUCK: no thread can be started, so nothing is said");
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}
