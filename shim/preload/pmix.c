/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PMIx_Put, by which an MPI library publishes its ranks' addresses while MPI_Init runs.
 *
 * A backend may ask for one more key. It goes in with the library's own keys, before the library
 * commits them. Rejected: publishing after MPI_Init. A second PMIx_Commit replaces what the server
 * holds of this rank, and a library that fetches addresses late (Open MPI 5) then misses them.
 *
 * The other functions of PMIx are not intercepted. A program that calls PMIx itself is passed on.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "preload.h"

/* Values that pmix_common.h fixes for all versions since 2. */
enum { SCOPE_REMOTE = 2, SCOPE_GLOBAL = 3, TYPE_INT = 6, ERR_NOT_SUPPORTED = -47 };

struct value {
    uint16_t type;
    union {
        int integer;
        uint64_t room[3];
    } data;
};

typedef int (*put_fn)(uint8_t scope, const char *key, void *value);

struct backend_announcement announcement;

#define EXPORT __attribute__((visibility("default")))
EXPORT int PMIx_Put(uint8_t scope, const char *key, void *value);

/* The library's own: the next in the global scope, or the one beside the caller. */
static put_fn real_put(const void *caller)
{
    static put_fn found;
    put_fn put = __atomic_load_n(&found, __ATOMIC_ACQUIRE);

    if (put)
        return put;
    put = (put_fn)dlsym(RTLD_NEXT, "PMIx_Put");
    int is_global = put != NULL;
    struct library library;
    if (!put && library_open(caller, &library) == 0) {
        put = (put_fn)dlsym(library.handle, "PMIx_Put");
        library_close(&library);
    }
    dlerror();
    if (put == PMIx_Put)
        return NULL;
    if (is_global) /* a local one may be unloaded with its caller */
        __atomic_store_n(&found, put, __ATOMIC_RELEASE);
    return put;
}

/* Put the backend's key once, and keep the names of keys that other hosts can read. Those of PMIx
   itself ("pmix.") are known without a rank's own data, so they say nothing of these. */
static void announce(struct backend_announcement *a, put_fn put, uint8_t scope, const char *key)
{
    struct value here = {.type = TYPE_INT, .data.integer = a->value};

    if (!a->placed)
        a->placed = put(SCOPE_GLOBAL, a->key, &here) == 0;
    if ((scope == SCOPE_REMOTE || scope == SCOPE_GLOBAL) && a->nbeside < ANNOUNCEMENT_BESIDE &&
        strncmp(key, "pmix.", 5) != 0 && strlen(key) < sizeof(a->beside[0]))
        snprintf(a->beside[a->nbeside++], sizeof(a->beside[0]), "%s", key);
}

int PMIx_Put(uint8_t scope, const char *key, void *value)
{
    put_fn put = real_put(__builtin_return_address(0));

    if (!put)
        return ERR_NOT_SUPPORTED;
    if (__atomic_load_n(&announcement.key, __ATOMIC_ACQUIRE))
        announce(&announcement, put, scope, key);
    return put(scope, key, value);
}
