/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A message that both its ranks copy. The receiver reads pieces from its start on. An idle sender
 * writes pieces from its end on, until they meet. A piece belongs to the rank that claimed it. The
 * receive ends only when every piece that the sender claimed is written or given back. So no sender
 * writes after a receive has ended. This is the protocol alone: no bytes are moved here.
 *
 * One struct shm_joint per ordered pair of ranks, in their segment, for one message after another.
 */
#ifndef COLLSHIM_TRANSPORTS_SHM_JOINT_H
#define COLLSHIM_TRANSPORTS_SHM_JOINT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct shm_joint {
    /* The message's number, and the pieces that are not claimed: [first, last). */
    _Alignas(64) _Atomic uint64_t claim;
    _Atomic uint64_t address; /* of the receiver's bytes */
    _Atomic uint64_t length;
    _Atomic uint32_t slot;                 /* the sender's */
    _Atomic uint32_t piece;                /* bytes of each but the last */
    _Alignas(64) _Atomic uint32_t written; /* pieces, by the sender */
    _Atomic uint32_t given_back;           /* the sender could not write the last that it claimed */
};

/* Bytes of the message. */
struct shm_piece {
    uint64_t from, length;
};

/* A sender's claim. */
struct shm_claim {
    struct shm_piece piece;
    uint64_t address; /* where it belongs, at the receiver */
    uint32_t slot;
};

/* The receiver: is the message long enough to be copied jointly? */
int shm_joint_pays(uint64_t length);

/* The receiver: from now on the sender may claim. The message before has been settled. */
void shm_joint_open(struct shm_joint *s, uint32_t slot, uint64_t address, uint64_t length);

/* The receiver: claim the next piece. Returns 1, or 0 if none is left. */
int shm_joint_claim_first(struct shm_joint *s, struct shm_piece *piece);

/* The receiver gives up: the sender may claim no more. */
void shm_joint_close(struct shm_joint *s);

/* The sender: claim a piece, then say whether it has been written. A sender that could not write
   one claims no more of this message. Returns 1, or 0 if there is none to claim. */
int shm_joint_claim_last(struct shm_joint *s, struct shm_claim *claim);
void shm_joint_put(struct shm_joint *s, int written);

/*
 * The receiver, when nothing is left to claim: what has become of the sender's pieces? SETTLED: all
 * are written. RETURNED: all but *piece, which the sender gave back. WAITING: not known yet.
 */
enum shm_joint_state { SHM_JOINT_WAITING, SHM_JOINT_SETTLED, SHM_JOINT_RETURNED };
enum shm_joint_state shm_joint_look(const struct shm_joint *s, struct shm_piece *piece);

#endif
