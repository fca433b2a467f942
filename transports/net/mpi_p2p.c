/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests are kept dense, so that MPI_Testsome looks only at what is in flight. Rejected:
 * MPI_Waitsome, because it spins inside the library while a local copy could run. In several
 * libraries it never yields the CPU.
 */
#include "transports/net/mpi_p2p.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#define RECEIVES 0x40000000u

struct p2p {
    const struct mpi_p2p_calls *mpi; /* borrowed */
    MPI_Comm comm;                   /* borrowed */
    MPI_Request *request;            /* [room] owned: the first `active` are in flight */
    unsigned *slot;                  /* [room] owned: the slot of each; RECEIVES: it is a receive */
    int *length;                     /* [room] owned: of each, in bytes */
    int *index;                      /* [room] owned: what Testsome reports */
    MPI_Status *status;              /* [room] owned */
    unsigned active, room;
    int error; /* of every later call: see p2p_abandon */
};

static int p2p_reserve(void *state, unsigned nslots)
{
    struct p2p *p = state;

    p->active = 0;
    if (p->error || nslots <= p->room)
        return p->error;
    MPI_Request *request = malloc(nslots * sizeof(MPI_Request));
    unsigned *slot = malloc(nslots * sizeof *slot);
    int *length = malloc(nslots * sizeof *length);
    int *index = malloc(nslots * sizeof *index);
    MPI_Status *status = malloc(nslots * sizeof *status);
    if (!request || !slot || !length || !index || !status) {
        free(request);
        free(slot);
        free(length);
        free(index);
        free(status);
        return -ENOMEM;
    }
    free(p->request);
    free(p->slot);
    free(p->length);
    free(p->index);
    free(p->status);
    p->request = request;
    p->slot = slot;
    p->length = length;
    p->index = index;
    p->status = status;
    p->room = nslots;
    return 0;
}

static int p2p_send(void *state, unsigned slot, const void *buf, size_t length, int peer, int tag)
{
    struct p2p *p = state;

    if (length > INT_MAX)
        return MPI_ERR_COUNT;
    int rc = p->mpi->Isend(buf, (int)length, MPI_BYTE, peer, tag, p->comm, &p->request[p->active]);

    if (rc == MPI_SUCCESS)
        p->slot[p->active++] = slot;
    return rc;
}

static int p2p_recv(void *state, unsigned slot, void *buf, size_t length, int peer, int tag)
{
    struct p2p *p = state;

    if (length > INT_MAX)
        return MPI_ERR_COUNT;
    int rc = p->mpi->Irecv(buf, (int)length, MPI_BYTE, peer, tag, p->comm, &p->request[p->active]);

    if (rc == MPI_SUCCESS) {
        p->length[p->active] = (int)length;
        p->slot[p->active++] = slot | RECEIVES;
    }
    return rc;
}

/* The slot of what Testsome reports i-th, as xport.h has it. too_long: more was sent than there is
   room for. */
static unsigned completion(const struct p2p *p, int i, int too_long)
{
    unsigned slot = p->slot[p->index[i]];
    int bytes = 0;

    if (!(slot & RECEIVES))
        return slot;
    slot &= ~RECEIVES;
    if (too_long)
        return slot | XPORT_UNEQUAL;
    p->mpi->Get_count(&p->status[i], MPI_BYTE, &bytes);
    return !bytes                            ? slot | XPORT_FAILED
           : bytes != p->length[p->index[i]] ? slot | XPORT_UNEQUAL
                                             : slot;
}

static int class_of(const struct p2p *p, int code)
{
    int class = code;

    p->mpi->Error_class(code, &class);
    return class;
}

/* Close the gaps that completed requests left. */
static void compact(struct p2p *p)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < p->active; i++)
        if (p->request[i] != MPI_REQUEST_NULL) {
            p->request[kept] = p->request[i];
            p->length[kept] = p->length[i];
            p->slot[kept++] = p->slot[i];
        }
    p->active = kept;
}

static int p2p_poll(void *state, unsigned *done, unsigned *ndone)
{
    struct p2p *p = state;
    int completed = 0;

    *ndone = 0;
    if (!p->active) /* the library's other traffic still wants to move on */
        return p->mpi->Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, p->comm, &completed, MPI_STATUS_IGNORE);
    int rc = p->mpi->Testsome((int)p->active, p->request, &completed, p->index, p->status);
    int unequal = rc != MPI_SUCCESS && class_of(p, rc) == MPI_ERR_IN_STATUS;

    if (rc != MPI_SUCCESS && !unequal)
        return rc;
    if (completed == MPI_UNDEFINED || completed == 0)
        return 0;
    for (int i = 0; i < completed; i++) {
        int code = unequal ? p->status[i].MPI_ERROR : MPI_SUCCESS;

        if (code != MPI_SUCCESS && class_of(p, code) != MPI_ERR_TRUNCATE)
            return code;
        done[(*ndone)++] = completion(p, i, code != MPI_SUCCESS);
    }
    compact(p);
    return 0;
}

/* Messages that have left stay with their receivers, and a later call has the same tags: there is
   none. */
static void p2p_abandon(void *state)
{
    struct p2p *p = state;

    p->error = -EPIPE;
    for (unsigned i = 0; i < p->active; i++)
        if (p->request[i] != MPI_REQUEST_NULL) {
            p->mpi->Cancel(&p->request[i]);
            p->mpi->Request_free(&p->request[i]);
        }
    p->active = 0;
    if (p->mpi->failed)
        p->mpi->failed(p->comm);
}

static int p2p_moves_device(void *state, int peer, int tag)
{
    (void)state, (void)peer, (void)tag;
    return 1;
}

int xport_mpi_p2p_open(const struct mpi_p2p_calls *calls, MPI_Comm comm, int moves_device,
                       struct xport *x)
{
    struct p2p *p = calloc(1, sizeof *p);

    if (!p)
        return -ENOMEM;
    p->mpi = calls;
    p->comm = comm;
    *x = (struct xport){.name = "mpi",
                        .state = p,
                        .send = p2p_send,
                        .recv = p2p_recv,
                        .moves_device = moves_device ? p2p_moves_device : NULL,
                        .poll = p2p_poll,
                        .abandon = p2p_abandon,
                        .reserve = p2p_reserve};
    return 0;
}

void xport_mpi_p2p_close(struct xport *x)
{
    struct p2p *p = x->state;

    if (!p)
        return;
    free(p->request);
    free(p->slot);
    free(p->length);
    free(p->index);
    free(p->status);
    free(p);
    x->state = NULL;
}
