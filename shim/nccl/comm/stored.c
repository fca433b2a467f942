/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nccl/comm/stored.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "config/base/hash.h"
#include "shim/decide/store/store.h"
#include "shim/nccl/call/process.h"

static struct {
    pthread_mutex_t lock;
    uint64_t hash;
    int done;
    pid_t process; /* not that of a child that it has forked */
} read_once = {.lock = PTHREAD_MUTEX_INITIALIZER};

uint64_t nccl_stored_hash(const char *library)
{
    if (!store_is_wanted())
        return 0;
    pthread_mutex_lock(&read_once.lock);
    if (!read_once.done) {
        struct settings_path path;
        char *text = store_read(settings_path(settings.cfg.store, &path), library);

        if (text && store_open(text, library) == 0)
            read_once.hash = hash_text(HASH_SEED, text);
        free(text);
        read_once.done = 1;
        read_once.process = getpid();
    }
    pthread_mutex_unlock(&read_once.lock);
    return read_once.hash;
}

uint64_t nccl_stored_here(struct nccl_comm *c)
{
    return store_is_kept() ? store_found(NULL, &c->measured.found) : 0;
}

int nccl_stored_recall(struct nccl_comm *c, struct guard_entry *e, enum plan_collective collective,
                       unsigned kind)
{
    struct estimate known[GUARD_CONTENDERS];
    char where[STORE_WHERE];

    if (!store_is_kept())
        return 0;
    store_where(c->copy->version, c->topo, where);
    if (!store_recall(where, collective, kind, e, &c->measured.found, c->measured.stored, known))
        return 0;
    guard_recall(&c->measured.guard, e, known);
    return 1;
}

void nccl_stored_learn(const struct nccl_comm *c, const struct guard_entry *e,
                       enum plan_collective collective, unsigned kind)
{
    char where[STORE_WHERE];

    if (!store_is_kept())
        return;
    store_where(c->copy->version, c->topo, where);
    store_learn(where, collective, kind, e, store_is_wanted() && !c->rank);
}

void nccl_stored_close(void)
{
    if (read_once.done && read_once.process == getpid())
        store_merge(settings_path(settings.cfg.store, &(struct settings_path){0}));
}
