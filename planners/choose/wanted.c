/* SPDX-License-Identifier: BSD-3-Clause */
#include "planners/choose/wanted.h"

#include <string.h>

#include "config/base/hash.h"
#include "config/settings/profile.h"

#define VARIANT PROFILE_NATIVE ":"

/* The row that COLLSHIM_ALGORITHM names, if any. */
static void choose(struct cfg *cfg, enum plan_collective c, struct choice *choice)
{
    char wanted[CFG_TEXT_MAX], why[256];

    choice->served = plan_algorithm_default(c) != NULL;
    if (!cfg_algorithm_for(cfg, plan_collective_name(c), wanted, sizeof wanted))
        return;
    choice->native = !strcmp(wanted, PROFILE_NATIVE) || !strncmp(wanted, VARIANT, strlen(VARIANT));
    if (choice->native) {
        if (!strcmp(wanted, VARIANT))
            cfg_problem(cfg,
                        "COLLSHIM_ALGORITHM: %s=native: names no algorithm; expected one of the "
                        "library's, such as native:ring (%s runs natively)",
                        plan_collective_name(c), plan_collective_name(c));
        else if (wanted[strlen(PROFILE_NATIVE)])
            memcpy(choice->variant, wanted + strlen(VARIANT), strlen(wanted + strlen(VARIANT)) + 1);
        return;
    }
    choice->forced =
        plan_algorithm_parse(c, wanted, choice->recipe, sizeof choice->recipe, why, sizeof why);
    if (!choice->forced)
        cfg_problem(cfg, "COLLSHIM_ALGORITHM: %s", why);
}

void wanted_open(struct cfg *cfg, struct choice *choice)
{
    char collective[64], value[CFG_TEXT_MAX];

    for (int c = 0; c < COLL_COUNT; c++)
        choose(cfg, (enum plan_collective)c, &choice[c]);
    /* an unknown collective is a typing error */
    for (int i = 0; cfg_algorithm_pair(cfg, i, collective, sizeof collective, value, sizeof value);
         i++)
        if (plan_collective_find(collective) < 0)
            cfg_problem(cfg, "COLLSHIM_ALGORITHM: no collective '%s'; `collshim info` lists them",
                        collective);
}

uint64_t wanted_hash(const struct choice *choice)
{
    uint64_t hash = HASH_SEED;

    for (int c = 0; c < COLL_COUNT; c++)
        hash = hash_text(hash, choice[c].recipe);
    return hash;
}
