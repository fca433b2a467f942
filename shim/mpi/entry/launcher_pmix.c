/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PMIx: Open MPI's mpirun, Slurm's `srun --mpi=pmix`, and any launcher whose jobs have
 * PMIX_NAMESPACE. The preload adds the announcement to what the library publishes
 * (shim/preload/pmix.c).
 *
 * A rank's data arrive as a whole. The server of its own host has them before its MPI_Init ends;
 * other hosts' servers may fetch them late. A server that lacks a key waits for it until a time
 * limit, which tells nothing: that rank may see this one, and would wait for it. So a look-up asks
 * for a key that the library surely published, for as long as it takes, and then looks for the
 * announcement beside it. That answers at once and for certain.
 *
 * PMIx is used through the functions and types below, whose layout is fixed since PMIx 3
 * (pmix_common.h). Values that PMIx_Get returns are not freed: releasing them takes macros of
 * PMIx's own header. A rank asks about its neighbours in a tree, so they are few.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/hash.h"
#include "shim/decide/base/settings.h"
#include "shim/mpi/entry/launcher.h"

enum { SUCCESS = 0, TYPE_BOOL = 1, TYPE_STRING = 3, TYPE_INT = 6 };
enum { LIMIT_S = 1, ROUNDS = 20 }; /* of one question; through all keys of a rank */

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
        char *string;
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
    /* The environment of a set-user-ID program is its caller's: such a rank is lost. */
    if (!announcement || !secure_getenv("PMIX_NAMESPACE"))
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

static const struct pmix_info immediate = {.key = "pmix.immediate",
                                           .value = {.type = TYPE_BOOL, .data.flag = 1}},
                              limit = {.key = "pmix.timeout",
                                       .value = {.type = TYPE_INT, .data.integer = LIMIT_S}};

/* The launcher tells each rank every rank's host. */
static int shares_host(int rank)
{
    const char *own = secure_getenv("PMIX_RANK");
    const struct pmix_value *here, *at;

    there.rank = (uint32_t)(own ? atoi(own) : rank + 1);
    here = ask("pmix.hname", &immediate);
    there.rank = (uint32_t)rank;
    at = ask("pmix.hname", &immediate);
    return own && here && at && here->type == TYPE_STRING && at->type == TYPE_STRING &&
           !strcmp(here->data.string, at->data.string);
}

/*
 * A server that has stopped for a while is waited for: it times its limits itself, and each round
 * ends with its answer to a question without one. Only a rank on another host that has published
 * none of the keys that this rank did is taken for absent by time.
 */
static enum launcher_peer find(int rank)
{
    int same_host = shares_host(rank);
    const struct pmix_value *found = ask(KEY, &immediate);

    for (int round = 0; !found && !same_host && round < ROUNDS; round++) {
        for (int i = 0; i < announcement->nbeside; i++)
            if (ask(announcement->beside[i], &limit))
                return judge(ask(KEY, &immediate));
        found = ask(KEY, &limit);
        if (!found)
            found = ask(KEY, &immediate);
    }
    return judge(found);
}

const struct launcher launcher_pmix = {
    .name = "PMIx", .announce = announce, .state = state, .find = find};
