/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bundle on its way to the stream, after each of its calls has been judged: all of it runs
 * natively, or the calls that may be rerouted run by schedules. The guard decides which.
 */
#ifndef COLLSHIM_SHIM_NCCL_RUN_H
#define COLLSHIM_SHIM_NCCL_RUN_H

#include "planners/choose/choose.h"
#include "shim/nccl/run/schedule.h"

/* One call of a bundle and the verdict on it. */
struct nccl_part {
    struct nccl_call *call;
    enum reason why; /* it runs natively; REASON_NONE: by one of the ways */
    int nways;
    struct plan_candidate way[PLAN_CANDIDATES]; /* algorithm NULL: in slices, each by the library */
};

struct nccl_bundle {
    struct nccl_comm *c;
    struct nccl_part *part; /* [n] */
    int n, several_streams;
    int captured;    /* one of its streams is in capture */
    CUstream stream; /* of the first */
    int elsewhere;   /* that one is of another context (aside.h) */

    int asked; /* the ranks have asked each other, with that verdict */
    enum reason verdict;

    /* If something of it may be rerouted: what stands for all of it. */
    enum plan_collective collective;
    const struct nccl_part *lead; /* the first such part; of a set, that with the set's only way */
    int merged;                   /* collectives in it */
    int nways;                    /* of the part that has most */
    uint64_t total;

    int patient; /* the guard has settled: only a call that comes a second time gets a schedule,
                    since making it takes longer than a call, and sizes may be new in every step */

    const struct nccl_set *set; /* an exchange of all ranks by messages, or NULL; borrowed */
};

/* Way i of as many as the part has: the last one, if it has fewer. */
const struct plan_candidate *nccl_part_way(const struct nccl_part *p, int i);

/* The call, by that way; patient: as of a bundle. Returns REASON_NONE and *result if it ran, or was
 * lost with a helper. */
enum reason nccl_run_part(struct nccl_comm *c, const struct nccl_call *call,
                          const struct plan_candidate *way, int patient, ncclResult_t *result);

/* By that way, wherever a part may be. */
ncclResult_t nccl_run_reroute(struct nccl_bundle *b, int way);

/* None of it; why: of the parts that could have been. */
ncclResult_t nccl_run_native(struct nccl_bundle *b, enum reason why);

/* Run it on one stream: a group of several waits for all of them, and all of them for it. */
ncclResult_t nccl_run_joined(struct nccl_bundle *b, int way,
                             ncclResult_t (*run)(struct nccl_bundle *b, int way));

#endif
