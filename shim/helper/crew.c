/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "shim/helper/crew.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/helper/spawn.h"

extern char **environ;

enum { START_MS = 10000 }; /* loading a transport library from a busy file system */

struct member {
    struct mailbox *box; /* owned; mapped for good, since threads may be looking */
    int fd;
    struct stat file; /* what fd was: an application may close what it did not open */
    struct mailbox_map papers[MAILBOX_CHANNELS], window[MAILBOX_CHANNELS];
    uint32_t posted[MAILBOX_CHANNELS];
};

static struct {
    pthread_mutex_t lock;
    struct member member[CREW_MAX];
    int n;
    int settled; /* started, or given up */
    int dismissed;
    unsigned channels; /* in use, a bit each */
    cpu_set_t cpus;
    enum mailbox_work work;
    char why[256];
} crew = {.lock = PTHREAD_MUTEX_INITIALIZER};

void crew_init(enum mailbox_work work)
{
    crew.work = work;
    if (sched_getaffinity(0, sizeof crew.cpus, &crew.cpus) != 0)
        memset(&crew.cpus, 0xff, sizeof crew.cpus);
}

/* The helper lies beside the library that this function is in. Returns 0 or -ENOENT. */
static int find_program(char *path, size_t size)
{
    Dl_info self;

    if (!dladdr((void *)(uintptr_t)crew_init, &self) || !self.dli_fname)
        return -ENOENT;
    const char *slash = strrchr(self.dli_fname, '/');
    int length = slash ? (int)(slash - self.dli_fname + 1) : 0;
    if (snprintf(path, size, "%.*scollshim-helper", length, self.dli_fname) >= (int)size ||
        access(path, X_OK) != 0)
        return -ENOENT;
    return 0;
}

static int begins_with_one_of(const char *text, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strncmp(text, list[i], strlen(list[i])))
            return 1;
    return 0;
}

/*
 * What a helper is given of the environment. For MPI, where libraries are and what sets UCX up;
 * nothing of the launcher's, by which an MPI would take it for a rank. For NCCL, all but what the
 * user preloads into ranks: its network plugins have variables that nobody can list, and without an
 * MPI a launcher's are harmless. But helpers make unique ids of their own, and wait for them.
 */
static int is_given(const char *variable)
{
    static const char *const given[] = {"LD_LIBRARY_PATH=", "HOME=", "TMPDIR=", "UCX_"},
                             *const kept[] = {"LD_PRELOAD=", "LD_AUDIT=", "COLLSHIM_",
                                              "NCCL_COMM_ID=", "NCCL_COMM_BLOCKING="};

    if (crew.work == MAILBOX_FOR_NCCL)
        return !begins_with_one_of(variable, kept, sizeof kept / sizeof *kept);
    return begins_with_one_of(variable, given, sizeof given / sizeof *given);
}

/* Returns a list to be freed (not what it points to), or NULL. */
static char **choose_environment(void)
{
    size_t n = 0, kept = 0;

    while (environ && environ[n])
        n++;
    char **chosen = malloc((n + 1) * sizeof *chosen);
    if (!chosen)
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (is_given(environ[i]))
            chosen[kept++] = environ[i];
    chosen[kept] = NULL;
    return chosen;
}

static void say_why(const char *what, int error)
{
    snprintf(crew.why, sizeof crew.why, "%s (%s)", what, strerror(error));
}

