/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collectives, one row each, and the request that every planner answers. Questions such as
 * "combines it?" are asked of the row (plan_is), so that a new collective is asked nowhere by name.
 */
#ifndef COLLSHIM_PLANNERS_COLLECTIVE_H
#define COLLSHIM_PLANNERS_COLLECTIVE_H

#include <stddef.h>
#include <stdint.h>

#include "config/topo/topo.h"

/* A rank's data of a collective on one side: nothing, the vector, its own block, all blocks, a row
   or a column of the demand. "The root's" sides hold that at the root, and nothing elsewhere. A
   prefix is the vector combined over the ranks up to the own one, or over those before it: nothing
   on rank 0. */
enum plan_side {
    PLAN_NOTHING,
    PLAN_VECTOR,
    PLAN_ROOT_VECTOR,
    PLAN_BLOCK,
    PLAN_BLOCKS,
    PLAN_ROOT_BLOCKS,
    PLAN_ROW,
    PLAN_COLUMN,
    PLAN_PREFIX,
    PLAN_PREFIX_BEFORE
};

enum plan_trait {
    PLAN_COMBINES = 1, /* contributions become one by an operation */
    PLAN_SPREADS = 2,  /* a rank's data goes to all, as it is */
    PLAN_ROOTED = 4,   /* one rank is the root */
    PLAN_BY_RANK = 8   /* a size per rank (plan_request.bytes) */
};

/* COLLECTIVE(enum name, text as in COLLSHIM_ALGORITHM and on the command line, input and output by
   enum plan_side, enum plan_trait...). Two forms of a collective stand side by side: tables that do
   not tell them apart have one row, [COLL_GATHER ... COLL_GATHERV]. */
#define PLAN_COLLECTIVES(COLLECTIVE)                                                               \
    COLLECTIVE(ALLGATHER, "allgather", BLOCK, BLOCKS, PLAN_SPREADS)                                \
    COLLECTIVE(ALLGATHERV, "allgatherv", BLOCK, BLOCKS, PLAN_SPREADS | PLAN_BY_RANK)               \
    COLLECTIVE(ALLREDUCE, "allreduce", VECTOR, VECTOR, PLAN_COMBINES)                              \
    COLLECTIVE(REDUCE_SCATTER, "reduce_scatter", BLOCKS, BLOCK, PLAN_COMBINES | PLAN_BY_RANK)      \
    COLLECTIVE(REDUCE_SCATTER_BLOCK, "reduce_scatter_block", BLOCKS, BLOCK, PLAN_COMBINES)         \
    COLLECTIVE(SCAN, "scan", VECTOR, PREFIX, PLAN_COMBINES)                                        \
    COLLECTIVE(EXSCAN, "exscan", VECTOR, PREFIX_BEFORE, PLAN_COMBINES)                             \
    COLLECTIVE(BCAST, "bcast", NOTHING, VECTOR, PLAN_SPREADS | PLAN_ROOTED)                        \
    COLLECTIVE(REDUCE, "reduce", VECTOR, ROOT_VECTOR, PLAN_COMBINES | PLAN_ROOTED)                 \
    COLLECTIVE(GATHER, "gather", BLOCK, ROOT_BLOCKS, PLAN_ROOTED)                                  \
    COLLECTIVE(GATHERV, "gatherv", BLOCK, ROOT_BLOCKS, PLAN_ROOTED | PLAN_BY_RANK)                 \
    COLLECTIVE(SCATTER, "scatter", ROOT_BLOCKS, BLOCK, PLAN_ROOTED)                                \
    COLLECTIVE(SCATTERV, "scatterv", ROOT_BLOCKS, BLOCK, PLAN_ROOTED | PLAN_BY_RANK)               \
    COLLECTIVE(ALLTOALL, "alltoall", BLOCKS, BLOCKS, 0)                                            \
    COLLECTIVE(ALLTOALLV, "alltoallv", ROW, COLUMN, 0)                                             \
    COLLECTIVE(NEIGHBOR_ALLGATHER, "neighbor_allgather", ROW, COLUMN, 0)                           \
    COLLECTIVE(NEIGHBOR_ALLTOALL, "neighbor_alltoall", ROW, COLUMN, 0)

enum plan_collective {
#define COLLECTIVE(id, ...) COLL_##id,
    PLAN_COLLECTIVES(COLLECTIVE)
#undef COLLECTIVE
        COLL_COUNT
};

extern const struct plan_collective_row {
    const char *name; /* "allgather" */
    uint8_t input, output, traits;
} plan_collectives[COLL_COUNT];

const char *plan_collective_name(enum plan_collective c);
int plan_collective_find(const char *name); /* or -1 */

/* Has the collective that trait? */
static inline int plan_is(enum plan_collective c, enum plan_trait trait)
{
    return (plan_collectives[c].traits & trait) != 0;
}

