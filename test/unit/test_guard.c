/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guard as a state machine: ranks are entries side by side, whose calls take times that a model
 * of the machine gives. What is wanted: the same on all ranks whatever each measures; the right
 * verdict; few native calls' worth of loss where rerouting does not pay; no flapping.
 */
#include <check.h>
#include <math.h>
#include <string.h>

#include "shim/decide/guard.h"
#include "test/unit/random.h"
#include "test/unit/suites.h"

enum { MOST_RANKS = 5, MIB = 1 << 20 };

/* A machine: how long calls take, in times of the library's call of 1 MiB. */
struct machine {
    int ranks, reroutes;
    double native;                  /* seconds of the library's call */
    double share[GUARD_CANDIDATES]; /* of a reroute, in times of native; 0: cannot serve */
    double cold[GUARD_CANDIDATES];  /* what its first call takes longer, and its plan */
    double noise;                   /* a call takes up to so much longer, as a share */
    double hiccup;                  /* one call in 20 takes so many times longer */
    int held_up;                    /* this call, counted from 1, takes four times as long */
    int same_row;                   /* all reroutes are of one row */
    unsigned skew;                  /* of the calls to come */
    struct rng rng;

    struct guard guard[MOST_RANKS];
    int warm[GUARD_CANDIDATES];
    double took, lost; /* all calls; trial calls against the library */
    int calls, ran[GUARD_CONTENDERS], verdicts, agreements;
};

static const struct plan_algorithm row[GUARD_CANDIDATES];

/* Ranks run one after the other here, so the maximum is worked out before, and told by agree. */
struct agreed {
    double value[1 + 2 * GUARD_CANDIDATES];
    int n, asked;
};

static int tell_largest(void *context, double *value, int n)
{
    const struct agreed *a = context;

    ck_assert_int_eq(n, a->n);
    memcpy(value, a->value, (size_t)n * sizeof *value);
    return 0;
}

/* Note what a rank would hand in, and go no further. */
static int collect(void *context, double *value, int n)
{
    struct agreed *a = context;

    ck_assert_msg(a->asked == 0 || n == a->n, "ranks agree on %d and %d values", a->n, n);
    a->asked++;
    a->n = n;
    for (int i = 0; i < n; i++)
        a->value[i] = value[i] > a->value[i] ? value[i] : a->value[i];
    return -1;
}

/* The machine's time of one call on one rank. */
static double time_of(struct machine *m, int contender, uint64_t total)
{
    double t = m->native * (double)total / MIB;

    if (contender)
        t *= m->share[contender - 1];
    t *= 1 + m->noise * (rng_below(&m->rng, 1000) / 1000.0);
    if (m->hiccup > 0 && rng_below(&m->rng, 20) == 0)
        t *= m->hiccup;
    if (m->calls + 1 == m->held_up)
        t *= 4;
    return t;
}

/* What rank r does in this call up to its measurement. Returns the contender; *timed as guard_pick.
 */
static int begin_call(struct machine *m, struct guard_entry *e, uint64_t total, int *timed)
{
    *timed = GUARD_UNTIMED;
    if (guard_settled(e))
        return e->best;
    if (guard_wants_candidates(e)) {
        struct plan_candidate c[GUARD_CANDIDATES] = {{0}};
        for (int i = 0; i < m->reroutes; i++)
            c[i] = (struct plan_candidate){.algorithm = &row[m->same_row ? 0 : i],
                                           .chunk_bytes = 1000u + (unsigned)i};
        guard_begin(e, total, c, m->reroutes, 0);
    }
    return guard_pick(e, total, timed);
}

static int same_entry(const struct guard_entry *a, const struct guard_entry *b)
{
    return a->state == b->state && a->turns == b->turns && a->at == b->at && a->best == b->best &&
           a->left == b->left && a->interval == b->interval && a->out == b->out &&
           a->calls == b->calls && a->total == b->total && a->loose == b->loose &&
           !memcmp(a->turn, b->turn, sizeof a->turn) &&
           !memcmp(a->agreed, b->agreed, sizeof a->agreed);
}

