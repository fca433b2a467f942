/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two clones, of which the first ends at once: its child is an orphan from the start. The first
 * sends no signal when it ends (exit signal 0), so that only a wait for such processes (__WCLONE)
 * sees it. One clone is not enough, because the kernel gives a process that calls execve its
 * SIGCHLD back. Parent and children share the memory, and one runs at a time, as in vfork.
 * Rejected: a fork, because it copies the page tables of an application of many gigabytes, and runs
 * its fork handlers. Rejected: PR_SET_PDEATHSIG, because its parent is the thread that cloned,
 * which may end long before the process does. A helper watches a descriptor of the process instead.
 */
#define _GNU_SOURCE
#include "shim/helper/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STACK = 256 << 10, STACKS = 2, FDS_MAX = 8 };

struct order {
    const char *path;
    char *const *arguments;
    char *const *environment;
    const int *fd;
    int nfds;
    char *stack; /* STACKS of them */
    int error;   /* the error that kept it from running */
};

/* In the process to be: descriptors out of each other's way, then to their places. */
static int become(void *argument)
{
    struct order *o = argument;
    int moved[FDS_MAX];

    for (int i = 0; i < o->nfds; i++)
        if ((moved[i] = fcntl(o->fd[i], F_DUPFD, 3 + FDS_MAX)) < 0)
            goto failed;
    for (int i = 0; i < o->nfds; i++)
        if (dup2(moved[i], 3 + i) < 0)
            goto failed;
    execve(o->path, o->arguments, o->environment);
failed:
    o->error = errno;
    _exit(127);
}

static int leave_an_orphan(void *argument)
{
    struct order *o = argument;

    if (clone(become, o->stack + STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, o) < 0)
        o->error = errno;
    _exit(0);
}

int spawn_apart(const char *path, char *const arguments[], char *const environment[], const int *fd,
                int nfds)
{
    struct order o = {path, arguments, environment, fd, nfds, NULL, 0};
    sigset_t all, before;

    o.stack = mmap(NULL, STACKS * STACK, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (o.stack == MAP_FAILED)
        return -errno;
    /* A handler of the application's must not run in a child that shares its memory. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t child = clone(leave_an_orphan, o.stack + STACKS * STACK, CLONE_VM | CLONE_VFORK, &o);
    if (child < 0)
        o.error = errno;
    while (child > 0 && waitpid(child, NULL, __WCLONE) < 0 && errno == EINTR)
        ;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    munmap(o.stack, STACKS * STACK);
    return -o.error;
}
