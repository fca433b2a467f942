/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Helpers are no MPI processes: MPI_Comm_spawn does not work under every launcher, and would make
 * them part of the application's job. So the ranks exchange the helpers' addresses for them.
 */
#include "shim/mpi/comm/team.h"

#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "shim/helper/helpers.h"
#include "shim/mpi/api/calls.h"
#include "shim/mpi/api/process.h"
#include "shim/mpi/comm/ipc_window.h"
#include "shim/record/counts/count.h"
#include "transports/net/ucx.h"

/* The values that the ranks agree on, each by its smallest. The room is negative, since the largest
   counts. The team's number is the first rank's. */
enum { HELPERS, ADDRESS_ROOM, TEAM, AGREED };
enum { RANK_BITS = 24 };

/* One exchange of addresses. */
struct introduction {
    int helpers, nranks, rank;
    size_t room;    /* bytes of an address, padded */
    char *own;      /* [helpers][room] owned */
    char *everyone; /* [nranks][helpers][room] owned */
};

static size_t longest_address(int helpers)
{
    size_t longest = 1, bytes;

    for (int i = 0; i < helpers; i++) {
        helpers_address(i, &bytes);
        longest = bytes > longest ? bytes : longest;
    }
    return longest;
}

/* How many helpers this rank has to offer; the channel goes to t. */
static int prepare(struct mpi_team *t, const char **why)
{
    int n = helpers_start(settings.cfg.ppg - 1, why);

    if (n < 1)
        return 0;
    t->channel = helpers_take_channel();
    if (t->channel >= 0)
        return n;
    *why = "more communicators at once than helpers have channels";
    return 0;
}

static int order_done(int helper, int channel)
{
    enum helpers_state state;

    while ((state = helpers_look(helper, channel)) == HELPERS_WORKS)
        sched_yield();
    return state == HELPERS_DONE;
}

/* Tell one helper who its peers are. Returns 1 if it knows. */
static int introduce(const struct introduction *in, int helper, int channel, uint32_t team)
{
    size_t bytes = (size_t)in->nranks * in->room;
    char *payload = helpers_payload(helper, channel, bytes);

    if (!payload)
        return 0;
    for (int r = 0; r < in->nranks; r++)
        memcpy(payload + (size_t)r * in->room,
               in->everyone + ((size_t)r * (size_t)in->helpers + (size_t)helper) * in->room,
               in->room);
    /* One number for all teams of the communicator: they have no member in common. */
    helpers_post(helper, channel,
                 &(struct mailbox_order){.kind = MAILBOX_OPEN,
                                         .team = team,
                                         .rank = in->rank,
                                         .nranks = in->nranks,
                                         .address_bytes = in->room});
    return order_done(helper, channel);
}

static int team_exchange(struct introduction *in, MPI_Comm comm)
{
    int each = in->helpers * (int)in->room;

    in->own = calloc((size_t)in->helpers, in->room);
    in->everyone = malloc((size_t)in->nranks * (size_t)each);
    int well = in->own && in->everyone, all = 0;
    if (mpi.Allreduce(&well, &all, 1, MPI_INT, MPI_MIN, comm) != MPI_SUCCESS || !all)
        return 0;
    for (int i = 0; i < in->helpers; i++) {
        size_t bytes;
        const void *address = helpers_address(i, &bytes);

        memcpy(in->own + (size_t)i * in->room, address, bytes);
    }
    return mpi.Allgather(in->own, each, MPI_BYTE, in->everyone, each, MPI_BYTE, comm) ==
           MPI_SUCCESS;
}

/* Collective. Returns 1, on all ranks alike, if all helpers know each other. */
static int team_meet(const struct mpi_team *t, struct introduction *in, MPI_Comm comm,
                     uint32_t team)
{
    int well = team_exchange(in, comm), all = 0;

    for (int i = 0; i < in->helpers && well; i++)
        well = introduce(in, i, t->channel, team);
    free(in->own);
    free(in->everyone);
    return mpi.Allreduce(&well, &all, 1, MPI_INT, MPI_MIN, comm) == MPI_SUCCESS && all;
}

