/* SPDX-License-Identifier: BSD-3-Clause */
/* The guard by a clock that answers later: work that is only enqueued. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "shim/decide/guard/guard_deferred.h"
#include "test/unit/agreed.h"
#include "test/unit/suites.h"

enum { RANKS = 3, MIB = 1 << 20, KIND = GUARD_KINDS - 1 };

/* The time of a call is known some calls later, or never. */
struct enqueued {
    struct guard guard[RANKS];
    double took[RANKS][GUARD_SLOTS]; /* seconds on each rank, by slot */
    double share[GUARD_REROUTES];
    int reroutes, lost;  /* lost: rank 1 has no answers */
    int ahead, calls;    /* the host is so many calls ahead of rank 1's stream */
    int at[GUARD_SLOTS]; /* the call of each slot */
    int known_from;      /* the call in which there was a verdict first; 0: there is none */
    int ran[GUARD_CONTENDERS], measured, agreements, verdicts;
};

static int is_missing(const struct enqueued *m, int rank, int slot)
{
    return rank == 1 && (m->lost || m->calls - m->at[slot] < m->ahead);
}

static void conclude(struct enqueued *m, struct guard_entry *e[RANKS])
{
    struct agreed a = {.n = 0};
    int made[RANKS];

    for (int r = 0; r < RANKS; r++)
        for (int slot = 0; slot < e[r]->slots.n; slot++)
            guard_note(e[r], slot, is_missing(m, r, slot) ? INFINITY : m->took[r][slot]);
    for (int r = 0; r < RANKS; r++) {
        struct guard_entry copy = *e[r];
        guard_conclude(&m->guard[r], &copy, agreed_collect, &a);
    }
    for (int r = 0; r < RANKS; r++)
        made[r] = guard_conclude(&m->guard[r], e[r], agreed_tell, &a);
    ck_assert(made[0] == made[1] && made[0] == made[2]);
    m->agreements++;
    m->verdicts += made[0] && guard_is_news(e[0]);
    if (made[0] && !m->known_from)
        m->known_from = m->calls;
}

static void enqueue(struct enqueued *m, int calls)
{
    static const struct plan_algorithm row[GUARD_REROUTES];

    for (int i = 0; i < calls; i++) {
        struct guard_entry *e[RANKS];
        int contender[RANKS], slot;

        for (int r = 0; r < RANKS; r++)
            e[r] = guard_find(&m->guard[r], COLL_ALLREDUCE, KIND, MIB);
        ck_assert(guard_due(e[0]) == guard_due(e[1]) && guard_due(e[0]) == guard_due(e[2]));
        if (guard_due(e[0]))
            conclude(m, e);
        for (int r = 0; r < RANKS; r++) {
            struct plan_candidate c[GUARD_REROUTES] = {{0}};

            for (int k = 0; k < m->reroutes; k++)
                c[k] = (struct plan_candidate){.algorithm = &row[k], .seconds = 1, .ppg = 1};
            contender[r] = e[r]->best;
            if (guard_settled(e[r]))
                continue;
            if (guard_wants_candidates(e[r]))
                guard_begin(&m->guard[r], e[r], MIB, c, m->reroutes);
            contender[r] = guard_pick(&m->guard[r], e[r], MIB, &slot);
            if (slot >= 0)
                m->at[slot] = m->calls;
            if (slot >= 0)
                m->took[r][slot] = 1e-3 * (contender[r] ? m->share[contender[r] - 1] : 1) *
                                   (1 + .01 * r); /* the slowest counts */
            m->measured += r == 0 && slot >= 0;
        }
        ck_assert(contender[0] == contender[1] && contender[0] == contender[2]);
        m->ran[contender[0]]++;
        m->calls++;
    }
}

static struct enqueued enqueued(int reroutes)
{
    struct enqueued m = {.reroutes = reroutes};

    for (int r = 0; r < RANKS; r++)
        guard_open(&m.guard[r], 1, NULL);
    return m;
}

static const struct guard_entry *known(const struct enqueued *m)
{
    return guard_known(&m->guard[0], COLL_ALLREDUCE, KIND, MIB);
}

/* Few meetings of hosts, however many contenders there are. */
START_TEST(test_guard_deferred__the_fastest_wins)
{
    struct enqueued m = enqueued(4);

    memcpy(m.share, (double[]){1.2, .9, .5, .7}, 4 * sizeof *m.share);
    enqueue(&m, 150);
    ck_assert_int_le(m.verdicts, 2);
    ck_assert_ptr_nonnull(known(&m));
    ck_assert_int_eq(known(&m)->best, 3);
    ck_assert_ptr_null(guard_known(&m.guard[0], COLL_ALLREDUCE, KIND - 1, MIB));
    int agreements = m.agreements, measured = m.measured;
    enqueue(&m, 10000);
    ck_assert_int_le(m.verdicts, 2);
    ck_assert_int_gt(m.ran[3], 9900);
    ck_assert_int_le(agreements, 12);
    ck_assert_int_le(m.agreements - agreements, 20);
    ck_assert_int_le(m.measured - measured, 40);
}
END_TEST