/* Wait for a helper's first word. Returns 0, or -1 with crew.why set. */
static int await(const struct mailbox *box, int ready)
{
    struct pollfd on = {.fd = ready, .events = POLLIN};
    char word;
    int rc;

    do
        rc = poll(&on, 1, START_MS);
    while (rc < 0 && errno == EINTR);
    if (rc <= 0)
        snprintf(crew.why, sizeof crew.why, "a helper did not start within %d s", START_MS / 1000);
    else if (read(ready, &word, 1) != 1)
        snprintf(crew.why, sizeof crew.why, "a helper died as it started");
    else if (box->why[0])
        snprintf(crew.why, sizeof crew.why, "%s", box->why);
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

/* Start one, without waiting for it. ready: what it will speak through, for the caller to close.
   Returns 0 or -1 with crew.why set. */
static int launch(struct member *m, const char *path, char *const *environment, int *ready)
{
    int ends[2] = {-1, -1};
    int owner = (int)syscall(SYS_pidfd_open, getpid(), 0);

    m->fd = -1;
    if (owner < 0) {
        say_why("this system cannot tell a helper that its process has ended", errno);
        return -1;
    }
    int rc = pipe2(ends, O_CLOEXEC) ? -errno : mailbox_create(&m->box);
    if (rc >= 0) {
        m->fd = rc;
        rc = fstat(m->fd, &m->file) ? -errno : 0;
    }
    if (!rc) {
        m->box->work = crew.work;
        m->box->owner_pid = getpid();
        m->box->probe = MAILBOX_PROBE_READ;
        m->box->address_of_probe = (uint64_t)(uintptr_t)&m->box->probe;
        m->box->cpus = crew.cpus;
        rc = spawn_apart(path, environment, (int[]){m->fd, ends[1], owner}, 3);
    }
    close_all((int[]){owner, ends[1]}, 2);
    *ready = ends[0];
    if (!rc)
        return 0;
    say_why("a helper cannot be started", -rc);
    close_all((int[]){m->fd, ends[0]}, 2);
    mailbox_unmap(m->box);
    m->box = NULL;
    return -1;
}

static void ring(struct mailbox *box)
{
    atomic_fetch_add(&box->bell, 1);
    mailbox_wake(&box->bell);
}

static void end(struct member *m)
{
    atomic_store(&m->box->quit, 1);
    ring(m->box);
}

/* All are started before any is waited for. */
static void start(int wanted, const char *path)
{
    char **environment = choose_environment();
    int ready[CREW_MAX], launched = 0;

    if (!environment) {
        say_why("a helper cannot be started", ENOMEM);
        return;
    }
    while (launched < wanted &&
           launch(&crew.member[launched], path, environment, &ready[launched]) == 0)
        launched++;
    for (int i = 0; i < launched; i++) {
        if (crew.n == i && await(crew.member[i].box, ready[i]) == 0)
            crew.n++;
        else
            end(&crew.member[i]);
        close(ready[i]);
    }
    free(environment);
}

int crew_start(int wanted, const char **why)
{
    char path[4096];

    pthread_mutex_lock(&crew.lock);
    if (!crew.settled) {
        crew.settled = 1;
        if (find_program(path, sizeof path))
            snprintf(crew.why, sizeof crew.why,
                     "there is no collshim-helper beside the backend; it is built where UCX's "
                     "or NCCL's headers are");
        else
            start(wanted < CREW_MAX ? wanted : CREW_MAX, path);
    }
    int n = crew.dismissed ? 0 : crew.n < wanted ? crew.n : wanted;
    *why = crew.dismissed ? "a helper died" : crew.why;
    pthread_mutex_unlock(&crew.lock);
    return n;
}

void crew_dismiss(void)
{
    pthread_mutex_lock(&crew.lock);
    if (!crew.dismissed)
        for (int i = 0; i < crew.n; i++)
            end(&crew.member[i]);
    __atomic_store_n(&crew.dismissed, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&crew.lock);
}

int crew_take_channel(void)
{
    int channel = -1;

    pthread_mutex_lock(&crew.lock);
    for (int i = 0; channel < 0 && i < MAILBOX_CHANNELS; i++)
        if (!(crew.channels & 1u << i))
            channel = i;
    if (channel >= 0)
        crew.channels |= 1u << channel;
    pthread_mutex_unlock(&crew.lock);
    return channel;
}

void crew_return_channel(int channel)
{
    for (int i = 0; i < crew.n; i++) {
        mailbox_unmap_part(&crew.member[i].papers[channel]);
        mailbox_unmap_part(&crew.member[i].window[channel]);
    }
    pthread_mutex_lock(&crew.lock);
    crew.channels &= ~(1u << channel);
    pthread_mutex_unlock(&crew.lock);
}

const void *crew_address(int helper, size_t *bytes)
{
    *bytes = crew.member[helper].box->address_bytes;
    return crew.member[helper].box->address;
}

int crew_unreachable(int helper)
{
    return crew.member[helper].box->unreachable;
}

/* Is the descriptor still the mailbox's? */
static int holds(const struct member *m)
{
    struct stat now;

    return fstat(m->fd, &now) == 0 && now.st_dev == m->file.st_dev && now.st_ino == m->file.st_ino;
}

char *crew_papers(int helper, int channel, size_t bytes)
{
    struct member *m = &crew.member[helper];
    struct mailbox_map *map = &m->papers[channel];

    if (bytes > map->bytes && (!holds(m) || mailbox_map_papers(m->fd, channel, bytes, map)))
        return NULL;
    return map->at;
}

char *crew_window(int helper, int channel, size_t bytes)
{
    struct member *m = &crew.member[helper];
    struct mailbox_map *map = &m->window[channel];

    if (bytes > map->bytes && (!holds(m) || mailbox_map_window(m->fd, channel, bytes, map)))
        return NULL;
    return map->at;
}

void crew_post(int helper, int channel, const struct mailbox_order *order)
{
    struct member *m = &crew.member[helper];
    struct mailbox_channel *c = &m->box->channel[channel];

    c->order = *order;
    atomic_store_explicit(&c->posted, ++m->posted[channel], memory_order_release);
    ring(m->box);
}

/* The kernel marks the mutex of a holder that died; whoever then gets it puts it in order, and from
   then on it can be had. */
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

enum crew_state crew_look(int helper, int channel)
{
    struct member *m = &crew.member[helper];
    struct mailbox_channel *c = &m->box->channel[channel];

    if (atomic_load_explicit(&c->finished, memory_order_acquire) == m->posted[channel])
        return c->status ? CREW_FAILED : CREW_DONE;
    if (!lives(m))
        return CREW_FAILED;
    /* Who is storing has to end first: it must not write once the call is over. */
    return __atomic_load_n(&crew.dismissed, __ATOMIC_ACQUIRE) && c->order.kind != MAILBOX_STORE
               ? CREW_FAILED
               : CREW_WORKS;
}

int crew_lives(int helper)
{
    return !__atomic_load_n(&crew.dismissed, __ATOMIC_ACQUIRE) && lives(&crew.member[helper]);
}

void crew_ring(int helper)
{
    ring(crew.member[helper].box);
}