static void release(struct mpi_team *t, int helpers)
{
    for (int i = 0; i < helpers; i++) {
        helpers_post(i, t->channel, &(struct mailbox_order){.kind = MAILBOX_CLOSE});
        int closed = order_done(i, t->channel);
        if (t->lent)
            ipc_window_free(&t->lent[i + 1], closed);
    }
    helpers_return_channel(t->channel);
}

void team_open(struct mpi_team *t, const struct topo *topo)
{
    *t = (struct mpi_team){.ppg = 1, .channel = -1};
    if (settings.cfg.ppg < 2 || topo->nnodes < 2 || topo->nranks >= 1 << RANK_BITS)
        return;
    t->starting = 1;
    t->began = count_now();
    helpers_begin(settings.cfg.ppg - 1);
}

/* Calls 1, 2, 4 and 8, and every 16th from there on. */
static int is_due(unsigned calls)
{
    enum { OFTEN = 16 };

    return calls % OFTEN == 0 || (calls < OFTEN && (calls & (calls - 1)) == 0);
}

static int all_settled(MPI_Comm comm)
{
    int settled = helpers_settled(), all = 0;

    return mpi.Allreduce(&settled, &all, 1, MPI_INT, MPI_MIN, comm) == MPI_SUCCESS && all;
}

void team_join(struct mpi_team *t, MPI_Comm comm, const struct topo *topo, int rank, int wait)
{
    const char *why = "";
    int mine[AGREED], least[AGREED];

    if (!wait && (!is_due(++t->calls) || !all_settled(comm)))
        return;
    t->starting = 0;
    int offered = prepare(t, &why);
    mine[HELPERS] = offered << RANK_BITS | rank; /* of several, the lowest rank will speak */
    mine[ADDRESS_ROOM] = -(int)longest_address(offered);
    /* No two communicators that are open have the same first rank and there the same channel. */
    mine[TEAM] = rank == 0 ? mpi_process.world_rank * MAILBOX_CHANNELS + t->channel : INT_MAX;
    if (mpi.Allreduce(mine, least, AGREED, MPI_INT, MPI_MIN, comm) != MPI_SUCCESS)
        least[HELPERS] = 0;
    int helpers = least[HELPERS] >> RANK_BITS, team = least[TEAM];
    if (least[HELPERS] == mine[HELPERS] && offered < settings.cfg.ppg - 1)
        say_here(CFG_LEVEL_WARN, "COLLSHIM_PPG=%d: %d on all ranks, as rank %d has no more: %s",
                 settings.cfg.ppg, helpers + 1, mpi_process.world_rank, why);
    struct introduction in = {.helpers = helpers,
                              .nranks = topo->nranks,
                              .rank = rank,
                              .room = (size_t)-least[ADDRESS_ROOM]};
    if (helpers > 0 && team < UCX_TEAMS) {
        if (team_meet(t, &in, comm, (uint32_t)team)) {
            t->helpers = helpers;
            t->ppg = helpers + 1;
            t->lent = calloc((size_t)t->ppg, sizeof *t->lent);
            t->nlent = t->lent ? t->ppg : 0;
            say(CFG_LEVEL_INFO,
                "%d processes per rank on %d ranks, ready within %.3f s; cores of rank 0: %d",
                t->ppg, topo->nranks, count_now() - t->began, helpers_cores());
            return;
        }
        say(CFG_LEVEL_WARN,
            "COLLSHIM_PPG=%d: helpers of some rank cannot be introduced to each "
            "other; none are used",
            settings.cfg.ppg);
        helpers_dismiss();
    }
    if (t->channel >= 0)
        helpers_return_channel(t->channel);
}

void team_close(struct mpi_team *t)
{
    if (t->ppg > 1)
        release(t, t->ppg - 1);
    for (int i = 0; i < t->nlent; i++)
        ipc_window_free(&t->lent[i], i == 0);
    free(t->lent);
    *t = (struct mpi_team){0};
}

void team_give_up(struct mpi_team *t)
{
    helpers_dismiss();
    t->ppg = 0;
}
