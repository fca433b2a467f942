/* SPDX-License-Identifier: BSD-3-Clause */
#include "planners/plan/chunks.h"

#include "planners/plan/plan.h"

static int any_has_gpu(const struct topo *t)
{
    for (int r = 0; r < t->nranks; r++)
        if (t->rank[r].gpu >= 0)
            return 1;
    return 0;
}

/* Bytes on a GPU travel by cells, three or more chunks for each queue, in pinned memory. One rank
   with a GPU is enough: where a buffer lies is its rank's own affair. */
static size_t most_chunk(const struct plan_request *q)
{
    enum { OF_PINNED = 16 << 20 };

    return any_has_gpu(q->topo) ? OF_PINNED : PLAN_MOST_CHUNK;
}

/* Whole elements, at least one. */
static size_t cut_to_grain(const struct plan_request *q, size_t chunk)
{
    return chunk > q->grain ? chunk / q->grain * q->grain : q->grain;
}

/*
 * Within a node's memory, small chunks gain only if bytes are still in the cache when they are
 * combined with the next rank's. A message in one chunk is handed over at once, and then its sender
 * is free. Messages for several ranks go in pieces that the sender copies once for all of them
 * (transports/shm/shm_board.h), unless only the memory's own rate counts. GPUs copy a message to a
 * window for the others, and the next chunk while one is fetched.
 */
static size_t memory_chunk(const struct plan_request *q, uint64_t block)
{
    enum { SMALLEST = 64 << 10, SHARED = 128 << 10, CACHED = 512 << 10, OF_GPUS = 1 << 20 };
    enum { STAYS_IN_CACHE = 32 << 20 };
    int shared = plan_is(q->collective, PLAN_SPREADS) && q->topo->nranks > 2 &&
                 plan_total_bytes(q) <= STAYS_IN_CACHE;
    uint64_t message = q->collective == COLL_BCAST ? q->nbytes : block;
    size_t chunk = SMALLEST, most = plan_is(q->collective, PLAN_COMBINES) ? CACHED
                                    : any_has_gpu(q->topo)                ? OF_GPUS
                                    : shared                              ? SHARED
                                                                          : PLAN_MOST_CHUNK;

    while (chunk < message && chunk < most)
        chunk *= 2;
    return chunk;
}

/* For a demand: messages are split from four chunks on (nimble_options), so a quarter of the
   longest one. */
static uint64_t piece_of_demand(const struct plan_request *q)
{
    size_t pairs = (size_t)q->topo->nranks * (size_t)q->topo->nranks;
    uint64_t longest = 0;

    for (size_t i = 0; i < pairs; i++)
        longest = q->demand[i] > longest ? q->demand[i] : longest;
    return longest / 4;
}

/*
 * Measured on the emulated cluster (4 x 4 rails of 100 Mbit/s, Open MPI's TCP). Chunks
 * below the eager limit reach 1.00 of the bound if each rank has its rail. They reach half of it if
 * the library stripes messages over all rails, because it sends an eager message over one of them.
 * At 256 KiB both reach 0.97 or more; in between, rendezvous costs more than it gains. Blocks of
 * less than that over striped rails: Allreduce is faster whole (1 MiB: 58 ms against 67), Allgather
 * in eager chunks (64 KiB per rank: 31 ms against 39); there a measurement decides.
 */
int plan_chunks(const struct plan_request *q, size_t *chunk)
{
    enum { EAGER = 32 << 10, STRIPED = 256 << 10, PIECES = 64 };
    /* Bytes that move as one piece between two ranks: a share of a node's data. */
    uint64_t block =
        q->demand ? piece_of_demand(q) : plan_total_bytes(q) / (uint64_t)q->topo->nranks;
    size_t large = STRIPED, most = most_chunk(q);

    while (block / PIECES > large && large < most)
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
        chunk[i] = cut_to_grain(q, sizes[i]);
    return n;
}

/* Any message costs some microseconds, or a turn of the processor if ranks share one. 64 MiB byte
   by byte would take hours. */
size_t plan_chunk(const struct plan_request *q, size_t wanted)
{
    size_t most = most_chunk(q);

    if (wanted < PLAN_SMALL_CHUNK) {
        uint64_t least = plan_total_bytes(q) / PLAN_MANY_CHUNKS + q->grain;

        least = least < PLAN_SMALL_CHUNK ? least : PLAN_SMALL_CHUNK;
        wanted = wanted > least ? wanted : (size_t)least;
    }
    return cut_to_grain(q, wanted < most ? wanted : most);
}
