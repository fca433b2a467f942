/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations shared by the tests of the topology: test_topo.c has the definitions. */
#ifndef COLLSHIM_TEST_UNIT_TEST_TOPO_H
#define COLLSHIM_TEST_UNIT_TEST_TOPO_H

#include <check.h>

#include "config/topo/topo.h"

/* The topology of a text that must be right; topo_free() it. */
struct topo *test_topo_parse(const char *text);

/* Every index of a topology says the same. */
void assert_topo_valid(const struct topo *t);

/* Do both hold the same ranks, rails and links? */
int test_topo_same(const struct topo *a, const struct topo *b);

/* Printing and parsing gives the same topology. seed: for the message. */
void assert_round_trip(const struct topo *t, unsigned seed);

/* Properties on random topologies and texts. */
TCase *tcase_topo_random(void);

#endif
