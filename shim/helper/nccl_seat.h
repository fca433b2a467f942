/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A helper's part of one communicator of its owner: a communicator with the helpers of the other
 * ranks, a stream, and plans. Everything is enqueued; nothing waits for the device but the end.
 *
 * Thread rule: one thread at a time, but for nccl_seat_join() and nccl_seat_end(), which a thread
 * of their own may be in while others use other seats. The device's context is current.
 */
#ifndef COLLSHIM_SHIM_HELPER_NCCL_SEAT_H
#define COLLSHIM_SHIM_HELPER_NCCL_SEAT_H

#include "shim/helper/desk.h"
#include "transports/nccl_run.h"

/* State shared by all seats of a helper. All borrowed, and never freed. */
struct nccl_bench {
    const struct cuda_calls *cu;
    const struct nccl_calls *nccl;
    struct cuda_reducer *reducer; /* NULL: no kernels; plans are refused */
};

struct nccl_seat {
    const struct nccl_bench *bench;
    struct desk_channel *at; /* borrowed */
    CUdeviceptr go, done;    /* the counters there, as the device sees them */
    ncclComm_t comm;         /* owned; NULL: none */
    CUstream stream;         /* owned, for good */
    char *memory;            /* the owner's, opened here; borrowed from the cache */
    char *scratch;           /* owned, for good: the next communicator's as well */
    uint64_t scratch_bytes;
    struct round_step *step[DESK_PLANS]; /* owned */
    uint32_t nsteps[DESK_PLANS];
    uint32_t ticket; /* of the last run */
};

/* Each returns 0, or -1 with at->why set. */
int nccl_seat_join(struct nccl_seat *s, const struct desk_order *o);
int nccl_seat_plan(struct nccl_seat *s, const struct desk_order *o, const char *steps);
int nccl_seat_run(struct nccl_seat *s, const struct desk_order *o);

/* Has what was enqueued failed? Returns 0, or -1 with at->why set. */
int nccl_seat_check(const struct nccl_seat *s);
/* Is there work that is not known to be done? */
int nccl_seat_works(const struct nccl_seat *s);

/* End a communicator that the seat has had: behind its work, or (cut) at once. NULL is fine. */
void nccl_seat_end(struct nccl_seat *s, ncclComm_t comm, int cut);

/* Say why, as half a sentence; returns -1. */
__attribute__((format(printf, 2, 3))) int desk_say(struct desk_channel *c, const char *format, ...);

#endif
