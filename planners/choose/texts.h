/* SPDX-License-Identifier: BSD-3-Clause */
/* Compositions as text where settings, a profile or a command name an algorithm: text:FILE. */
#ifndef COLLSHIM_PLANNERS_TEXTS_H
#define COLLSHIM_PLANNERS_TEXTS_H

#include "planners/plan/algorithm.h"

/* Is that the name of a text: text:FILE, or text(FILE@HASH) as reports write it? */
int texts_is(const char *name);

/* The row for such a name, and its recipe; the file is read. As plan_algorithm_parse. */
const struct plan_algorithm *texts_open(enum plan_collective c, const char *name, char *recipe,
                                        size_t recipe_size, char *why, size_t why_size);

#endif
