/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Balancing: what every split must be, on random machines and demands; closed forms where there are
 * some; and plans of splits stranger than any that balancing finds. How near it comes to the exact
 * optimum is what test/lp grades.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planners/algorithms/nimble/demand.h"
#include "planners/algorithms/nimble/nimble.h"
#include "planners/check/check.h"
#include "planners/links/load.h"
#include "test/unit/random.h"
#include "test/unit/request.h"
#include "test/unit/suites.h"
#include "test/unit/test_topo.h"

static uint64_t *matrix_of(const struct topo *t, const struct demand *d)
{
    uint64_t *matrix = calloc((size_t)t->nranks * (size_t)t->nranks, sizeof *matrix);

    ck_assert_ptr_nonnull(matrix);
    demand_fill(d, t, matrix);
    return matrix;
}

/* The path that a piece takes, found among those of its pair. */
static struct balance_path path_of(const struct balance_net *net, const struct balance_piece *p)
{
    struct balance_path path;

    for (int i = 0; i < balance_npaths(net, p->from, p->to); i++)
        if (balance_path(net, p->from, p->to, i, &path) && path.out_relay == p->out_relay &&
            path.in_relay == p->in_relay)
            return path;
    ck_abort_msg("rank %d to %d over %d and %d is no path", p->from, p->to, p->out_relay,
                 p->in_relay);
    return path;
}

/* Every byte goes once, over paths that exist, and the loads are what the pieces say. */
static void assert_split_valid(const struct balance_net *net, const uint64_t *demand,
                               const struct balance *b)
{
    size_t nranks = (size_t)net->t->nranks, last = 0;
    uint64_t *left = malloc(nranks * nranks * sizeof *left);
    double *load = malloc(net->nlinks * sizeof *load);

    ck_assert(left && load);
    memcpy(left, demand, nranks * nranks * sizeof *left);
    memcpy(load, net->background, net->nlinks * sizeof *load);
    for (uint32_t i = 0; i < b->npieces; i++) {
        const struct balance_piece *p = &b->piece[i];
        struct balance_path path = path_of(net, p);
        size_t at = (size_t)p->from * nranks + (size_t)p->to;

        ck_assert_uint_ge(at, last);
        ck_assert(p->bytes > 0 && p->bytes <= left[at]);
        left[at] -= p->bytes;
        last = at;
        for (int l = 0; l < path.nlinks; l++)
            load[path.link[l]] += (double)p->bytes;
    }
    for (size_t i = 0; i < nranks * nranks; i++)
        ck_assert_uint_eq(left[i], i % (nranks + 1) ? 0 : demand[i]);
    for (uint32_t l = 2; l < net->nlinks; l++)
        ck_assert_double_eq_tol(load[l], b->load[l], 1e-9 * (1 + load[l]));
    ck_assert_double_eq(b->congestion, balance_congestion(net, b->load, NULL));
    free(left);
    free(load);
}

