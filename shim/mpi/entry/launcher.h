/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which ranks of the job have collshim, as far as the job's launcher can tell. A rank announces
 * itself with the data that the MPI library publishes during MPI_Init. The library's own exchange
 * makes these known to all, so a later look-up finds the announcement or finds that there is none.
 *
 * Nothing is published after the library's own data, and no rank is waited for: that is invisible
 * to the library. The launcher's answer is waited for, however late it is. Two ranks must find the
 * same of each other, so the lack of an answer means nothing.
 */
#ifndef COLLSHIM_SHIM_MPI_LAUNCHER_H
#define COLLSHIM_SHIM_MPI_LAUNCHER_H

#include "shim/preload/backend.h"

enum launcher_state {
    LAUNCHER_ABSENT, /* the job has no launcher of this kind */
    LAUNCHER_LOST,   /* it has, but this rank's announcement did not get through */
    LAUNCHER_READY,  /* the others can see this rank, and `has` answers */
};

/* A rank's announcement. */
enum launcher_peer { PEER_ABSENT, PEER_HERE, PEER_OTHER_VERSION };

/* One kind of launcher. One thread calls: the one in MPI_Init. */
struct launcher {
    const char *name;
    /* Before the library's MPI_Init. */
    void (*announce)(void);
    /* After it. */
    enum launcher_state (*state)(void);
    /* In state LAUNCHER_READY: this rank of MPI_COMM_WORLD. Local, or one question to the
       launcher's daemon. */
    enum launcher_peer (*find)(int rank);
};

extern const struct launcher launcher_pmix, launcher_hydra;

/* At start: the preload's part of PMIx. */
void launcher_open(struct backend_announcement *announcement);
/* Around the library's MPI_Init. */
void launcher_announce(void);
/* Before the library's MPI_Session_init: it publishes its data there, before MPI_Init, so this rank
   will not announce itself. Then LAUNCHER_LOST. Any thread. */
void launcher_pass_by(void);
int launcher_is_passed_by(void);
/* The launcher that knows this job, or NULL. *lost: its name if this rank could not announce
   itself; else NULL. After the library's MPI_Init. */
const struct launcher *launcher_of_job(const char **lost);

#endif
