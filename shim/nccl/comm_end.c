/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a communicator's entry, with all that other units keep in it. */
#include <stdlib.h>
#include <unistd.h>

#include "shim/nccl/aside.h"
#include "shim/nccl/comm.h"
#include "shim/nccl/host_memory.h"
#include "shim/nccl/ppg_watch.h"
#include "shim/nccl/redop.h"
#include "shim/nccl/registered.h"
#include "shim/nccl/scratch.h"

void nccl_comm_end_helpers(struct nccl_comm *c, int at_once)
{
    ppg_end(__atomic_load_n(&c->ppg, __ATOMIC_SEQ_CST), at_once);
}

void nccl_comm_free(struct nccl_comm *c)
{
    if (c->notes >= 0)
        close(c->notes);
    ppg_forget(c->ppg);
    if (c->cu) {
        nccl_guard_forget(c);
        aside_forget(c);
        host_memory_forget(c);
        scratch_give(c->context, c->scratch, c->scratch_bytes, c->scratch_turn.last);
        for (struct nccl_comm_kept *k = c->kept, *next; k; k = next) {
            next = k->next;
            scratch_give(c->context, k->at, k->bytes, k->last);
            free(k);
        }
    }
    for (int i = 0; i < COMM_PLANS; i++)
        nccl_plan_clear(&c->plan[i]);
    redop_forget_all(c);
    registered_forget(c);
    topo_free(c->topo);
    store_rows_free(&c->found);
    free(c->connected);
    free(c->sent);
    free(c);
}