START_TEST(test_balance__every_split_is_whole_and_never_worse_than_direct)
{
    int relayed = 0;

    for (uint64_t seed = 1; seed <= 600; seed++) {
        struct rng r = {seed};
        struct topo *t = rng_topo(&r, 14);
        struct demand d = {.kind = (enum demand_kind)rng_below(&r, DEMAND_COUNT),
                           .hot = rng_below(&r, 100) / 100.0,
                           .peer = (int)rng_below(&r, 20),
                           .every = 1 + (int)rng_below(&r, 4),
                           .bytes = 1ull << (16 + rng_below(&r, 16)),
                           .seed = seed};
        uint64_t *demand = matrix_of(t, &d);
        struct balance_net net;
        struct balance plan, again, direct, uniform, striped;

        t->link[TOPO_LINK_SHM].bw_bytes_per_s = rng_below(&r, 2) * 1e6 * (1 + rng_below(&r, 20));
        ck_assert_int_eq(balance_net_open(&net, t, (enum balance_node)rng_below(&r, 3)), 0);
        for (uint32_t l = 2; l < net.nlinks; l++)
            net.background[l] = rng_below(&r, 4) ? 0 : rng_below(&r, (uint32_t)(d.bytes / 2));
        ck_assert_int_eq(balance_plan(&net, demand, &balance_defaults, &plan), 0);
        ck_assert_int_eq(balance_plan(&net, demand, &balance_defaults, &again), 0);
        ck_assert_int_eq(balance_direct(&net, demand, &direct), 0);
        ck_assert_int_eq(balance_uniform(&net, demand, &uniform), 0);
        ck_assert_int_eq(balance_striped(&net, demand, balance_defaults.split_bytes, &striped), 0);
        assert_split_valid(&net, demand, &plan);
        assert_split_valid(&net, demand, &direct);
        assert_split_valid(&net, demand, &uniform);
        assert_split_valid(&net, demand, &striped);
        ck_assert_uint_eq(plan.npieces, again.npieces);
        for (uint32_t i = 0; i < plan.npieces; i++) {
            const struct balance_piece *p = &plan.piece[i];
            ck_assert_mem_eq(p, &again.piece[i], sizeof *p);
            ck_assert(p->bytes == demand[p->from * t->nranks + p->to] || p->bytes >= (64 << 10));
        }
        ck_assert_double_le(plan.congestion, direct.congestion * (1 + 1e-9));
        ck_assert_double_le(plan.bound, plan.congestion * (1 + 1e-9));
        ck_assert_double_le(plan.bound, striped.congestion * (1 + 1e-9));
        relayed += plan.relayed > 0;
        balance_free(&plan);
        balance_free(&again);
        balance_free(&direct);
        balance_free(&uniform);
        balance_free(&striped);
        balance_net_close(&net);
        free(demand);
        topo_free(t);
    }
    ck_assert_int_gt(relayed, 100);
}
END_TEST

/* Demands and machines for which the least congestion is known. */
static const struct {
    const char *machine;
    struct demand demand;
    enum balance_node node;
    double seconds; /* the exact answer, where a rank sends 1 GB in all */
    int relays;     /* are any needed? */
} known[] = {
    /* all to all, rails alike: direct is best, half of a rank's bytes leave by its rail */
    {"node:2 gpu:4 rail:4@1GB/s", {.kind = DEMAND_UNIFORM}, BALANCE_MESH, 0.5, 0},
    /* one rail at half its rate: the bytes of four ranks leave through 3.5 rails */
    {"node:2 gpu:4 rail:4@3x1GB/s,500MB/s", {.kind = DEMAND_UNIFORM}, BALANCE_MESH, 2 / 3.5, 1},
    /* all to one: four ranks' bytes enter over four rails instead of one */
    {"node:2 gpu:4 rail:4@1GB/s", {.kind = DEMAND_FEW, .every = 8}, BALANCE_MESH, 1, 1},
    /* each to the next, in one node: half direct, a quarter over each of the other two */
    {"node:1 gpu:4 rail:1 link_nvlink:1GB/s",
     {.kind = DEMAND_LOCAL, .hot = 1},
     BALANCE_MESH,
     .5,
     1},
    /* to the next and to the one before: a relay would burden a link that is busy already */
    {"node:1 gpu:4 rail:1 link_nvlink:1GB/s", {.kind = DEMAND_STENCIL}, BALANCE_MESH, .5, 0},
    /* at a switch nothing helps */
    {"node:1 gpu:4 rail:1 link_nvlink:1GB/s",
     {.kind = DEMAND_LOCAL, .hot = 1},
     BALANCE_SWITCH,
     1,
     0},
    /* ranks that stripe over all rails have one rail */
    {"node:2 gpu:4 rail:4@1GB/s rail_of:all", {.kind = DEMAND_FEW, .every = 8}, BALANCE_MESH, 1, 0},
};

