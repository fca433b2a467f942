/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nccl/run/set.h"

#include <stdlib.h>

int nccl_set_open(struct nccl_set *set, int nranks)
{
    size_t n = (size_t)nranks;

    *set = (struct nccl_set){.demand = calloc(n * n, sizeof *set->demand)};
    for (int i = 0; i < 2; i++) {
        set->offset[i] = calloc(n + 1, sizeof *set->offset[i]);
        set->at[i] = calloc(n, sizeof *set->at[i]);
    }
    return set->demand && set->offset[0] && set->offset[1] && set->at[0] && set->at[1];
}

void nccl_set_close(struct nccl_set *set)
{
    free(set->demand);
    for (int i = 0; i < 2; i++) {
        free(set->offset[i]);
        free(set->at[i]);
    }
}

int nccl_set_ties_all(const struct nccl_set *set, int nranks)
{
    for (int a = 0; a < nranks; a++)
        for (int b = 0; b < a; b++)
            if (!set->demand[a * nranks + b] && !set->demand[b * nranks + a])
                return 0;
    return 1;
}
