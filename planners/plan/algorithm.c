/* SPDX-License-Identifier: BSD-3-Clause */
/* Reasons for which several rows do not pay. */
#include "planners/plan/algorithm.h"

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
