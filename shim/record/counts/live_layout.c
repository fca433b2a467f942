/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/record/counts/live_layout.h"

#include "config/base/hash.h"
#include "planners/choose/variants.h"

const char *live_row_name(int c, int row)
{
    if (row < LIVE_REGISTRY)
        return row < plan_row_count ? plan_algorithms[row]->name : "library";

    const struct plan_variant *v = plan_variant_at((enum plan_collective)c, row - LIVE_REGISTRY);
    return v ? v->row.name : "?";
}

uint64_t live_names(void)
{
    uint64_t hash = HASH_SEED;

    for (int c = 0; c < COLL_COUNT; c++)
        hash = hash_text(hash, plan_collective_name((enum plan_collective)c));
    for (int r = 0; r < REASON_COUNT; r++)
        hash = hash_text(hash, reason_texts[r]);
    for (int i = 0; i < plan_row_count; i++)
        hash = hash_text(hash, plan_algorithms[i]->name);
    for (int i = 0; i < plan_variant_count; i++)
        hash = hash_text(hash, plan_variants[i].row.name);
    return hash;
}
