/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Star: the root of a Bcast sends the whole vector to each other rank in turn. The smallest
 * complete row of the registry; docs/tasks.md adds it to a copy of the tree.
 */
#include <errno.h>

#include "planners/plan/algorithm.h"

static int star_build(const struct plan_request *q, struct plan **plan_p)
{
    struct plan_builder *b = plan_build_begin(q->rank, q->topo->nranks, q->chunk_bytes);

    if (!b)
        return -ENOMEM;
    if (q->rank != q->root)
        plan_recv(b, q->root, 0, PLAN_OUTPUT, 0, q->nbytes);
    else
        for (int peer = 0; peer < q->topo->nranks; peer++)
            if (peer != q->root)
                plan_send(b, peer, 0, PLAN_OUTPUT, 0, q->nbytes);
    return plan_build_finish(b, "star", plan_input_bytes(q, q->rank), plan_output_bytes(q, q->rank),
                             0, 0, plan_p);
}

extern const struct plan_algorithm plan_star;
const struct plan_algorithm plan_star = {
    .name = "star",
    .collectives = 1u << COLL_BCAST,
    .description = "the root sends the whole vector to each other rank in turn",
    .source = "an example",
    .pays = plan_pays_by_name,
    .build = star_build,
};
