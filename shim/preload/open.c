/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opening the backend of a family, and refusing one that would bring a second MPI with it.
 *
 * The backend is taken only from beside libcollshim.so: a search path could find one of another
 * build. It is opened without RTLD_DEEPBIND. A program may hold a copy of ompi_mpi_comm_world (a
 * copy relocation), whose address is the valid one. A backend bound more deeply would find no
 * communicator equal to MPI_COMM_WORLD.
 */
#define _GNU_SOURCE
#include "preload.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A current directory and a path relative to it, joined. */
#define DIR_MAX (2 * PATH_MAX)

/*
 * The folder of this library. It is absolute even if LD_PRELOAD has a relative path and the program
 * has changed its directory since: the loader stored it at load time. Sets the file's name as well.
 * Both are valid for the life of the process.
 */
static const char *self_origin(const char **file_name)
{
    static char origin[DIR_MAX]; /* binding lock held; too large for a thread's stack */
    Dl_info info;
    if (!dladdr(origin, &info))
        return NULL;
    void *self = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!self)
        return NULL;
    int rc = dlinfo(self, RTLD_DI_ORIGIN, origin);
    dlclose(self);
    const char *slash = strrchr(info.dli_fname, '/');
    *file_name = slash ? slash + 1 : info.dli_fname;
    return rc ? NULL : origin;
}

/* Caller frees; NULL without memory. */
static char *path_in(const char *directory, const char *prefix, const char *name,
                     const char *suffix)
{
    size_t room = strlen(directory) + strlen(prefix) + strlen(name) + strlen(suffix) + 2;
    char *path = malloc(room);
    if (path)
        snprintf(path, room, "%s/%s%s%s", directory, prefix, name, suffix);
    return path;
}

static char *backend_in(const char *directory, const char *family)
{
    return path_in(directory, "libcollshim-", family, ".so");
}

/*
 * The backend beside the name this library was loaded by, or else beside the file which that
 * name links to. If neither is there, the first. Caller frees; NULL if the loader does not say
 * where we are, or without memory.
 */
static char *backend_path(const char *family)
{
    const char *file_name;
    const char *origin = self_origin(&file_name);
    char *path = origin ? backend_in(origin, family) : NULL;
    if (!path || access(path, F_OK) == 0)
        return path;

    char *self = path_in(origin, file_name, "", "");
    char *target = self ? realpath(self, NULL) : NULL;
    char *linked = NULL;
    if (target) {
        *strrchr(target, '/') = '\0';
        linked = backend_in(target, family);
    }
    free(self);
    free(target);
    if (linked && access(linked, F_OK) == 0) {
        free(path);
        return linked;
    }
    free(linked);
    return path;
}

/*
 * The backend's dependencies must hold no other PMPI_Init than the one found. None at all is
 * fine: such a backend has only the handle that `host` gives it.
 */
static bool same_mpi(void *backend, const struct backend_host *host)
{
    const void *theirs = dlsym(backend, "PMPI_Init");
    return !theirs || theirs == dlsym(host->library, "PMPI_Init");
}

/* The backend's handle, or NULL after saying why not. */
static void *backend_load(const char *path, const struct backend_host *host,
                          enum log_level absent_level)
{
    if (access(path, F_OK) != 0) {
        log_line(absent_level,
                 "%s runs natively: %s is missing; this program runs %s, build or install the %s"
                 " backend",
                 host->api, path, host->library_path, host->family);
        return NULL;
    }
    void *backend = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!backend) {
        log_line(LOG_WARN, "%s runs natively: the backend cannot be loaded, rebuild it: %s",
                 host->api, dlerror());
        return NULL;
    }
    if (!same_mpi(backend, host)) {
        Dl_info info = {.dli_fname = "another MPI"};
        dladdr(dlsym(backend, "PMPI_Init"), &info);
        log_line(LOG_WARN,
                 "MPI runs natively: %s needs %s, but this program runs %s; build collshim against"
                 " the latter",
                 path, info.dli_fname, host->library_path);
        dlclose(backend);
        return NULL;
    }
    return backend;
}

const struct backend_entry *backend_open(const struct backend_host *host,
                                         enum log_level absent_level)
{
    char *path = backend_path(host->family);
    if (!path) {
        log_line(LOG_WARN,
                 "%s runs natively: cannot tell where libcollshim.so was loaded from; the backends"
                 " are expected beside it",
                 host->api);
        return NULL;
    }
    const struct backend_entry *entries = NULL;
    void *backend = backend_load(path, host, absent_level);
    if (backend) {
        backend_open_fn open_fn = (backend_open_fn)dlsym(backend, BACKEND_OPEN_SYMBOL);
        char why[512] = "";
        if (open_fn) /* from here on never closed, with any answer: its code may be in use */
            entries = open_fn(host, why, sizeof(why));
        else
            snprintf(why, sizeof(why), "%s is no backend: it does not define %s", path,
                     BACKEND_OPEN_SYMBOL);
        if (!entries)
            log_line(LOG_WARN, "%s runs natively: %s", host->api, *why ? why : path);
    }
    free(path);
    return entries;
}
