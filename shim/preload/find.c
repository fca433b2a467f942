/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finding the MPI (or NCCL) library among the loaded objects. Rejected: RTLD_NEXT, because it sees
 * the global scope only. A library opened with dlopen(RTLD_LOCAL), as under mpi4py, is not there.
 * Nor is a file name enough: libmpi.so.12 and libmpich.so.12 are one family, libmpi.so.40 is
 * another. So every loaded object is asked whether it defines PMPI_Init itself. dlsym() on a handle
 * also answers with what the object's dependencies define, hence the comparison of owners.
 *
 * The walk copies the names and opens nothing. dl_iterate_phdr() holds a loader lock that dlopen()
 * takes after another one. So a dlopen() inside the walk can deadlock with a dlopen() in another
 * thread.
 */
#define _GNU_SOURCE
#include "preload.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

/* How much speaks for an object that defines PMPI_Init. The first of the best is taken. */
enum merit {
    MERIT_NONE,
    MERIT_PMPI,   /* a tool that exports PMPI_ names, like this one, gets as far */
    MERIT_WHOLE,  /* has the calls of an MPI that no tool wraps */
    MERIT_GLOBAL, /* and is the one that lookups in the global scope reach */
};

struct name {
    struct name *next;
    char text[];
};

struct name_list {
    struct name *first;
    struct name **end; /* where the next one is linked in */
};

static int name_append(struct dl_phdr_info *info, size_t size, void *list_p)
{
    (void)size;
    struct name_list *list = list_p;
    if (!info->dlpi_name || !*info->dlpi_name)
        return 0; /* the program itself: an MPI in there is static, and out of reach */
    size_t length = strlen(info->dlpi_name) + 1;
    struct name *name = malloc(sizeof(*name) + length);
    if (!name)
        return -ENOMEM;
    name->next = NULL;
    memcpy(name->text, info->dlpi_name, length);
    *list->end = name;
    list->end = &name->next;
    return 0;
}

static void names_free(struct name_list *list)
{
    while (list->first) {
        struct name *name = list->first;
        list->first = name->next;
        free(name);
    }
}

static const void *object_of_handle(void *handle)
{
    struct link_map *map = NULL;
    return dlinfo(handle, RTLD_DI_LINKMAP, &map) ? NULL : map;
}

static bool defines(void *handle, const void *object, const char *symbol)
{
    const void *address = dlsym(handle, symbol);
    return address && object_of(address) == object;
}

static enum merit object_merit(const struct library_marks *marks, void *handle, const void *object)
{
    if (!object || object == object_self() || !defines(handle, object, marks->owns))
        return MERIT_NONE;
    if (!defines(handle, object, marks->whole))
        return MERIT_PMPI;
    const void *global = dlsym(RTLD_DEFAULT, marks->whole);
    return global && object_of(global) == object ? MERIT_GLOBAL : MERIT_WHOLE;
}

/*
 * The object with the library's MPI_X functions, if those with PMPI_X are in another one (MPICH 5.0
 * can be built so). It defines `front`, and its own PMPI_X are the library's. A tool that wraps
 * every function looks alike, but comes before it in the search order, so the last one is taken.
 * NULL if the library has both.
 */
static const void *find_front(const struct library_marks *marks, const struct name_list *names,
                              void *handle)
{
    const void *object = object_of_handle(handle);
    const void *front = NULL;

    if (!marks->front || defines(handle, object, marks->front))
        return NULL;
    for (struct name *name = names->first; name; name = name->next) {
        void *other = dlopen(name->text, RTLD_LAZY | RTLD_NOLOAD);
        const void *its = other ? object_of_handle(other) : NULL;
        if (its && its != object_self() && defines(other, its, marks->front) &&
            object_of(dlsym(other, marks->owns)) == object)
            front = its;
        if (other)
            dlclose(other);
    }
    return front;
}

const void *object_of(const void *address)
{
    Dl_info info;
    void *map = NULL;
    return dladdr1(address, &info, &map, RTLD_DL_LINKMAP) ? map : NULL;
}

const void *object_self(void)
{
    static const char here;
    return object_of(&here);
}

int find_library(const struct library_marks *marks, struct library *library)
{
    struct name_list names = {.end = &names.first};
    int rc = dl_iterate_phdr(name_append, &names);
    if (rc) {
        names_free(&names);
        return rc;
    }

    void *best = NULL;
    enum merit best_merit = MERIT_NONE;
    const char *best_path = NULL;
    const char *rival_path = NULL; /* as good as the best: a guess was made */
    for (struct name *name = names.first; name; name = name->next) {
        void *handle = dlopen(name->text, RTLD_LAZY | RTLD_NOLOAD);
        if (!handle)
            continue; /* the vdso, or unloaded since the walk */
        enum merit merit = object_merit(marks, handle, object_of_handle(handle));
        if (merit > best_merit) {
            if (best)
                dlclose(best);
            best = handle;
            best_merit = merit;
            best_path = name->text;
            rival_path = NULL;
            continue;
        }
        if (merit == MERIT_WHOLE && merit == best_merit)
            rival_path = name->text;
        dlclose(handle);
    }

    if (best && rival_path && !marks->by_caller)
        log_line(LOG_WARN,
                 "two %s libraries are loaded, %s and %s: calls go to the first; load one only",
                 marks->api, best_path, rival_path);
    char *path = best ? strdup(best_path) : NULL;
    const void *front = best ? find_front(marks, &names, best) : NULL;
    names_free(&names);
    if (!best)
        return -ENOENT;
    if (!path) {
        dlclose(best);
        return -ENOMEM;
    }
    library->handle = best;
    library->object = object_of_handle(best);
    library->front = front;
    library->path = path;
    library->global = best_merit == MERIT_GLOBAL;
    return 0;
}

/* Not of a handle that we are in ourselves. */
static void *function_in(const struct library *library, const char *name)
{
    void *function = dlsym(library->handle, name);

    return function && object_of(function) != object_self() ? function : NULL;
}

void *library_function(const void *caller, const char *name)
{
    const struct library_marks marks = {.owns = name, .whole = name, .by_caller = true};
    struct library library;
    void *function = NULL;

    if (library_open(caller, &library) == 0) {
        function = function_in(&library, name);
        library_close(&library);
    }
    if (!function && find_library(&marks, &library) == 0) {
        function = function_in(&library, name);
        library_close(&library);
    }
    return function;
}

void library_close(const struct library *library)
{
    free((char *)library->path);
    dlclose(library->handle);
}

int library_open(const void *address, struct library *library)
{
    Dl_info info;

    void *handle = dladdr(address, &info) ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (!handle)
        return -ENOENT;
    char *path = strdup(info.dli_fname);
    if (!path) {
        dlclose(handle);
        return -ENOMEM;
    }
    *library = (struct library){.handle = handle, .object = object_of(address), .path = path};
    return 0;
}
