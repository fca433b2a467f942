/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nccl/choose/candidates.h"

#include "planners/algorithms/collaborative/collaborative.h"
#include "planners/algorithms/nimble/nimble.h"
#include "shim/decide/base/say.h"
#include "shim/decide/choose/choose.h"
#include "shim/decide/choose/gate.h"
#include "shim/nccl/helpers/ppg.h"
#include "shim/nccl/run/host_path.h"
#include "shim/nccl/run/schedule.h"

/* The candidates for the call on a communicator with that many processes per rank: the named ones,
   or else the model's. */
static int find_ways(const struct plan_request *q, const struct tuning_row *row,
                     struct picks *picks, struct plan_candidate *way)
{
    int n, must_pay = settings.cfg.min_bytes != 0;

    if (choose_named(q, row, way)) {
        way->ppg = way->algorithm == &plan_collaborative ? 1 : q->ppg;
        return way->algorithm || way->ppg > 1;
    }
    n = plan_candidates_with_library(q, way, must_pay);
    for (int i = 0; i < n; i++) {
        struct plan_request slice = *q;

        slice.nbytes /= (size_t)way[i].ppg;
        if (way[i].algorithm)
            pick_row(picks, &slice, must_pay, &way[i]);
        way[i].chunk_bytes = 0; /* the size of what is run decides */
    }
    return n;
}

/* A helper's communicator does not know what the program has made of its own. */
static int without_library(struct plan_candidate *way, int n)
{
    int left = 0;

    for (int i = 0; i < n; i++)
        if (way[i].algorithm)
            way[left++] = way[i];
    return left;
}

/* Can the recipe be built for the call? Rank 0 says why not once per collective. */
static int recipe_suits(const struct plan_request *q, const struct plan_algorithm *a)
{
    static int said[COLL_COUNT];
    char why[256] = "";

    if (!a || !q->recipe || !a->accepts || a->accepts(q, why, sizeof why) == 0)
        return 1;
    if (!q->rank && !__atomic_exchange_n(&said[q->collective], 1, __ATOMIC_RELAXED))
        say(CFG_LEVEL_WARN, "NCCL %s=%s(%s) on %d ranks: %s (it runs natively)",
            plan_collective_name(q->collective), a->name, q->recipe, q->topo->nranks, why);
    return 0;
}

/* Leave out recipes that cannot be built for the call. named: by the settings or the profile.
   Returns how many ways are left. */
static int sift(const struct nccl_call *call, const struct nccl_comm *c, struct plan_candidate *way,
                int n, int named)
{
    int left = 0;

    for (int i = 0; i < n; i++) {
        struct plan_request q = schedule_request(call, c, &way[i]);
        const struct plan_algorithm *a = way[i].algorithm;

        if (a == &plan_collaborative && !(named && host_path_serves(call, c, &way[i])))
            continue;
        if (recipe_suits(&q, a))
            way[left++] = way[i];
    }
    return left;
}

/* A part through the host, for the guard to try, where the model knows the links and sees a gain.
   Returns how many ways there are then. */
static int add_host_path(const struct nccl_call *call, const struct nccl_comm *c,
                         struct plan_candidate *way, int n)
{
    struct plan_request q = schedule_request(call, c, NULL);

    if (n == PLAN_CANDIDATES || !settings.cfg.min_bytes || !host_path_is_known(c->topo) ||
        call->collective != COLL_ALLREDUCE || plan_collaborative.pays(&q))
        return n;
    way[n] = (struct plan_candidate){
        .algorithm = &plan_collaborative, .seconds = plan_collaborative.cost(&q), .ppg = 1};
    return n + host_path_serves(call, c, &way[n]);
}

/* As many processes per rank as there are, or as the row says: a row without a word of it means
 * one.
 */
static int processes_for(struct nccl_comm *c, const struct nccl_call *call,
                         const struct tuning_row *row)
{
    int most = row && row->ppg < 2 ? 1 : ppg_slices(c, call);

    return row && row->ppg > 1 && row->ppg < most ? row->ppg : most;
}

enum reason nccl_find_candidates(struct nccl_comm *c, struct nccl_part *p)
{
    const struct nccl_call *call = p->call;
    struct plan_request q = schedule_request(call, c, NULL);
    const struct tuning_row *row = choose_row(&q, plan_total_bytes(&q));
    int n, named;

    if (row && !row->algorithm && row->ppg < 2)
        return REASON_PROFILE;
    q.ppg = processes_for(c, call, row);
    n = find_ways(&q, row, &c->plans.picks, p->way);
    if (call->redop)
        n = without_library(p->way, n);
    named = row || settings.choice[call->collective].forced;
    p->nways = sift(call, c, p->way, n, named);
    if (!named)
        p->nways = add_host_path(call, c, p->way, p->nways);
    if (p->nways)
        return REASON_NONE;
    return n ? REASON_RECIPE : row ? REASON_PROFILE : choose_why_nothing(&q);
}

/* Is there more to be gained than the asking and the rounds cost? */
static int is_worth_it(const struct plan_request *q)
{
    double direct, balanced;

    return !settings.cfg.min_bytes ||
           (nimble_predict(q, &direct, &balanced) == 0 && balanced < 0.9 * direct);
}

enum reason nccl_find_for_set(const struct nccl_comm *c, const struct nccl_set *set,
                              struct plan_candidate *way)
{
    const struct choice *choice = &settings.choice[COLL_ALLTOALLV];
    struct plan_request q = schedule_set_request(set, c, NULL);
    uint64_t total = plan_total_bytes(&q);
    const struct tuning_row *row = choose_row(&q, total);

    *way = (struct plan_candidate){.algorithm = choice->forced, .ppg = 1};
    if (!nccl_set_ties_all(set, c->nranks))
        return REASON_LOOSE;
    if (gate_bytes(total))
        return REASON_SMALL;
    if (choice->forced)
        return REASON_NONE;
    if (row && !row->algorithm)
        return REASON_PROFILE;
    if (row && row->chunk_bytes && !settings.cfg.chunk_bytes)
        way->chunk_bytes = row->chunk_bytes;
    way->algorithm = row ? row->algorithm : &plan_nimble;
    return row || is_worth_it(&q) ? REASON_NONE : REASON_SIZE;
}
