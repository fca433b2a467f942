/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "shim/helper/helpers.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "shim/decide/base/say.h"
#include "shim/helper/environment.h"
#include "shim/helper/silence.h"
#include "shim/helper/spawn.h"
#include "transports/base/host_memory.h"

extern char **environ;

enum { START_MS = 10000 }; /* loading a transport library from a busy file system */

struct member {
    struct mailbox *box; /* owned; mapped for good, since threads may be looking */
    int fd;
    struct stat file; /* the file of fd: an application may close descriptors it did not open */
    int ready;        /* the helper sends its first word through it; until helpers.settled */
    struct stat ready_file;
    struct mailbox_map payload[MAILBOX_CHANNELS], window[MAILBOX_CHANNELS];
    uint32_t posted[MAILBOX_CHANNELS];
    struct silence silence[MAILBOX_CHANNELS];
    int lost; /* it does nothing, and its end has been asked for */
};

static struct {
    pthread_mutex_t lock;
    struct member member[HELPERS_MAX];
    int launched, n; /* of these so many can be used */
    int begun, settled;
    int64_t deadline; /* for all of them to be ready, ms */
    int dismissed;
    unsigned channels; /* in use, a bit each */
    cpu_set_t cpus;
    int processes; /* that share them */
    enum mailbox_work work;
    char why[256];
} helpers = {.lock = PTHREAD_MUTEX_INITIALIZER};

void helpers_init(enum mailbox_work work)
{
    helpers.work = work;
    if (sched_getaffinity(0, sizeof helpers.cpus, &helpers.cpus) != 0)
        memset(&helpers.cpus, 0xff, sizeof helpers.cpus);
}

/* The helper lies beside the library that this function is in. Returns 0 or -ENOENT. */
static int find_program(char *path, size_t size)
{
    Dl_info self;

    if (!dladdr((void *)(uintptr_t)helpers_init, &self) || !self.dli_fname)
        return -ENOENT;
    const char *slash = strrchr(self.dli_fname, '/');
    int length = slash ? (int)(slash - self.dli_fname + 1) : 0;
    if (snprintf(path, size, "%.*scollshim-helper", length, self.dli_fname) >= (int)size ||
        access(path, X_OK) != 0)
        return -ENOENT;
    return 0;
}

static void say_why(const char *what, int error)
{
    snprintf(helpers.why, sizeof helpers.why, "%s (%s)", what, strerror(error));
}

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Is the descriptor still what it was? */
static int holds(int fd, const struct stat *file)
{
    struct stat now;

    return fstat(fd, &now) == 0 && now.st_dev == file->st_dev && now.st_ino == file->st_ino;
}

/* Wait at most ms for a helper's first word. The word is not read: the number may be another file's
   descriptor by now, and reading would harm its user. */
enum word { SILENT, READY, DIED };
static enum word listen_to(const struct member *m, int64_t ms)
{
    struct pollfd on = {.fd = m->ready, .events = POLLIN};
    int rc;

    if (!holds(m->ready, &m->ready_file))
        return DIED;
    do
        rc = poll(&on, 1, ms > 0 ? (int)ms : 0);
    while (rc < 0 && errno == EINTR);
    return rc <= 0 ? SILENT : on.revents & POLLIN ? READY : DIED;
}

/* Returns 0, or -1 with helpers.why set. */
static int await(const struct member *m)
{
    enum word word = listen_to(m, helpers.deadline - now_ms());

    if (word == SILENT)
        snprintf(helpers.why, sizeof helpers.why, "a helper did not start within %d s",
                 START_MS / 1000);
    else if (word == DIED)
        snprintf(helpers.why, sizeof helpers.why, "a helper died as it started");
    else if (m->box->why[0])
        snprintf(helpers.why, sizeof helpers.why, "%s", m->box->why);
    else
        return 0;
    return -1;
}

static void close_all(const int *fd, int n)
{
    for (int i = 0; i < n; i++)
        if (fd[i] >= 0)
            close(fd[i]);
}

/* A descriptor that is ready once this process has ended; before Linux 5.3 one that never is, and
   the leash alone tells, within two seconds. */
static int describe_owner(void)
{
    int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

    return fd < 0 && errno == ENOSYS ? eventfd(0, EFD_CLOEXEC) : fd;
}

