/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NCCL: which library a call or a lookup is about, its backend, and the function it gets.
 *
 * A program that is linked with NCCL calls our ncclX (jumps.S). One that opens NCCL itself asks
 * dlsym() for it on a handle, and would never see us: so dlsym() is ours too, and hands out the
 * backend's function in place of the library's. It touches nothing but names of the table, found on
 * a handle, in a library that has the pnccl twin beside the name, as only NCCL has; for everything
 * else the real dlsym() runs as if called directly, with its own error messages. RTLD_DEFAULT and
 * RTLD_NEXT find our ncclX as any search does.
 *
 * Two copies of NCCL in one process each get functions of their own from the backend, because
 * several (ncclGroupStart) do not say whose they are.
 */
#define _GNU_SOURCE
#include "preload.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum row {
#define NCCL_SYMBOL(name) ROW_##name,
#include "nccl_symbols.def"
#undef NCCL_SYMBOL
    ROW_COUNT
};

static const struct {
    const char *nccl, *pnccl, *name;
} rows[] = {
#define NCCL_SYMBOL(name) {"nccl" #name, "pnccl" #name, #name},
#include "nccl_symbols.def"
#undef NCCL_SYMBOL
};

enum { LIBRARIES = 2, ERR_SYSTEM = 2 /* ncclSystemError */ };

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
 * The next one behind this library: libc's, whatever it is versioned as on this processor, or that
 * of another tool that lives from dlsym() as this one does, and has no version. The tool would
 * see nothing if it were left out.
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
        log_line(LOG_WARN, "NCCL runs natively: %s is one copy of NCCL too many; %d are served",
                 library->path, LIBRARIES);
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
                                    .serves_mpi = &bind_serves_mpi};
    fill(n, backend_open(&n->host, LOG_INFO));
    nknown++;
    return n;
}

/* Binding lock held. The library that the program's own calls would reach. */
static struct nccl *library_of_program(void)
{
    static const struct library_marks marks = {"NCCL", "pncclCommInitRank", "pncclGetVersion",
                                               NULL};
    static struct nccl *found;
    struct library library;

    if (!found && find_library(&marks, &library) == 0)
        found = library_bind(&library);
    return found;
}

/* Another tool's ncclX behind us: calls go to it, or it would see none. */
static void *tool_function(size_t row, const struct nccl *n)
{
    void *next = dlsym_real(RTLD_NEXT, rows[row].nccl);
    const void *owner = next ? object_of(next) : NULL;

    return owner && owner != object_self() && owner != n->library.object ? next : NULL;
}

static void slots_fill(const struct nccl *n)
{
    static bool told;

    for (size_t i = 0; i < ROW_COUNT; i++) {
        void *tool = tool_function(i, n);

        if (tool && !told)
            log_line(LOG_WARN,
                     "NCCL runs natively: another library intercepts %s behind this one;"
                     " preload it in front of libcollshim.so",
                     rows[i].nccl);
        told |= tool != NULL;
        __atomic_store_n(&nccl_slots[i], tool ? tool : n->function[i], __ATOMIC_RELEASE);
    }
}

/* As bind_first_call(), for the slot of an ncclX. */
__attribute__((visibility("hidden"))) void *nccl_first_call(void **slot)
{
    size_t row = (size_t)(slot - nccl_slots);
    void *function = NULL;

    if (!find_dlsym())
        return (void *)absent;
    if (bind_enter()) {
        struct nccl *n = library_of_program();

        if (n)
            slots_fill(n);
        function = n ? *slot : NULL;
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

/* What dlsym() is to return instead of the library's own, or NULL: nothing. */
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
