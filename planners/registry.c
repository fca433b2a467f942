/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows. Among those that serve a collective the first is the default. */
#include "planners/registry.h"

#include <stdio.h>
#include <string.h>

#include "planners/collaborative/collaborative.h"
#include "planners/compose/compose.h"
#include "planners/lanes/lanes.h"
#include "planners/alltoall.h"
#include "planners/linear.h"
#include "planners/balance/nimble.h"
#include "planners/rings/rings.h"

/* clang-format off: a row a line */
const struct plan_algorithm *const plan_algorithms[] = {
    &plan_rings,
    &plan_linear,
    &plan_lanes,
    &plan_alltoall,
    &plan_nimble,
    &plan_binomial_doubling,
    &plan_binomial_halving,
    &plan_knomial,
    &plan_recursive_doubling,
    &plan_compose,
    &plan_nimble_striped,
    &plan_nimble_pairwise,
    &plan_collaborative,
};
/* clang-format on */
const int plan_algorithm_count = sizeof plan_algorithms / sizeof *plan_algorithms;

static const char *const collective_names[] = {
#define COLLECTIVE(id, text) text,
    PLAN_COLLECTIVES(COLLECTIVE)
#undef COLLECTIVE
};

const char *plan_collective_name(enum plan_collective c)
{
    return collective_names[c];
}

int plan_collective_find(const char *name)
{
    for (int c = 0; c < COLL_COUNT; c++)
        if (!strcmp(name, collective_names[c]))
            return c;
    return -1;
}

/* All blocks, one behind the other. */
static uint64_t all_blocks(const struct plan_request *q)
{
    uint64_t total = 0;

    if (!q->bytes)
        return (uint64_t)q->nbytes * (uint64_t)q->topo->nranks;
    for (int r = 0; r < q->topo->nranks; r++)
        total += q->bytes[r];
    return total;
}

/* A rank's row or column of the demand: its first entry, and how far it is to the next. */
static uint64_t demand_sum(const struct plan_request *q, size_t first, size_t stride, size_t n)
{
    uint64_t sum = 0;

    for (size_t i = 0; q->demand && i < n; i++)
        sum += q->demand[first + i * stride];
    return sum;
}

/* What a rank holds of the collective on one side. */
enum side { NOTHING, VECTOR, BLOCK, BLOCKS, ROOT_VECTOR, ROOT_BLOCKS, ROW, COLUMN };

static const struct {
    uint8_t input, output;
} sides[COLL_COUNT] = {
    [COLL_ALLGATHER] = {BLOCK, BLOCKS},
    [COLL_ALLGATHERV] = {BLOCK, BLOCKS},
    [COLL_ALLREDUCE] = {VECTOR, VECTOR},
    [COLL_REDUCE_SCATTER] = {BLOCKS, BLOCK},
    [COLL_REDUCE_SCATTER_BLOCK] = {BLOCKS, BLOCK},
    [COLL_BCAST] = {NOTHING, VECTOR},
    [COLL_REDUCE] = {VECTOR, ROOT_VECTOR},
    [COLL_GATHER] = {BLOCK, ROOT_BLOCKS},
    [COLL_GATHERV] = {BLOCK, ROOT_BLOCKS},
    [COLL_SCATTER] = {ROOT_BLOCKS, BLOCK},
    [COLL_SCATTERV] = {ROOT_BLOCKS, BLOCK},
    [COLL_ALLTOALL] = {BLOCKS, BLOCKS},
    [COLL_ALLTOALLV] = {ROW, COLUMN},
};

static uint64_t side_bytes(const struct plan_request *q, int rank, uint8_t side)
{
    size_t nranks = (size_t)q->topo->nranks;

    switch ((enum side)side) {
    case NOTHING:
        return 0;
    case VECTOR:
    case BLOCK:
        return plan_block_bytes(q, rank);
    case BLOCKS:
        return all_blocks(q);
    case ROOT_VECTOR:
        return rank == q->root ? q->nbytes : 0;
    case ROOT_BLOCKS:
        return rank == q->root ? all_blocks(q) : 0;
    case ROW:
        return demand_sum(q, (size_t)rank * nranks, 1, nranks);
    case COLUMN:
        return demand_sum(q, (size_t)rank, nranks, nranks);
    }
    return 0;
}

