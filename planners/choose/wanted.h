/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * COLLSHIM_ALGORITHM with its names looked up: what the user wants of each collective.
 *
 * Thread rule: opening is single-threaded; then const.
 */
#ifndef COLLSHIM_PLANNERS_WANTED_H
#define COLLSHIM_PLANNERS_WANTED_H

#include "config/settings/settings.h"
#include "planners/choose/registry.h"

/* COLLSHIM_ALGORITHM's text for one collective. */
struct choice {
    const struct plan_algorithm *forced; /* the row the user named, or NULL */
    char recipe[CFG_TEXT_MAX];           /* the text in parentheses; "": none */
    int native;                          /* the user wants the library's, and */
    char variant[CFG_TEXT_MAX];          /* that algorithm of it (variants.h); "": its choice */
    int served;                          /* some row serves the collective */
};

/* Fill choice[COLL_COUNT]; names that do not exist become problems of c. */
void wanted_open(struct cfg *c, struct choice *choice);

/* Equal recipes have equal hashes. A recipe of a text has the hash of what the file holds. */
uint64_t wanted_hash(const struct choice *choice);

#endif
