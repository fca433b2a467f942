/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NCCL: the library of a call or lookup, its backend, and the function that the caller gets.
 *
 * A program that is linked with NCCL calls our ncclX (jumps.S). One that opens NCCL itself asks
 * dlsym() for it on a handle, and would never see us: so dlsym() is ours too, and hands out the
 * backend's function in place of the library's. It replaces only names of the table, looked up on a
 * handle, in a library that has the pnccl twin beside the name, as only NCCL has. For all other
 * names the real dlsym() runs as if called directly, with its own error messages. RTLD_DEFAULT and
 * RTLD_NEXT find our ncclX as any search does.
 *
 * Two copies of NCCL in one process each get their own functions from the backend, because some
 * arguments do not tell the copy (ncclGroupStart). A copy in the global scope serves all callers.
 * Other copies are found by the libraries that the caller's own object needs. A second copy may
 * come at any time with a library that is opened later, and begins by making an id or a
 * communicator.
 */
#define _GNU_SOURCE
#include "preload.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "config/base/object_span.h"

enum row {
#define NCCL_WRAP(need, name, parameters, arguments) ROW_##name,
#include "transports/net/nccl_calls.def"
    ROW_COUNT
};

static const struct {
    const char *nccl, *pnccl, *name;
} rows[] = {
#define NCCL_WRAP(need, name, parameters, arguments) {"nccl" #name, "pnccl" #name, #name},
#include "transports/net/nccl_calls.def"
};

enum { LIBRARIES = 2, ERR_SYSTEM = 2 /* ncclSystemError */ };

/* By what a library that has not called NCCL before begins. */
static const enum row makers[] = {ROW_GetUniqueId, ROW_CommInitRank, ROW_CommInitRankConfig,
                                  ROW_CommInitRankScalable, ROW_CommInitAll};

/* Binding lock. A library that is closed while we know it stays loaded: the handle is ours. */
static struct nccl {
    struct library library;
    struct backend_host host;
    void *function[ROW_COUNT]; /* never NULL */
} known[LIBRARIES];
static int nknown;

extern void *nccl_slots[ROW_COUNT]; /* jumps.S */

typedef void *(*dlsym_fn)(void *handle, const char *name);
dlsym_fn dlsym_real; /* also read by jumps.S */

/*
 * The next dlsym behind this library: libc's, at the version of this processor, or that of another
 * tool that replaces dlsym() too and has no version. The tool would see nothing if it were left
 * out.
 */
static dlsym_fn find_dlsym(void)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
    dlsym_fn found = __atomic_load_n(&dlsym_real, __ATOMIC_ACQUIRE);

    for (size_t i = 0; !found && i < sizeof(versions) / sizeof(*versions); i++)
        found = (dlsym_fn)dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    if (found && !dlsym_real) {
        dlsym_fn next = (dlsym_fn)found(RTLD_NEXT, "dlsym");
        const void *owner = next ? object_of((void *)next) : NULL;

        if (owner && owner != object_self())
            found = next;
    }
    __atomic_store_n(&dlsym_real, found, __ATOMIC_RELEASE);
    return found;
}

/* Stands in for a function that does not exist. */
static int absent(void)
{
    return ERR_SYSTEM;
}

static void fill(struct nccl *n, const struct backend_entry *entries)
{
    for (size_t i = 0; i < ROW_COUNT; i++) {
        n->function[i] = dlsym_real(n->library.handle, rows[i].pnccl);
        if (!n->function[i])
            n->function[i] = (void *)absent;
        for (const struct backend_entry *e = entries; e && e->name; e++)
            if (!strcmp(e->name, rows[i].name))
                n->function[i] = e->function;
    }
}

static const char *version_of(const struct library *library)
{
    static char text[LIBRARIES][32];
    int (*get)(int *) = (int (*)(int *))dlsym_real(library->handle, "pncclGetVersion");
    int version = 0;

    if (get)
        get(&version);
    snprintf(text[nknown], sizeof(text[0]), "NCCL %d.%d.%d", version / 10000, version / 100 % 100,
             version % 100);
    return text[nknown];
}

static struct nccl *library_known(const void *object)
{
    for (int i = 0; i < nknown; i++)
        if (known[i].library.object == object)
            return &known[i];
    return NULL;
}