START_TEST(test_balance__known_optima_are_reached)
{
    struct topo *t = test_topo_parse(known[_i].machine);
    struct demand d = known[_i].demand;
    struct balance_net net;
    struct balance b;

    d.bytes = 1000000000;
    uint64_t *demand = matrix_of(t, &d);
    if (d.kind == DEMAND_LOCAL) /* exactly, not about */
        for (int i = 0; i < t->nranks * t->nranks; i++)
            demand[i] = demand[i] ? d.bytes : 0;
    ck_assert_int_eq(balance_net_open(&net, t, known[_i].node), 0);
    ck_assert_int_eq(balance_plan(&net, demand, &balance_defaults, &b), 0);
    ck_assert_msg(fabs(b.congestion / known[_i].seconds - 1) <= 0.02, "case %d: %g s, known: %g",
                  _i, b.congestion, known[_i].seconds);
    ck_assert_int_eq(b.relayed > 0, known[_i].relays);
    balance_free(&b);
    balance_net_close(&net);
    free(demand);
    topo_free(t);
}
END_TEST

START_TEST(test_balance__links_inside_a_node_have_its_own_rate)
{
    struct topo *t = test_topo_parse("node:2 gpu:2 rail:2@10GB/s link_nvlink:100GB/s "
                                     "link_rate:1.nvlink@25GB/s");
    struct balance_net net;
    uint32_t link[2];

    ck_assert_int_eq(balance_net_open(&net, t, BALANCE_AUTO), 0);
    for (int node = 0; node < 2; node++) {
        balance_direct_links(&net, 2 * node, 2 * node + 1, link);
        ck_assert_double_eq(net.capacity[link[0]], node ? 25e9 : 100e9);
    }
    balance_net_close(&net);
    topo_free(t);
}
END_TEST

START_TEST(test_balance__sockets_share_one_link)
{
    struct topo *t = test_topo_parse("node:1 socket:2 gpu:2 link_nvlink:100GB/s link_pcie:25GB/s "
                                     "link_socket:20GB/s");
    uint64_t demand[16] = {[0 * 4 + 2] = 1000000000, [1 * 4 + 3] = 1000000000};
    struct balance_net net;
    struct balance b;
    uint32_t link[3][2];
    char text[64];

    ck_assert_int_eq(balance_net_open(&net, t, BALANCE_AUTO), 0);
    balance_direct_links(&net, 0, 1, link[0]);
    balance_direct_links(&net, 0, 2, link[1]);
    balance_direct_links(&net, 1, 3, link[2]);
    ck_assert_double_eq(net.capacity[link[0][0]], 100e9);
    ck_assert_double_eq(net.capacity[link[1][0]], 20e9);
    ck_assert_uint_eq(link[1][0], link[2][0]);
    ck_assert_str_eq(balance_link_text(&net, link[2][0], text, sizeof text),
                     "node 0 socket 0 to socket 1");
    ck_assert_int_eq(balance_plan(&net, demand, &balance_defaults, &b), 0);
    ck_assert_double_eq_tol(b.congestion, .1, 1e-12);
    ck_assert_uint_eq(b.relayed, 0); /* no relay avoids the link */
    balance_free(&b);
    balance_net_close(&net);
    topo_free(t);
}
END_TEST

START_TEST(test_balance__short_messages_go_direct)
{
    struct topo *t = test_topo_parse("node:2 gpu:4 rail:4@1GB/s");
    struct demand d = demand_defaults;
    struct balance_net net;
    struct balance b;

    d.kind = DEMAND_FEW;
    d.every = 8;
    d.bytes = 1 << 20;
    uint64_t *demand = matrix_of(t, &d);
    ck_assert_int_eq(balance_net_open(&net, t, BALANCE_MESH), 0);
    ck_assert_int_eq(balance_plan(&net, demand, &balance_defaults, &b), 0);
    ck_assert_uint_eq(b.relayed, 0);
    balance_free(&b);
    for (int i = 0; i < 64; i++)
        demand[i] += demand[i] > 0;
    ck_assert_int_eq(balance_plan(&net, demand, &balance_defaults, &b), 0);
    ck_assert_uint_gt(b.relayed, 0);
    balance_free(&b);
    balance_net_close(&net);
    free(demand);
    topo_free(t);
}
END_TEST