/* Start one, without waiting for it. Returns 0 or -1 with helpers.why set. */
static int launch(struct member *m, const char *path, int leash)
{
    char **environment = environment_of(environ, (int)(m - helpers.member), helpers.work);
    char *const arguments[] = {"collshim-helper", NULL};
    int ends[2] = {-1, -1};
    int owner = describe_owner();

    m->fd = -1;
    if (owner < 0) {
        say_why("this system cannot tell a helper that its process has ended", errno);
        free(environment);
        return -1;
    }
    int rc = !environment ? -ENOMEM : pipe2(ends, O_CLOEXEC) ? -errno : mailbox_create(&m->box);
    if (rc >= 0) {
        m->fd = rc;
        rc = fstat(m->fd, &m->file) || fstat(ends[0], &m->ready_file) ? -errno : 0;
    }
    if (!rc) {
        m->box->work = helpers.work;
        m->box->owner_pid = getpid();
        m->box->probe = MAILBOX_PROBE_READ;
        m->box->address_of_probe = (uint64_t)(uintptr_t)&m->box->probe;
        m->box->cpus = helpers.cpus;
        m->box->kept_bytes = host_memory_kept();
        m->box->processes = helpers.processes;
        rc = spawn_apart(path, arguments, environment, (int[]){m->fd, ends[1], owner, leash}, 4);
    }
    free(environment);
    close_all((int[]){owner, ends[1]}, 2);
    m->ready = ends[0];
    if (!rc)
        return 0;
    say_why("a helper cannot be started", -rc);
    close_all((int[]){m->fd, ends[0]}, 2);
    mailbox_unmap(m->box);
    m->box = NULL;
    return -1;
}

static void end(struct member *m)
{
    atomic_store(&m->box->quit, 1);
    mailbox_ring(m->box);
}

static void launch_all(int wanted)
{
    char path[4096];
    int leash = leash_make();

    helpers.deadline = now_ms() + START_MS;
    helpers.processes = wanted + 1;
    if (leash < 0)
        say_why("a helper cannot be started", -leash);
    else if (find_program(path, sizeof path))
        snprintf(helpers.why, sizeof helpers.why,
                 "there is no collshim-helper beside the backend; it is built where UCX's "
                 "or NCCL's headers are");
    else
        while (helpers.launched < wanted && helpers.launched < HELPERS_MAX &&
               launch(&helpers.member[helpers.launched], path, leash) == 0)
            helpers.launched++;
    close_all(&leash, 1);
}

/* With the lock. */
static void settle(void)
{
    if (helpers.settled)
        return;
    helpers.settled = 1;
    for (int i = 0; i < helpers.launched; i++) {
        struct member *m = &helpers.member[i];

        if (helpers.n == i && await(m) == 0)
            helpers.n++;
        else
            end(m);
        if (holds(m->ready, &m->ready_file))
            close(m->ready);
    }
}

/* With the lock. */
static void begin(int wanted)
{
    if (!helpers.begun)
        launch_all(wanted);
    helpers.begun = 1;
}

void helpers_begin(int wanted)
{
    pthread_mutex_lock(&helpers.lock);
    begin(wanted);
    pthread_mutex_unlock(&helpers.lock);
}

int helpers_settled(void)
{
    int all = 1;

    pthread_mutex_lock(&helpers.lock);
    if (!helpers.settled && now_ms() < helpers.deadline)
        for (int i = 0; all && i < helpers.launched; i++)
            all = listen_to(&helpers.member[i], 0) != SILENT;
    pthread_mutex_unlock(&helpers.lock);
    return all;
}

int helpers_start(int wanted, const char **why)
{
    pthread_mutex_lock(&helpers.lock);
    begin(wanted);
    settle();
    int n = helpers.dismissed ? 0 : helpers.n < wanted ? helpers.n : wanted;
    *why = helpers.dismissed ? "a helper died" : helpers.why;
    pthread_mutex_unlock(&helpers.lock);
    return n;
}

int helpers_cores(void)
{
    return CPU_COUNT(&helpers.cpus);
}

void helpers_dismiss(void)
{
    pthread_mutex_lock(&helpers.lock);
    if (!helpers.dismissed)
        for (int i = 0; i < helpers.launched; i++)
            end(&helpers.member[i]);
    __atomic_store_n(&helpers.dismissed, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&helpers.lock);
}

