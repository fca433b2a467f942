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

/* COLLECTIVE(enum name, text as in COLLSHIM_ALGORITHM and on the command line) */
#define PLAN_COLLECTIVES(COLLECTIVE)                                                               \
    COLLECTIVE(ALLGATHER, "allgather")                                                             \
    COLLECTIVE(ALLGATHERV, "allgatherv")                                                           \
    COLLECTIVE(ALLREDUCE, "allreduce")                                                             \
    COLLECTIVE(REDUCE_SCATTER, "reduce_scatter")                                                   \
    COLLECTIVE(REDUCE_SCATTER_BLOCK, "reduce_scatter_block")                                       \
    COLLECTIVE(BCAST, "bcast")                                                                     \
    COLLECTIVE(REDUCE, "reduce")                                                                   \
    COLLECTIVE(GATHER, "gather")                                                                   \
    COLLECTIVE(GATHERV, "gatherv")                                                                 \
    COLLECTIVE(SCATTER, "scatter")                                                                 \
    COLLECTIVE(SCATTERV, "scatterv")                                                               \
    COLLECTIVE(ALLTOALL, "alltoall")                                                               \
    COLLECTIVE(ALLTOALLV, "alltoallv")

enum plan_collective {
#define COLLECTIVE(id, text) COLL_##id,
    PLAN_COLLECTIVES(COLLECTIVE)
#undef COLLECTIVE
        COLL_COUNT
};

const char *plan_collective_name(enum plan_collective c); /* "allgather" */
int plan_collective_find(const char *name);               /* or -1 */

/* Where input and output lie; scratch is taken there too, PLAN_HOST never on a device. */
enum plan_memory { PLAN_IN_HOST, PLAN_ON_DEVICE };

/*
 * One collective on one communicator. What nbytes and bytes[] mean:
 *
 *   collective              one size per rank         input                   output
 *   allgather(v)            rank r's block            own block               all blocks
 *   reduce_scatter(_block)  rank r's block            all blocks              own block, combined
 *   allreduce               the vector (nbytes)       vector                  vector, combined
 *   reduce                  the vector (nbytes)       vector                  root: the same
 *   bcast                   the vector (nbytes)       none                    vector; root holds it
 *   gather(v)               rank r's block            own block               root: all blocks
 *   scatter(v)              rank r's block            root: all blocks        own block
 *   alltoall                a block (nbytes)          a block per rank        a block from each
 *   alltoallv               demand[]                  a message per rank      one from each
 *
 * Blocks are packed in rank order. 0 bytes are legal everywhere. Combining is commutative and
 * element by element; elements have `grain` bytes, and all sizes are multiples of it.
 */
struct plan_request {
    enum plan_collective collective;
    const struct topo *topo; /* borrowed */
    int rank;
    int root;
    size_t nbytes;
    const size_t *bytes;    /* [nranks] borrowed: sizes that differ; NULL: all nbytes. Allgatherv,
                               gatherv, scatterv and reduce_scatter only */
    const uint64_t *demand; /* [nranks * nranks] borrowed: alltoallv only, row s what rank s sends
                               to each rank; nbytes is then 0 */
    size_t grain;           /* bytes of an element where something is combined; else 1 */
    int in_place;       /* the input is in the output already: all of it (allreduce), or where the
                           own block belongs (allgather(v); gather(v): the root's). The plan then
                           does not use the input. scatter(v): the root's block stays in the
                           input, and the root has no output. Read it with plan_in_place. Other
                           collectives: 0 */
    int ppg;            /* processes that could work for each rank (slices.h), for those who choose;
                           0 and 1: the rank alone */
    int host_threads;   /* of a rank that combine what goes through the host beside a device's own
                           way, its own among them; 0 and 1: that alone */
    size_t chunk_bytes; /* > 0, a multiple of grain */
    enum plan_memory memory; /* of all ranks alike */
    const char *recipe;      /* borrowed: what stands in parentheses behind the algorithm's name in
                                COLLSHIM_ALGORITHM, or NULL */
};

