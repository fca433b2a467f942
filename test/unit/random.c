/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/unit/random.h"

#include <check.h>
#include <stdlib.h>

uint32_t rng_below(struct rng *r, uint32_t n)
{
    r->state = r->state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((r->state >> 33) % n);
}

struct topo *rng_topo(struct rng *r, int most)
{
    int n = 1 + (int)rng_below(r, (uint32_t)most);
    int nodes = 1 + (int)rng_below(r, (uint32_t)n);
    int shape = (int)rng_below(r, 3);
    struct topo_report *report = calloc((size_t)n, sizeof *report);
    struct topo *t = NULL;

    ck_assert_ptr_nonnull(report);
    for (int i = 0; i < n; i++) {
        uint64_t node = shape == 0   ? (uint64_t)(i * nodes / n) /* blocks */
                        : shape == 1 ? (uint64_t)(i % nodes)     /* cyclic */
                                     : rng_below(r, (uint32_t)nodes);
        report[i] = (struct topo_report){.node_key = node * 77 + 5, .gpu = -1, .world_rank = i};
    }
    ck_assert_int_eq(topo_from_reports(report, n, (int)rng_below(r, 5), &t), 0);
    free(report);
    if (rng_below(r, 2))
        for (int rail = 0; rail < t->nrails; rail++)
            t->rail[rail].bw_bytes_per_s = 1e6 * (1 + rng_below(r, 8));
    return t;
}

size_t *rng_bytes(struct rng *r, int n, size_t most)
{
    size_t *bytes = malloc((size_t)n * sizeof *bytes);
    uint32_t shape = rng_below(r, 4);
    size_t base = rng_below(r, (uint32_t)most);

    ck_assert_ptr_nonnull(bytes);
    for (int i = 0; i < n; i++)
        bytes[i] = shape == 0   ? base
                   : shape == 1 ? base + (rng_below(r, 2) && base < most)
                   : shape == 2 ? rng_below(r, (uint32_t)most)
                                : (rng_below(r, 4) ? 0 : rng_below(r, (uint32_t)most));
    return bytes;
}