/* Binding lock held. The entry of a library, made on first sight; takes over the handle. NULL:
 * there are too many. */
static struct nccl *library_bind(const struct library *library)
{
    struct nccl *n = library_known(library->object);

    if (n)
        return n;
    if (nknown == LIBRARIES) {
        static bool told;

        if (!told)
            log_line(LOG_WARN, "NCCL runs natively: %s is one copy of NCCL too many; %d are served",
                     library->path, LIBRARIES);
        told = true;
        return NULL;
    }
    n = &known[nknown];
    n->library = *library;
    n->host = (struct backend_host){.abi = BACKEND_ABI,
                                    .api = "NCCL",
                                    .library = library->handle,
                                    .library_path = library->path,
                                    .family = "nccl",
                                    .library_version = version_of(library),
                                    .thread_own = bind_thread_own(1),
                                    .serves_mpi = &bind_serves_mpi};
    fill(n, backend_open(&n->host, LOG_INFO));
    nknown++;
    return n;
}

/* Binding lock held. The library that is in the global scope, else the first. */
static struct nccl *library_of_program(void)
{
    static const struct library_marks marks = {
        .api = "NCCL", .owns = "pncclCommInitRank", .whole = "pncclGetVersion", .by_caller = true};
    static struct nccl *found;
    struct library library;

    if (!found && find_library(&marks, &library) == 0) {
        found = library_bind(&library);
        if (found)
            found->library.global = library.global;
    }
    return found;
}

/* The object that a call comes from. */
struct caller {
    const void *address;
    uintptr_t from, to;  /* of the object */
    char path[PATH_MAX]; /* "": the program */
};

static int find_caller(struct dl_phdr_info *info, size_t size, void *caller_p)
{
    struct caller *c = caller_p;

    uintptr_t from, to;

    (void)size;
    if (!object_span(info, (uintptr_t)c->address, &from, &to))
        return 0;
    c->from = from;
    c->to = to;
    snprintf(c->path, sizeof c->path, "%s", info->dlpi_name ? info->dlpi_name : "");
    return 1;
}

/* The function of that name as the object finds it among what it needs, or NULL. */
static void *twin_of_caller(const struct caller *c, size_t row)
{
    void *handle = dlopen(*c->path ? c->path : NULL, RTLD_LAZY | RTLD_NOLOAD);
    void *twin = handle ? dlsym_real(handle, rows[row].pnccl) : NULL;

    if (handle)
        dlclose(handle);
    return twin;
}

/* Another tool's ncclX behind us: calls go to it, or it would see none. */
static void *tool_function(size_t row, const struct nccl *n)
{
    void *next = dlsym_real(RTLD_NEXT, rows[row].nccl);
    const void *owner = next ? object_of(next) : NULL;

    return owner && owner != object_self() && owner != n->library.object ? next : NULL;
}

static bool has_tool; /* as far as slots_fill() has seen */

static void *function_of(size_t row, const struct nccl *n)
{
    void *tool = tool_function(row, n);

    if (tool && !has_tool)
        log_line(LOG_WARN,
                 "NCCL runs natively: another library intercepts %s behind this one;"
                 " preload it in front of libcollshim.so",
                 rows[row].nccl);
    has_tool |= tool != NULL;
    return tool ? tool : n->function[row];
}

/* Binding lock held. The functions of slots that depend on the caller. */
static void *first[ROW_COUNT];

static void slots_fill(const struct nccl *n)
{
    for (size_t i = 0; i < ROW_COUNT; i++) {
        first[i] = nccl_slots[i];
        __atomic_store_n(&nccl_slots[i], function_of(i, n), __ATOMIC_RELEASE);
    }
    for (size_t i = 0; !n->library.global && i < sizeof makers / sizeof *makers; i++)
        __atomic_store_n(&nccl_slots[makers[i]], first[makers[i]], __ATOMIC_RELEASE);
}

/* Binding lock held. The functions of objects, as long as none is unloaded. */
static struct {
    unsigned long long unloaded;
    int n;
    struct {
        uintptr_t from, to;
        const struct nccl *nccl;
    } of[16];
} callers;

