/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A message that both its ranks copy: the receiver reads pieces from its start on, the sender,
 * while it has nothing else to do, writes pieces from its end on, until they meet. A piece belongs
 * to whoever claimed it; the receiver has the message only when every piece that the sender claimed
 * is written or given back, so that no sender writes after a receive has ended. This is the
 * protocol alone: no bytes are moved here.
 *
 * One struct shm_share per ordered pair of ranks, in their segment, for one message after another.
 */
#ifndef COLLSHIM_TRANSPORTS_SHM_SHARE_H
#define COLLSHIM_TRANSPORTS_SHM_SHARE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct shm_share {
    /* The message's number, and which pieces nobody has claimed: [first, last). */
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

/* What the sender has claimed. */
struct shm_claim {
    struct shm_piece piece;
    uint64_t address; /* where it belongs, at the receiver */
    uint32_t slot;
};

/* The receiver: is a message so long that it is shared? */
int shm_share_pays(uint64_t length);

/* The receiver: from now on the sender may claim. The message before has been settled. */
void shm_share_open(struct shm_share *s, uint32_t slot, uint64_t address, uint64_t length);

/* The receiver: claim the next piece. Returns 1, or 0 if none is left. */
int shm_share_claim_first(struct shm_share *s, struct shm_piece *piece);

/* The receiver, who gives up: the sender may claim no more. */
void shm_share_close(struct shm_share *s);

/* The sender: claim a piece, then say whether it has been written. Who could not write one claims
   no further of this message. Returns 1, or 0 if there is none to claim. */
int shm_share_claim_last(struct shm_share *s, struct shm_claim *claim);
void shm_share_put(struct shm_share *s, int written);

/*
 * The receiver, when nothing is left to claim: what has become of the sender's pieces? SETTLED: all
 * are written. RETURNED: all but *piece, which the sender gave back. WAITING: not known yet.
 */
enum shm_share_state { SHM_SHARE_WAITING, SHM_SHARE_SETTLED, SHM_SHARE_RETURNED };
enum shm_share_state shm_share_look(const struct shm_share *s, struct shm_piece *piece);

#endif
