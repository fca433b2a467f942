/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Properties of random topologies and texts: printing and parsing gives the same
 * topology, a restriction keeps what its ranks are, every index is consistent,
 * and no text is too strange. Seeds are fixed and stand in the message.
 */
#include <stdio.h>
#include <stdlib.h>

#include "test/unit/test_topo.h"

static char why[256];

static int below(int n)
{
    return rand() % n;
}

static double random_rate(void)
{
    switch (below(4)) {
    case 0:
        return 0;
    case 1:
        return 12.5e6 * (1 + below(100));
    case 2:
        return 1e9 / (1 + below(1000)); /* no short decimal */
    default:
        return (double)rand() * (1 + rand() / 7.0);
    }
}

/* Some rails of some nodes, one way or both. */
static void random_exceptions(struct topo *t)
{
    size_t n = 2 * (size_t)t->nnodes * (size_t)t->nrails;
    double *rate = malloc(n * sizeof *rate);

    ck_assert_ptr_nonnull(rate);
    for (size_t i = 0; i < n; i++)
        rate[i] = below(4) ? t->rail[i / 2 % (size_t)t->nrails].bw_bytes_per_s : random_rate();
    ck_assert_int_eq(topo_set_rail_rates(t, rate), 0);
    for (size_t i = 0; i < n; i++)
        ck_assert(topo_rail_rate(t, (int)(i / 2) / t->nrails, (int)(i / 2) % t->nrails,
                                 (enum topo_way)(i % 2)) == rate[i]);
    free(rate);
}

static void random_link_rates(struct topo *t)
{
    size_t n = (size_t)t->nnodes * TOPO_LINK_CLASSES;
    double *rate = calloc(n, sizeof *rate);

    for (size_t i = 0; i < n; i++)
        rate[i] = i % TOPO_LINK_CLASSES == TOPO_LINK_FLOW || below(2) ? 0 : random_rate();
    ck_assert_int_eq(topo_set_link_rates(t, rate), 0);
    for (size_t i = 0; i < n; i++)
        if (rate[i] > 0)
            ck_assert(topo_link_rate(t, (int)i / TOPO_LINK_CLASSES,
                                     (enum topo_link_class)(i % TOPO_LINK_CLASSES)) == rate[i]);
    free(rate);
}

/* Anything the struct can hold, built through reports and then disturbed. */
static struct topo *random_topo(void)
{
    int nranks = 1 + below(40), nodes = 1 + below(8), kind = below(4);
    struct topo_report report[40];
    struct topo *t = NULL;

    for (int r = 0; r < nranks; r++)
        report[r] = (struct topo_report){
            .node_key = (uint64_t)(kind == 0   ? r % nodes
                                   : kind == 1 ? r * nodes / nranks
                                               : below(nodes)) *
                        0x9e3779b97f4a7c15u,
            .socket = below(kind + 1),
            .gpu = below(6) - 1,
        };
    ck_assert_int_eq(topo_from_reports(report, nranks, below(2) ? 0 : 1 + below(5), &t), 0);
    if (below(2))
        for (int i = 0; i < t->nrails; i++)
            t->rail[i] = (struct topo_link){random_rate(), random_rate()};
    if (below(3) == 0)
        random_exceptions(t);
    if (below(2))
        for (int i = 0; i < TOPO_LINK_CLASSES; i++)
            t->link[i] = (struct topo_link){random_rate(), random_rate()};
    if (below(3) == 0)
        random_link_rates(t);
    if (below(3) == 0)
        for (int r = 0; r < nranks; r++)
            t->rank[r].rail = below(t->nrails + 1) - 1;
    if (below(3) == 0)
        for (int r = 0; r < nranks; r++)
            t->rank[r].gpu = below(4) ? t->rank[r].local : INT32_MAX;
    if (below(4) == 0)
        for (int r = 0; r < nranks; r++)
            t->rank[r].socket = below(2) ? INT32_MAX : 0;
    return t;
}

START_TEST(test_topo__random_round_trip)
{
    for (unsigned seed = 1000u * (unsigned)_i; seed < 1000u * (unsigned)_i + 300; seed++) {
        srand(seed);
        struct topo *t = random_topo();

        assert_topo_valid(t);
        assert_round_trip(t, seed);
        topo_free(t);
    }
}
END_TEST

static void shuffle(int *list, int n)
{
    for (int i = n - 1; i > 0; i--) {
        int j = below(i + 1), other = list[j];

        list[j] = list[i];
        list[i] = other;
    }
}

