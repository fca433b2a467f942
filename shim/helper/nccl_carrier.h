/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A helper's part of one communicator of its owner: a communicator with the helpers of the other
 * ranks, a stream, and plans. Everything is enqueued; nothing waits for the device but the end.
 *
 * Thread rule: one thread at a time, but for nccl_carrier_join() and nccl_carrier_end(), which a
 * thread of their own may be in while others use other carriers. The device's context is current.
 */
#ifndef COLLSHIM_SHIM_HELPER_NCCL_CARRIER_H
#define COLLSHIM_SHIM_HELPER_NCCL_CARRIER_H

#include "shim/helper/nccl_orders.h"
#include "transports/net/nccl_run.h"

/* State shared by all carriers of a helper. All borrowed, and never freed. */
struct nccl_shared {
    const struct cuda_calls *cu;
    const struct nccl_calls *nccl;
    struct cuda_reducer *reducer; /* NULL: no kernels; plans are refused */
};

struct nccl_carrier {
    const struct nccl_shared *shared;
    struct nccl_order_channel *at; /* borrowed */
    CUdeviceptr go, done;          /* the counters there, as the device sees them */
    ncclComm_t comm;               /* owned; NULL: none */
    CUstream stream;               /* owned, for good */
    char *memory;                  /* the owner's, opened here; borrowed from the cache */
    char *scratch;                 /* owned, for good: the next communicator's as well */
    uint64_t scratch_bytes;
    struct round_step *step[NCCL_ORDERS_PLANS]; /* owned */
    uint32_t nsteps[NCCL_ORDERS_PLANS];
    uint32_t ticket; /* of the last run */
};

/* Each returns 0, or -1 with at->why set. */
int nccl_carrier_join(struct nccl_carrier *s, const struct nccl_order *o);
int nccl_carrier_plan(struct nccl_carrier *s, const struct nccl_order *o, const char *steps);
int nccl_carrier_run(struct nccl_carrier *s, const struct nccl_order *o);

/* Has what was enqueued failed? Returns 0, or -1 with at->why set. */
int nccl_carrier_check(const struct nccl_carrier *s);
/* Is there work that is not known to be done? */
int nccl_carrier_works(const struct nccl_carrier *s);

/* End a communicator that the carrier has had: behind its work, or (cut) at once. NULL is fine. */
void nccl_carrier_end(struct nccl_carrier *s, ncclComm_t comm, int cut);

/* Say why, as half a sentence; returns -1. */
__attribute__((format(printf, 2, 3))) int nccl_order_say(struct nccl_order_channel *c,
                                                         const char *format, ...);

#endif