/* All ranks make one call of so many bytes. */
static void call(struct machine *m, uint64_t total)
{
    struct guard_entry *e[MOST_RANKS];
    struct agreed agreed = {0};
    double slowest = 0, setup = 0, mine[MOST_RANKS];
    int contender = -1, timed = GUARD_UNTIMED, settled[MOST_RANKS] = {0};

    for (int r = 0; r < m->ranks; r++) {
        int this_timed;
        e[r] = guard_find(&m->guard[r], COLL_BCAST, m->skew, total);
        int picked = begin_call(m, e[r], total, &this_timed);
        must(r == 0 || (picked == contender && this_timed == timed),
             "call %d: rank %d picks %d, rank 0 %d", m->calls, r, picked, contender);
        contender = picked;
        timed = this_timed;
    }
    int cannot = contender && m->share[contender - 1] == 0;
    int runs = cannot ? 0 : contender;
    if (runs && !m->warm[runs - 1]++)
        setup = m->cold[runs - 1] * m->native / 2;
    for (int r = 0; r < m->ranks; r++) {
        mine[r] = time_of(m, runs, total) + setup; /* half of what is cold is connecting */
        slowest = mine[r] > slowest ? mine[r] : slowest;
    }
    m->calls++;
    m->ran[runs]++;
    m->took += slowest + setup;
    if (timed >= 0)
        m->lost += slowest + setup - m->native * (double)total / MIB;
    for (int r = 0; timed >= 0 && !cannot && r < m->ranks; r++) {
        struct guard_entry copy = *e[r];
        guard_note(&copy, timed, mine[r], setup, collect, &agreed);
    }
    must(!agreed.asked || agreed.asked == m->ranks, "call %d: %d ranks of %d agree", m->calls,
         agreed.asked, m->ranks);
    for (int r = 0; timed >= 0 && r < m->ranks; r++)
        settled[r] = cannot ? guard_cannot(e[r])
                            : guard_note(e[r], timed, mine[r], setup, tell_largest, &agreed);
    for (int r = 1; r < m->ranks; r++)
        must(same_entry(e[0], e[r]) && settled[r] == settled[0],
             "call %d: rank %d differs from rank 0", m->calls, r);
    m->verdicts += settled[0] == 1;
    m->agreements += agreed.asked > 0;
}

static const struct guard_entry *entry(struct machine *m)
{
    return guard_find(&m->guard[0], COLL_BCAST, m->skew, MIB);
}

static void calls(struct machine *m, int n)
{
    for (int i = 0; i < n; i++)
        call(m, MIB);
}

/* Which contender is in use now? */
static int settled_on(struct machine *m)
{
    for (int i = 0; i < 40 && m->verdicts == 0; i++)
        call(m, MIB);
    ck_assert_msg(m->verdicts > 0, "no verdict after %d calls", m->calls);
    return entry(m)->best;
}

static const struct machine quiet = {.ranks = 3, .reroutes = 3, .native = 1e-3, .rng = {1}};

