/* SPDX-License-Identifier: BSD-3-Clause */
#include "planners/plan/collective.h"

#include <string.h>

const struct plan_collective_row plan_collectives[COLL_COUNT] = {
#define COLLECTIVE(id, text, in, out, traits_)                                                     \
    [COLL_##id] = {text, .input = PLAN_##in, .output = PLAN_##out, .traits = (traits_)},
    PLAN_COLLECTIVES(COLLECTIVE)
#undef COLLECTIVE
};

const char *plan_collective_name(enum plan_collective c)
{
    return plan_collectives[c].name;
}

int plan_collective_find(const char *name)
{
    for (int c = 0; c < COLL_COUNT; c++)
        if (!strcmp(name, plan_collectives[c].name))
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

static uint64_t side_bytes(const struct plan_request *q, int rank, uint8_t side)
{
    size_t nranks = (size_t)q->topo->nranks;

    switch ((enum plan_side)side) {
    case PLAN_NOTHING:
        return 0;
    case PLAN_VECTOR:
    case PLAN_BLOCK:
        return plan_block_bytes(q, rank);
    case PLAN_BLOCKS:
        return all_blocks(q);
    case PLAN_ROOT_VECTOR:
        return rank == q->root ? q->nbytes : 0;
    case PLAN_ROOT_BLOCKS:
        return rank == q->root ? all_blocks(q) : 0;
    case PLAN_ROW:
        return demand_sum(q, (size_t)rank * nranks, 1, nranks);
    case PLAN_COLUMN:
        return demand_sum(q, (size_t)rank, nranks, nranks);
    case PLAN_PREFIX:
        return q->nbytes;
    case PLAN_PREFIX_BEFORE:
        return rank ? q->nbytes : 0;
    }
    return 0;
}

int plan_in_place(const struct plan_request *q, int rank)
{
    int root_only = plan_gathers(q->collective) || plan_scatters(q->collective);
    int lacks_output = plan_collectives[q->collective].output == PLAN_PREFIX_BEFORE && !rank;

    return q->in_place && !lacks_output && (!root_only || rank == q->root);
}

/* In place, a scatter's root keeps its block where it is; all others have their input in the
 * output. */
uint64_t plan_input_bytes(const struct plan_request *q, int rank)
{
    return plan_in_place(q, rank) && !plan_scatters(q->collective)
               ? 0
               : side_bytes(q, rank, plan_collectives[q->collective].input);
}

uint64_t plan_output_bytes(const struct plan_request *q, int rank)
{
    return plan_in_place(q, rank) && plan_scatters(q->collective)
               ? 0
               : side_bytes(q, rank, plan_collectives[q->collective].output);
}

uint64_t plan_total_bytes(const struct plan_request *q)
{
    size_t nranks = (size_t)q->topo->nranks;

    if (plan_has_demand(q->collective))
        return demand_sum(q, 0, 1, nranks * nranks);
    return plan_is_vector(q->collective) ? q->nbytes : all_blocks(q);
}
