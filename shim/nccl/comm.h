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

#include "config/topo.h"
#include "planners/load.h"
#include "shim/record/sites/call_site_table.h"
#include "shim/decide/guard/guard.h"
#include "shim/decide/base/plan_key.h"
#include "shim/decide/store/store_rows.h"
#include "shim/nccl/notice.h"
#include "planners/rounds/pick.h"
#include "shim/nccl/process.h"

/* A schedule that has been made ready on all ranks. */
struct nccl_plan {
    struct plan_key key;
    struct rounds *rounds;     /* owned; NULL: it cannot be had, on any rank, or only_noted */
    int only_noted;            /* it came once, and nothing is made for it yet */
    uint64_t used;             /* to find the oldest, which is freed first */
    struct load_link crossing; /* bytes that its rounds move to and from other nodes */
    int with_helpers;          /* all helpers of all ranks have it */
    uint32_t drop;             /* it has been ready since: see struct nccl_comm */
};

/* Around the calls that the guard measures, by their slot. */
struct nccl_events {
    CUevent begin[GUARD_TURNS], end[GUARD_TURNS]; /* owned; NULL: not made */
    unsigned char recorded[GUARD_TURNS];          /* both, around the last such call */
    struct site_row *row[GUARD_TURNS];            /* where its time goes too; NULL: nowhere */
};

/* The order of a memory's uses, on any streams (schedule.h). */
struct nccl_turn {
    CUevent last;   /* after the last use; owned; NULL: not made */
    int has_run;    /* last is recorded */
    int in_a_graph; /* so it may be used at any time */
};

/* The buffers that the program has registered with it (registered.h). */
struct registrations {
    struct registered_buffer *first; /* owned */
    int held;                        /* new ones are kept back */
};

enum { COMM_PLANS = 32, COMM_RANKS_MOST = 256 /* a rank lists the operations of all */ };

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
    struct notice_board board;
    uint64_t key; /* of this communicator on the board */
    int notes;    /* descriptor: posted, not read yet; -1: read, or never posted */
    uint32_t
        unconfirmed; /* this rank has judged them, but does not know the others' verdict: the number
                        of the next call that would tell; 0: it knows it, or has not judged yet */
    uint64_t confirmed; /* calls that would hear since all ranks have heard: the same on all */
    uint64_t asked;     /* agreements so far, the same on all ranks */

    struct redop *redops; /* owned: operations that the program has made of it */
    struct registrations registrations;

    /* Messages of the application to and from each rank so far: [nranks] each, of one allocation */
    uint64_t *sent, *received; /* sent: owned */
    struct set_state {         /* sets.h */
        int met, given_up;     /* all ranks had a set once; some once had not */
        uint64_t asked;        /* agreements on sets, that need not be the same on all ranks */
        unsigned dull,
            pause;      /* sets in a row that gained nothing; sets until the next is looked at */
        CUevent asking; /* owned: before the ranks asked each other, recorded if is_asking */
        int is_asking;
    } sets;

    /* Set when the notes are read */
    int stored;                /* all ranks read the same store */
    struct store_rows found;   /* owned: by earlier communicators; the same on all ranks */
    struct topo *topo;         /* owned */
    double inside_bytes_per_s; /* a rank's messages to the others of its node carry together, as far
                                  as is assumed of NCCL; 0: what the links do */
    CUcontext context;         /* its device's primary one */
    CUstream aside;            /* owned; NULL: not made (aside.h) */
    int met_elsewhere;         /* there was a call on a stream of another context */
    int no_fp8_sums;           /* the library combines none here, on some rank */
    const struct cuda_calls *cu;
    struct cuda_reducer *reducer; /* owned; NULL without kernels */
    char *scratch;                /* from the pool (scratch.h) */
    uint64_t scratch_bytes;
    uint32_t drops; /* how often it was given back: schedules of before must be made ready again */
    unsigned char *connected; /* [nranks] owned: to whom there were messages of ours, and how */
    int all_connected;
    struct nccl_turn scratch_turn;
    struct nccl_comm_kept { /* earlier scratch, which is in a graph */
        struct nccl_comm_kept *next;
        char *at;
        uint64_t bytes;
        CUevent last;
    } * kept;                 /* owned */
    struct host_memory *host; /* owned; NULL: none (host_memory.h) */
    int host_asked;           /* all ranks have agreed whether there is some */
    unsigned turn;            /* for COLLSHIM_MODE=ab */
    struct nccl_plan plan[COMM_PLANS];
    uint64_t plans_used;
    struct picks picks;
    struct guard guard;                       /* the measurements */
    struct nccl_events events[GUARD_ENTRIES]; /* of its entries */
    struct ppg *ppg;                          /* its helpers (ppg.h); NULL: not asked for yet */
};

