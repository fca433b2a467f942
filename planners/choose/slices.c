/* SPDX-License-Identifier: BSD-3-Clause */
#include "planners/choose/slices.h"

#include "planners/links/cost.h"

/* Slices begin at whole cache lines of each block, so that no two processes write to one. */
enum { LINE = 64 };

static int is_cut(enum plan_collective c)
{
    return c == COLL_ALLREDUCE || c == COLL_ALLGATHER || c == COLL_REDUCE_SCATTER_BLOCK ||
           c == COLL_BCAST;
}

/* The least length of a slice: whole elements, a cache line or more of them. */
static uint64_t quantum_of(const struct plan_request *q)
{
    return (LINE + q->grain - 1) / q->grain * q->grain;
}

int slices_of(const struct plan_request *q, int processes)
{
    uint64_t quanta = q->nbytes / quantum_of(q);

    if (!is_cut(q->collective) || processes < 2 || quanta < 2)
        return 1;
    return quanta < (uint64_t)processes ? (int)quanta : processes;
}

struct plan_request slice_request(const struct plan_request *q, int n, int i, uint64_t *from)
{
    uint64_t quantum = quantum_of(q), quanta = q->nbytes / quantum;
    uint64_t each = quanta / (uint64_t)n, more = quanta % (uint64_t)n, index = (uint64_t)i;
    uint64_t before = index * each + (index < more ? index : more);
    struct plan_request slice = *q;

    *from = 0;
    if (!is_cut(q->collective))
        return slice;
    *from = before * quantum;
    slice.nbytes = (size_t)((each + (index < more)) * quantum);
    if (i == n - 1)
        slice.nbytes = (size_t)(q->nbytes - *from);
    slice.in_place = q->collective == COLL_ALLREDUCE || q->collective == COLL_ALLGATHER;
    slice.ppg = 0;
    return slice;
}

/* All of the input and the output, or, in place, the output alone. */
static struct slice_window whole_window(const struct plan_request *q)
{
    uint64_t input = plan_input_bytes(q, q->rank), output = plan_output_bytes(q, q->rank);
    struct slice_window w = {.output_at = (input + LINE - 1) / LINE * LINE};

    w.bytes = w.output_at + output;
    w.store = (struct slice_part){
        .buffer = PLAN_OUTPUT, .window_at = w.output_at, .length = output, .n = output > 0};
    w.fetch = (struct slice_part){.buffer = PLAN_INPUT, .length = input, .n = input > 0};
    if (plan_in_place(q, q->rank) && output)
        w.fetch = w.store;
    return w;
}

struct slice_window slice_window(const struct plan_request *q, const struct plan_request *slice,
                                 uint64_t from)
{
    uint64_t rank = (uint64_t)q->rank, nranks = (uint64_t)q->topo->nranks;
    uint64_t length = slice->nbytes, own_block = rank * q->nbytes + from;
    struct slice_part one_of_input = {.buffer = PLAN_INPUT, .at = from, .length = length, .n = 1};
    struct slice_part one_of_output = {.buffer = PLAN_OUTPUT, .at = from, .length = length, .n = 1};
    struct slice_window w = {.bytes = length, .store = one_of_output};
    int at_root = q->rank == q->root;

    switch (q->collective) {
    case COLL_ALLREDUCE:
        w.fetch = q->in_place ? one_of_output : one_of_input;
        break;
    case COLL_ALLGATHER:
        w.bytes = nranks * length;
        w.fetch = q->in_place ? one_of_output : one_of_input;
        if (q->in_place)
            w.fetch.at = own_block;
        w.fetch.window_at = rank * length;
        w.store.stride = q->nbytes;
        w.store.n = nranks;
        break;
    case COLL_REDUCE_SCATTER_BLOCK:
        w.output_at = (nranks * length + LINE - 1) / LINE * LINE;
        w.bytes = w.output_at + length;
        w.fetch = one_of_input;
        w.fetch.stride = q->nbytes;
        w.fetch.n = nranks;
        w.store.window_at = w.output_at;
        break;
    case COLL_BCAST: /* the root has it, the others get it */
        w.fetch = one_of_output;
        w.fetch.n = at_root;
        w.store.n = !at_root;
        break;
    default:
        return whole_window(q);
    }
    return w;
}

double slices_cost(const struct plan_request *q, int n)
{
    static const double orders = 50e-6; /* telling helpers, and being told, twice */
    const struct topo *t = q->topo;
    double copied = 2 * (double)plan_total_bytes(q) / n / cost_local_rate(q);

    return orders + copied + 2 * cost_log2(t->nranks) * cost_rail_latency(t);
}
