/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The checker must refuse what is wrong. A right plan of two ranks is broken in one place at
 * a time, and then the plans of Parallel Rings are, at random.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "planners/algorithms/parallel_rings/parallel_rings.h"
#include "planners/check/check.h"
#include "test/unit/random.h"
#include "test/unit/request.h"
#include "test/unit/suites.h"
#include "test/unit/test_topo.h"

/* The ways in which the two-rank plan below can be wrong. */
enum flaw {
    RIGHT,
    NO_COPY,
    WRONG_PLACE,
    SHORT_RECEIVE,
    NO_RECEIVE,
    EXTRA_SEND,
    WRONG_TAG,
    SELF_SEND,
    WAITS_IN_A_CIRCLE,
    UNNAMED_HAZARD,
    PAST_THE_END,
    READS_UNWRITTEN,
    READS_UNWRITTEN_HOST,
    PAST_THE_HOST_END,
    HOST_TO_OUTPUT,
    COMBINES_ACROSS,
    WRAPS_AROUND,
    TOO_LARGE,
    FLAWS
};

static const char *const expected[FLAWS] = {
    [NO_COPY] = "never written",
    [WRONG_PLACE] = "neither waits",
    [SHORT_RECEIVE] = "where 7 are received",
    [NO_RECEIVE] = "nothing at rank",
    [EXTRA_SEND] = "more to rank",
    [WRONG_TAG] = "nothing at rank",
    [SELF_SEND] = "nothing at rank",
    [WAITS_IN_A_CIRCLE] = "never gets past",
    [UNNAMED_HAZARD] = "neither waits",
    [PAST_THE_END] = "past the end",
    [READS_UNWRITTEN] = "of scratch before it is written",
    [READS_UNWRITTEN_HOST] = "of host before it is written",
    [PAST_THE_HOST_END] = "past the end",
    [HOST_TO_OUTPUT] = "sends from host to rank 0 with tag 0 what is received into output",
    [WRAPS_AROUND] = "past the end",
    [TOO_LARGE] = "at most 4 EiB",
    [COMBINES_ACROSS] = "combines host memory with other memory",
};

/* Allgather of 8 bytes on two ranks; rank 1's plan has the flaw. */
static struct plan *exchange(int rank, enum flaw flaw)
{
    struct plan_builder *b = plan_build_begin(rank, 2, 3);
    struct plan *p = NULL;
    uint64_t own = (uint64_t)rank * 8, other = 8 - own;
    uint32_t copy = PLAN_NO_OP;

    if (rank == 0)
        flaw = RIGHT;
    if (flaw != NO_COPY)
        copy = plan_copy(b, 0, PLAN_INPUT, 0, PLAN_OUTPUT, flaw == WRONG_PLACE ? other : own, 8);
    if (flaw == WAITS_IN_A_CIRCLE)
        plan_after(b, 1);
    if (flaw == READS_UNWRITTEN_HOST)
        plan_copy(b, 1, PLAN_HOST, 0, PLAN_SCRATCH, 0, 4);
    if (flaw == PAST_THE_HOST_END)
        plan_copy(b, 1, PLAN_INPUT, 0, PLAN_HOST, 5, 4);
    if (flaw == HOST_TO_OUTPUT) {
        uint32_t staged = plan_copy(b, 1, PLAN_INPUT, 0, PLAN_HOST, 0, 8);
        plan_send(b, 0, 0, PLAN_HOST, 0, 8);
        plan_after(b, staged);
    }
    if (flaw == COMBINES_ACROSS)
        plan_reduce(b, 0, PLAN_INPUT, 0, PLAN_HOST, 0, 8);
    if (flaw == WRAPS_AROUND)
        plan_copy(b, 1, PLAN_INPUT, UINT64_MAX - 3, PLAN_SCRATCH, 0, 8);
    plan_send(b, flaw == SELF_SEND ? rank : 1 - rank, flaw == WRONG_TAG ? 5 : 0,
              flaw == READS_UNWRITTEN ? PLAN_SCRATCH
              : flaw == NO_COPY       ? PLAN_INPUT
                                      : PLAN_OUTPUT,
              flaw == READS_UNWRITTEN || flaw == NO_COPY ? 0
              : flaw == PAST_THE_END                     ? 9
                                                         : own,
              8);
    if (flaw != UNNAMED_HAZARD)
        plan_after(b, copy);
    if (flaw == EXTRA_SEND)
        plan_send(b, 1 - rank, 0, PLAN_INPUT, 0, 8);
    if (flaw != NO_RECEIVE)
        plan_recv(b, 1 - rank, 0, PLAN_OUTPUT, other, flaw == SHORT_RECEIVE ? 7 : 8);
    ck_assert_int_eq(
        plan_build_finish(b, "exchange", 8, 16, flaw == TOO_LARGE ? UINT64_MAX : 8, 8, &p), 0);
    return p;
}

