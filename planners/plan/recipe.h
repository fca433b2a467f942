/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recipes: what stands in parentheses behind an algorithm's name in COLLSHIM_ALGORITHM, as
 * key=value,key=value. A table says which keys there are; one function reads and checks.
 */
#ifndef COLLSHIM_PLANNERS_RECIPE_H
#define COLLSHIM_PLANNERS_RECIPE_H

#include <stddef.h>

/* A key a recipe may name. Its value is one of `words`, else a whole number if most > 0, else any
   text that is not empty. */
struct recipe_key {
    const char *name;
    const char *const *words; /* NULL at the end */
    int least, most;
};

/* A key's value in the recipe. */
struct recipe_value {
    const char *text; /* borrowed from the recipe, `length` characters; NULL: not named */
    size_t length;
    int number; /* index into words, or the number; else as it was before */
};

/*
 * Read a recipe (NULL and "" are the empty one) into value[nkeys], one per key. The caller has put
 * the defaults there; only keys that are named change. Commas within parentheses belong to the
 * value, as do colons. Returns 0, or -EINVAL with one line in why (may be NULL if why_size is 0):
 * the wrong part and the right values. No state, no memory; thread-safe.
 */
int recipe_read(const char *recipe, const struct recipe_key *key, int nkeys,
                struct recipe_value *value, char *why, size_t why_size);

#endif
