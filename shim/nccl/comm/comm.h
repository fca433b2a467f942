/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * State beside a communicator, in a table: the application's handle stays NCCL's own. An entry is
 * made when the preload sees the communicator being made, and is freed with it.
 *
 * Thread rule: NCCL lets one thread at a time use a communicator, but for abort. An entry in use
 * therefore outlives its place in the table (nccl_comm_release()).
 */
#ifndef COLLSHIM_SHIM_NCCL_COMM_H
#define COLLSHIM_SHIM_NCCL_COMM_H

#include "config/topo/topo.h"
#include "planners/links/load.h"
#include "planners/rounds/pick.h"
#include "shim/decide/base/plan_key.h"
#include "shim/decide/guard/guard.h"
#include "shim/decide/store/store_rows.h"
#include "shim/nccl/board/notice.h"
#include "shim/nccl/call/process.h"
#include "shim/nccl/call/use_order.h"
#include "shim/record/sites/call_site_table.h"

/* A schedule that has been made ready on all ranks. */
struct nccl_plan {
    struct plan_key key;
    struct rounds *rounds;     /* owned; NULL: it cannot be had, on any rank, or only_noted */
    int only_noted;            /* it came once, and nothing is made for it yet */
    uint64_t used;             /* to find the oldest, which is freed first */
    struct load_link crossing; /* bytes that its rounds move to and from other nodes */
    int with_helpers;          /* all helpers of all ranks have it */
    uint32_t drop;             /* it has been ready since: see struct nccl_scratch */
};

/* Around the calls that the guard measures, by their slot. */
struct nccl_events {
    CUevent begin[GUARD_SLOTS], end[GUARD_SLOTS]; /* owned; NULL: not made */
    unsigned char recorded[GUARD_SLOTS];          /* both, around the last such call */
    struct site_row *row[GUARD_SLOTS];            /* where its time goes too; NULL: nowhere */
};

/* Buffers that the program has registered with it (registered.h). */
struct registrations {
    struct registered_buffer *first; /* owned */
    int held;                        /* new ones are kept back */
};

enum { COMM_PLANS = 32, COMM_RANKS_MOST = 256 /* a rank lists the operations of all */ };

/* The ranks' notes, and what they have agreed on by them. */
struct nccl_notes {
    struct notice_board board;
    uint64_t key;         /* of this communicator on the board */
    int fd;               /* posted, not read yet; -1: read, or never posted */
    uint32_t unconfirmed; /* this rank has judged them, but does not know the others' verdict: the
                             number of the next call that would tell; 0: it knows it, or has not
                             judged yet */
    uint64_t confirmed;   /* calls that would hear since all ranks have heard: the same on all */
    uint64_t asked;       /* agreements so far, the same on all ranks */
};

/* Messages to and from each rank. */
struct nccl_traffic {
    uint64_t *sent, *received; /* the application's so far: [nranks] each, of one allocation; sent:
                                  owned */
    unsigned char *connected;  /* [nranks] owned: to whom there were messages of ours, and how */
    int all_connected;
};

/* Its device. */
struct nccl_device {
    CUcontext context;            /* the primary one */
    CUstream aside;               /* owned; NULL: not made (aside.h) */
    struct cuda_reducer *reducer; /* owned; NULL without kernels */
    int met_elsewhere;            /* there was a call on a stream of another context */
    int no_fp8_sums;              /* the library combines none here, on some rank */
};

/* Its memory for calls, from the pool (scratch.h). */
struct nccl_scratch {
    char *at;
    uint64_t bytes;
    uint32_t drops; /* how often it was given back: schedules of before must be made ready again */
    struct use_order order;
    struct nccl_comm_kept { /* earlier scratch, which is in a graph */
        struct nccl_comm_kept *next;
        char *at;
        uint64_t bytes;
        CUevent last;
    } * kept; /* owned */
};

/* Its schedules. */
struct nccl_plans {
    struct nccl_plan plan[COMM_PLANS];
    uint64_t used; /* uses so far */
    struct picks picks;
};

/* Measurements of its calls. */
struct nccl_measured {
    struct guard guard;
    struct nccl_events events[GUARD_ENTRIES]; /* of its entries */
    int stored;                               /* all ranks read the same store */
    struct store_rows found; /* owned: by earlier communicators; the same on all ranks */
};

struct nccl_comm {
    struct nccl_copy *copy; /* whose it is; borrowed */
    ncclComm_t handle;
    int rank, nranks;
    int users;   /* the table, and calls under way; atomic */
    int stopped; /* destroyed or aborted: all waiting ends */

    /* Set when it is made */
    int channels; /* of a message, by its configuration; 0: as NCCL chooses. All ranks' most, once
                     the notes are read */
    enum reason verdict; /* why nothing is rerouted; REASON_NONE: the notes will say */
    struct nccl_notes notes;
    struct redop *redops; /* owned: operations that the program has made of it */
    struct registrations registrations;
    struct nccl_traffic traffic;
    struct set_state {     /* sets.h */
        int met, given_up; /* all ranks had a set once; some once had not */
        uint64_t asked;    /* agreements on sets, that need not be the same on all ranks */
        unsigned dull,
            pause;      /* sets in a row that gained nothing; sets until the next is looked at */
        CUevent asking; /* owned: before the ranks asked each other, recorded if is_asking */
        int is_asking;
    } sets;

    /* Set when the notes are read */
    struct topo *topo;         /* owned */
    double inside_bytes_per_s; /* a rank's messages to the others of its node carry together, as far
                                  as is assumed of NCCL; 0: what the links do */
    const struct cuda_calls *cu;
    struct nccl_device device;
    struct nccl_scratch scratch;
    struct host_memory *host; /* owned; NULL: none (host_memory.h) */
    int host_asked;           /* all ranks have agreed whether there is some */
    unsigned ab_count;        /* for COLLSHIM_MODE=ab */
    struct nccl_plans plans;
    struct nccl_measured measured;
    struct ppg *ppg; /* its helpers (ppg.h); NULL: not asked for yet */
};

/*
 * An entry for a communicator that is ready, with that key of its board, in place of one that ended
 * unseen at the same address. NULL without memory: the other ranks then hear that this one is
 * missing.
 */
struct nccl_comm *nccl_comm_make(struct nccl_copy *copy, ncclComm_t handle, uint64_t key);

/* Two numbers as one, for keys of the board. */
uint64_t nccl_comm_mix(uint64_t a, uint64_t b);

/* How many children the communicator was asked for before: for nccl_comm_add_child(). */
uint64_t nccl_comm_next_child(ncclComm_t parent);

/* The entry, held until nccl_comm_release(); NULL: its making was not seen. */
struct nccl_comm *nccl_comm_find(ncclComm_t handle);
void nccl_comm_release(struct nccl_comm *c);

/* The communicator ends: forget it. at_once: without regard to work that is under way. Does not
 * block, and may be called while others use it. */
void nccl_comm_remove(ncclComm_t handle, int at_once);

/* Forget what the guard has measured. */
void nccl_comm_forget_measured(struct nccl_comm *c);

/*
 * A part of a communicator that units above keep: a row of comm_parts.c.
 */
struct nccl_comm_part {
    void (*end)(struct nccl_comm *c, int at_once); /* it ends; waits for nothing */
    void (*drop)(struct nccl_comm *c);             /* it has no user any more */
};
extern const struct nccl_comm_part nccl_comm_parts[]; /* in the order in which they are dropped */
extern const int nccl_comm_parts_n;

#endif
