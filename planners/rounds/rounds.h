/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A schedule in rounds, for libraries that move messages in groups: all messages of a group are
 * under way at the same time, and a group ends when all of them have arrived (NCCL). Work between
 * two rounds is local: copies, and combinations of received data. Rounds are the same on all ranks:
 * a message has the same round at its sender and its receiver, so all ranks' plans are needed. A
 * round therefore waits for earlier rounds only, and cannot hang. Each contribution has its own
 * place in scratch, so all contributions of a round can arrive at once. Those of one destination
 * are combined in one pass. Independent passes run in one launch.
 *
 * Source: none; list scheduling, one piece per queue and round. Thread rule: pure functions; a
 * finished struct rounds is const.
 */
#ifndef COLLSHIM_PLANNERS_ROUNDS_H
#define COLLSHIM_PLANNERS_ROUNDS_H

#include "planners/plan/plan.h"
#include "planners/rounds/rounds_step.h"

/* The costs of a group and of a launch between two groups, at any size. They are rough: of NCCL
   between nodes (a kernel, its proxies, the way to a peer and back), and of a driver. An H100 took
   31 us by sockets. They decide how finely a schedule is cut, not whether it is correct. */
#define ROUND_GROUP_S 2e-5
#define ROUND_LAUNCH_S 3e-6
/* Rate of one of NCCL's channels for messages; 17.7 GB/s inside an H100. */
#define ROUND_CHANNEL_BYTES_PER_S 2e10

struct rounds {
    const char *algorithm; /* borrowed from the plan */
    uint32_t nsteps, ngroups;
    double seconds;       /* that all ranks need, by the links; the same on all ranks */
    double launch_s;      /* of these: groups and launches */
    uint64_t whole_bytes; /* a chunk of so many would cut no message; likewise */
    uint64_t chunk_bytes; /* the cut of messages, and the links' load with it */
    uint32_t fast_chunks, taper;
    uint64_t scratch_bytes;        /* the plan's, and places for contributions */
    const struct round_step *step; /* owned, [nsteps] in order */
};

/*
 * The steps of plan[rank]. plan: those of all ranks, for the same request and all in one form (in
 * place or not); borrowed, not needed afterwards. Returns 0 and *rounds_p (free with
 * rounds_free()), or -ENOMEM. -EINVAL: the plans do not fit together.
 */
int rounds_build(const struct plan *const *plan, int nranks, int rank,
                 const struct rounds_links *links, struct rounds **rounds_p);
void rounds_free(struct rounds *r); /* NULL is fine */

#endif
