/* SPDX-License-Identifier: BSD-3-Clause */
/* The algorithms: one row each. */
#ifndef COLLSHIM_PLANNERS_REGISTRY_H
#define COLLSHIM_PLANNERS_REGISTRY_H

#include "planners/plan/algorithm.h"

extern const struct plan_algorithm *const plan_algorithms[];
extern const int plan_algorithm_count; /* that serve as they are; behind them, */
extern const int plan_row_count;       /* up to here, is the row that needs a file: text */

/* The row of that name which serves the collective, or NULL. */
const struct plan_algorithm *plan_algorithm_find(enum plan_collective c, const char *name);

/*
 * Parse COLLSHIM_ALGORITHM's text for a collective: a row's name, name(recipe), or text:FILE, which
 * is then read (texts.h). Returns the row, with the recipe (without its parentheses; "" if there is
 * none) in `recipe`, or NULL with one line in why. Whether the recipe suits a shape is asked of the
 * row's accepts().
 */
const struct plan_algorithm *plan_algorithm_parse(enum plan_collective c, const char *text,
                                                  char *recipe, size_t recipe_size, char *why,
                                                  size_t why_size);

/* The row that is taken when the user forces none: the first that serves the collective. */
const struct plan_algorithm *plan_algorithm_default(enum plan_collective c);

#endif
