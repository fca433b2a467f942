/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The first intercepted call: find the MPI, open its backend, fill every slot.
 *
 * Rejected: a constructor, because every process that inherits LD_PRELOAD would pay for it. It also
 * cannot see a library that is dlopen'ed later. Rejected: pthread_once(), because a process may
 * call before any MPI is loaded, and a second call must search again. Also, a backend that calls
 * MPI while it opens would wait for itself.
 *
 * The contents of a slot:
 *   PMPI_X: the backend's function, else the library's PMPI_X;
 *   MPI_X:  another tool's MPI_X if one follows in the search order, else as PMPI_X. The tool
 *           calls PMPI_X, which is ours again. Jumping past the tool would starve it.
 * A tool in front of us needs nothing: its MPI_X is found first and its PMPI_X call comes here.
 */
#define _GNU_SOURCE
#include "preload.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "config/base/loaded.h"

/*
 * One thread binds at a time; guards all of the below. Threads that arrive meanwhile wait: in the
 * library, they would reroute a collective on some ranks only. The loader's own lock is taken under
 * this one. A constructor that calls MPI takes them in the other order. It must not be run (by a
 * dlopen) while another thread makes the process's first MPI call.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool bound;
static struct library library;
static struct backend_host host;
int bind_serves_mpi;
static const struct library_marks mpi_marks = {.api = "MPI",
                                               .owns = "PMPI_Init",
                                               .whole = "PMPI_Get_library_version",
                                               .front = "MPI_Get_library_version"};
static int err_other = 16; /* until a family is known: the value of most */

/*
 * Initial-exec: the general way to reach a thread's variable is a function of the dynamic linker,
 * which would then be in our NEEDED list. The size is a multiple of the 64 bytes to which the
 * loader rounds all such memory, so what is left over for a program's plugins stays the same.
 */
static __thread struct {
    char own[2][BACKEND_THREAD_BYTES]; /* of MPI's backend, and of NCCL's */
    bool binding;                      /* this thread is the one that binds */
    char rest[15];
} thread __attribute__((tls_model("initial-exec"), aligned(8)));
_Static_assert(sizeof(thread) % 64 == 0, "a multiple of 64");

long bind_thread_own(int backend)
{
    return (long)(thread.own[backend] - (char *)backend_thread_pointer());
}

/* Stands in for a function that does not exist: caller's arguments are ignored. */
static int absent(void)
{
    return err_other;
}

static const struct backend_entry *entry_find(const struct backend_entry *entries, const char *name)
{
    for (; entries && entries->name; entries++)
        if (strcmp(entries->name, name) == 0)
            return entries;
    return NULL;
}

static void entries_check(const struct backend_entry *entries)
{
    for (; entries && entries->name; entries++) {
        size_t i = 0;
        while (i < symbol_count && strcmp(symbol_table[i].name, entries->name) != 0)
            i++;
        if (i == symbol_count)
            log_line(LOG_WARN,
                     "the %s backend offers %s, which libcollshim.so has no stub for: ignored; both"
                     " must be of one build",
                     host.family, entries->name);
    }
}

/* The next MPI_X after ours, if it is neither ours nor the library's; else NULL. */
static void *tool_function(const struct symbol *symbol)
{
    void *next = dlsym(RTLD_NEXT, symbol->mpi_name);
    const void *owner = next ? object_of(next) : NULL;
    return owner && owner != object_self() && owner != library.object && owner != library.front
               ? next
               : NULL;
}

static void slots_fill(const struct backend_entry *entries)
{
    for (size_t i = 0; i < symbol_count; i++) {
        const struct symbol *symbol = &symbol_table[i];
        const struct backend_entry *entry = entry_find(entries, symbol->name);
        void *function = entry ? entry->function : dlsym(library.handle, symbol->pmpi_name);
        if (!function)
            function = (void *)absent;
        void *tool = tool_function(symbol);
        __atomic_store_n(symbol->pmpi_slot, function, __ATOMIC_RELEASE);
        __atomic_store_n(symbol->mpi_slot, tool ? tool : function, __ATOMIC_RELEASE);
    }
}

static bool bind_all(void)
{
    static char version[256];
    if (find_library(&mpi_marks, &library) != 0)
        return false;
    const struct family *family = family_find(library.handle, version, sizeof(version));
    const struct backend_entry *entries = NULL;
    if (family) {
        err_other = family->err_other;
        host.abi = BACKEND_ABI;
        host.api = "MPI";
        host.library = library.handle;
        host.library_path = library.path;
        host.family = family->name;
        host.library_version = version;
        host.announcement = &announcement;
        host.thread_own = bind_thread_own(0);
        entries = backend_open(&host, LOG_WARN);
        bind_serves_mpi = entries != NULL;
        entries_check(entries);
    } else {
        log_line(LOG_WARN,
                 "MPI runs natively: %s (%s) is of no known family; known are Open MPI, MPICH"
                 " with its relatives, and the standard ABI",
                 library.path, *version ? version : "without a version");
    }
    slots_fill(entries);
    dlerror(); /* lookups that failed here are not the program's errors */
    return true;
}

/* While this thread binds: the library as it is, as far as it is known already. */
static void *native_function(const struct symbol *symbol)
{
    void *function = library.handle ? dlsym(library.handle, symbol->pmpi_name)
                                    : dlsym(RTLD_NEXT, symbol->pmpi_name);
    return function ? function : (void *)absent;
}

/*
 * Nothing loaded defines PMPI_Init. A library without the profiling names, such as a serial
 * stand-in for MPI, may still define the one called. The program without us would be bound to that,
 * so keep it if it is in the global scope. Otherwise each caller may have its own, and the next
 * call may come after a dlopen(): remember nothing.
 */
static void *unfound_function(const struct symbol *symbol, void **slot, const void *caller)
{
    const char *name = slot == symbol->mpi_slot ? symbol->mpi_name : symbol->pmpi_name;
    void *next = dlsym(RTLD_NEXT, name);
    void *own = next ? NULL : library_function(caller, name);
    dlerror();
    if (own)
        return own;
    if (!next) {
        static bool told;
        if (!told)
            log_line(LOG_WARN, "%s was called, but no MPI library is loaded: it fails with code %d",
                     symbol->mpi_name, err_other);
        told = true;
        return (void *)absent;
    }
    __atomic_store_n(slot, next, __ATOMIC_RELEASE);
    return next;
}

bool bind_enter(void)
{
    if (thread.binding)
        return false;
    pthread_mutex_lock(&lock);
    thread.binding = true;
    return true;
}

void bind_leave(void)
{
    thread.binding = false;
    pthread_mutex_unlock(&lock);
}

void *bind_first_call(const struct symbol *symbol, void **slot, const void *caller)
{
    static unsigned long long searched; /* binding lock; as loaded_changes() */
    if (!bind_enter())
        return native_function(symbol);
    unsigned long long changes = bound ? 0 : loaded_changes();
    if (!bound && searched != changes)
        bound = bind_all();
    searched = changes;
    void *function = bound ? *slot : unfound_function(symbol, slot, caller);
    bind_leave();
    return function;
}
