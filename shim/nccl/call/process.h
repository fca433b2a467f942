/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The NCCL backend's knowledge of this process: the copies of NCCL in it, and the counters.
 */
#ifndef COLLSHIM_SHIM_NCCL_PROCESS_H
#define COLLSHIM_SHIM_NCCL_PROCESS_H

#include <stdint.h>

#include "shim/decide/base/say.h"
#include "shim/decide/base/settings.h"
#include "shim/record/counts/count.h"
#include "transports/net/nccl_run.h"

/* One NCCL library of the process: programs may load two. */
enum { COPIES = 2 };
struct nccl_copy {
    struct nccl_calls real;
    const char *version; /* borrowed from the preload */
    int number;
};

struct nccl_process {
    int ncopies;
    struct nccl_copy copy[COPIES];
    const int *serves_mpi; /* of the preload: is MPI rerouted in this process too? */
    /* For the report: messages that pass through; processes per rank of the last communicator that
     * has several (0: none did), and whether those have a service. */
    uint64_t sends, recvs;
    int processes, mps;
};

extern struct nccl_process nccl_process;

/* Read the settings, once. */
void nccl_process_open(void);

/* A communicator of this process's has so many processes per rank; mps: with a service. */
void nccl_process_note_helpers(int processes, int mps);
/* A message of ncclSend (sent) or ncclRecv, which pass through. */
void nccl_process_note_message(int sent);

#endif
