/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows. Among those that serve a collective the first is the default. */
#include "planners/choose/registry.h"

#include <stdio.h>
#include <string.h>

#include "planners/algorithms/collaborative/collaborative.h"
#include "planners/algorithms/compose/compose.h"
#include "planners/algorithms/compose/text.h"
#include "planners/algorithms/lane/lane.h"
#include "planners/algorithms/linear.h"
#include "planners/algorithms/nimble/nimble.h"
#include "planners/algorithms/parallel_rings/parallel_rings.h"
#include "planners/algorithms/prefix_chain.h"
#include "planners/algorithms/staggered_pairwise.h"
#include "planners/choose/texts.h"

/* clang-format off: a row a line */
const struct plan_algorithm *const plan_algorithms[] = {
    &plan_parallel_rings,     &plan_linear,           &plan_lane,
    &plan_staggered_pairwise, &plan_nimble,           &plan_prefix_chain,
    &plan_binomial_doubling,  &plan_binomial_halving, &plan_knomial,
    &plan_recursive_doubling, &plan_compose,          &plan_striped,
    &plan_pairwise,           &plan_collaborative,    &plan_text,
};
/* clang-format on */
const int plan_row_count = sizeof plan_algorithms / sizeof *plan_algorithms;
const int plan_algorithm_count = sizeof plan_algorithms / sizeof *plan_algorithms - 1;

const struct plan_algorithm *plan_algorithm_find(enum plan_collective c, const char *name)
{
    for (int i = 0; i < plan_algorithm_count; i++)
        if (plan_algorithms[i]->collectives & 1u << c && !strcmp(plan_algorithms[i]->name, name))
            return plan_algorithms[i];
    return NULL;
}

const struct plan_algorithm *plan_algorithm_parse(enum plan_collective c, const char *text,
                                                  char *recipe, size_t recipe_size, char *why,
                                                  size_t why_size)
{
    size_t name_length = strcspn(text, "("), length = strlen(text);
    char name[64];

    if (texts_is(text))
        return texts_open(c, text, recipe, recipe_size, why, why_size);
    snprintf(name, sizeof name, "%.*s", (int)name_length, text);
    snprintf(recipe, recipe_size, "%s", "");
    const struct plan_algorithm *a = plan_algorithm_find(c, name);
    if (!a) {
        snprintf(why, why_size, "no algorithm '%s' for %s; `collshim info` lists them", name,
                 plan_collective_name(c));
        return NULL;
    }
    if (name_length == length)
        return a;
    if (!a->accepts) {
        snprintf(why, why_size, "%s takes nothing in parentheses", name);
        return NULL;
    }
    if (text[length - 1] != ')') {
        snprintf(why, why_size, "%s(...) must end with ')'", name);
        return NULL;
    }
    if (length - name_length - 2 >= recipe_size) {
        snprintf(why, why_size, "%s: the recipe has more than %zu characters", name,
                 recipe_size - 1);
        return NULL;
    }
    snprintf(recipe, recipe_size, "%.*s", (int)(length - name_length - 2), text + name_length + 1);
    return a;
}

const struct plan_algorithm *plan_algorithm_default(enum plan_collective c)
{
    for (int i = 0; i < plan_algorithm_count; i++)
        if (plan_algorithms[i]->collectives & 1u << c)
            return plan_algorithms[i];
    return NULL;
}
