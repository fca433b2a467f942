/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nccl/comm/sited.h"

#include "shim/nccl/call/thread.h"
#include "shim/record/sites/call_site.h"
#include "shim/record/sites/caller.h"

void nccl_site_enter(const void *from, const char *cfa)
{
    if (this_thread.inside)
        return;
    this_thread.from = from;
    this_thread.cfa = cfa;
}

unsigned nccl_site_here(void)
{
    return settings_want_report() && site_table && this_thread.from
               ? caller_site(this_thread.from, this_thread.cfa)
               : SITE_OTHERS;
}

struct site_row *nccl_site_row(const struct nccl_comm *c, const struct nccl_call *call)
{
    uint32_t ranks = c ? (uint32_t)c->nranks : 0;
    uint32_t nodes = c && c->topo ? (uint32_t)c->topo->nnodes : 0;

    if (!site_table || !settings_want_report())
        return NULL;
    return site_row_of(call->site, call->collective, nccl_call_total_bytes(call, (int)ranks), ranks,
                       nodes);
}

static void add_call(const struct nccl_comm *c, const struct nccl_call *call, int way, uint8_t what)
{
    struct site_row *r = nccl_site_row(c, call);

    if (r)
        site_add_call(r, way, what, c ? nccl_call_total_bytes(call, c->nranks) : 0);
}

void nccl_count_native(const struct nccl_comm *c, const struct nccl_call *call, enum reason why)
{
    count_native(call->collective, why);
    add_call(c, call, SITE_NATIVE, (uint8_t)why);
}

void nccl_count_rerouted(const struct nccl_comm *c, const struct nccl_call *call,
                         const struct plan_algorithm *a, int processes)
{
    count_rerouted(call->collective, a, processes, nccl_call_total_bytes(call, c->nranks), 0);
    add_call(c, call, SITE_REROUTED, (uint8_t)count_row(a));
}

void nccl_sites_complete(void)
{
    for (uint32_t i = 0; site_table && i < site_table->rows; i++) {
        struct site_row *r = &site_table->row[i];

        for (int way = 0; way < SITE_WAYS; way++)
            r->nanoseconds[way] =
                (uint64_t)((double)r->calls[way] * histogram_quantile(r->bins[way], 0.5));
    }
}