/*
 * A communicator has been made and is ready. It comes from an id (board found in it), or is a child
 * of one (parent, not NULL; may be unknown), made by the same call on all its ranks. `by` tells the
 * children of one split apart. channels: nChannelsPerNetPeer of the configuration; 0: not set.
 * Posts this rank's note; waits for no rank.
 */
void nccl_comm_add_by_id(struct nccl_copy *copy, ncclComm_t handle, const ncclUniqueId *id,
                         int channels);
void nccl_comm_add_child(struct nccl_copy *copy, ncclComm_t handle, ncclComm_t parent, uint64_t nth,
                         int by, int channels);
void nccl_comm_add_native(struct nccl_copy *copy, ncclComm_t handle, enum reason why);

/* Tell the other ranks what is to be known of this one, or set the verdict (notes.c). */
void nccl_comm_post_note(struct nccl_comm *c);

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

/* Other units keep parts of a communicator (comm_end.c). Its helpers end; all parts are freed, once
   it has no user any more. */
void nccl_comm_end_helpers(struct nccl_comm *c, int at_once);
void nccl_comm_free(struct nccl_comm *c);

/* From now on all ranks run its calls natively, from the same call on. */
void nccl_comm_keep_native(struct nccl_comm *c, enum reason why);

/*
 * The entry of a communicator, after its ranks have found each other. The first time it waits for
 * their notes, uniformly and for a few seconds at most, and then until all ranks' hosts are here.
 * If one is late, some later calls do so again. Call 2, 4, 8, ... since then also learns whether a
 * rank has registered a buffer. Returns REASON_NONE, or the reason for a native call.
 */
enum reason nccl_comm_verdict(struct nccl_comm *c);
/* The same as far as this rank knows: it asks no rank, and the others need not be there. */
enum reason nccl_comm_judged(struct nccl_comm *c);

/*
 * Give all ranks each other's notes about something new, bytes <= NOTICE_MOST on all of them.
 * Returns 0 and *all ([nranks * bytes], freed by the caller), or -1: then no rank got them. Bounded
 * as notice_read().
 */
int nccl_comm_exchange(struct nccl_comm *c, uint64_t about, const void *note, size_t bytes,
                       void **all);

/* Agree: do all ranks say yes? Collective over the communicator; bounded as notice_read(). */
int nccl_comm_all(struct nccl_comm *c, int yes);
/* And do all mean the same? */
int nccl_comm_all_same(struct nccl_comm *c, int yes, uint64_t what);
/* Replace the value by the largest of any rank. Returns 0, or -1 on all ranks. */
int nccl_comm_largest(struct nccl_comm *c, double *value, int n);

/* Rank 0's bytes, to all. Returns as nccl_comm_largest(). */
int nccl_comm_tell(struct nccl_comm *c, void *data, size_t bytes);
/* Messages that a rank may have in a group, so that NCCL carries all of them in one kernel. */
uint32_t nccl_comm_most_messages(const struct nccl_comm *c);
/* A key of the notice board that no agreement uses. */
uint64_t nccl_comm_key(const struct nccl_comm *c, uint64_t purpose);

/*
 * The rounds for a request, made ready on all ranks on first use, with that many bytes of scratch
 * behind the rounds' own. request->topo and rank are filled in. NULL: there are none, on all ranks
 * alike. Valid until the next call. Ready means memory, kernels, and NCCL's connections, which are
 * made on that stream. After that a call fails only as the library's own could.
 */
const struct rounds *nccl_comm_rounds(struct nccl_comm *c, struct plan_request *q,
                                      const struct plan_algorithm *a, uint64_t beside,
                                      CUstream stream);
/* No reroute pays: scratch goes to others until one is tried again. On all ranks at the same call.
 */
void nccl_comm_drop_scratch(struct nccl_comm *c);
/* Did such a request come before? If not it is noted, and will have. The same on all ranks. */
int nccl_comm_came_before(struct nccl_comm *c, const struct plan_request *q,
                          const struct plan_algorithm *a, uint64_t beside);
/* Are there such rounds? Changes nothing, asks no rank; the same on all ranks. */
int nccl_comm_has_rounds(struct nccl_comm *c, const struct plan_request *q,
                         const struct plan_algorithm *a, uint64_t beside);
/* Are kernels that combine loaded on this rank? Loads them. */
int nccl_comm_has_kernels(struct nccl_comm *c);
/* Forget what the guard has measured. */
void nccl_guard_forget(struct nccl_comm *c);
void nccl_plan_clear(struct nccl_plan *p);

/* For the report (rails.c): the bytes that rounds of this rank move to and from other nodes, none
   where no topology says which rail it has. */
struct load_link nccl_rail_crossing(const struct nccl_comm *c, const struct rounds *r);

/* Rounds of nccl_comm_rounds were enqueued. Cheap. */
void nccl_rail_count(const struct nccl_comm *c, const struct rounds *r);

#endif
