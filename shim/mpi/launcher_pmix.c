/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PMIx: Open MPI's mpirun, Slurm's `srun --mpi=pmix`, and any launcher whose jobs have
 * PMIX_NAMESPACE. The preload adds the announcement to what the library publishes
 * (shim/preload/pmix.c).
 *
 * A rank's data arrive as a whole. If the library fetches them late, a server that lacks a key
 * waits for it until a time limit. So a look-up asks for a key that the library surely published,
 * and then looks for the announcement beside it. That answers at once and for certain.
 *
 * PMIx is used through the functions and types below, whose layout is fixed since PMIx 3
 * (pmix_common.h). Values that PMIx_Get returns are not freed: releasing them takes macros of
 * PMIx's own header. A rank asks about its neighbours in a tree, so they are few.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "config/hash.h"
#include "shim/decide/settings.h"
#include "shim/mpi/launcher.h"

enum { SUCCESS = 0, TYPE_BOOL = 1, TYPE_INT = 6 };
enum { LIMIT_S = 1, PATIENCE_S = 20 }; /* of one question; for a rank that nothing is known of */

#define KEY "collshim.here"

struct pmix_proc {
    char nspace[256];
    uint32_t rank;
};

struct pmix_value {
    uint16_t type;
    union {
        _Bool flag;
        int integer;
        uint64_t room[3]; /* the largest member of pmix_value_t's union */
    } data;
};

struct pmix_info {
    char key[512];
    uint32_t flags;
    struct pmix_value value;
};

static struct backend_announcement *announcement;
static struct pmix_proc there; /* the job's name space; the rank is filled in */
static int (*get)(const struct pmix_proc *, const char *, const struct pmix_info *, size_t,
                  struct pmix_value **);

void launcher_open(struct backend_announcement *a)
{
    announcement = a;
}

static int version(void)
{
    return (int)(hash_text(HASH_SEED, settings_version) >> 33);
}

static void announce(void)
{
    if (!announcement)
        return;
    announcement->value = version();
    __atomic_store_n(&announcement->key, KEY, __ATOMIC_RELEASE);
}

static enum launcher_state state(void)
{
    const char *nspace = getenv("PMIX_NAMESPACE");
    void *library = nspace ? dlopen("libpmix.so.2", RTLD_NOW | RTLD_NOLOAD) : NULL;

    if (announcement)
        __atomic_store_n(&announcement->key, NULL, __ATOMIC_RELEASE);
    if (!library)
        return LAUNCHER_ABSENT;
    *(void **)&get = dlsym(library, "PMIx_Get");
    dlclose(library); /* the MPI library keeps it loaded */
    snprintf(there.nspace, sizeof there.nspace, "%s", nspace);
    return get && announcement && announcement->placed ? LAUNCHER_READY : LAUNCHER_LOST;
}

static const struct pmix_value *ask(const char *key, const struct pmix_info *how)
{
    struct pmix_value *found = NULL;

    return get(&there, key, how, 1, &found) == SUCCESS ? found : NULL;
}

static enum launcher_peer judge(const struct pmix_value *found)
{
    if (!found)
        return PEER_ABSENT;
    return found->type == TYPE_INT && found->data.integer == version() ? PEER_HERE
                                                                       : PEER_OTHER_VERSION;
}

static enum launcher_peer find(int rank)
{
    static const struct pmix_info immediate = {.key = "pmix.immediate",
                                               .value = {.type = TYPE_BOOL, .data.flag = 1}},
                                  limit = {.key = "pmix.timeout",
                                           .value = {.type = TYPE_INT, .data.integer = LIMIT_S}};
    const struct pmix_value *found;

    there.rank = (uint32_t)rank;
    found = ask(KEY, &immediate);
    if (found)
        return judge(found);
    for (int i = 0; i < announcement->nbeside; i++)
        if (ask(announcement->beside[i], &limit))
            return judge(ask(KEY, &immediate));
    /* It published none of the keys that this rank did. */
    for (time_t end = time(NULL) + PATIENCE_S; !found && time(NULL) <= end;)
        found = ask(KEY, &limit);
    return judge(found);
}

const struct launcher launcher_pmix = {
    .name = "PMIx", .announce = announce, .state = state, .find = find};