/* The size of rank r's block, or of the vector. */
static inline size_t plan_block_bytes(const struct plan_request *q, int rank)
{
    return q->bytes ? q->bytes[rank] : q->nbytes;
}

/* Is that rank in place? Of gather(v) and scatter(v) only the root can be. */
int plan_in_place(const struct plan_request *q, int rank);

/* Bytes of the input and of the output of a rank. */
uint64_t plan_input_bytes(const struct plan_request *q, int rank);
uint64_t plan_output_bytes(const struct plan_request *q, int rank);
/* The sum of the blocks, or the vector once. */
uint64_t plan_total_bytes(const struct plan_request *q);

/*
 * Chunks worth trying where nobody sets one, what was measured to be the best or else is the
 * safest first, at most PLAN_CHUNKS of them; returns
 * how many. Multiples of the grain, the same on all ranks.
 */
enum { PLAN_CHUNKS = 2 };
int plan_chunks(const struct plan_request *q, size_t *chunk);

/*
 * The chunk for q where somebody asks for one of `wanted` bytes: a multiple of the grain, and where
 * it is below PLAN_SMALL_CHUNK, as large as it takes for PLAN_MANY_CHUNKS to hold all of the call.
 * The same on all ranks.
 */
enum { PLAN_MANY_CHUNKS = 16 << 10, PLAN_SMALL_CHUNK = 4 << 10 };
size_t plan_chunk(const struct plan_request *q, size_t wanted);

struct plan_algorithm {
    const char *name;        /* as in COLLSHIM_ALGORITHM */
    unsigned collectives;    /* bit mask of 1u << enum plan_collective */
    const char *description; /* one line */
    const char *source;      /* paper or standard it follows */
    /* Why the shape gains nothing, as a constant text, or NULL if it may gain. Never consulted
       when the user forces the algorithm or sets COLLSHIM_MIN_BYTES=0. */
    const char *(*pays)(const struct plan_request *q);
    /* Seconds that the request takes, roughly: messages that wait for each other times latency, and
       bytes over the busiest link. Of uniform values only, never rank or in_place; cost.h has what
       it is made of. NULL: not known; the row comes after all that have one. */
    double (*cost)(const struct plan_request *q);
    /* Can q->recipe be built for this shape? 0, or -EINVAL with one line in why: which part is
       wrong and what would do. NULL: the algorithm takes no recipe. */
    int (*accepts)(const struct plan_request *q, char *why, size_t why_size);
    /* Returns 0 and *plan_p (caller frees), -ENOTSUP if it cannot serve this shape, or -ENOMEM.
       On error *plan_p is untouched. Thread-safe. */
    int (*build)(const struct plan_request *q, struct plan **plan_p);
};

/* A pays() for rows that use all rails of a node where a library's algorithm would use one. */
const char *plan_pays_on_idle_rails(const struct plan_request *q);

/* A pays() for rows that are there to be compared: never chosen unless somebody names them. */
const char *plan_pays_by_name(const struct plan_request *q);

extern const struct plan_algorithm *const plan_algorithms[];
extern const int plan_algorithm_count;

/* The row of that name which serves the collective, or NULL. */
const struct plan_algorithm *plan_algorithm_find(enum plan_collective c, const char *name);

/*
 * What COLLSHIM_ALGORITHM says of a collective: a row's name, or name(recipe). Returns the row,
 * with the recipe (without its parentheses; "" if there is none) in `recipe`, or NULL with one line
 * in why. Whether the recipe suits a shape is asked of the row's accepts().
 */
const struct plan_algorithm *plan_algorithm_parse(enum plan_collective c, const char *text,
                                                  char *recipe, size_t recipe_size, char *why,
                                                  size_t why_size);

/* The row that is taken when nobody forces one: the first that serves the collective. */
const struct plan_algorithm *plan_algorithm_default(enum plan_collective c);

#endif
