/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nccl/comm/rails.h"

#include "shim/nccl/call/process.h"
#include "shim/record/counts/rail_count.h"

/* Ranks that are threads of one process may have a rail each: then it counts as all of them. */
static void name_rail(const struct nccl_comm *c)
{
    const struct topo *t = c->topo;
    int rail = t->rank[c->rank].rail;
    uint64_t before = __atomic_load_n(&counters.live.rail.number, __ATOMIC_RELAXED);

    if (before == LIVE_RAIL_ALL)
        return;
    if (before && before != LIVE_RAIL_FIRST + (uint64_t)rail)
        rail = -1;
    rail_count_number(rail);
    if (rail >= 0)
        rail_count_can(t->rail[rail].bw_bytes_per_s, t->rail[rail].bw_bytes_per_s);
}

struct load_link nccl_rail_crossing(const struct nccl_comm *c, const struct rounds *r)
{
    const struct topo_rank *of = c->topo->rank;
    struct load_link sum = {0};

    if (!settings.cfg.topology[0])
        return sum;
    name_rail(c);
    for (uint32_t i = 0; i < r->nsteps; i++) {
        const struct round_step *s = &r->step[i];

        if ((s->kind != ROUND_SEND && s->kind != ROUND_RECV) ||
            of[s->peer].node == of[c->rank].node)
            continue;
        if (s->kind == ROUND_SEND)
            sum.out += (double)s->length;
        else
            sum.in += (double)s->length;
    }
    return sum;
}

void nccl_rail_count(const struct nccl_comm *c, const struct rounds *r)
{
    for (const struct nccl_plan *p = c->plans.plan; p < c->plans.plan + COMM_PLANS; p++)
        if (p->rounds == r)
            rail_count_call(&p->crossing, 0);
}