int plan_in_place(const struct plan_request *q, int rank)
{
    int rooted =
        sides[q->collective].input == ROOT_BLOCKS || sides[q->collective].output == ROOT_BLOCKS;

    return q->in_place && (!rooted || rank == q->root);
}

/* In place, a scatter's root keeps its block where it is; all others have their input in the
 * output. */
static int keeps_input(const struct plan_request *q)
{
    return sides[q->collective].input == ROOT_BLOCKS;
}

uint64_t plan_input_bytes(const struct plan_request *q, int rank)
{
    return plan_in_place(q, rank) && !keeps_input(q)
               ? 0
               : side_bytes(q, rank, sides[q->collective].input);
}

uint64_t plan_output_bytes(const struct plan_request *q, int rank)
{
    return plan_in_place(q, rank) && keeps_input(q)
               ? 0
               : side_bytes(q, rank, sides[q->collective].output);
}

uint64_t plan_total_bytes(const struct plan_request *q)
{
    uint8_t in = sides[q->collective].input, out = sides[q->collective].output;
    size_t nranks = (size_t)q->topo->nranks;

    if (in == ROW)
        return demand_sum(q, 0, 1, nranks * nranks);
    return in == VECTOR || out == VECTOR ? q->nbytes : all_blocks(q);
}

static int all_have_gpus(const struct topo *t)
{
    for (int r = 0; r < t->nranks; r++)
        if (t->rank[r].gpu < 0)
            return 0;
    return 1;
}

/*
 * Through a node's memory nothing is won by small chunks but bytes that are still in the cache when
 * they are combined with the next rank's. A message in one chunk is handed over at once, and its
 * sender is not needed any more. What several ranks read goes in pieces that the sender copies once
 * for all of them (transports/shm_board.h), unless the memory's own rate is all that counts. GPUs
 * copy a message to where others reach it, and the next chunk while one is fetched.
 */
static size_t memory_chunk(const struct plan_request *q, uint64_t block)
{
    enum { SMALLEST = 64 << 10, SHARED = 128 << 10, CACHED = 512 << 10, OF_GPUS = 1 << 20 };
    enum { STAYS_IN_CACHE = 32 << 20 };
    int combines = q->collective == COLL_ALLREDUCE || q->collective == COLL_REDUCE ||
                   q->collective == COLL_REDUCE_SCATTER ||
                   q->collective == COLL_REDUCE_SCATTER_BLOCK;
    int shared = (q->collective == COLL_BCAST || q->collective == COLL_ALLGATHER ||
                  q->collective == COLL_ALLGATHERV) &&
                 q->topo->nranks > 2 && plan_total_bytes(q) <= STAYS_IN_CACHE;
    uint64_t message = q->collective == COLL_BCAST ? q->nbytes : block;
    size_t chunk = SMALLEST, most = combines                 ? CACHED
                                    : all_have_gpus(q->topo) ? OF_GPUS
                                    : shared                 ? SHARED
                                                             : SIZE_MAX / 2;

    while (chunk < message && chunk < most)
        chunk *= 2;
    return chunk;
}

/* Of a demand: messages are split from four chunks on (nimble_options), so a quarter of the longest
   one. */
static uint64_t piece_of_demand(const struct plan_request *q)
{
    size_t pairs = (size_t)q->topo->nranks * (size_t)q->topo->nranks;
    uint64_t longest = 0;

    for (size_t i = 0; i < pairs; i++)
        longest = q->demand[i] > longest ? q->demand[i] : longest;
    return longest / 4;
}

/*
 * Measured on the emulated cluster (4 x 4 rails of 100 Mbit/s, Open MPI's TCP): chunks below the
 * eager limit reach 1.00 of the bound where each rank has its rail, but half of it where the
 * library stripes messages over all rails, because it sends an eager message over one of them;
 * at 256 KiB both reach 0.97 or more; in between, rendezvous costs more than it brings. Blocks of
 * less than that over striped rails: Allreduce is faster whole (1 MiB: 58 ms against 67), Allgather
 * in eager chunks (64 KiB per rank: 31 ms against 39); there measuring must tell.
 */
