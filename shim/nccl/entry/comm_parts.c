/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of a communicator's state. Helpers go first: they use its memory. */
#include "shim/nccl/comm/comm.h"
#include "shim/nccl/comm/comm_plans.h"
#include "shim/nccl/comm/redop.h"
#include "shim/nccl/comm/registered.h"
#include "shim/nccl/helpers/ppg_watch.h"
#include "shim/nccl/run/aside.h"
#include "shim/nccl/run/host_memory.h"

static void end_helpers(struct nccl_comm *c, int at_once)
{
    ppg_end(__atomic_load_n(&c->ppg, __ATOMIC_SEQ_CST), at_once);
}

static void forget_helpers(struct nccl_comm *c)
{
    ppg_forget(c->ppg);
}

const struct nccl_comm_part nccl_comm_parts[] = {
    {.end = end_helpers, .drop = forget_helpers},
    {.drop = aside_forget},
    {.drop = host_memory_forget},
    {.drop = nccl_comm_drop_plans},
    {.drop = redop_forget_all},
    {.drop = registered_forget},
};
const int nccl_comm_parts_n = sizeof nccl_comm_parts / sizeof *nccl_comm_parts;