START_TEST(test_demand__a_seed_always_gives_the_same)
{
    struct topo *t = test_topo_parse("node:2 gpu:4 rail:4");

    for (int kind = 0; kind < DEMAND_COUNT; kind++) {
        struct demand d = demand_defaults;
        uint64_t total = 0;

        d.kind = (enum demand_kind)kind;
        ck_assert_int_eq(demand_kind_find(demand_kind_name(d.kind)), kind);
        uint64_t *one = matrix_of(t, &d), *two = matrix_of(t, &d);
        ck_assert_mem_eq(one, two, 64 * sizeof *one);
        for (int i = 0; i < 64; i++) {
            ck_assert(i % 9 || !one[i]);
            total += one[i];
        }
        ck_assert(total >= 4 * d.bytes && total <= 32 * d.bytes); /* about bytes per rank */
        free(one);
        free(two);
    }
    ck_assert_int_eq(demand_kind_find("skewed"), -1);
    topo_free(t);
}
END_TEST

/* Cut every message at random, and send the parts over any one or two ranks. */
static void wild_pieces(struct rng *r, const struct plan_request *q, struct balance *b)
{
    int n = q->topo->nranks;

    *b = (struct balance){.piece = malloc((size_t)(4 * n * n) * sizeof *b->piece)};
    ck_assert_ptr_nonnull(b->piece);
    for (int from = 0; from < n; from++)
        for (int to = 0; to < n; to++) {
            uint64_t left = from == to ? 0 : q->demand[from * n + to];

            for (int part = 0; left; part++) {
                uint64_t bytes = part == 3 ? left : 1 + rng_below(r, (uint32_t)left);
                int out = (int)rng_below(r, (uint32_t)n), in = (int)rng_below(r, (uint32_t)n);

                left -= bytes;
                out = out == from || out == to ? -1 : out;
                in = in == from || in == to || in == out ? -1 : in;
                b->piece[b->npieces++] = (struct balance_piece){from, to, out, in, bytes};
            }
        }
}

START_TEST(test_nimble__every_rank_may_relay_for_every_other)
{
    uint64_t relayed = 0;

    for (uint64_t seed = 1; seed <= 150; seed++) {
        struct rng r = {seed};
        struct plan_request q = rng_request(&r, COLL_ALLTOALLV, seed % 10 ? 7 : 16, 400);
        struct plan *plan[16] = {NULL};
        struct balance b;
        char why[256] = "", text[1024];

        wild_pieces(&r, &q, &b);
        for (q.rank = 0; q.rank < q.topo->nranks; q.rank++) {
            ck_assert_int_eq(nimble_build_pieces(&q, &b, "wild", &plan[q.rank]), 0);
            relayed += plan[q.rank]->scratch_bytes > 0;
        }
        int rc = plan_check(&q, (const struct plan *const *)plan, why, sizeof why);
        ck_assert_msg(rc == 0, "seed %llu, %s: %s", (unsigned long long)seed,
                      rng_request_text(&q, text), why);
        for (int rank = 0; rank < q.topo->nranks; rank++)
            plan_free(plan[rank]);
        balance_free(&b);
        rng_request_free(&q);
    }
    ck_assert_uint_gt(relayed, 300);
}
END_TEST

/* No rank is the first of all others: the k-th message of every rank goes to the k-th rank after
   it. */
START_TEST(test_nimble__ranks_send_to_one_after_the_other)
{
    struct topo *t = test_topo_parse("node:2 gpu:4 rail:4@1GB/s");
    struct demand d = demand_defaults;
    struct plan *p = NULL;

    d.kind = DEMAND_UNIFORM;
    uint64_t *demand = matrix_of(t, &d);
    for (int rank = 0; rank < 8; rank++) {
        int sends = 0;
        struct plan_request q = REQUEST(COLL_ALLTOALLV, t, 0, 1000, .rank = rank, .demand = demand);

        ck_assert_int_eq(plan_pairwise.build(&q, &p), 0);
        ck_assert_uint_eq(p->scratch_bytes, 0);
        for (uint32_t i = 0; i < p->nqueues; i++)
            if (p->queues[i].kind == PLAN_SEND)
                ck_assert_int_eq(p->queues[i].peer, (rank + ++sends) % 8);
        ck_assert_int_eq(sends, 7);
        plan_free(p);
    }
    free(demand);
    topo_free(t);
}
END_TEST