START_TEST(test_check__each_flaw_is_named)
{
    struct topo *t = test_topo_parse("node:2");
    char why[256] = "";

    struct plan_request q = REQUEST(COLL_ALLGATHER, t, 8, 3);
    const struct plan *plan[2] = {exchange(0, (enum flaw)_i), exchange(1, (enum flaw)_i)};
    int rc = plan_check(&q, plan, why, sizeof why);

    if (_i == RIGHT)
        ck_assert_msg(rc == 0, "%s", why);
    else
        ck_assert_msg(rc != 0 && strstr(why, expected[_i]), "flaw %d: rc %d, %s", _i, rc, why);
    for (int r = 0; r < 2; r++)
        plan_free((struct plan *)(uintptr_t)plan[r]);
    topo_free(t);
}
END_TEST

/* Drop a dependency, move an offset, shorten an operation: each must be found. */
static const char *damage(struct rng *r, struct plan *p)
{
    struct plan_op *op = (struct plan_op *)(uintptr_t)&p->ops[rng_below(r, p->nops)];

    switch (rng_below(r, 3)) {
    case 0:
        if (!op->ndeps)
            return NULL;
        op->ndeps--;
        return "a dependency less";
    case 1:
        if (op->dst != PLAN_OUTPUT)
            return NULL;
        op->dst_off += op->dst_off + op->length < p->output_bytes ? 1 : (uint64_t)-1;
        return "another place";
    default:
        op->length--;
        return op->length ? "a byte less" : NULL;
    }
}

START_TEST(test_check__random_damage_to_rings_is_found)
{
    int damaged = 0;

    for (uint64_t seed = 1; seed <= 2000; seed++) {
        struct rng r = {seed};
        struct topo *t = rng_topo(&r, 10);
        struct plan_request q =
            REQUEST(COLL_ALLGATHER, t, 2 + rng_below(&r, 60), 1 + rng_below(&r, 30));
        struct plan *plan[16] = {NULL};
        const char *what = NULL;
        char why[256] = "";

        for (int rank = 0; rank < t->nranks; rank++) {
            q.rank = rank;
            ck_assert_int_eq(plan_parallel_rings.build(&q, &plan[rank]), 0);
        }
        if (t->nranks > 1)
            what = damage(&r, plan[rng_below(&r, (uint32_t)t->nranks)]);
        int rc = plan_check(&q, (const struct plan *const *)plan, why, sizeof why);
        if (what) {
            ck_assert_msg(rc < 0, "seed %llu: %s went unnoticed", (unsigned long long)seed, what);
            damaged++;
        }
        for (int rank = 0; rank < t->nranks; rank++)
            plan_free(plan[rank]);
        topo_free(t);
    }
    ck_assert_int_gt(damaged, 800);
}
END_TEST

Suite *suite_check(void)
{
    Suite *s = suite_create("check");
    TCase *t = tcase_create("check");

    tcase_add_loop_test(t, test_check__each_flaw_is_named, 0, FLAWS);
    tcase_add_test(t, test_check__random_damage_to_rings_is_found);
    suite_add_tcase(s, t);
    return s;
}
