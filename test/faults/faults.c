/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded by test/faults/run.sh: what collshim's own code asks of the system fails. It is
 * collshim's where the return address lies in an object whose name contains FAULTS_IN (default
 * "/libcollshim"). Everything else goes on to libc.
 *
 *   FAULTS_AT    the first call that fails, from 1 on; 0 or unset: none does
 *   FAULTS_ON    1: all behind it fail too; else that one alone
 *   FAULTS_RANK  the rank that meets them; unset: all do
 *   FAULTS_COUNT a file: each rank appends a line, its rank and number of calls, when it ends
 *   FAULTS_TELL  1: each rank says on stderr which call of whom fails first
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t n, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);
extern void *__libc_memalign(size_t edge, size_t bytes);

enum { OBJECTS = 16 };

static struct {
    uintptr_t from, to;
} ours[OBJECTS];
static int n_ours, is_met, on, tells;
static long at, asked;
static const char *in = "/libcollshim";

static int find(struct dl_phdr_info *object, size_t size, void *unused)
{
    (void)size, (void)unused;
    const char *name = object->dlpi_name;
    char self[512] = "";

    if (!*name) { /* the program */
        ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
        name = n > 0 ? self : name;
    }
    if (!strstr(name, in) || n_ours == OBJECTS)
        return 0;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];

        if (part->p_type == PT_LOAD && part->p_flags & PF_X && n_ours < OBJECTS) {
            ours[n_ours].from = object->dlpi_addr + part->p_vaddr;
            ours[n_ours++].to = object->dlpi_addr + part->p_vaddr + part->p_memsz;
        }
    }
    return 0;
}

/* Objects come and go, so they are looked up whenever one was loaded. */
static int is_ours(uintptr_t caller)
{
    for (int i = 0; i < n_ours; i++)
        if (caller >= ours[i].from && caller < ours[i].to)
            return 1;
    return 0;
}

static void tell(const char *what, const void *caller)
{
    Dl_info info;
    char line[256];
    uintptr_t offset = (uintptr_t)caller;

    if (dladdr(caller, &info) && info.dli_fbase)
        offset -= (uintptr_t)info.dli_fbase;
    int n = snprintf(line, sizeof line, "faults: call %ld, %s at %s+%#lx\n", at, what,
                     info.dli_fname ? info.dli_fname : "", (unsigned long)offset);
    if (write(STDERR_FILENO, line, (size_t)n) < 0)
        return;
}

static int fails(const char *what, const void *caller, int code)
{
    if (!is_met || !is_ours((uintptr_t)caller))
        return 0;
    long i = __atomic_add_fetch(&asked, 1, __ATOMIC_RELAXED);
    if (!at || i < at || (i > at && !on))
        return 0;
    if (i == at && tells)
        tell(what, caller);
    errno = code;
    return 1;
}

static long number(const char *name)
{
    const char *text = getenv(name);

    return text ? atol(text) : 0;
}

__attribute__((constructor)) static void begin(void)
{
    const char *rank = getenv("PMIX_RANK"), *which = getenv("FAULTS_RANK");

    in = getenv("FAULTS_IN") ? getenv("FAULTS_IN") : in;
    rank = rank ? rank : getenv("OMPI_COMM_WORLD_RANK");
    rank = rank ? rank : getenv("PMI_RANK");
    at = number("FAULTS_AT");
    on = number("FAULTS_ON") != 0;
    tells = number("FAULTS_TELL") != 0;
    dl_iterate_phdr(find, NULL);
    is_met = (rank || getenv("FAULTS_IN")) && (!which || !*which || !rank || !strcmp(which, rank));
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("FAULTS_COUNT");
    char line[32];
    int file = is_met && path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;

    is_met = 0;
    if (file < 0)
        return;
    int n = snprintf(line, sizeof line, "%ld\n", asked);
    if (write(file, line, (size_t)n) < 0)
        errno = 0;
    close(file);
}

/* libc's own function of that name. */
#define NEXT(name) ((__typeof__(&name))next(#name))
static void *next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

