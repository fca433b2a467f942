/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nccl/comm/rolled.h"

#include "shim/nccl/call/thread.h"

static const uint8_t names[COLL_COUNT] = {[COLL_ALLGATHER] = ROLL_Allgather,
                                          [COLL_ALLREDUCE] = ROLL_Allreduce,
                                          [COLL_REDUCE_SCATTER_BLOCK] = ROLL_Reduce_scatter_block,
                                          [COLL_BCAST] = ROLL_Bcast,
                                          [COLL_REDUCE] = ROLL_Reduce,
                                          [COLL_ALLTOALL] = ROLL_Alltoall};

void nccl_roll_add(ncclComm_t comm, uint64_t key, int nranks, int rank)
{
    if (roll)
        roll_add((uintptr_t)comm, key, nranks, rank);
}

void nccl_roll_note(const struct nccl_call *call)
{
    int known;
    struct roll_line *l = roll_find((uintptr_t)call->comm, &known);
    int rooted = plan_is(call->collective, PLAN_ROOTED);

    if (l)
        roll_enter(l, (struct roll_call){.bytes = call->count * nccl_call_type_bytes(call->type),
                                         .root = rooted ? call->root : ROLL_NO_ROOT,
                                         .site = roll_site(this_thread.from, this_thread.cfa),
                                         .what = names[call->collective],
                                         .form = ROLL_STARTED});
}
