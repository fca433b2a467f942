/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The algorithms: one row each, and the request that all of them answer.
 *
 * A planner is a pure function of the request: no MPI, no environment, no clock,
 * no state between calls. All ranks that ask with equal requests (but for rank and
 * in_place) get plans that fit together.
 */
#ifndef COLLSHIM_PLANNERS_REGISTRY_H
#define COLLSHIM_PLANNERS_REGISTRY_H

#include "config/topo.h"
#include "planners/plan.h"

/* COLLECTIVE(enum name, text as in COLLSHIM_ALGORITHM and on the command line, MPI name) */
#define PLAN_COLLECTIVES(COLLECTIVE)                \
    COLLECTIVE(ALLGATHER, "allgather", "Allgather") \
    COLLECTIVE(ALLGATHERV, "allgatherv", "Allgatherv") \
    COLLECTIVE(ALLREDUCE, "allreduce", "Allreduce")

enum plan_collective {
#define COLLECTIVE(id, text, mpi) PLAN_##id,
    PLAN_COLLECTIVES(COLLECTIVE)
#undef COLLECTIVE
    PLAN_COLLECTIVE_COUNT
};

const char *plan_collective_name(enum plan_collective c); /* "allgather" */
int plan_collective_find(const char *name);               /* or -1 */

/*
 * One collective on one communicator.
 * Allgather(v): rank r's block has bytes[r] bytes (nbytes if bytes is NULL), 0 is legal;
 * input: the own block; output: all blocks, packed in rank order.
 */
struct plan_request {
    enum plan_collective collective;
    const struct topo *topo; /* borrowed */
    int rank;
    size_t nbytes;
    const size_t *bytes; /* [nranks] borrowed, or NULL: all nbytes */
    int in_place;        /* the own contribution is in the output already; input is not used */
    size_t chunk_bytes;  /* > 0 */
};

static inline size_t plan_block_bytes(const struct plan_request *q, int rank)
{
    return q->bytes ? q->bytes[rank] : q->nbytes;
}

/* Sum of all ranks' blocks. */
uint64_t plan_total_bytes(const struct plan_request *q);

/* The chunk where nobody sets one: small enough to fill the pipeline early, large enough that its
   handling costs little. The same for all ranks. */
size_t plan_default_chunk(const struct plan_request *q);

struct plan_algorithm {
    const char *name;        /* as in COLLSHIM_ALGORITHM */
    unsigned collectives;    /* bit mask of 1u << enum plan_collective */
    const char *description; /* one line */
    const char *source;      /* paper or standard it follows */
    /* Why the shape gains nothing, as a constant text, or NULL if it may gain. Never consulted
       when the user forces the algorithm or sets COLLSHIM_MIN_BYTES=0. */
    const char *(*pays)(const struct plan_request *q);
    /* Returns 0 and *plan_p (caller frees), -ENOTSUP if it cannot serve this shape, or -ENOMEM.
       On error *plan_p is untouched. Thread-safe. */
    int (*build)(const struct plan_request *q, struct plan **plan_p);
};

extern const struct plan_algorithm *const plan_algorithms[];
extern const int plan_algorithm_count;

/* The row of that name which serves the collective, or NULL. */
const struct plan_algorithm *plan_algorithm_find(enum plan_collective c, const char *name);

/* The row that is taken when nobody forces one: the first that serves the collective. */
const struct plan_algorithm *plan_algorithm_default(enum plan_collective c);

#endif
