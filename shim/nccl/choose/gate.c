/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nccl/choose/gate.h"

#include "shim/decide/choose/gate.h"
#include "shim/nccl/choose/sets.h"

enum reason nccl_gate_call(const struct nccl_call *call)
{
    enum reason why;

    if (call->kind != CALL_COLLECTIVE)
        return REASON_MESSAGE;
    if (!call->count)
        return REASON_ARGUMENTS;
    if (!nccl_call_is_understood(call))
        return REASON_UNKNOWN_OPERATION;
    why = gate_collective(call->collective);
    return why ? why : gate_rounding(call->combines && nccl_call_rounds_results(call));
}

enum reason nccl_gate(const struct nccl_comm *c, const struct nccl_call *call)
{
    enum reason why = nccl_gate_call(call);

    if (why)
        return why;
    if (gate_bytes(nccl_call_total_bytes(call, c->nranks)))
        return REASON_SMALL;
    if (c->notes.fd < 0 && c->verdict)
        return c->verdict;
    if (call->root < 0 || call->root >= c->nranks || !nccl_call_has_buffers(call, c->rank))
        return REASON_ARGUMENTS;
    return REASON_NONE;
}

int nccl_gate_any(const struct nccl_comm *c, const struct nccl_call *call, int n)
{
    int candidate = 0;

    for (int i = 0; i < n && !candidate; i++)
        candidate = nccl_gate(c, &call[i]) == REASON_NONE;
    return candidate || nccl_set_is_candidate(c, call, n);
}