/* A reroute that loses by far is tried once, and the library is kept. */
START_TEST(test_guard_deferred__the_library_is_kept)
{
    struct enqueued m = enqueued(2);

    memcpy(m.share, (double[]){6, 5}, 2 * sizeof *m.share);
    enqueue(&m, 200);
    ck_assert_int_eq(m.verdicts, 1);
    ck_assert_int_eq(known(&m)->best, GUARD_NATIVE);
    ck_assert_int_le(m.ran[1], 4); /* a slot is of two calls */
    ck_assert_int_le(m.ran[2], 4);
}
END_TEST

/* The clock does not see the host's time, of which a reroute takes more. */
START_TEST(test_guard_deferred__a_tie_goes_to_the_library)
{
    struct enqueued equal = enqueued(1), faster = enqueued(1);

    equal.share[0] = .99;
    enqueue(&equal, 1000);
    ck_assert_int_eq(known(&equal)->best, GUARD_NATIVE);
    faster.share[0] = .97;
    enqueue(&faster, 1000);
    ck_assert_int_eq(known(&faster)->best, 1);
}
END_TEST

/* The first call of a slot is not measured; nor are those until all ranks agree. */
START_TEST(test_guard_deferred__slots_are_of_two_calls)
{
    struct enqueued m = enqueued(1);

    m.share[0] = .9;
    enqueue(&m, 4);
    ck_assert_int_eq(m.measured, 2);
    ck_assert_int_eq(m.ran[0], 2);
    ck_assert_int_eq(m.ran[1], 2);
    enqueue(&m, GUARD_PAUSE);
    ck_assert_int_eq(m.agreements, 0);
    ck_assert_int_eq(m.measured, 2);
    enqueue(&m, 1);
    ck_assert_int_eq(m.agreements, 1);
}
END_TEST

/* A rank whose events are not there: all wait, ask ever more rarely, and settle when they are. */
START_TEST(test_guard_deferred__a_clock_that_has_no_answer)
{
    struct enqueued m = enqueued(1);

    m.share[0] = .5;
    m.lost = 1;
    enqueue(&m, 10000);
    ck_assert_int_eq(m.verdicts, 0);
    ck_assert_int_le(m.agreements, 72);
    ck_assert_int_eq(m.ran[1], 2 * GUARD_ROUNDS);
    m.lost = 0;
    enqueue(&m, 20000);
    ck_assert_int_ge(m.verdicts, 1);
    ck_assert_int_eq(known(&m)->best, 1);
}
END_TEST

/* However far hosts are ahead of their streams: a verdict comes GUARD_DEFERRED_CALLS calls behind
 * the first answers at the latest. The calls of a trial are made once, few are slower than they
 * need be, and hosts meet rarely. */
static void is_settled(int ahead, int reroutes, const double *share)
{
    struct enqueued m = enqueued(reroutes);
    int slower = 0;

    memcpy(m.share, share, (size_t)reroutes * sizeof *share);
    m.ahead = ahead;
    while (!m.known_from && m.calls < 10000)
        enqueue(&m, 1);
    ck_assert_int_gt(m.known_from, 0);
    ck_assert_int_le(m.known_from, GUARD_DEFERRED_CALLS + ahead);
    ck_assert_int_le(2 * m.measured, GUARD_DEFERRED_CALLS);
    ck_assert_int_le(m.agreements, 24);
    for (int i = 0; i < reroutes; i++)
        slower += share[i] > 1.1 ? m.ran[1 + i] : 0;
    ck_assert_int_le(slower, 16);
    enqueue(&m, 20000);
    ck_assert_int_le(m.agreements, 260);
}

START_TEST(test_guard_deferred__hosts_far_ahead)
{
    static const int ahead[] = {0, 4, 8, 16, 30, 100, 500};
    static const double share[][4] = {
        {1.2, .9, .5, .7}, {6, 5, 4, 3}, {.98, .99, 1.01, 1.02}, {.9, .95, 1, 1.05}, {.5, 2, 3, 4}};

    for (int reroutes = 1; reroutes <= 4; reroutes++)
        for (size_t i = 0; i < sizeof ahead / sizeof *ahead; i++)
            for (size_t s = 0; s < sizeof share / sizeof *share; s++)
                is_settled(ahead[i], reroutes, share[s]);
}
END_TEST

Suite *suite_guard_deferred(void)
{
    Suite *s = suite_create("guard_deferred");
    TCase *t = tcase_create("trials");

    tcase_add_test(t, test_guard_deferred__the_fastest_wins);
    tcase_add_test(t, test_guard_deferred__the_library_is_kept);
    tcase_add_test(t, test_guard_deferred__a_tie_goes_to_the_library);
    tcase_add_test(t, test_guard_deferred__slots_are_of_two_calls);
    tcase_add_test(t, test_guard_deferred__a_clock_that_has_no_answer);
    tcase_add_test(t, test_guard_deferred__hosts_far_ahead);
    suite_add_tcase(s, t);
    return s;
}
