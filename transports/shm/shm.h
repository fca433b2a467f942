/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transport between the ranks of one node. The receiver reads a message straight from the
 * sender's memory (process_vm_readv). So a byte is copied once, and no rank waits for the sender's
 * CPU. A waiting sender with its own CPU writes part of the message. Short messages, and medium
 * ones for several ranks, are copied to shared memory once for all receivers (shm_board.h). If the
 * system does not permit reading, the sender copies through cells of the shared segment instead.
 * The receiver decides so for each message, and asks.
 *
 * Memory of a device cannot be read this way. If a device opens a window to others, the sender
 * copies to its window, and the receiver's device takes the bytes from there.
 *
 * Opening takes four steps. The ranks tell each other where the segment is, in the same exchange
 * that tells which rank is on which node:
 *
 *     xport_shm_open    each rank fills in an offer; all exchange them
 *     xport_shm_place   each rank, when it knows who is on its node; the first one there makes the
 *                       segment
 *     xport_shm_join    each rank, when all have: maps the segment and tries whom it can read
 *                       from; all agree on whether everybody has joined
 *     xport_shm_joined  each rank, if so; xport_shm_close if not
 *
 * Thread rule: one thread at a time; several transports are independent.
 */
#ifndef COLLSHIM_TRANSPORTS_SHM_H
#define COLLSHIM_TRANSPORTS_SHM_H

#include <stdint.h>

#include "transports/base/xport.h"
#include "transports/shm/shm_cpus.h"

/* A member's offer to the others. Plain bytes. */
struct shm_offer {
    uint64_t nonce;   /* bytes that the others must find... */
    uint64_t address; /* ... when they read here */
    int32_t pid;
    int32_t fd; /* of the segment: that of the node's first member counts; < 0: there is none */
    struct shm_cpus cpus;
};

/* An element of a recv_reduce may have so many bytes. */
enum { SHM_GRAIN_MAX = 4096 };

/*
 * copy_only: never read from a peer's memory. Local. Returns 0 and *x (close with xport_shm_close)
 * and *offer, or -ENOMEM. That no segment can be made is said in the offer.
 */
int xport_shm_open(int copy_only, struct xport *x, struct shm_offer *offer);

/*
 * member: [members] the ranks of the node in the communicator, rising, the own one among them; of
 * nranks in all. Local. Returns 0, or -errno: then no rank of the node can join.
 */
int xport_shm_place(struct xport *x, const int *member, int members, int rank, int nranks);

/* offer: [members], in their order. Returns 0, or -errno if this rank cannot join; -ESTALE too if
   the first member has not placed yet. */
int xport_shm_join(struct xport *x, const struct shm_offer *offer);

/* All members have joined. */
void xport_shm_joined(struct xport *x);

/*
 * Before the devices of the calls go: leave what other members lent. Returns 1 once they have left
 * what this one did; until then it is to be called again. All members do it, at the communicator's
 * end. Not opened is fine.
 */
int xport_shm_part(struct xport *x);
void xport_shm_close(struct xport *x); /* not opened is fine */

/* From here on these threads read and combine too; NULL: the caller alone does. Borrowed. Returns 0
   or -ENOMEM. */
struct workers;
int xport_shm_use_workers(struct xport *x, struct workers *h);

/* Can every peer be read from? If not, *why is the errno of the first that cannot. */
int xport_shm_single_copy(const struct xport *x, int *why);

#endif
