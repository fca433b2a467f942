/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random shapes for property tests: a small generator with a seed that is printed on
 * failure, and topologies with ranks in any order, unequal nodes and unequal rails.
 */
#ifndef COLLSHIM_TEST_UNIT_RANDOM_H
#define COLLSHIM_TEST_UNIT_RANDOM_H

#include <check.h>
#include <stdint.h>

#include "planners/choose/registry.h"

/* As ck_assert_msg, for inner loops: Check writes to a file at every assertion that holds. */
#define must(holds, ...)                                                                           \
    do {                                                                                           \
        if (!(holds))                                                                              \
            ck_abort_msg(__VA_ARGS__);                                                             \
    } while (0)

struct rng {
    uint64_t state;
};

uint32_t rng_below(struct rng *r, uint32_t n); /* 0 .. n-1 */

/* How many seeds a test tries: `most`, or a tenth where UNIT_QUICK is set (scripts/test --quick).
 */
uint64_t rng_seeds(uint64_t most);

/* A rate from 1 to `most` MB/s for each rail of each node, each way. */
void rng_rates(struct rng *r, struct topo *t, uint32_t most);

/* A topology of 1 .. most ranks. Aborts the test if memory runs out. Free with topo_free. */
struct topo *rng_topo(struct rng *r, int most);

/*
 * A request for the collective on a topology of up to most_ranks ranks, blocks of up to
 * most_elements elements: sizes equal, slightly unequal, wild, mostly zero; any root, element
 * size, chunk, in place where that is allowed. rank is 0. Free with rng_request_free.
 */
struct plan_request rng_request(struct rng *r, enum plan_collective c, int most_ranks,
                                uint32_t most_elements);
void rng_request_free(struct plan_request *q);

/* The request in words, for a failing test; text has room for 1024 bytes. */
const char *rng_request_text(const struct plan_request *q, char *text);

#endif