/* A part keeps who sits together and what each rank is; a part of a part is a part. */
START_TEST(test_topo__random_restrict)
{
    for (unsigned seed = 0; seed < 300; seed++) {
        int first[40], second[40], direct[40];
        struct topo *t, *part, *again, *once;

        srand(seed);
        t = random_topo();
        for (int i = 0; i < t->nranks; i++)
            first[i] = i;
        shuffle(first, t->nranks);
        int n = 1 + below(t->nranks), m = 1 + below(n);

        ck_assert_int_eq(topo_restrict(t, first, n, &part), 0);
        assert_topo_valid(part);
        for (int i = 0; i < n; i++) {
            ck_assert_int_eq(part->rank[i].socket, t->rank[first[i]].socket);
            ck_assert_int_eq(part->rank[i].gpu, t->rank[first[i]].gpu);
            ck_assert_int_eq(part->rank[i].rail, t->rank[first[i]].rail);
            for (int rail = 0; rail < t->nrails; rail++)
                for (int way = TOPO_OUT; way <= TOPO_IN; way++)
                    ck_assert(topo_rail_rate(part, part->rank[i].node, rail, (enum topo_way)way) ==
                              topo_rail_rate(t, t->rank[first[i]].node, rail, (enum topo_way)way));
            for (int j = 0; j < n; j++)
                ck_assert_msg((part->rank[i].node == part->rank[j].node) ==
                                  (t->rank[first[i]].node == t->rank[first[j]].node),
                              "seed %u", seed);
        }
        assert_round_trip(part, seed);
        for (int i = 0; i < n; i++)
            second[i] = i;
        shuffle(second, n);
        for (int i = 0; i < m; i++)
            direct[i] = first[second[i]];
        ck_assert_int_eq(topo_restrict(part, second, m, &again), 0);
        ck_assert_int_eq(topo_restrict(t, direct, m, &once), 0);
        ck_assert_msg(test_topo_same(again, once), "seed %u", seed);
        ck_assert_uint_eq(topo_hash(again), topo_hash(once));
        topo_free(once);
        topo_free(again);
        topo_free(part);
        topo_free(t);
    }
}
END_TEST

/* Parsing ends with any text, and a text that it accepts is a valid topology. */
START_TEST(test_topo__random_text)
{
    static const char *const pieces[] = {
        "node:",   "rank:",     "rail:", "socket:",    "gpu:",
        "place:",  "cyclic",    "1",     "2",          "3",
        "4",       "0",         ",",     " ",          "x",
        "@",       "100Mbit",   "-",     "rail_of:",   "all",
        "gpu_of:", "#",         "\n",    "socket_of:", "latency_rail:",
        "us",      "link_shm:", "GB/s",  "node:2 ",    "rank:2 ",
        ":",       "e",         ".",     "rail_rate:", "0.0@",
        "1.0out@",
    };
    char text[256];
    int accepted = 0;

    for (unsigned seed = 0; seed < 10000; seed++) {
        struct topo *t = NULL;
        int n = 0;

        srand(seed);
        text[0] = 0;
        for (int i = below(12); i >= 0; i--)
            n += snprintf(text + n, sizeof text - (size_t)n, "%s",
                          pieces[below((int)(sizeof pieces / sizeof *pieces))]);
        if (topo_parse(text, 0, &t, why, sizeof why) < 0)
            continue;
        accepted++;
        assert_topo_valid(t);
        if (t->nranks < 1000)
            assert_round_trip(t, seed);
        topo_free(t);
    }
    ck_assert_int_gt(accepted, 100);
}
END_TEST

START_TEST(test_topo__large)
{
    struct topo *t = test_topo_parse("node:1024 socket:2 gpu:4 rail:8@200Gbit place:cyclic"), *u;
    char text[200];

    ck_assert_int_eq(t->nranks, 8192);
    assert_topo_valid(t);
    ck_assert_int_lt(topo_print(t, text, sizeof text), 80);
    topo_free(t);
    u = test_topo_parse("node:4194304");
    ck_assert_int_eq(u->nnodes, 4194304);
    topo_free(u);
}
END_TEST

TCase *tcase_topo_random(void)
{
    TCase *t = tcase_create("random");

    tcase_add_loop_test(t, test_topo__random_round_trip, 0, 4);
    tcase_add_test(t, test_topo__random_restrict);
    tcase_add_test(t, test_topo__random_text);
    tcase_add_test(t, test_topo__large);
    return t;
}
