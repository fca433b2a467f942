/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/comm/gpus.h"

#include "shim/decide/base/say.h"
#include "transports/cuda/cuda_memory.h"

/* The highest bit of a domain is lost, which no machine has set for some GPUs and not for others.
 */
int32_t gpus_number(int64_t address)
{
    return address < 0 ? -1 : (int32_t)(address & INT32_MAX);
}

int32_t gpus_here(void)
{
    return gpus_number(cuda_current_address());
}

void gpus_everywhere(struct gpus *g, int nranks)
{
    g->everywhere = 1;
    say(CFG_LEVEL_INFO, "each of %d ranks has a GPU", nranks);
}
