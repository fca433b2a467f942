/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * "Did you mean": of all known names, the one closest to the user's text.
 *
 *     struct nearest n = nearest_to("algoritm");
 *     for each known name: nearest_offer(&n, name);
 *     if (n.best) ...
 *
 * Distance is the number of letters to insert, drop, replace or swap with a neighbour, in upper or
 * lower case. A name that is too far off is no help and is never offered.
 */
#ifndef COLLSHIM_CONFIG_NEAREST_H
#define COLLSHIM_CONFIG_NEAREST_H

struct nearest {
    const char *name; /* borrowed: what was written */
    const char *best; /* borrowed: the closest so far, NULL if none is close enough */
    int distance;     /* a candidate must be closer than this */
};

struct nearest nearest_to(const char *name);
void nearest_offer(struct nearest *n, const char *candidate);

#endif
