/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several processes for each rank of an NCCL communicator (COLLSHIM_PPG): an Allreduce in slices.
 * The first slice is this process's own, on the application's communicator. Each other slice is a
 * helper's, on a communicator of the helpers with the same number.
 *
 * On the stream, a slice is copied to memory that the helper has open, and `go` is written
 * (cuStreamWriteValue32). Later `done` is waited for (cuStreamWaitValue32) and the result copied
 * back. The helper's stream waits for `go` and writes `done`. The counters lie in pinned memory of
 * both processes, so both sides only enqueue. Rejected: events between processes, because a record
 * must be called before each wait, which takes a handshake per call.
 *
 * The ranks agree on the board, once per communicator: how many helpers the rank with the fewest
 * has, that all have joined, and for each new size that memory and plans are there. If one says no,
 * none uses helpers. ppg_watch.h describes the failure of a helper.
 *
 * Slices for a schedule are scaled already. The library scales its own slices for ncclAvg; with an
 * operation of the program it carries none, as that belongs to the program's communicator.
 *
 * Source: Multiple Processes per GPU, 3.1. Thread rule: as struct nccl_comm, but for ppg_end() and
 * ppg_state(), which any thread may call at any time.
 */
#ifndef COLLSHIM_SHIM_NCCL_PPG_H
#define COLLSHIM_SHIM_NCCL_PPG_H

#include "shim/nccl/call/call.h"
#include "shim/nccl/comm/comm.h"

/*
 * The processes of each rank for this call, 1: itself alone; the same on all ranks. When helpers
 * are first wanted, it starts them and makes the ranks agree on them. That takes a second or so and
 * waits for no stream.
 */
int ppg_slices(struct nccl_comm *c, const struct nccl_call *call);

#endif
