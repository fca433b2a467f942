/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets of messages: the ncclSend and ncclRecv of one group on one communicator, as an application
 * makes an exchange of them (PyTorch's all_to_all does). They are balanced over relays and rails,
 * if they are one exchange of all ranks; each rank knows only its own part of it.
 *
 * So the ranks ask each other over the notice board, and all of them go on only if for every pair
 *   - the send of the one has the length of the receive of the other, and
 *   - both ends count as many earlier messages from the one to the other, in all groups.
 * Then every message that was begun before has its partner, and every message of these groups has
 * its partner among these groups: NCCL matches messages of a pair in their order. The groups are
 * closed, all ranks are in them now, and all have the same matrix.
 *
 * A schedule lets a rank wait for any other. That adds no wait if every two ranks have a message
 * for each other in at least one direction: then no rank's group ends before the streams of all
 * have reached theirs. If two ranks have none, the program may let the stream of one wait for later
 * work of the other. Such an exchange stays native (nccl_set_ties_all()).
 *
 * No rank waits for ever, since asking waits for hosts, never for streams, and no longer than the
 * board does. Counts tell ranks apart that ask for different exchanges, at any sizes. If one rank
 * alone has full sets, it loses NOTICE_PATIENCE_S once per communicator.
 *
 * Each rank decides alone whether it asks. It asks if it has messages to and from every other rank,
 * or if all ranks once had. If the others do not come, all ranks that asked learn so, and no rank
 * of the communicator gets a yes from then on.
 */
#ifndef COLLSHIM_SHIM_NCCL_SETS_H
#define COLLSHIM_SHIM_NCCL_SETS_H

#include "shim/nccl/call/call.h"
#include "shim/nccl/comm/comm.h"
#include "shim/nccl/run/set.h"

/*
 * The board sends a line per pair to every rank at each exchange: 6 MB at 64 ranks, 400 at 256.
 * Rejected: two sums of hashes for each rank, of its sends and of its receives, which are equal
 * over all ranks if the groups are closed. They take 1.5 MB at 256 ranks, but serve only a matrix
 * that was seen before. For a new matrix each rank needs all sizes and plans for all ranks. These
 * take 4.3 s of CPU time at 256 ranks, 0.4 s at 128, 38 ms at 64 (real, this machine; nodes of 8,
 * pace_rounds(), chunks of 2 MiB).
 */
enum { SET_RANKS_MOST = 64 };

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

/* The result of looking at a set: it gained, or not. Looks become rarer while sets gain nothing. */
void nccl_set_learn(struct nccl_comm *c, int gained);

#endif