START_TEST(test_balance__holders_of_a_rail_take_turns)
{
    struct topo *t = test_topo_parse("node:2 rank:6 rail:3@1GB/s");
    struct balance_net net;

    ck_assert_int_eq(balance_net_open(&net, t, BALANCE_AUTO), 0);
    ck_assert_int_eq(net.holder[1 * 3 + 0], 3); /* rail 0 is held by ranks 0 and 3 */
    ck_assert_int_eq(net.holder[2 * 3 + 0], 0);
    ck_assert_int_eq(net.holder[3 * 3 + 0], 3); /* the holder uses it itself */
    balance_net_close(&net);
    topo_free(t);
}
END_TEST

/* A relay's memory and list of operations stay small however long the stream is. */
START_TEST(test_nimble__a_long_stream_needs_a_small_window)
{
    struct topo *t = test_topo_parse("node:2 gpu:4 rail:4@1GB/s");
    uint64_t demand[64] = {0}, length = 10ull << 30;
    struct plan_request q = REQUEST(COLL_ALLTOALLV, t, 0, 256 << 10, .rank = 1, .demand = demand);
    struct plan *p = NULL;

    demand[0 * 8 + 7] = length; /* a rail each for a quarter of it */
    ck_assert_int_eq(plan_nimble.build(&q, &p), 0);
    ck_assert_uint_gt(p->scratch_bytes, 0);
    ck_assert_uint_le(p->scratch_bytes, length / 4 / 32);
    ck_assert_uint_ge(p->nops, 4);
    ck_assert_uint_le(p->nops, 2 * 64);
    plan_free(p);
    topo_free(t);
}
END_TEST

/* Half of what random requests ask for is relayed, so that the checker's shapes mean something. */
START_TEST(test_nimble__random_shapes_do_relay)
{
    int relays = 0;

    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct rng r = {seed};
        struct plan_request q = rng_request(&r, COLL_ALLTOALLV, 12, 200);
        int used = 0;

        for (q.rank = 0; q.rank < q.topo->nranks; q.rank++) {
            struct plan *p = NULL;
            ck_assert_int_eq(plan_nimble.build(&q, &p), 0);
            used |= p->scratch_bytes > 0;
            plan_free(p);
        }
        relays += used;
        rng_request_free(&q);
    }
    ck_assert_int_gt(relays, 60);
}
END_TEST

/* By hand: where all send all to one of n, that is n - 1 times the mean. */
START_TEST(test_nimble__skew_is_the_hottest_rank_by_the_mean)
{
    static const struct {
        int n, hot; /* of 16 parts, how many go to rank 2; the rest to all others alike */
        unsigned skew;
    } cases[] = {{4, 4, 0}, {4, 16, 1}, {16, 1, 0}, {16, 8, 2}, {16, 16, 3}, {18, 16, 4}};

    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        size_t n = (size_t)cases[k].n;
        uint64_t *matrix = calloc(n * n, sizeof *matrix), *turned = calloc(n * n, sizeof *turned);

        for (size_t from = 0; from < n; from++)
            for (size_t to = 0; to < n; to++)
                matrix[from * n + to] = turned[to * n + from] =
                    from == to ? 1ull << 40 /* bytes that stay do not count */
                    : to == 2  ? (uint64_t)cases[k].hot << 20
                               : ((16 - (uint64_t)cases[k].hot) << 20) / (n - 1);
        for (size_t to = 0; to < n; to++) /* rank 2 sends as much as the others, to all alike */
            matrix[2 * n + to] = turned[to * n + 2] = (16 << 20) / (n - 1);
        ck_assert_uint_eq(nimble_skew(matrix, (int)n), cases[k].skew);
        ck_assert_uint_eq(nimble_skew(turned, (int)n), cases[k].skew);
        free(matrix);
        free(turned);
    }
}
END_TEST

