/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `collaborative` for ncclAllReduce on the GPUs of one node. The library's own call carries the
 * first part of the vector, over the GPUs' links. The rest goes through pinned host memory that all
 * ranks share, over PCIe, on two streams beside the program's.
 *
 * A piece of the host's part passes three stages. Each rank copies it to its host memory, but for
 * its own slice. Then it combines its own slice by a kernel, which reads the others' from there,
 * and copies the result to host memory. Last it copies the others' results to the output. Between
 * two stages all ranks must have ended the first. The library's part is therefore cut into several
 * calls. Such a call ends only once all ranks have begun it, and a rank begins it behind its last
 * stage. So NCCL itself keeps the ranks in step, and nothing else has to be waited for or ended:
 * errors, abort, captures and destroying are as with the library's own calls. The last part is
 * small, and keeps calls apart, which use the same memory.
 *
 * All ranks cut alike. A slice is combined by one rank, in the order of ranks, so all ranks have
 * the same bits.
 *
 * Rejected: combining by the CPU in cuLaunchHostFunc. CUDA may run a host function behind those of
 * other streams, and one of the program's may wait for our result. Rejected: values that streams
 * wait for in place of the library's calls. A rank that aborts would have to release them, and its
 * streams would then overwrite what others still read. A graph could not be launched twice.
 *
 * Source: Collaborative Allreduce. Beyond it: the GPUs combine, and the devices' way is NCCL's.
 */
#ifndef COLLSHIM_SHIM_NCCL_HOST_PATH_H
#define COLLSHIM_SHIM_NCCL_HOST_PATH_H

#include "shim/nccl/run/schedule.h"

/* Is there a part of the call that goes through the host, by that way? The same on all ranks. */
int host_path_serves(const struct nccl_call *call, const struct nccl_comm *c,
                     const struct plan_candidate *way);

/* Does the topology say how fast the GPUs' links and PCIe are? Without that the model does not know
   whether it pays. */
int host_path_is_known(const struct topo *t);

/* Enqueue the call. Returns REASON_NONE and *result, or a reason, on all ranks alike. */
enum reason host_path_run(struct nccl_comm *c, const struct nccl_call *call,
                          const struct plan_candidate *way, ncclResult_t *result);

#endif
