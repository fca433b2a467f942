/* SPDX-License-Identifier: BSD-3-Clause */
/* State shared by engine.c (the call) and engine_move.c (its chunks). */
#ifndef COLLSHIM_TRANSPORTS_ENGINE_STATE_H
#define COLLSHIM_TRANSPORTS_ENGINE_STATE_H

#include "planners/plan/plan.h"
#include "transports/engine/engine_buffers.h"

enum stage {
    STAGE_MOVING,    /* a job of the device's is under way: to its cell (SEND) or to its place */
    STAGE_POSTED,    /* the transport has it */
    STAGE_LANDED,    /* received into its cell */
    STAGE_RETURNING, /* the peer's lent bytes have been used */
    STAGE_DONE
};

/* A chunk in flight. */
struct engine_flight {
    uint32_t op;
    enum stage stage;
    int celled;       /* it travels by its slot's cell */
    const char *lent; /* not by the cell, but from (or to) here on a device */
    unsigned job;
    uint64_t from;
    uint64_t end; /* bytes of the operation that are done once this is */
};

struct queue_run {
    uint32_t next_op; /* to be posted next, index into the plan's operations */
    uint32_t last_op; /* one past the queue's last */
    uint64_t posted;  /* bytes of next_op that have been posted */
    uint32_t first;   /* oldest flight, counted on and on; its place is first % depth */
    uint32_t flying;
    uint32_t depth; /* flights at once, at most */
    uint32_t slot;  /* the queue's first slot */
    size_t room;    /* bytes of its largest chunk, rounded up */
    int bounces;    /* a RECV_REDUCE that the transport cannot combine */
    int direct;     /* the transport moves device memory with this peer */
    int host_alone; /* all its messages are of PLAN_HOST */
    int attended;   /* its flights need more than the transport */
    int celled;     /* some of them travel by cells */
    int way;        /* of the local work in flight */
    char *cell;     /* [depth * room] inside the call's; NULL where nothing is celled */
    size_t lent_at; /* of sends: as much in the device's window, from here on */
};

struct engine {
    const struct plan *plan; /* borrowed */
    struct xport *xport;     /* borrowed */
    struct engine_buffers buffers;
    char *window; /* the device's, borrowed; NULL: none */
    size_t window_bytes;
    struct queue_run *queue;      /* [nqueues] owned */
    uint32_t *busy;               /* [nbusy] owned: queues with something left to do */
    uint64_t *done;               /* [nops] owned: bytes done of each operation */
    struct engine_flight *flight; /* [nslots] owned */
    uint32_t *queue_of;           /* [nslots] owned: the queue of a slot */
    unsigned *completed;          /* [nslots] owned: what the transport reports */
    char *bounce;                 /* owned during a call of host memory: its cells */
    int keeps;                    /* ... and for good */
    char *sink;                   /* borrowed: where receives go once the call has failed */
    uint32_t nbusy, nslots;
    uint32_t unfinished; /* operations */
    uint32_t parts[2];   /* operations without and with PLAN_HOST */
    uint32_t left[2];    /* and of these, unfinished */
    int error;           /* the call has failed; its schedule goes on without data */
};

/* Post what a queue can post now. *moved is set if that was anything. Local work on the host is
   done a chunk at a time, so that a long copy never keeps the links waiting. Returns the
   transport's code. */
int engine_pump(struct engine *e, uint32_t q, int *moved);

/* Advance everything in flight. Chunks that have landed are combined or moved, those that reached
   their cell are sent, complete ones are released. Returns the transport's code. */
int engine_attend(struct engine *e, uint32_t q, int *moved);

/* The transport is done with a slot. lent: its bytes are still the peer's. */
void engine_land(struct engine *e, uint32_t q, uint32_t slot, int lent);

/* From here on the call has failed, and goes on without data. Needs no memory. Returns 0. */
int engine_fail(struct engine *e, int code);

#endif