/* Two senders of a node, one receiver of the other, two rails of 1 and 2: 2 messages over the rails
   together against one whole message over the slower rail. */
/* Skewed traffic with one rail far slower than the others: hardly anything is left on it. */
START_TEST(test_balance__a_rail_at_one_percent_is_left_alone)
{
    static const char *const slow[] = {"2.1@25Mbit", "2.1@1Mbit", "0.1@1Mbit",
                                       "2.1@1Mbit,3.2@1Mbit"};

    for (size_t i = 0; i < sizeof slow / sizeof *slow; i++) {
        char text[128];
        struct demand d = demand_defaults;
        size_t chunk[PLAN_CHUNKS];
        double direct, balanced;

        d.bytes = 1 << 20;
        snprintf(text, sizeof text, "node:4 rank:4 rail:4@100Mbit rail_rate:%s", slow[i]);
        struct topo *t = test_topo_parse(text);
        uint64_t *demand = matrix_of(t, &d);
        struct plan_request q = REQUEST(COLL_ALLTOALLV, t, 0, 0, .demand = demand);
        plan_chunks(&q, chunk);
        q.chunk_bytes = chunk[0];
        ck_assert_int_eq(nimble_predict(&q, &direct, &balanced), 0);
        ck_assert_msg(load_bound(&q) / balanced > .96, "%s: %.3f of the bound", slow[i],
                      load_bound(&q) / balanced);
        free(demand);
        topo_free(t);
    }
}
END_TEST

START_TEST(test_nimble__what_balancing_gains_is_predicted)
{
    static const uint64_t messages[] = {900000, 90000};

    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
        struct topo *t = test_topo_parse("node:2 rank:2 rail:2@100Mbit,50Mbit");
        uint64_t demand[16] = {0}, message = messages[i];
        size_t chunk[PLAN_CHUNKS];
        double direct, balanced, rail = 6.25e6;
        struct plan_request q = REQUEST(COLL_ALLTOALLV, t, 0, 0, .demand = demand);

        demand[2 * 4 + 0] = demand[3 * 4 + 0] = message;
        plan_chunks(&q, chunk);
        ck_assert_uint_eq(chunk[0], 32 << 10); /* of 256 KiB it would have too few to be split */
        q.chunk_bytes = chunk[0];
        ck_assert_int_eq(nimble_predict(&q, &direct, &balanced), 0);
        ck_assert_double_eq_tol(direct, (double)message / rail, 1e-9);
        ck_assert_double_ge(balanced, 2 * (double)message / (3 * rail));
        ck_assert_double_le(balanced, 1.02 * 2 * (double)message / (3 * rail));
        topo_free(t);
    }
}
END_TEST

Suite *suite_balance(void)
{
    Suite *s = suite_create("balance");
    TCase *t = tcase_create("balance");

    tcase_add_test(t, test_balance__every_split_is_whole_and_never_worse_than_direct);
    tcase_add_loop_test(t, test_balance__known_optima_are_reached, 0, sizeof known / sizeof *known);
    tcase_add_test(t, test_balance__short_messages_go_direct);
    tcase_add_test(t, test_balance__links_inside_a_node_have_its_own_rate);
    tcase_add_test(t, test_balance__sockets_share_one_link);
    tcase_add_test(t, test_demand__a_seed_always_gives_the_same);
    tcase_add_test(t, test_balance__holders_of_a_rail_take_turns);
    tcase_add_test(t, test_nimble__ranks_send_to_one_after_the_other);
    tcase_add_test(t, test_nimble__every_rank_may_relay_for_every_other);
    tcase_add_test(t, test_nimble__a_long_stream_needs_a_small_window);
    tcase_add_test(t, test_nimble__skew_is_the_hottest_rank_by_the_mean);
    tcase_add_test(t, test_balance__a_rail_at_one_percent_is_left_alone);
    tcase_add_test(t, test_nimble__what_balancing_gains_is_predicted);
    tcase_add_test(t, test_nimble__random_shapes_do_relay);
    suite_add_tcase(s, t);
    return s;
}
