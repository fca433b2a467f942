/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the NCCL backend knows about this process: the settings, the copies of NCCL in it, and what
 * has been counted.
 */
#ifndef COLLSHIM_SHIM_NCCL_PROCESS_H
#define COLLSHIM_SHIM_NCCL_PROCESS_H

#include <stdint.h>

#include "config/settings.h"
#include "planners/tuning.h"
#include "planners/wanted.h"
#include "transports/nccl_run.h"

enum reason {
#define REASON(id, text) REASON_##id,
#include "shim/nccl/reasons.def"
#undef REASON
    REASON_COUNT
};

/* One NCCL library of the process: programs may load two. */
enum { COPIES = 2 };
struct nccl_copy {
    struct nccl_calls real;
    const char *version; /* borrowed from the preload */
    int number;
};

struct nccl_process {
    struct cfg cfg; /* const after nccl_process_open */
    struct choice choice[COLL_COUNT];
    struct tuning tuning;   /* const after nccl_process_open */
    uint64_t settings_hash; /* of all that ranks must agree on */
    int ncopies;
    struct nccl_copy copy[COPIES];
};

extern struct nccl_process nccl_process;

/* Read the settings, once. */
void nccl_process_open(void);

/* Say once what was wrong with the settings: the process that has a rank 0 does. */
void nccl_process_complain(void);

/* One line on stderr, "collshim: ...", if the level is wanted. */
__attribute__((format(printf, 2, 3))) void say(enum cfg_level level, const char *format, ...);

/* What the report tells apart. */
enum count_way { COUNT_NATIVE, COUNT_REROUTED };
void count_native(enum plan_collective c, enum reason why);
void count_rerouted(enum plan_collective c, const char *algorithm, int processes, uint64_t bytes);
/* COLLSHIM_MODE=verify compared a result. */
void count_verified(enum plan_collective c, int equal);
/* A rank of a communicator: of the largest one's the report speaks. key: alike for its ranks. */
void count_rank(int rank, int nranks, uint64_t key, const char *version);
/* A communicator of this process's has so many processes per rank; mps: with a service. */
void count_helpers(int processes, int mps);
/* A message of ncclSend (sent) or ncclRecv, which pass through. */
void count_message(int sent);

#endif
