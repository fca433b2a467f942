/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/comm/comm.h"

#include <stdlib.h>

#include "shim/decide/base/thread_own.h"
#include "shim/mpi/api/attribute.h"
#include "shim/mpi/api/outlay.h"
#include "transports/cuda/cuda_memory.h"

struct mpi_comm mpi_comm_lacking = {.verdict = REASON_MEMORY};

/*
 * A library has a fixed stock of communicators (MPICH some 2,000), and each of ours is taken from
 * the application. Its shared memory may be a MiB per rank. So their number is limited.
 */
enum { MOST_AT_ONCE = 64 };
static int at_once; /* any thread counts */

int mpi_comm_take_place(struct mpi_comm *c)
{
    c->placed = __atomic_add_fetch(&at_once, 1, __ATOMIC_RELAXED) <= MOST_AT_ONCE;
    if (!c->placed)
        __atomic_sub_fetch(&at_once, 1, __ATOMIC_RELAXED);
    return c->placed;
}

static void leave_place(const struct mpi_comm *c)
{
    if (c->placed)
        __atomic_sub_fetch(&at_once, 1, __ATOMIC_RELAXED);
}

void mpi_comm_empty(struct mpi_comm *c)
{
    for (int i = 0; i < comm_parts_n; i++)
        if (comm_parts[i].drop)
            comm_parts[i].drop(c);
    revoke_unfollow(&c->revocable);
    __atomic_sub_fetch(&outlay_wanted, c->wants.pair + c->wants.team, __ATOMIC_RELAXED);
    links_leave(&c->links);
    ask_close(&c->ask);
    team_close(&c->team);
    for (int i = 0; i < GPUS_KEPT; i++)
        cuda_gpu_close(c->room.gpu[i]);
    links_close(&c->links);
    topo_free(c->topo);
    free(c->room.bytes);
    free(c->room.offset);
    store_rows_free(&c->measured.found);
    leave_place(c);
    variants_free(&c->variants);
    if (c->private_comm != MPI_COMM_NULL)
        mpi.Comm_free(&c->private_comm);
}

void mpi_comm_drop(struct mpi_comm *c)
{
    if (c == &mpi_comm_lacking)
        return;
    mpi_comm_empty(c);
    free(c->memory);
}

static int on_comm_free(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm;
    (void)keyval;
    (void)extra;
    struct mpi_comm *c = value;

    attribute_gone();
    mpi_comm_drop(c);
    return MPI_SUCCESS;
}

int mpi_comm_open(void)
{
    int rc = MPI_SUCCESS;

    for (int i = 0; i < comm_parts_n && rc == MPI_SUCCESS; i++)
        if (comm_parts[i].open)
            rc = comm_parts[i].open();
    return rc ? rc
              : mpi.Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_comm_free, &mpi_process.keyval,
                                       NULL);
}

void mpi_comm_close(void)
{
    for (int i = 0; i < comm_parts_n; i++)
        if (comm_parts[i].close)
            comm_parts[i].close();
    if (mpi_process.keyval == MPI_KEYVAL_INVALID)
        return;
    if (mpi_comm_find(MPI_COMM_WORLD))
        mpi.Comm_delete_attr(MPI_COMM_WORLD, mpi_process.keyval);
    mpi.Comm_free_keyval(&mpi_process.keyval);
}

void mpi_comm_drain(struct mpi_comm *c)
{
    for (int i = 0; i < comm_parts_n; i++)
        if (comm_parts[i].drain)
            comm_parts[i].drain(c);
}

void mpi_comm_renew(MPI_Comm comm)
{
    for (int i = 0; i < comm_parts_n; i++)
        if (comm_parts[i].renew)
            comm_parts[i].renew(comm);
}

#define last THREAD_OWN(comm, struct attribute_seen)

struct mpi_comm *mpi_comm_find(MPI_Comm comm)
{
    return attribute_find(comm, mpi_process.keyval, &last);
}

int mpi_comm_leave(MPI_Comm comm)
{
    void *value;
    int found = 0, rc = mpi_process.keyval == MPI_KEYVAL_INVALID
                            ? MPI_SUCCESS
                            : mpi.Comm_get_attr(comm, mpi_process.keyval, &value, &found);

    return found && rc == MPI_SUCCESS ? mpi.Comm_delete_attr(comm, mpi_process.keyval) : rc;
}
