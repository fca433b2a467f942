/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All ranks of a node know alike, before the first byte moves, whether the node shares memory. Each
 * receiver decides on single copy for itself, message by message (transports/shm/shm.h).
 */
#include "shim/mpi/comm/links.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "shim/mpi/api/calls.h"
#include "shim/mpi/api/process.h"
#include "shim/mpi/comm/revoke.h"
#include "transports/engine/route.h"
#include "transports/net/mpi_p2p.h"

static struct mpi_p2p_calls p2p_calls;

void links_init(void)
{
    p2p_calls = (struct mpi_p2p_calls){.Isend = mpi.Isend,
                                       .Irecv = mpi.Irecv,
                                       .Testsome = mpi.Testsome,
                                       .Iprobe = mpi.Iprobe,
                                       .Cancel = mpi.Cancel,
                                       .Request_free = mpi.Request_free,
                                       .Error_class = mpi.Error_class,
                                       .Get_count = mpi.Get_count,
                                       .failed = revoke_failed};
}

int links_offer(struct links *l, int nranks, struct shm_offer *offer)
{
    size_t n = (size_t)nranks;

    *offer = (struct shm_offer){.fd = -1};
    l->nranks = nranks;
    l->member = malloc(n * sizeof *l->member);
    l->near = calloc(n, 1);
    l->node = malloc(n * sizeof *l->node);
    return l->member && l->near && l->node &&
           (settings.cfg.test_shm == CFG_SHM_OFF ||
            !xport_shm_open(settings.cfg.test_shm == CFG_SHM_COPY, &l->shm, offer));
}

/* The user's topology may put ranks of one host on several nodes, which then are as separate as
   nodes are. It may put ranks of several hosts on one node, which cannot share memory. */
static int share(const struct topo *t, const struct topo_report *report, int a, int b)
{
    return t->rank[a].node == t->rank[b].node && report[a].node_key == report[b].node_key;
}

int links_place(struct links *l, const struct topo *topo, const struct topo_report *report,
                int rank)
{
    for (int r = 0; r < l->nranks && l->shm.state; r++)
        if (share(topo, report, r, rank)) {
            l->near[r] = r != rank;
            l->member[l->members++] = r;
        }
    if (l->members < 2) {
        l->members = 0;
        return 0;
    }
    return -xport_shm_place(&l->shm, l->member, l->members, rank, l->nranks);
}

int links_join(struct links *l, MPI_Comm private_comm, const struct shm_offer *offer, int *error)
{
    l->use = &l->mpi;
    if (xport_mpi_p2p_open(&p2p_calls, private_comm, mpi_process.cuda_aware, &l->mpi))
        return 0;
    if (!l->members)
        return 1;
    for (int i = 0; i < l->members; i++)
        l->node[i] = offer[l->member[i]];
    if (!*error)
        *error = -xport_shm_join(&l->shm, l->node);
    return !xport_route_open(&l->shm, &l->mpi, l->near, l->nranks, &l->route);
}

static void say_without_shm(const struct links *l, int error)
{
    int why;

    if (error)
        say_here(CFG_LEVEL_INFO, "%d ranks of a node use MPI between them: no shared memory (%s)",
                 l->members, strerror(error));
    else if (xport_shm_single_copy(&l->shm, &why))
        say_here(CFG_LEVEL_INFO, "%d ranks of a node share memory, single copy", l->members);
    else
        say_here(CFG_LEVEL_INFO,
                 "%d ranks of a node share memory, two copies: peers' memory cannot be read (%s)",
                 l->members,
                 settings.cfg.test_shm == CFG_SHM_COPY ? "COLLSHIM_TEST_SHM" : strerror(why));
}

void links_choose(struct links *l, int rank, const int *error)
{
    int first = 0; /* the error of the first of this node's ranks that could not join */

    for (int i = 0; i < l->members && !first; i++)
        first = error[l->member[i]];
    if (l->members && l->member[0] == rank)
        say_without_shm(l, first);
    if (!l->members || first) {
        xport_shm_close(&l->shm);
        return;
    }
    xport_shm_joined(&l->shm);
    l->use = &l->route;
}

void links_leave(struct links *l)
{
    unsigned none;

    /* A peer may need the library's progress here to get as far. */
    while (!xport_shm_part(&l->shm)) {
        l->mpi.poll(l->mpi.state, NULL, &none);
        sched_yield();
    }
}

void links_close(struct links *l)
{
    xport_route_close(&l->route);
    xport_shm_close(&l->shm);
    xport_mpi_p2p_close(&l->mpi);
    free(l->member);
    free(l->near);
    free(l->node);
}
