/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random shapes for property tests: a small generator with a seed that is printed on
 * failure, and topologies with ranks in any order, unequal nodes and unequal rails.
 */
#ifndef COLLSHIM_TEST_UNIT_RANDOM_H
#define COLLSHIM_TEST_UNIT_RANDOM_H

#include <stdint.h>

#include "config/topo.h"

struct rng {
    uint64_t state;
};

uint32_t rng_below(struct rng *r, uint32_t n); /* 0 .. n-1 */

/* A topology of 1 .. most ranks. Aborts the test if memory runs out. Free with topo_free. */
struct topo *rng_topo(struct rng *r, int most);

/* Block sizes for n ranks, owned by the caller: equal, slightly unequal, wild, mostly zero ... */
size_t *rng_bytes(struct rng *r, int n, size_t most);

#endif
