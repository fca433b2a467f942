/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two exchanges: where each node's segment is, then who could use it. Whether a node shares memory
 * is thus known to all its ranks alike before the first byte moves; single copy or not is decided
 * by each receiver for itself, message by message (transports/shm.h).
 */
#include "shim/mpi/links.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "shim/mpi/calls.h"
#include "shim/mpi/process.h"
#include "transports/mpi_p2p.h"
#include "transports/route.h"
#include "transports/shm.h"

static struct mpi_p2p_calls p2p_calls;

/* One rank's half of the exchanges. */
struct meeting {
    const struct topo *topo;
    const struct topo_report *report;
    int rank;
    int *member;           /* [nranks] owned: the ranks that share memory with this one, rising */
    int members;           /* 0: this rank takes no part */
    unsigned char *near;   /* [nranks] owned */
    struct shm_offer *all; /* [nranks] owned */
    struct shm_offer *node;
    int32_t *error; /* [nranks] owned: what kept each rank from joining, or 0 */
};

void links_init(void)
{
    p2p_calls = (struct mpi_p2p_calls){.Isend = mpi.Isend,
                                       .Irecv = mpi.Irecv,
                                       .Testsome = mpi.Testsome,
                                       .Iprobe = mpi.Iprobe,
                                       .Cancel = mpi.Cancel,
                                       .Request_free = mpi.Request_free,
                                       .Get_count = mpi.Get_count};
}

/* A topology that the user wrote may put ranks of one host on several nodes, which then are to be
   as separate as nodes are, and ranks of several hosts on one, which cannot share memory. */
static int is_near(const struct meeting *m, int rank)
{
    return m->topo->rank[rank].node == m->topo->rank[m->rank].node &&
           m->report[rank].node_key == m->report[m->rank].node_key;
}

static int meeting_open(struct meeting *m, int wanted)
{
    size_t n = (size_t)m->topo->nranks;

    m->member = malloc(n * sizeof *m->member);
    m->near = calloc(n, 1);
    m->all = calloc(n, sizeof *m->all);
    m->node = malloc(n * sizeof *m->node);
    m->error = calloc(n, sizeof *m->error);
    if (!m->member || !m->near || !m->all || !m->node || !m->error)
        return 0;
    for (int r = 0; r < m->topo->nranks && wanted; r++)
        if (is_near(m, r)) {
            m->near[r] = r != m->rank;
            m->member[m->members++] = r;
        }
    if (m->members < 2)
        m->members = 0;
    return 1;
}

static void meeting_close(struct meeting *m)
{
    free(m->member);
    free(m->near);
    free(m->all);
    free(m->node);
    free(m->error);
    free(m);
}

/* What kept the first of this node's ranks that could not join, or 0. */
static int why_not(const struct meeting *m)
{
    for (int i = 0; i < m->members; i++)
        if (m->error[m->member[i]])
            return m->error[m->member[i]];
    return 0;
}

/* The first rank of a node says what it uses. */
static void announce(const struct links *l, const struct meeting *m, int error)
{
    int why;

    if (!m->members || m->member[0] != m->rank)
        return;
    if (error)
        say_here(CFG_LEVEL_INFO, "%d ranks of a node use MPI between them: no shared memory (%s)",
                 m->members, strerror(error));
    else if (xport_shm_single_copy(&l->shm, &why))
        say_here(CFG_LEVEL_INFO, "%d ranks of a node share memory, single copy", m->members);
    else
        say_here(CFG_LEVEL_INFO,
                 "%d ranks of a node share memory, two copies: peers' memory cannot be read (%s)",
                 m->members, process.cfg.shm == CFG_SHM_COPY ? "COLLSHIM_SHM" : strerror(why));
}

/* Both exchanges. Collective over comm. Returns 1 if this rank can go on. */
static int share_memory(struct links *l, struct meeting *m, MPI_Comm comm)
{
    struct shm_offer offer = {.fd = -1};
    int n = m->topo->nranks, ready = 1;
    int32_t error = 0;

    if (m->members)
        ready = xport_shm_open(m->member, m->members, m->rank, n, process.cfg.shm == CFG_SHM_COPY,
                               &l->shm, &offer) == 0;
    if (mpi.Allgather(&offer, sizeof offer, MPI_BYTE, m->all, sizeof offer, MPI_BYTE, comm) !=
        MPI_SUCCESS)
        return 0;
    for (int i = 0; i < m->members; i++)
        m->node[i] = m->all[m->member[i]];
    if (m->members)
        error = ready ? -xport_shm_join(&l->shm, m->node) : ENOMEM;
    if (mpi.Allgather(&error, sizeof error, MPI_BYTE, m->error, sizeof error, MPI_BYTE, comm) !=
        MPI_SUCCESS)
        return 0;
    error = why_not(m);
    announce(l, m, error);
    if (!m->members || error) {
        xport_shm_close(&l->shm);
        return 1;
    }
    xport_shm_joined(&l->shm);
    if (xport_route_open(&l->shm, &l->mpi, m->near, n, &l->route))
        return 0;
    l->use = &l->route;
    return 1;
}

int links_prepare(struct links *l, MPI_Comm private_comm, const struct topo *topo,
                  const struct topo_report *report, int rank)
{
    l->use = &l->mpi;
    l->meeting = calloc(1, sizeof *l->meeting);
    if (!l->meeting || xport_mpi_p2p_open(&p2p_calls, private_comm, process.cuda_aware, &l->mpi))
        return 0;
    *l->meeting = (struct meeting){.topo = topo, .report = report, .rank = rank};
    return meeting_open(l->meeting, process.cfg.shm != CFG_SHM_OFF);
}

int links_share(struct links *l, MPI_Comm comm)
{
    int well = share_memory(l, l->meeting, comm);

    meeting_close(l->meeting);
    l->meeting = NULL;
    return well;
}

void links_part(struct links *l)
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
    if (l->meeting)
        meeting_close(l->meeting);
    l->meeting = NULL;
    xport_route_close(&l->route);
    xport_shm_close(&l->shm);
    xport_mpi_p2p_close(&l->mpi);
}
