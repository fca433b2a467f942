/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rejected: tags of its own for each request, on the communicator's transport. The links in shared
 * memory keep state for one call at a time, and between nodes alone it is slower than blocking.
 * Rejected: freeing a channel with its request. MPI_Request_free is local, and making another one
 * takes longer than finding out which one all ranks have left.
 */
#include "shim/mpi/later/channel.h"

#include <pthread.h>
#include <stdlib.h>

#include "shim/mpi/comm/comm_plans.h"
#include "shim/mpi/comm/comm_setup.h"
#include "shim/mpi/comm/revoke.h"

/* A rank's message: a bit for each channel that is free here or not yet made, and */
enum { READY = 1 << CHANNELS_MOST, ANY = READY - 1 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of taken and parent */

static unsigned find_free(const struct mpi_comm *c)
{
    unsigned taken = 0;

    pthread_mutex_lock(&lock);
    for (int i = 0; i < CHANNELS_MOST; i++)
        if (c->persistent.channel[i] && c->persistent.channel[i]->persistent.taken)
            taken |= 1u << i;
    pthread_mutex_unlock(&lock);
    return ANY & ~taken;
}

/* The rails' rates may have changed since the channel was made. */
static int renew_topology(struct mpi_comm *channel, const struct mpi_comm *c)
{
    int *member = malloc((size_t)c->size * sizeof *member);
    struct topo *topo = NULL;

    for (int r = 0; member && r < c->size; r++)
        member[r] = r;
    int rc = member ? topo_restrict(c->topo, member, c->size, &topo) : -1;
    free(member);
    if (rc)
        return 0;
    mpi_comm_forget_plans(channel);
    topo_free(channel->topo);
    channel->topo = topo;
    return 1;
}

struct mpi_comm *channel_take(struct mpi_comm *c, int ready, int *well, enum reason *why)
{
    unsigned mine = find_free(c) | (ready ? READY : 0), all;

    *why = REASON_NOT_READY;
    if (mpi.Allreduce(&mine, &all, 1, MPI_UNSIGNED, MPI_BAND, c->private_comm) != MPI_SUCCESS ||
        !(all & READY))
        return NULL;
    *why = REASON_MANY_REQUESTS;
    if (!(all & ANY))
        return NULL;
    int i = __builtin_ctz(all); /* the same on all ranks; the first that is not made, or made */
    if (!c->persistent.channel[i]) {
        struct mpi_comm *made = mpi_comm_state(c->private_comm);

        if (made->verdict) {
            *why = made->verdict == REASON_MANY ? REASON_MANY_REQUESTS : made->verdict;
            mpi_comm_drop(made);
            return NULL;
        }
        made->persistent.parent = c;
        c->persistent.channel[i] = made;
    }
    *why = REASON_NONE;
    *well = renew_topology(c->persistent.channel[i], c);
    pthread_mutex_lock(&lock);
    c->persistent.channel[i]->persistent.taken = 1;
    pthread_mutex_unlock(&lock);
    return c->persistent.channel[i];
}

void channel_leave(struct mpi_comm *channel)
{
    pthread_mutex_lock(&lock);
    channel->persistent.taken = 0;
    int orphan = !channel->persistent.parent;
    pthread_mutex_unlock(&lock);
    if (orphan)
        mpi_comm_drop(channel);
}

int channel_is_orphan(const struct mpi_comm *channel)
{
    return !__atomic_load_n(&channel->persistent.parent, __ATOMIC_ACQUIRE);
}

void channels_leave(struct mpi_comm *c)
{
    for (int i = 0; i < CHANNELS_MOST; i++) {
        struct mpi_comm *channel = c->persistent.channel[i];

        if (!channel)
            continue;
        pthread_mutex_lock(&lock);
        int taken = channel->persistent.taken;
        __atomic_store_n(&channel->persistent.parent, NULL, __ATOMIC_RELEASE);
        pthread_mutex_unlock(&lock);
        if (!taken)
            mpi_comm_drop(channel);
        else
            revoke_unfollow(&channel->revocable);
    }
}