int helpers_take_channel(void)
{
    int channel = -1;

    pthread_mutex_lock(&helpers.lock);
    for (int i = 0; channel < 0 && i < MAILBOX_CHANNELS; i++)
        if (!(helpers.channels & 1u << i))
            channel = i;
    if (channel >= 0)
        helpers.channels |= 1u << channel;
    pthread_mutex_unlock(&helpers.lock);
    return channel;
}

void helpers_return_channel(int channel)
{
    for (int i = 0; i < helpers.n; i++) {
        mailbox_unmap_part(&helpers.member[i].payload[channel]);
        mailbox_unmap_part(&helpers.member[i].window[channel]);
    }
    pthread_mutex_lock(&helpers.lock);
    helpers.channels &= ~(1u << channel);
    pthread_mutex_unlock(&helpers.lock);
}

const void *helpers_address(int helper, size_t *bytes)
{
    *bytes = helpers.member[helper].box->address_bytes;
    return helpers.member[helper].box->address;
}

int helpers_unreachable(int helper)
{
    return helpers.member[helper].box->unreachable;
}

char *helpers_payload(int helper, int channel, size_t bytes)
{
    struct member *m = &helpers.member[helper];
    struct mailbox_map *map = &m->payload[channel];

    if (bytes > map->bytes &&
        (!holds(m->fd, &m->file) || mailbox_map_payload(m->fd, channel, bytes, map)))
        return NULL;
    return map->at;
}

char *helpers_window(int helper, int channel, size_t bytes)
{
    struct member *m = &helpers.member[helper];
    struct mailbox_map *map = &m->window[channel];

    if (bytes > map->bytes &&
        (!holds(m->fd, &m->file) || mailbox_map_window(m->fd, channel, bytes, map)))
        return NULL;
    return map->at;
}

void helpers_post(int helper, int channel, const struct mailbox_order *order)
{
    struct member *m = &helpers.member[helper];
    struct mailbox_channel *c = &m->box->channel[channel];

    c->order = *order;
    m->silence[channel] = (struct silence){0};
    atomic_store_explicit(&c->posted, ++m->posted[channel], memory_order_release);
    mailbox_ring(m->box);
}

/* The kernel marks the mutex of a holder that died. The next thread that locks it repairs it, and
   from then on it works again. */
static int lives(struct member *m)
{
    int rc = pthread_mutex_trylock(&m->box->alive);

    if (rc == EBUSY)
        return 1;
    if (rc == EOWNERDEAD)
        pthread_mutex_consistent(&m->box->alive);
    if (rc == 0 || rc == EOWNERDEAD)
        pthread_mutex_unlock(&m->box->alive);
    return 0;
}

int helpers_answered(int helper, int channel)
{
    struct member *m = &helpers.member[helper];

    return atomic_load_explicit(&m->box->channel[channel].finished, memory_order_acquire) ==
           m->posted[channel];
}

int helpers_silent(int helper, int channel)
{
    struct member *m = &helpers.member[helper];

    if (__atomic_load_n(&m->lost, __ATOMIC_ACQUIRE))
        return 1;
    if (!silence_is_loss(&m->silence[channel], m->box, &m->file))
        return 0;
    if (!__atomic_exchange_n(&m->lost, 1, __ATOMIC_ACQ_REL)) {
        say_here(CFG_LEVEL_WARN,
                 "helper %d of this rank (process %d) is stopped or hangs: it is "
                 "ended",
                 helper + 1, (int)m->box->helper_pid);
        silence_end(m->box, &m->file);
    }
    return 1;
}

enum helpers_state helpers_look(int helper, int channel)
{
    struct member *m = &helpers.member[helper];
    struct mailbox_channel *c = &m->box->channel[channel];

    if (helpers_answered(helper, channel))
        return c->status ? HELPERS_FAILED : HELPERS_DONE;
    if (!lives(m))
        return HELPERS_FAILED;
    int silent = helpers_silent(helper, channel);
    /* A helper that is storing has to end first: it must not write once the call is over. */
    return (silent || __atomic_load_n(&helpers.dismissed, __ATOMIC_ACQUIRE)) &&
                   c->order.kind != MAILBOX_STORE
               ? HELPERS_FAILED
               : HELPERS_WORKS;
}

int helpers_lives(int helper)
{
    return !__atomic_load_n(&helpers.dismissed, __ATOMIC_ACQUIRE) && lives(&helpers.member[helper]);
}

void helpers_ring(int helper)
{
    mailbox_ring(helpers.member[helper].box);
}