START_TEST(test_guard__the_fastest_wins)
{
    static const struct {
        double share[GUARD_CANDIDATES];
        int best;
    } cases[] = {
        {{.5, .6, .7}, 1},  {{.7, .6, .5}, 3}, {{1.2, .5, 1.4}, 2}, {{.94, 3, 3}, 1},
        {{.97, 1, 1.1}, 0}, {{3, 3, 3}, 0},    {{1.7, .9, 3}, 2},   {{0, .8, .9}, 2},
        {{0, 0, 0}, 0},     {{1, 0, .2}, 3},   {{20, 20, 20}, 0},   {{1, 1, 1}, 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct machine m = quiet;
        memcpy(m.share, cases[i].share, sizeof m.share);
        int best = settled_on(&m);
        ck_assert_msg(best == cases[i].best, "case %zu: settled on %d", i, best);
        ck_assert_int_le(m.calls, 16);
        int ran = m.ran[best];
        calls(&m, 90); /* before the first look */
        ck_assert_int_eq(m.ran[best] - ran, 90);
    }
}
END_TEST

START_TEST(test_guard__one_call_that_is_held_up_decides_nothing)
{
    for (int nth = 1; nth <= 13; nth++) {
        struct machine m = quiet;
        m.reroutes = 2;
        m.share[0] = .6;
        m.share[1] = .5;
        m.held_up = nth;
        int best = settled_on(&m);
        ck_assert_msg(best == 2, "call %d held up: settled on %d", nth, best);
    }
}
END_TEST

/* Or one call, where the very first costs more. */
START_TEST(test_guard__a_trial_that_does_not_pay_costs_less_than_three_calls)
{
    for (int share = 96; share <= 390; share += 14)
        for (int cold = 0; cold <= 20; cold += 4)
            for (int same_row = 0; same_row < 2; same_row++) {
                struct machine m = quiet;
                m.same_row = same_row;
                for (int i = 0; i < GUARD_CANDIDATES; i++) {
                    m.share[i] = share / 100.0;
                    m.cold[i] = cold / 10.0;
                }
                ck_assert_int_eq(settled_on(&m), GUARD_NATIVE);
                double first = share / 100.0 + cold / 10.0 - 1, most = first > 3 ? first : 3;
                ck_assert_msg(m.lost < (most + 1e-9) * m.native,
                              "%d%%, %d tenths cold: lost %.2f calls", share, cold,
                              m.lost / m.native);
                calls(&m, 5000 - m.calls); /* looks included */
                ck_assert_msg(m.took < 5000 * m.native * 1.01, "%d%%: %.4f of native", share,
                              m.took / m.native / 5000);
            }
}
END_TEST

/* What no trial can afford to try again is tried when it is no longer cold. */
START_TEST(test_guard__a_cold_start_is_forgiven_later)
{
    struct machine m = quiet;

    m.reroutes = 1;
    m.share[0] = .3;
    m.cold[0] = 8;
    ck_assert_int_eq(settled_on(&m), GUARD_NATIVE);
    ck_assert_int_eq(m.ran[1], 1);
    calls(&m, 310);
    ck_assert_int_eq(entry(&m)->best, 1);
}
END_TEST

START_TEST(test_guard__noise_does_not_flip_it_and_ranks_stay_together)
{
    static const double shares[] = {.5, .8, 1, 1.2, 1.6};
    int wrong = 0, changes = 0;

    for (int seed = 1; seed <= 60; seed++) {
        struct machine m = quiet;
        double share = shares[seed % 5];
        m.ranks = 1 + seed % MOST_RANKS;
        m.rng.state = (uint64_t)seed;
        m.noise = .1;
        m.hiccup = seed % 2 ? 5 : 0;
        m.share[0] = share;
        m.share[1] = share * 1.1;
        m.share[2] = share * 1.2;
        settled_on(&m);
        int best = entry(&m)->best, verdicts = m.verdicts;
        for (int i = 0; i < 8000; i++) {
            call(&m, MIB);
            if (entry(&m)->best != best) {
                changes++;
                best = entry(&m)->best;
            }
        }
        ck_assert_int_gt(m.verdicts, verdicts); /* it has looked again */
        if (share < .9 ? best == GUARD_NATIVE : share > 1.1 && best != GUARD_NATIVE)
            wrong++;
    }
    ck_assert_msg(wrong <= 2, "%d of 60 end on the wrong side", wrong);
    ck_assert_msg(changes <= 60, "%d changes in 60 runs of 8000 calls", changes);
}
END_TEST

/* Between clearly faster and clearly slower whoever is in stays in. */
START_TEST(test_guard__hysteresis)
{
    struct machine m = quiet;

    m.reroutes = 1;
    m.share[0] = .9;
    ck_assert_int_eq(settled_on(&m), 1);
    m.share[0] = 1.02;
    calls(&m, 20000);
    ck_assert_int_eq(entry(&m)->best, 1);
    m.share[0] = 1.05;
    calls(&m, 20000);
    ck_assert_int_eq(entry(&m)->best, GUARD_NATIVE);
    m.share[0] = .97;
    calls(&m, 20000);
    ck_assert_int_eq(entry(&m)->best, GUARD_NATIVE);
    m.share[0] = .9;
    calls(&m, 20000);
    ck_assert_int_eq(entry(&m)->best, 1);
}
END_TEST

/* An incumbent that becomes three times slower is found out at the next look, within 1000 calls. */
START_TEST(test_guard__a_reroute_that_turns_bad_is_given_back)
{
    struct machine m = quiet;

    m.reroutes = 1;
    m.share[0] = .5;
    ck_assert_int_eq(settled_on(&m), 1);
    m.share[0] = 3;
    calls(&m, 1020);
    ck_assert_int_eq(entry(&m)->best, GUARD_NATIVE);
}
END_TEST

START_TEST(test_guard__a_size_that_comes_back_is_compared_with_itself)
{
    struct machine m = quiet;

    m.reroutes = 1;
    m.share[0] = .9;
    for (int i = 0; i < 60 && !m.verdicts; i++)
        call(&m,
             i % 3 ? MIB + MIB / 2 : MIB); /* the library's calls of 1 MiB are the shorter ones */
    ck_assert_int_eq(m.verdicts, 1);
    ck_assert_int_eq(entry(&m)->loose, 0);
    ck_assert_int_eq(entry(&m)->best, 1);
}
END_TEST

START_TEST(test_guard__sizes_that_never_repeat_are_compared_by_the_byte)
{
    for (int i = 0; i < 2; i++) {
        struct machine m = quiet;
        m.reroutes = 1;
        m.share[0] = i ? .7 : 1.4;
        for (int k = 0; k < 60 && !m.verdicts; k++)
            call(&m, MIB + (uint64_t)(k * 7919 % 1000) * 1000);
        ck_assert_int_eq(m.verdicts, 1);
        ck_assert_int_eq(entry(&m)->best, i);
    }
}
END_TEST

/* Exchanges of one sum of bytes: skewed ones are slow, and are what rerouting helps. */
START_TEST(test_guard__each_skew_has_its_verdict)
{
    struct machine m = quiet;

    m.reroutes = 1;
    for (int i = 0; i < 80; i++) {
        m.skew = i % 3 ? 0 : 3;
        m.native = m.skew ? 8e-3 : 1e-3;
        m.share[0] = m.skew ? .3 : 1.3;
        call(&m, MIB);
    }
    ck_assert_int_eq(m.verdicts, 2);
    m.skew = 0;
    ck_assert_int_eq(entry(&m)->best, GUARD_NATIVE);
    m.skew = 3;
    ck_assert_int_eq(entry(&m)->best, 1);
}
END_TEST

/* A settled call is neither timed nor agreed on. */
START_TEST(test_guard__settled_calls_are_left_alone)
{
    struct machine m = quiet;

    m.share[0] = m.share[1] = m.share[2] = 1.2;
    settled_on(&m);
    int agreements = m.agreements;
    double lost = m.lost;
    calls(&m, 999);
    ck_assert_int_eq(m.agreements, agreements);
    ck_assert(m.lost == lost);
    calls(&m, 20);
    ck_assert_int_gt(m.agreements, agreements);
}
END_TEST

static int fail_to_agree(void *context, double *value, int n)
{
    (void)context;
    (void)value;
    (void)n;
    return -1;
}

START_TEST(test_guard__a_failed_agreement_is_the_end_of_it)
{
    struct machine m = quiet;
    struct guard_entry *e = guard_find(&m.guard[0], COLL_BCAST, 0, MIB);
    int timed, rc = 0;

    m.share[0] = .5;
    for (int i = 0; i < 10 && rc == 0; i++) {
        begin_call(&m, e, MIB, &timed);
        ck_assert_int_eq(timed, i);
        rc = guard_note(e, timed, 1e-3, 0, fail_to_agree, NULL);
    }
    ck_assert_int_eq(rc, -1);
    for (int i = 0; i < 100000; i++)
        ck_assert_int_eq(guard_settled(e), 1);
    ck_assert_int_eq(e->best, GUARD_NATIVE);
}
END_TEST

/* Work that is only enqueued: what a call took is known some calls later, or never. */
struct enqueued {
    struct guard guard[3];
    double took[3][GUARD_TURNS]; /* seconds on each rank, by slot */
    double share[GUARD_CANDIDATES];
    int reroutes, lost; /* lost: rank 1 has no answers */
    int ran[GUARD_CONTENDERS], measured, agreements, verdicts;
};

struct asked {
    struct enqueued *m;
    struct agreed agreed;
    int rank;
};

static double took(void *context, int slot)
{
    const struct asked *a = context;

    return a->m->lost && a->rank == 1 ? INFINITY : a->m->took[a->rank][slot];
}

static int collect_later(void *context, double *value, int n)
{
    return collect(&((struct asked *)context)->agreed, value, n);
}

static int tell_later(void *context, double *value, int n)
{
    return tell_largest(&((struct asked *)context)->agreed, value, n);
}

static void look(struct enqueued *m, struct guard_entry *e[3])
{
    struct asked a = {.m = m};
    int settled[3];

    for (a.rank = 0; a.rank < 3; a.rank++) {
        struct guard_entry copy = *e[a.rank];
        guard_look(&copy, took, collect_later, &a);
    }
    for (a.rank = 0; a.rank < 3; a.rank++)
        settled[a.rank] = guard_look(e[a.rank], took, tell_later, &a);
    ck_assert(settled[0] == settled[1] && settled[0] == settled[2]);
    m->agreements++;
    m->verdicts += settled[0] == 1;
}

static void enqueue(struct enqueued *m, int calls)
{
    for (int i = 0; i < calls; i++) {
        struct guard_entry *e[3];
        int contender[3], slot;

        for (int r = 0; r < 3; r++)
            e[r] = guard_find(&m->guard[r], COLL_ALLREDUCE, 63, MIB);
        ck_assert(guard_due(e[0]) == guard_due(e[1]) && guard_due(e[0]) == guard_due(e[2]));
        if (guard_due(e[0]))
            look(m, e);
        for (int r = 0; r < 3; r++) {
            struct plan_candidate c[GUARD_CANDIDATES] = {{0}};

            contender[r] = e[r]->best;
            if (guard_settled(e[r]))
                continue;
            if (guard_wants_candidates(e[r]))
                guard_begin(e[r], MIB, c, m->reroutes, 0);
            contender[r] = guard_pick(e[r], MIB, &slot);
            if (slot >= 0)
                m->took[r][slot] = 1e-3 * (contender[r] ? m->share[contender[r] - 1] : 1) *
                                   (1 + .01 * r); /* the slowest counts */
            m->measured += r == 0 && slot >= 0;
            ck_assert(same_entry(e[0], e[r]) || r == 0);
        }
        ck_assert(contender[0] == contender[1] && contender[0] == contender[2]);
        m->ran[contender[0]]++;
    }
}

static struct enqueued enqueued(int reroutes)
{
    struct enqueued m = {.reroutes = reroutes};

    for (int r = 0; r < 3; r++)
        m.guard[r].later = 1;
    return m;
}

/* Few meetings of hosts, however many contenders there are; and settled within 60 calls. */
START_TEST(test_guard__later_clock_takes_the_fastest)
{
    struct enqueued m = enqueued(4);

    memcpy(m.share, (double[]){1.2, .9, .5, .7}, 4 * sizeof *m.share);
    enqueue(&m, 60);
    ck_assert_int_eq(m.verdicts, 1);
    ck_assert_int_eq(m.agreements, 3);
    ck_assert_int_eq(guard_known(&m.guard[0], COLL_ALLREDUCE, 63, MIB)->best, 3);
    ck_assert_ptr_null(guard_known(&m.guard[0], COLL_ALLREDUCE, 62, MIB));
    enqueue(&m, 1000 + 60); /* a look is of two */
    ck_assert_int_eq(m.verdicts, 2);
    ck_assert_int_eq(m.ran[3] > 1000, 1);
    ck_assert_int_eq(m.ran[1] <= 6 && m.ran[2] <= 6 && m.ran[4] <= 6, 1);
}
END_TEST

/* A reroute that loses is measured once, cold, and the library is kept. */
START_TEST(test_guard__later_clock_keeps_the_library)
{
    struct enqueued m = enqueued(2);

    memcpy(m.share, (double[]){6, 5}, 2 * sizeof *m.share);
    enqueue(&m, 200);
    ck_assert_int_eq(m.verdicts, 1);
    ck_assert_int_eq(m.agreements, 1);
    ck_assert_int_eq(m.ran[1], 2);
    ck_assert_int_eq(m.ran[2], 2);
    ck_assert_int_eq(m.measured, 4);
}
END_TEST

/* A rank whose events are not there: all wait, ask ever more rarely, and settle when they are. */
START_TEST(test_guard__later_clock_that_has_no_answer)
{
    struct enqueued m = enqueued(1);

    m.share[0] = .5;
    m.lost = 1;
    enqueue(&m, 10000);
    ck_assert_int_eq(m.verdicts, 0);
    ck_assert_int_lt(m.agreements, 12);
    ck_assert_int_eq(m.ran[1], 2);
    m.lost = 0;
    enqueue(&m, 20000);
    ck_assert_int_ge(m.verdicts, 1);
    ck_assert_int_eq(guard_known(&m.guard[0], COLL_ALLREDUCE, 63, MIB)->best, 1);
}
END_TEST

/* More classes than there is room for: each is still served, and none gets another's verdict. */
START_TEST(test_guard__a_library_that_is_warm_is_timed_once)
{
    struct plan_candidate c = {.algorithm = &row[0]};

    for (int warm = 0; warm < 2; warm++) {
        struct guard g = {0};
        struct guard_entry *e = guard_find(&g, COLL_BCAST, 0, MIB);
        struct agreed a = {0};
        int slot, natives = 0;

        guard_begin(e, MIB, &c, 1, warm);
        while (guard_pick(e, MIB, &slot) == GUARD_NATIVE && natives < 9) {
            ck_assert_int_eq(guard_note(e, slot, 1, 0, collect, &a), 0);
            natives++;
        }
        ck_assert_int_eq(natives, warm ? 1 : 2);
        ck_assert_int_eq(a.asked, 0);
    }
}
END_TEST

START_TEST(test_guard__more_classes_than_entries)
{
    static struct guard g;

    memset(&g, 0, sizeof g);
    for (int round = 0; round < 2; round++)
        for (int c = 0; c < COLL_COUNT; c++)
            for (int k = 13; k < 19; k++) {
                struct guard_entry *e = guard_find(&g, (enum plan_collective)c, 0, 1ull << k);
                ck_assert(guard_wants_candidates(e)); /* the 72 push each other out */
                ck_assert_ptr_eq(e, guard_find(&g, (enum plan_collective)c, 0, (1ull << k) + 5));
                ck_assert_ptr_ne(e, guard_find(&g, (enum plan_collective)c, 0, 1ull << (k + 1)));
                e->state = 1;
            }
}
END_TEST

Suite *suite_guard(void)
{
    Suite *s = suite_create("guard");
    TCase *t = tcase_create("trials");

    tcase_add_test(t, test_guard__the_fastest_wins);
    tcase_add_test(t, test_guard__one_call_that_is_held_up_decides_nothing);
    tcase_add_test(t, test_guard__a_trial_that_does_not_pay_costs_less_than_three_calls);
    tcase_add_test(t, test_guard__a_cold_start_is_forgiven_later);
    tcase_add_test(t, test_guard__noise_does_not_flip_it_and_ranks_stay_together);
    tcase_add_test(t, test_guard__hysteresis);
    tcase_add_test(t, test_guard__a_reroute_that_turns_bad_is_given_back);
    tcase_add_test(t, test_guard__a_size_that_comes_back_is_compared_with_itself);
    tcase_add_test(t, test_guard__sizes_that_never_repeat_are_compared_by_the_byte);
    tcase_add_test(t, test_guard__each_skew_has_its_verdict);
    tcase_add_test(t, test_guard__settled_calls_are_left_alone);
    tcase_add_test(t, test_guard__a_failed_agreement_is_the_end_of_it);
    tcase_add_test(t, test_guard__a_library_that_is_warm_is_timed_once);
    tcase_add_test(t, test_guard__more_classes_than_entries);
    tcase_add_test(t, test_guard__later_clock_takes_the_fastest);
    tcase_add_test(t, test_guard__later_clock_keeps_the_library);
    tcase_add_test(t, test_guard__later_clock_that_has_no_answer);
    suite_add_tcase(s, t);
    return s;
}