/* A backend is opened by it. */
EXPORT void *dlopen(const char *file, int flags)
{
    void *handle = NEXT(dlopen)(file, flags);

    if (handle && file && strstr(file, in)) {
        n_ours = 0;
        dl_iterate_phdr(find, NULL);
    }
    return handle;
}

EXPORT void *malloc(size_t bytes)
{
    return fails("malloc", CALLER, ENOMEM) ? NULL : __libc_malloc(bytes);
}

EXPORT void *calloc(size_t n, size_t bytes)
{
    return fails("calloc", CALLER, ENOMEM) ? NULL : __libc_calloc(n, bytes);
}

EXPORT void *realloc(void *old, size_t bytes)
{
    return fails("realloc", CALLER, ENOMEM) ? NULL : __libc_realloc(old, bytes);
}

EXPORT void *aligned_alloc(size_t edge, size_t bytes)
{
    return fails("aligned_alloc", CALLER, ENOMEM) ? NULL : __libc_memalign(edge, bytes);
}

/* NAME(parameters) with the value that tells of failure. */
#define ROW(result, name, parameters, arguments, bad, code)                                        \
    EXPORT result name parameters                                                                  \
    {                                                                                              \
        return fails(#name, CALLER, code) ? bad : NEXT(name) arguments;                            \
    }
ROW(void *, mmap, (void *a, size_t n, int p, int f, int fd, off_t o), (a, n, p, f, fd, o),
    MAP_FAILED, ENOMEM)
ROW(int, memfd_create, (const char *name, unsigned f), (name, f), -1, EMFILE)
ROW(int, ftruncate, (int fd, off_t n), (fd, n), -1, ENOSPC)
ROW(int, socket, (int d, int t, int p), (d, t, p), -1, EMFILE)
ROW(int, socketpair, (int d, int t, int p, int v[2]), (d, t, p, v), -1, EMFILE)
ROW(int, pipe2, (int v[2], int f), (v, f), -1, EMFILE)
ROW(int, dup, (int fd), (fd), -1, EMFILE)
ROW(FILE *, fopen, (const char *path, const char *mode), (path, mode), NULL, EMFILE)
ROW(FILE *, fdopen, (int fd, const char *mode), (fd, mode), NULL, ENOMEM)
ROW(FILE *, open_memstream, (char **text, size_t *n), (text, n), NULL, ENOMEM)
ROW(char *, realpath, (const char *path, char *to), (path, to), NULL, ENOMEM)
ROW(int, rename, (const char *a, const char *b), (a, b), -1, ENOSPC)
ROW(int, mkstemp, (char *path), (path), -1, ENOSPC)
ROW(int, fsync, (int fd), (fd), -1, EIO)
ROW(ssize_t, write, (int fd, const void *from, size_t n), (fd, from, n), -1, ENOSPC)
ROW(ssize_t, read, (int fd, void *to, size_t n), (fd, to, n), -1, EIO)
ROW(pid_t, fork, (void), (), -1, EAGAIN)

EXPORT int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*run)(void *), void *given)
{
    return fails("pthread_create", CALLER, EAGAIN) ? EAGAIN
                                                   : NEXT(pthread_create)(t, a, run, given);
}

EXPORT int clone(int (*run)(void *), void *stack, int flags, void *given, ...)
{
    return fails("clone", CALLER, EAGAIN) ? -1 : NEXT(clone)(run, stack, flags, given);
}

#define OPEN(name, parameters, arguments)                                                          \
    EXPORT int name parameters                                                                     \
    {                                                                                              \
        va_list list;                                                                              \
        va_start(list, flags);                                                                     \
        mode_t mode = va_arg(list, mode_t);                                                        \
        va_end(list);                                                                              \
        return fails(#name, CALLER, EMFILE) ? -1 : NEXT(name) arguments;                           \
    }
OPEN(open, (const char *path, int flags, ...), (path, flags, mode))
OPEN(open64, (const char *path, int flags, ...), (path, flags, mode))
OPEN(openat, (int folder, const char *path, int flags, ...), (folder, path, flags, mode))