static int count_unloaded(struct dl_phdr_info *info, size_t size, void *count_p)
{
    (void)size;
    *(unsigned long long *)count_p = info->dlpi_subs;
    return 1;
}

/* Returns whether it is known. */
static bool caller_known(const void *address, const struct nccl **n)
{
    unsigned long long unloaded = 0;

    dl_iterate_phdr(count_unloaded, &unloaded);
    if (callers.unloaded != unloaded)
        callers.n = 0;
    callers.unloaded = unloaded;
    for (int i = 0; i < callers.n; i++)
        if ((uintptr_t)address >= callers.of[i].from && (uintptr_t)address < callers.of[i].to) {
            *n = callers.of[i].nccl;
            return true;
        }
    return false;
}

static void caller_note(const struct caller *c, const struct nccl *n)
{
    enum { MOST = sizeof callers.of / sizeof *callers.of };

    if (callers.n == MOST)
        callers.n = 0;
    callers.of[callers.n].from = c->from;
    callers.of[callers.n].to = c->to;
    callers.of[callers.n++].nccl = n;
}

/* Binding lock held, slots filled with what is `common`. */
static void *function_for_caller(const struct nccl *common, size_t row, const void *address)
{
    struct caller caller = {.address = address};
    const struct nccl *n = common;
    struct library library = {0};
    void *twin = NULL;

    if (common->library.global || caller_known(address, &n))
        return has_tool ? function_of(row, n) : n->function[row];
    if (dl_iterate_phdr(find_caller, &caller))
        twin = twin_of_caller(&caller, row);
    if (twin && object_of(twin) != common->library.object) {
        n = library_known(object_of(twin));
        if (!n && library_open(twin, &library) == 0)
            n = library_bind(&library);
        for (size_t i = 0; i < ROW_COUNT; i++) /* from now on each call says whose it is */
            __atomic_store_n(&nccl_slots[i], first[i], __ATOMIC_RELEASE);
    }
    if (n && caller.to)
        caller_note(&caller, n);
    return n ? function_of(row, n) : twin;
}

/* As bind_first_call(), for the slot of an ncclX. */
__attribute__((visibility("hidden"))) void *nccl_first_call(void **slot, const void *caller)
{
    size_t row = (size_t)(slot - nccl_slots);
    void *function = NULL;

    if (!find_dlsym())
        return (void *)absent;
    if (bind_enter()) {
        struct nccl *n = library_of_program();

        if (n && !first[row])
            slots_fill(n);
        if (n)
            function = function_for_caller(n, row, caller);
        bind_leave();
    }
    if (!function) /* while binding, or one copy too many, or no NCCL at all */
        function = dlsym_real(RTLD_NEXT, rows[row].pnccl);
    if (!function)
        log_line(LOG_WARN, "%s was called, but no NCCL library is loaded: it fails with code %d",
                 rows[row].nccl, ERR_SYSTEM);
    dlerror(); /* lookups that failed here are not the program's errors */
    return function ? function : (void *)absent;
}

static int row_find(const char *name)
{
    for (int i = 0; i < ROW_COUNT; i++)
        if (!strcmp(rows[i].nccl, name))
            return i;
    return -1;
}

/* Does that object define the function and its pnccl twin itself? */
static bool is_nccl(const void *object, void *handle, size_t row)
{
    void *twin = dlsym_real(handle, rows[row].pnccl);

    return object && object != object_self() && twin && object_of(twin) == object;
}

/* The function that dlsym() returns instead of the library's own, or NULL: none. */
__attribute__((visibility("hidden"))) void *dlsym_substitute(void *handle, const char *name)
{
    dlsym_fn real = find_dlsym();
    struct library library = {0};
    void *function = NULL;

    if (!real || !name || strncmp(name, "nccl", 4) != 0 || handle == RTLD_DEFAULT ||
        handle == RTLD_NEXT)
        return NULL;
    int row = row_find(name);
    void *found = row < 0 ? NULL : real(handle, name);
    if (found && is_nccl(object_of(found), handle, (size_t)row) && bind_enter()) {
        struct nccl *n = library_known(object_of(found));

        if (!n && library_open(found, &library) == 0)
            n = library_bind(&library);

        function = n ? n->function[row] : NULL;
        bind_leave();
    }
    dlerror();
    return function;
}
