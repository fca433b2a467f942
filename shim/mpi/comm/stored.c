/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/comm/stored.h"

#include <stdlib.h>
#include <string.h>

#include "shim/decide/store/store.h"
#include "shim/mpi/api/process.h"

static void lower(void *value, const void *child)
{
    int *mine = value, theirs = *(const int *)child;

    *mine = theirs < *mine ? theirs : *mine;
}

/* Do all ranks have it, with the same library? Else none uses it. */
static int agree_on(const struct tree *t, int have)
{
    int rc = tree_up(t, &have, sizeof have, lower);

    if (rc == MPI_SUCCESS)
        rc = tree_down(t, &have, sizeof have);
    if (rc == MPI_SUCCESS && !have)
        store_close();
    return rc;
}

int stored_share(const struct tree *t)
{
    char *text = NULL, room[STORE_GIVEN] = "";
    struct settings_path path;
    int rc;

    if (!store_is_wanted())
        return MPI_SUCCESS;
    if (!mpi_process.world_rank)
        text = store_read(settings_path(settings.cfg.store, &path), mpi_process.library_version);
    if (text)
        memcpy(room, text, strlen(text) + 1);
    free(text);
    rc = tree_down(t, room, sizeof room);
    if (rc == MPI_SUCCESS)
        rc = agree_on(t, store_open(room, mpi_process.library_version) == 0);
    return rc;
}

int stored_recall(struct mpi_comm *c, struct guard_entry *e, enum plan_collective collective,
                  unsigned kind)
{
    struct estimate known[GUARD_CONTENDERS];
    char where[STORE_WHERE];

    if (!store_is_kept())
        return 0;
    store_where(mpi_process.library_version, c->topo, where);
    if (!store_recall(where, collective, kind, e, &c->measured.found, 1, known))
        return 0;
    guard_recall(&c->measured.guard, e, known);
    return 1;
}

void stored_learn(const struct mpi_comm *c, const struct guard_entry *e,
                  enum plan_collective collective, unsigned kind)
{
    char where[STORE_WHERE];

    if (!store_is_kept())
        return;
    store_where(mpi_process.library_version, c->topo, where);
    store_learn(where, collective, kind, e,
                store_is_wanted() && !mpi_process.world_rank && !c->rank);
}

uint64_t stored_here(struct mpi_comm *c)
{
    char where[STORE_WHERE];

    if (!store_is_kept())
        return 0;
    store_where(mpi_process.library_version, c->topo, where);
    return store_found(where, &c->measured.found);
}

void stored_forget(struct mpi_comm *c)
{
    char where[STORE_WHERE];

    store_where(mpi_process.library_version, c->topo, where);
    store_forget(where);
    store_rows_free(&c->measured.found);
}

void stored_close(void)
{
    struct settings_path path;

    if (store_is_wanted() && !mpi_process.world_rank)
        store_merge(settings_path(settings.cfg.store, &path));
    store_close();
}
