/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a simulation, and running it. model.c sets it up and reads the result. */
#ifndef COLLSHIM_PLANNERS_MODEL_SIM_H
#define COLLSHIM_PLANNERS_MODEL_SIM_H

#include "planners/model/model_events.h"
#include "planners/model/model_fair.h"
#include "planners/model/model_links.h"
#include "planners/model/model_streams.h"

/* A chunk that has started and is not done. */
struct model_flight {
    uint32_t op[2]; /* of each side */
    uint64_t end;
    double there;
};

/* How far a stream is. */
struct model_state {
    struct model_flight flight[MODEL_DEPTH]; /* number i at i % MODEL_DEPTH */
    uint64_t from;                           /* the next chunk begins here in its operation */
    uint64_t started, arrived, done; /* chunks; arrived == done but where they are combined */
    double scale;                    /* local work: what a byte counts on its link; else 1 */
    double lead;                     /* bytes that a copy across a bus waits for before its first */
    double left;                     /* bytes of the chunk under way, as they count */
    double since;                    /* when `left` was right */
    double latency_s;
    uint32_t link;  /* of copies across a bus: which; else MODEL_NONE */
    uint32_t turn;  /* the stream that may go on after this one, in a ring; alone, itself */
    uint8_t moving; /* a chunk is under way */
    uint8_t listed; /* in `again` */
};

/* A side that waits for an operation of its rank to get on. Numbered stream * 2 + side. */
struct waiter {
    uint64_t need; /* bytes of the operation */
    uint32_t next; /* waiter for the same operation */
    uint8_t waits;
};

struct model {
    const struct plan *const *plan; /* [nplans] */
    const struct model_fold *fold;  /* NULL: the plans of all ranks */
    int nplans;
    struct model_links links;
    struct model_streams streams;
    struct fair fair;          /* flow i is stream i */
    struct events events;      /* stream * 2: leaves its sender; stream * 2 + 1: is there */
    struct model_state *state; /* [streams] owned */
    struct waiter *waiter;     /* [2 * streams] owned */
    uint32_t *first_op;        /* [nranks] owned: where a rank's operations begin in the next two */
    uint64_t *bytes_done;      /* owned */
    uint32_t *first_waiter;    /* owned */
    uint32_t *again;           /* [nagain] owned: streams that may start a chunk or stop */
    uint32_t nagain;
    double *before;  /* [streams] owned: for fair_settle */
    double *carried; /* [links] owned: bytes */
    uint64_t chunk;
    double now, most_s;
};

/* Run to the end, from m->now = 0. Returns 0, -ETIME once it is past m->most_s, or -EDEADLK if
 * chunks are left that nothing can start. */
int model_simulate(struct model *m);

#endif
