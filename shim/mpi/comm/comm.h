/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shim's state for a communicator, on an attribute of it: the private communicator, the
 * topology its ranks agreed on, and the plans in use. Made in the first call that all ranks send
 * down the rerouting branch; freed with the communicator.
 *
 * Thread rule: MPI lets one thread at a time be in a collective of a communicator, and the
 * state is touched nowhere else.
 */
#ifndef COLLSHIM_SHIM_MPI_COMM_H
#define COLLSHIM_SHIM_MPI_COMM_H

#include <mpi.h>

#include "planners/choose/registry.h"
#include "planners/links/load.h"
#include "shim/decide/choose/division.h"
#include "shim/decide/choose/follow.h"
#include "shim/decide/guard/guard.h"
#include "shim/decide/store/store_rows.h"
#include "shim/mpi/api/process.h"
#include "shim/mpi/call/reduction.h"
#include "shim/mpi/comm/ask.h"
#include "shim/mpi/comm/gpus.h"
#include "shim/mpi/comm/links.h"
#include "shim/mpi/comm/revoke.h"
#include "shim/mpi/comm/team.h"
#include "shim/mpi/comm/variant_comms.h"
#include "transports/engine/engine.h"

struct mpi_plan;         /* a cached plan with its engine */
struct cuda_gpu;         /* its memory and streams of a device (transports/cuda/cuda_memory.h) */
struct alltoallv_matrix; /* the matrix of sizes (alltoallv_matrix.h) */

enum { GPUS_KEPT = 4, CHANNELS_MOST = 8 };

/* The rails, as far as they are known (rails_follow.h). */
struct mpi_rails {
    enum load_worth measured; /* so far; all of it if there is nothing to be measured */
    double rate;              /* measured, of a usual rail: bytes/s; 0: not known */
    struct load_crossed crossed;
    int followed;        /* they were measured, and may change */
    int noted;           /* the last call was (rails_note) */
    int of_profile;      /* the topology's rates are those of a tuning profile */
    int nodes_as_in_job; /* the topology's nodes are all of the job's, in its order */
    struct follow follow;
};

/* The calls so far. */
struct mpi_history {
    uint32_t first_done; /* collectives whose first call was the library's: a bit each */
    uint32_t rerouted;   /* collectives of which a blocking call was: a bit each */
    unsigned ab_count;   /* rerouted calls, for COLLSHIM_MODE=ab */
};

/* Measurements of the calls. */
struct mpi_measured {
    struct guard guard;
    struct mpi_due {
        struct guard_entry *entry; /* NULL: none */
        enum plan_collective collective;
        unsigned kind;
        uint64_t total;
    } due;                      /* of the last call that was timed: to be concluded, perhaps */
    struct store_rows found;    /* owned: by earlier communicators (stored.h) */
    struct divisions divisions; /* of calls on two paths */
};

/* Memory that calls use one after the other. */
struct mpi_room {
    size_t *bytes;                   /* [size] owned: a call's block sizes */
    uint64_t *offset;                /* [size] owned: where they start, packed */
    struct cuda_gpu *gpu[GPUS_KEPT]; /* owned: of as many contexts as calls have used */
};

/* The plans in use (comm_plans.h). */
struct mpi_plans {
    struct mpi_plan *list; /* owned */
    uint32_t uses;         /* counted by prepared calls */
    int preparing;         /* a call is prepared (mpi_comm_prepare) */
    int unagreed;          /* it needs a plan that the ranks have not agreed on */
};

/* Nonblocking calls. */
struct mpi_nonblocking {
    struct pending *first, *last; /* under way; owned by those who started them (pending.h) */
    struct mpi_comm *next_busy;   /* of those with pending calls */
};

/* Persistent calls (channel.h). */
struct mpi_persistent {
    struct mpi_comm *channel[CHANNELS_MOST]; /* owned; NULL: not made */
    struct mpi_comm *parent; /* of a channel: whose it is; NULL: that is gone, or this is none */
    int taken;               /* of a channel: by a request */
};

/* Agreements that a nonblocking call lacked: the next blocking one brings them. */
struct mpi_wants {
    struct reduction reduction; /* its pair is to be agreed on, */
    int pair;                   /* if so */
    int team;                   /* it would use helpers, which have not started */
};

struct mpi_comm {
    void *memory;        /* owned: of this struct, which begins at the edge of a cache line */
    enum reason verdict; /* REASON_NONE, or why all calls on this communicator run natively */
    int rank, size;
    int placed;                 /* it counts as one of those that have a private_comm */
    MPI_Comm private_comm;      /* owned */
    struct topo *topo;          /* owned */
    struct links links;         /* owned */
    struct mpi_team team;       /* owned */
    struct variants variants;   /* owned */
    struct gpus gpus;           /* the ranks' devices, as far as known */
    struct ask ask;             /* owned */
    struct revocable revocable; /* where the library reports failures (revoke.h) */
    struct mpi_rails rails;
    struct mpi_history history;
    struct mpi_measured measured;
    struct mpi_room room;
    struct mpi_plans plans;
    struct mpi_nonblocking nonblocking;
    struct mpi_persistent persistent;
    struct mpi_wants wants;
    struct alltoallv_matrix *matrix;      /* owned: NULL until Alltoallv needs it */
    unsigned char pairs[REDUCTION_PAIRS]; /* agreed on (reduction_pairs.h) */
};

/*
 * A part of each communicator's state that belongs to a room above: a row of comm_parts.c. So the
 * state knows none of them. A function may be NULL.
 */
struct comm_part {
    int (*open)(void);                 /* at MPI_Init: returns an MPI code */
    void (*close)(void);               /* at MPI_Finalize; never opened is fine */
    void (*drain)(struct mpi_comm *c); /* wait for what is under way on it */
    void (*drop)(struct mpi_comm *c);  /* the state goes; never made is fine */
    void (*renew)(MPI_Comm comm);      /* its rails have other rates */
};
extern const struct comm_part comm_parts[]; /* in the order in which they are dropped */
extern const int comm_parts_n;

/* At MPI_Init: make the attribute keys. Local. Returns an MPI code. */
int mpi_comm_open(void);

/* At MPI_Finalize, before the library's own: drop the state of MPI_COMM_WORLD and the keys. Also
   behind mpi_comm_open alone, with any result. */
void mpi_comm_close(void);

/* The state of an intracommunicator; NULL while there is none. Local, cheap. */
struct mpi_comm *mpi_comm_find(MPI_Comm comm);

/* Before the library frees the communicator: its state goes while MPI may still be used, and before
   the program's delete callbacks run. Returns an MPI code: comm is none. */
int mpi_comm_leave(MPI_Comm comm);

/* May one more have a private communicator? Then it counts as one. */
int mpi_comm_take_place(struct mpi_comm *c);

/* All that the state owns goes. drop: so does the state. Local; no rank waits. */
void mpi_comm_empty(struct mpi_comm *c);
void mpi_comm_drop(struct mpi_comm *c);

/* Instead of a state, where there is no memory for one. */
extern struct mpi_comm mpi_comm_lacking;

/* Wait until nothing is under way on the communicator. */
void mpi_comm_drain(struct mpi_comm *c);

/* The rails of the application's communicator have other rates: its parts are told. */
void mpi_comm_renew(MPI_Comm comm);

#endif
