/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/entry/waits.h"

#include <stdlib.h>

#include "config/base/host.h"
#include "shim/mpi/api/process.h"
#include "shim/mpi/api/tree.h"
#include "shim/mpi/comm/sampled.h"
#include "shim/mpi/entry/call_site_gather.h"
#include "shim/record/report/waits_report.h"
#include "shim/record/sites/call_site.h"
#include "shim/record/waits/meeting.h"

enum { ROUNDS = 8 };

/* Host and time of a rank, and what is to be added for rank 0's time. */
struct reading {
    uint64_t key, now;
    int64_t offset;
};

static struct host_clock host_clock;
static uint64_t key;

/* The fastest of some answers; of the same host, any. Returns an MPI code. */
static int ask(int parent, MPI_Comm comm, int64_t *offset)
{
    struct reading r = {0};
    uint64_t best = UINT64_MAX;
    int rc = MPI_SUCCESS;

    for (int i = 0; i < ROUNDS && !rc && r.key != key; i++) {
        uint64_t began = site_clock();

        rc = tree_send(&key, sizeof key, parent, comm);
        rc = rc ? rc : tree_receive(&r, sizeof r, parent, comm);
        uint64_t took = site_clock() - began;
        if (rc || took >= best)
            continue;
        best = took;
        *offset = r.offset + (r.key == key ? 0 : (int64_t)(r.now - began - took / 2));
    }
    return rc;
}

static int answer(int child, MPI_Comm comm, int64_t offset)
{
    uint64_t theirs = 0;
    int rc = MPI_SUCCESS;

    for (int i = 0; i < ROUNDS && !rc && theirs != key; i++) {
        rc = tree_receive(&theirs, sizeof theirs, child, comm);
        struct reading r = {key, site_clock(), offset};
        rc = rc ? rc : tree_send(&r, sizeof r, child, comm);
    }
    return rc;
}

/* Returns the offset, and when that was. Collective. */
static int64_t compare_clocks(MPI_Comm comm, uint64_t *when)
{
    struct tree tree;
    int64_t offset = 0;

    tree_open(&tree, mpi_process.world_rank, mpi_process.world_size, NULL);
    int rc = tree.parent < 0 ? MPI_SUCCESS : ask(tree.parent, comm, &offset);
    for (int i = tree.nchildren; i-- > 0 && !rc;) /* the farthest has the longest way to go on */
        rc = answer(tree.child[i], comm, offset);
    *when = site_clock();
    return offset;
}

void waits_open(uint64_t now)
{
    key = host_key();
    host_clock.offset_from = compare_clocks(MPI_COMM_WORLD, &host_clock.from);
    sampled_open(now);
}

static struct meetings all;

static size_t pack(char **data)
{
    *data = (char *)all.list;
    all.list = NULL;
    return all.n * sizeof *all.list;
}

static void unpack(const char *data, size_t size)
{
    const struct meeting *theirs = (const void *)data;

    if (meetings_add(&all, theirs, size / sizeof *theirs) < 0)
        all.n = 0; /* none has all its ranks then */
}

/* Has every rank what it needs? */
static int is_on_all(int here)
{
    int everywhere = 0;

    return mpi.Allreduce(&here, &everywhere, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD) == MPI_SUCCESS &&
           everywhere;
}

/* All ranks get rank 0's list. Returns 0 where one has no memory. */
static int share(void)
{
    int n = (int)all.n, rank = mpi_process.world_rank;

    if (mpi.Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD) != MPI_SUCCESS)
        return 0;
    if (rank) {
        free(all.list);
        all = (struct meetings){malloc((size_t)n * sizeof *all.list + 1), (size_t)n};
    }
    return is_on_all(all.list != NULL) && mpi.Bcast(all.list, n * (int)sizeof *all.list, MPI_BYTE,
                                                    0, MPI_COMM_WORLD) == MPI_SUCCESS;
}

/* Rank 0 gets the sums over all ranks, and when each rank was in the traced calls. */
static void add_up(const struct sample **own, uint64_t *sums)
{
    int n = mpi_process.world_size, rank = mpi_process.world_rank;
    struct waits_sum sum = {sums + rank, sums + n + rank, sums + 2 * n};
    struct waits_found *f = &waits_found;
    size_t traced = 0;
    int well = 0;

    meetings_attribute(&all, &host_clock, rank, own, &sum);
    struct waits_stay *mine = waits_stays(&all, &host_clock, own, &traced);
    f->stays = rank ? NULL : calloc((size_t)n * traced + 1, sizeof *f->stays);
    if (is_on_all(mine && (rank || f->stays)))
        well =
            mpi.Gather(mine, (int)(traced * sizeof *mine), MPI_BYTE, f->stays,
                       (int)(traced * sizeof *mine), MPI_BYTE, 0, MPI_COMM_WORLD) == MPI_SUCCESS &&
            mpi.Reduce(rank ? sums : MPI_IN_PLACE, sums, 3 * n, MPI_UINT64_T, MPI_SUM, 0,
                       MPI_COMM_WORLD) == MPI_SUCCESS;
    free(mine);
    if (well && !rank) {
        f->ranks = n;
        f->sums = sums;
        f->meetings = all;
        f->traced = traced;
    }
}

void waits_gather(MPI_Comm comm)
{
    int n = mpi_process.world_size, rank = mpi_process.world_rank;

    host_clock.offset_to = compare_clocks(comm, &host_clock.to);
    if (clock_has_jumped(&host_clock))
        host_clock.domain = (uint32_t)key | 1;
    if (meetings_begin(&all, &host_clock, rank) < 0)
        all.n = 0;
    gather_up(comm, pack, unpack);
    if (!rank) {
        meetings_keep_whole(&all);
        waits_choose(&all, n);
    }
    if (share()) {
        const struct sample **own = malloc((all.n + 1) * sizeof(const struct sample *));
        uint64_t *sums = calloc(3 * (size_t)n, sizeof *sums); /* rank 0's stay, with the list */

        if (own)
            meetings_find_own(&all, &host_clock, own);
        if (is_on_all(own && sums))
            add_up(own, sums);
        free(own);
        if (rank)
            free(sums);
    }
    if (rank)
        free(all.list);
}