/* Does one vector, not a block per rank, go through it? */
static inline int plan_is_vector(enum plan_collective c)
{
    return plan_collectives[c].input == PLAN_VECTOR || plan_collectives[c].output == PLAN_VECTOR;
}

/* Do the blocks of all meet at the root, or begin there? */
static inline int plan_gathers(enum plan_collective c)
{
    return plan_collectives[c].output == PLAN_ROOT_BLOCKS;
}

static inline int plan_scatters(enum plan_collective c)
{
    return plan_collectives[c].input == PLAN_ROOT_BLOCKS;
}

/* Is there a demand, a size for each pair of ranks? */
static inline int plan_has_demand(enum plan_collective c)
{
    return plan_collectives[c].input == PLAN_ROW;
}

/* Does a rank get what the ranks before it have, combined? */
static inline int plan_is_prefix(enum plan_collective c)
{
    return plan_collectives[c].output == PLAN_PREFIX ||
           plan_collectives[c].output == PLAN_PREFIX_BEFORE;
}

/* The memory of input and output. Scratch is taken there too, PLAN_HOST never on a device. */
enum plan_memory { PLAN_IN_HOST, PLAN_ON_DEVICE };

/*
 * One collective on one communicator. The meaning of nbytes and bytes[]:
 *
 *   collective              one size per rank         input                   output
 *   allgather(v)            rank r's block            own block               all blocks
 *   reduce_scatter(_block)  rank r's block            all blocks              own block, combined
 *   allreduce               the vector (nbytes)       vector                  vector, combined
 *   reduce                  the vector (nbytes)       vector                  root: the same
 *   scan, exscan            the vector (nbytes)       vector                  combined up to a rank
 *   bcast                   the vector (nbytes)       none                    vector; root has it
 *   gather(v)               rank r's block            own block               root: all blocks
 *   scatter(v)              rank r's block            root: all blocks        own block
 *   alltoall                a block (nbytes)          a block per rank        a block from each
 *   alltoallv               demand[]                  a message per rank      one from each
 *   neighbor_...            demand[]                  likewise                likewise
 *
 * Scan combines ranks 0 ... r, exscan 0 ... r - 1, which is nothing on rank 0. Blocks are packed in
 * rank order. 0 bytes are legal everywhere. Combining is commutative and element by element;
 * elements have `grain` bytes, and all sizes are multiples of it.
 */
struct plan_request {
    enum plan_collective collective;
    const struct topo *topo; /* borrowed */
    int rank;
    int root;
    size_t nbytes;
    const size_t *bytes;    /* [nranks] borrowed: sizes that differ; NULL: all nbytes. Allgatherv,
                               gatherv, scatterv and reduce_scatter only */
    const uint64_t *demand; /* [nranks * nranks] borrowed: where plan_has_demand, row s what rank s
                               sends to each rank; nbytes is then 0 */
    size_t grain;           /* bytes of an element where something is combined; else 1 */
    int in_place;       /* the input is in the output already: all of it (allreduce, scan, exscan
                           but for rank 0, which has no output), or where the own block belongs
                           (allgather(v); gather(v): the root's). The plan then does not use the
                           input. scatter(v): the root's block stays in the input, and the root
                           has no output. Read it with plan_in_place. Other collectives: 0 */
    int ppg;            /* processes that could work for each rank (slices.h), for those who choose;
                           0 and 1: the rank alone */
    int host_threads;   /* of a rank that combine what goes through the host beside a device's own
                           way, its own among them; 0 and 1: that alone */
    int library_beside; /* likewise: the library's own call carries the devices' way, and the
                           devices combine what goes through the host (split.h) */
    size_t chunk_bytes; /* > 0, a multiple of grain */
    uint32_t most_messages;    /* of a schedule in rounds: that a rank sends and receives in one of
                                  them; 0: any number */
    double inside_bytes_per_s; /* likewise: that a rank's messages to the others of its node carry
                                  together, at most; 0: what the links do */
    enum plan_memory memory;   /* of all ranks alike */
    const char *recipe; /* borrowed: what stands in parentheses behind the algorithm's name in
                           COLLSHIM_ALGORITHM, or NULL */
};

/* The size of rank r's block, or of the vector. */
static inline size_t plan_block_bytes(const struct plan_request *q, int rank)
{
    return q->bytes ? q->bytes[rank] : q->nbytes;
}

/* Is that rank in place? In gather(v) and scatter(v) only the root can be, in exscan not rank 0. */
int plan_in_place(const struct plan_request *q, int rank);

/* Bytes of the input and of the output of a rank. */
uint64_t plan_input_bytes(const struct plan_request *q, int rank);
uint64_t plan_output_bytes(const struct plan_request *q, int rank);
/* The sum of the blocks, or the vector once. */
uint64_t plan_total_bytes(const struct plan_request *q);

#endif
