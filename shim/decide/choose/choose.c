/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/decide/choose/choose.h"

int choose_is_guarded(enum plan_collective c)
{
    const struct cfg *cfg = &settings.cfg;

    return cfg->choose == CFG_CHOOSE_MEASURE && cfg->mode == CFG_MODE_ON && cfg->min_bytes &&
           !settings.choice[c].forced && !settings.choice[c].variant[0];
}

const struct tuning_row *choose_row(const struct plan_request *q, uint64_t total)
{
    const struct choice *choice = &settings.choice[q->collective];

    return choice->forced || choice->variant[0] || !settings.tuning.nrows
               ? NULL
               : tuning_find(&settings.tuning, q, total);
}

int choose_named(const struct plan_request *q, const struct tuning_row *row,
                 struct plan_candidate *named)
{
    const struct choice *choice = &settings.choice[q->collective];
    const char *recipe = choice->forced ? choice->recipe : row ? row->recipe : "";

    if (!choice->forced && !row)
        return 0;
    *named = (struct plan_candidate){
        .algorithm = choice->forced ? choice->forced : row->algorithm,
        .recipe = recipe[0] ? recipe : NULL,
        .chunk_bytes = choice->forced || settings.cfg.chunk_bytes ? 0 : row->chunk_bytes,
        .ppg = choice->forced ? q->ppg : row->ppg};
    return 1;
}

enum reason choose_why_nothing(const struct plan_request *q)
{
    return plan_nothing_pays(q) ? REASON_SHAPE : REASON_SIZE;
}

enum choose_way choose_way(unsigned *ab_count)
{
    if (settings.cfg.mode == CFG_MODE_VERIFY)
        return CHOOSE_BOTH;
    return settings.cfg.mode == CFG_MODE_AB && (*ab_count)++ % 2 == 0 ? CHOOSE_NATIVE
                                                                      : CHOOSE_REROUTED;
}
