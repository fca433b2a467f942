/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets of messages: the ncclSend and ncclRecv of one group on one communicator, as an application
 * makes an exchange of them (PyTorch's all_to_all does). They are balanced over relays and rails,
 * if they are one exchange of all ranks; each rank knows only its own part of it.
 *
 * So the ranks ask each other over the notice board, and all of them go on only if for every pair
 *   - what the one sends has the length of what the other receives, and
 *   - all messages from the one to the other that came before, in whatever groups, are as many at
 *     both ends.
 * Then every message that was begun before has its partner, and every message of these groups has
 * its partner among these groups: NCCL matches messages of a pair in their order. The groups are
 * closed, and may be carried out in any way. README.md has the argument in full, and why nobody
 * waits for ever.
 *
 * Whether a rank asks is its own affair: it does when it has messages to and from every other rank,
 * or when all ranks once had; if the others do not come, all who asked hear so, and no rank of the
 * communicator gets a yes from then on.
 */
#ifndef COLLSHIM_SHIM_NCCL_SETS_H
#define COLLSHIM_SHIM_NCCL_SETS_H

#include "shim/nccl/call.h"
#include "shim/nccl/comm.h"
#include "transports/nccl_run.h"

/* The board hands a line per pair to every rank at each exchange: 6 MB at 64 ranks, 400 at 256. */
enum { SET_RANKS_MOST = 64 };

/* What all ranks together send. */
struct nccl_set {
    uint64_t *demand;    /* [nranks * nranks] owned */
    uint64_t *offset[2]; /* [nranks + 1] each, owned: of the input's and the output's parts */
    char **at[2];        /* [nranks] each, owned: where they lie */
    struct nccl_pieces in, out; /* made of these */
};

/* A message of the application goes to NCCL, now or at its group's end: count it. */
void nccl_set_note_message(struct nccl_comm *c, const struct nccl_call *call);

/* Is that worth asking the others, if they are not too many? Waits for nothing. */
int nccl_set_is_candidate(const struct nccl_comm *c, const struct nccl_call *call, int n);

/*
 * Ask. Returns REASON_NONE and *set (nccl_set_close() it), or why all who asked go native. Waits
 * for the ranks' hosts as notice_read() does, never for a stream.
 */
enum reason nccl_set_agree(struct nccl_comm *c, const struct nccl_call *call, int n,
                           struct nccl_set *set);
void nccl_set_close(struct nccl_set *set);

/* Has every rank something for each other, or from it? Then each rank's group ends only after all
 * have begun theirs anyhow, and a schedule may let everybody wait for everybody. */
int nccl_set_ties_all(const struct nccl_set *set, int nranks);

/* What came of looking at a set: it gained, or not. The less it does, the rarer they are asked. */
void nccl_set_learn(struct nccl_comm *c, int gained);

#endif
