/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The helpers of a communicator's ranks: helper i of each rank is rank r of the i-th of several
 * teams that mirror the communicator. Opened with the communicator, where COLLSHIM_PPG asks for it.
 *
 * Thread rule: as struct mpi_comm.
 */
#ifndef COLLSHIM_SHIM_MPI_TEAM_H
#define COLLSHIM_SHIM_MPI_TEAM_H

#include <mpi.h>

#include "config/topo/topo.h"

struct mpi_team {
    int ppg;        /* processes per rank, the same on all ranks; 1: no helpers; 0: there were */
    int helpers;    /* of each rank when it opened, on all ranks; still after they are given up */
    int channel;    /* of each helper's mailbox, here; meaningless where ppg < 2 */
    int starting;   /* whether there are helpers is not known yet */
    unsigned calls; /* since then */
    double began;   /* s */
    int nlent;
    struct ipc_window *lent; /* [nlent] owned: NULL: slices lie on the host */
};

/* Start this process's helpers, if the communicator may use any; topo is its topology. Local, and
   t->starting is then the same on all ranks. */
void team_open(struct mpi_team *t, const struct topo *topo);

/*
 * While t->starting, before each call that helpers could carry: have all ranks' helpers started?
 * Then agree on how many each rank has, and introduce them to each other. wait: wait for that;
 * otherwise ranks ask now and then, and the calls in between use no helpers. Collective over comm,
 * with the same wait. Leaves ppg 1, on all ranks, if that fails on any; one line then says why.
 */
void team_join(struct mpi_team *t, MPI_Comm comm, const struct topo *topo, int rank, int wait);

/* Local. All zero is fine. */
void team_close(struct mpi_team *t);

/* A helper of some rank failed, as all ranks know: no rank asks them again. */
void team_give_up(struct mpi_team *t);

#endif
