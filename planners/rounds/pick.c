/* SPDX-License-Identifier: BSD-3-Clause */
#include "planners/rounds/pick.h"

#include "planners/rounds/pace.h"

/* Making the rounds of three rows takes some ms at 32 ranks, and seconds at 256. */
enum { RANKS_MOST = 64, GRAIN = 16 };

/* A request that stands for all of its class: it has no other values. */
static struct plan_request typical(const struct plan_request *q, unsigned size_class)
{
    struct plan_request t = *q;
    uint64_t parts = q->nbytes ? plan_total_bytes(q) / q->nbytes : 1;

    t.nbytes = (size_t)(((uint64_t)1 << size_class) / parts / GRAIN * GRAIN);
    t.grain = GRAIN;
    t.root = 0;
    t.ppg = 0;
    t.recipe = NULL;
    return t;
}

static int is_listed(const struct plan_candidate *row, int n, const struct plan_candidate *one)
{
    for (int i = 0; i < n; i++)
        if (row[i].algorithm == one->algorithm && row[i].recipe == one->recipe)
            return 1;
    return 0;
}

/* Seconds, or -1: it cannot serve the request. */
static double seconds_of(struct plan_request q, const struct plan_candidate *row)
{
    const struct plan_algorithm *a = row->algorithm;
    struct rounds *r;
    double seconds;
    char why[256];

    q.recipe = row->recipe;
    if ((q.recipe && a->accepts && a->accepts(&q, why, sizeof why)) ||
        pace_rounds(&q, a, NULL, &r) != 0)
        return -1;
    seconds = r->seconds;
    rounds_free(r);
    return seconds;
}

/* algorithm NULL: none is worth it. */
static struct plan_candidate fastest(const struct plan_request *q, int must_pay)
{
    struct plan_candidate row[PLAN_CANDIDATES], best = {0};
    int n = must_pay ? plan_candidates(q, row, PLAN_CANDIDATES)
                     : plan_candidates_all(q, row, PLAN_CANDIDATES);
    double least = -1;

    for (int i = 0; i < n; i++) {
        double seconds = is_listed(row, i, &row[i]) ? -1 : seconds_of(*q, &row[i]);

        if (seconds >= 0 && (least < 0 || seconds < least)) {
            least = seconds;
            best = row[i];
        }
    }
    return best;
}

void pick_row(struct picks *picks, const struct plan_request *q, int must_pay,
              struct plan_candidate *way)
{
    uint64_t total = plan_total_bytes(q);
    unsigned size_class = total ? 63u - (unsigned)__builtin_clzll(total) : 0;
    uint32_t key = 1 + (unsigned)q->collective * 64 + size_class;
    struct pick *p = picks->entry;

    if (q->topo->nranks > RANKS_MOST)
        return;
    while (p < picks->entry + PICKS && p->key != key)
        p++;
    if (p == picks->entry + PICKS) {
        struct plan_request t = typical(q, size_class);

        p = &picks->entry[picks->n++ % PICKS];
        *p = (struct pick){.key = key};
        if (t.nbytes)
            p->way = fastest(&t, must_pay);
    }
    if (p->way.algorithm) {
        way->algorithm = p->way.algorithm;
        way->recipe = p->way.recipe;
    }
}
