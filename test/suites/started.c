/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes a program's blocking collectives started ones: other people's tests of those are many.
 * Preloaded by tests in front of libcollshim.so. STARTED says what a blocking call becomes:
 *
 *   nonblocking  MPI_Ix, MPI_Wait
 *   persistent   MPI_X_init, MPI_Start, MPI_Wait, MPI_Request_free; as above if there is no _init
 *
 * A call returns the code of the first of these that fails. The error was raised on the
 * communicator by then, as for a blocking call.
 *
 * Each function is there as MPI_X and as PMPI_X, because Open MPI's Fortran bindings call the
 * latter. Neither comes back here: libcollshim looks its library's functions up in the library.
 *
 * Compiled and linked for each library. Arguments pass as words, as in shim/preload/stubs.c. With
 * LARGE defined, the functions with large counts are there for any library: libcollshim has them. A
 * program that looks for them by weak symbols must not find them where there are none.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/preload/words.h"

/* The next functions behind this object; NULL: not wanted, or there is none. */
struct forms {
    const char *blocking_name, *nonblocking_name, *persistent_name;
    void *blocking, *nonblocking, *persistent;
    int known; /* the above are; any thread may write them, and each the same */
};

static void find_forms(struct forms *f)
{
    const char *form = getenv("STARTED");
    char older[64]; /* the name that Open MPI 4 has */

    if (__atomic_load_n(&f->known, __ATOMIC_ACQUIRE))
        return;
    f->blocking = dlsym(RTLD_NEXT, f->blocking_name);
    if (form && !strcmp(form, "persistent")) {
        snprintf(older, sizeof older, "MPIX%s", f->persistent_name + strlen("MPI"));
        f->persistent = dlsym(RTLD_NEXT, f->persistent_name);
        if (!f->persistent)
            f->persistent = dlsym(RTLD_NEXT, older);
    }
    if (form)
        f->nonblocking = dlsym(RTLD_NEXT, f->nonblocking_name);
    __atomic_store_n(&f->known, 1, __ATOMIC_RELEASE);
}

static int met; /* an attribute of communicators */

/* A duplicate has not met. */
static int copy(MPI_Comm comm, int key, void *extra, void *value, void *copied, int *is_copied)
{
    (void)comm, (void)key, (void)extra, (void)value, (void)copied;
    *is_copied = 0;
    return MPI_SUCCESS;
}

static int forget(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    return MPI_SUCCESS;
}

static void make_met(void)
{
    MPI_Comm_create_keyval(copy, forget, &met, NULL);
}

/*
 * libcollshim reroutes no nonblocking call before a blocking one on its communicator. So there is
 * one, except where it reroutes nothing. Returns an MPI code.
 */
static int meet(MPI_Comm comm)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static int (*allreduce)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
    int is_inter, has_met, mine = 0, all, rc;
    void *value;

    rc = MPI_Comm_test_inter(comm, &is_inter);
    if (rc != MPI_SUCCESS || is_inter)
        return rc;
    pthread_once(&once, make_met);
    rc = MPI_Comm_get_attr(comm, met, &value, &has_met);
    if (rc != MPI_SUCCESS || has_met)
        return rc;
    *(void **)&allreduce = dlsym(RTLD_NEXT, "MPI_Allreduce");
    rc = MPI_Comm_set_attr(comm, met, NULL);
    return rc == MPI_SUCCESS ? allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, comm) : rc;
}

/* rc: of the call that made the request, in both */
static int end_nonblocking(int rc, MPI_Request *request)
{
    return rc == MPI_SUCCESS ? MPI_Wait(request, MPI_STATUS_IGNORE) : rc;
}

/* Some libraries free the request of a call that fails. */
static int end_persistent(int rc, MPI_Request *request)
{
    if (rc != MPI_SUCCESS)
        return rc;
    rc = end_nonblocking(MPI_Start(request), request);
    int freed = *request == MPI_REQUEST_NULL ? MPI_SUCCESS : MPI_Request_free(request);
    return rc != MPI_SUCCESS ? rc : freed;
}

#define TURN(name, started, n, width)                                                              \
    int turn_##name##width(PARAMS_##n) __asm__("MPI_" #name #width);                               \
    int turn_##name##width(PARAMS_##n)                                                             \
    {                                                                                              \
        static struct forms f = {.blocking_name = "MPI_" #name #width,                             \
                                 .nonblocking_name = "MPI_" #started #width,                       \
                                 .persistent_name = "MPI_" #name "_init" #width};                  \
        MPI_Request request = MPI_REQUEST_NULL;                                                    \
        int rc;                                                                                    \
                                                                                                   \
        find_forms(&f);                                                                            \
        if (f.persistent)                                                                          \
            return end_persistent(((int (*)(PARAMS_##n, MPI_Info, MPI_Request *))f.persistent)(    \
                                      ARGS_##n, MPI_INFO_NULL, &request),                          \
                                  &request);                                                       \
        if (f.nonblocking) {                                                                       \
            rc = meet((MPI_Comm)a##n);                                                             \
            if (rc == MPI_SUCCESS)                                                                 \
                rc = ((int (*)(PARAMS_##n, MPI_Request *))f.nonblocking)(ARGS_##n, &request);      \
            return end_nonblocking(rc, &request);                                                  \
        }                                                                                          \
        return f.blocking ? ((int (*)(PARAMS_##n))f.blocking)(ARGS_##n) : MPI_ERR_OTHER;           \
    }                                                                                              \
    int again_##name##width(PARAMS_##n) __asm__("PMPI_" #name #width)                              \
        __attribute__((alias("MPI_" #name #width)));

#if MPI_VERSION >= 4 || defined LARGE
#define TURN_BOTH(name, started, n)                                                                \
    TURN(name, started, n, )                                                                       \
    TURN(name, started, n, _c)
#else
#define TURN_BOTH(name, started, n) TURN(name, started, n, )
#endif

TURN(Barrier, Ibarrier, 1, )
#define FORMS(Name, name, parameters, arguments) TURN_BOTH(Name, I##name, NUMBER_OF arguments)
#include "shim/preload/collectives.def"