int plan_chunks(const struct plan_request *q, size_t *chunk)
{
    enum { EAGER = 32 << 10, STRIPED = 256 << 10, PIECES = 64 };
    enum { MOST = 1 << 30 }; /* what MPI sends at once: its lengths are ints */
    /* What travels in one piece between two ranks: a share of what a node handles. */
    uint64_t block =
        q->demand ? piece_of_demand(q) : plan_total_bytes(q) / (uint64_t)q->topo->nranks;
    size_t large = STRIPED;

    while (block / PIECES > large && large < MOST)
        large *= 2;
    int small_first = q->topo->rail_chunk && q->topo->rail_chunk <= EAGER;
    size_t sizes[PLAN_CHUNKS] = {small_first ? EAGER : large, small_first ? large : EAGER};
    int n = PLAN_CHUNKS;
    if (block < STRIPED) { /* the second sends blocks whole */
        sizes[0] = EAGER;
        sizes[1] = STRIPED;
        n = block > EAGER && !small_first ? 2 : 1;
    }
    if (q->topo->nnodes == 1) {
        sizes[0] = memory_chunk(q, block);
        n = 1;
    }
    for (int i = 0; i < n; i++)
        chunk[i] = sizes[i] > q->grain ? sizes[i] / q->grain * q->grain : q->grain;
    return n;
}

/* A message costs some microseconds, or a turn of the processor where ranks share one, whatever it
   carries: 64 MiB byte by byte would take hours. */
size_t plan_chunk(const struct plan_request *q, size_t wanted)
{
    if (wanted < PLAN_SMALL_CHUNK) {
        uint64_t least = plan_total_bytes(q) / PLAN_MANY_CHUNKS + q->grain;

        least = least < PLAN_SMALL_CHUNK ? least : PLAN_SMALL_CHUNK;
        wanted = wanted > least ? wanted : (size_t)least;
    }
    return wanted > q->grain ? wanted / q->grain * q->grain : q->grain;
}

const char *plan_pays_on_idle_rails(const struct plan_request *q)
{
    const struct topo *t = q->topo;

    if (t->nnodes < 2)
        return "all ranks share a node";
    return t->nranks > t->nnodes || q->ppg > 1 ? NULL : "one rank per node leaves no rail idle";
}

const char *plan_pays_by_name(const struct plan_request *q)
{
    (void)q;
    return "runs where it is named only";
}

const struct plan_algorithm *plan_algorithm_find(enum plan_collective c, const char *name)
{
    for (int i = 0; i < plan_algorithm_count; i++)
        if (plan_algorithms[i]->collectives & 1u << c && !strcmp(plan_algorithms[i]->name, name))
            return plan_algorithms[i];
    return NULL;
}

const struct plan_algorithm *plan_algorithm_parse(enum plan_collective c, const char *text,
                                                  char *recipe, size_t recipe_size, char *why,
                                                  size_t why_size)
{
    size_t name_length = strcspn(text, "("), length = strlen(text);
    char name[64];

    snprintf(name, sizeof name, "%.*s", (int)name_length, text);
    snprintf(recipe, recipe_size, "%s", "");
    const struct plan_algorithm *a = plan_algorithm_find(c, name);
    if (!a) {
        snprintf(why, why_size, "no algorithm '%s' for %s; `collshim info` lists them", name,
                 plan_collective_name(c));
        return NULL;
    }
    if (name_length == length)
        return a;
    if (!a->accepts) {
        snprintf(why, why_size, "%s takes nothing in parentheses", name);
        return NULL;
    }
    if (text[length - 1] != ')') {
        snprintf(why, why_size, "%s(...) must end with ')'", name);
        return NULL;
    }
    if (length - name_length - 2 >= recipe_size) {
        snprintf(why, why_size, "%s: the recipe has more than %zu characters", name,
                 recipe_size - 1);
        return NULL;
    }
    snprintf(recipe, recipe_size, "%.*s", (int)(length - name_length - 2), text + name_length + 1);
    return a;
}

const struct plan_algorithm *plan_algorithm_default(enum plan_collective c)
{
    for (int i = 0; i < plan_algorithm_count; i++)
        if (plan_algorithms[i]->collectives & 1u << c)
            return plan_algorithms[i];
    return NULL;
}
