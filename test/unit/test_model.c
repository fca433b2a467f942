/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model: closed forms on plans written by hand, and for every algorithm of the registry, on
 * random shapes, that nothing is faster than the bound.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "planners/algorithms/lane/lane.h"
#include "planners/algorithms/nimble/demand.h"
#include "planners/algorithms/nimble/nimble.h"
#include "planners/algorithms/parallel_rings/parallel_rings.h"
#include "planners/links/load.h"
#include "planners/links/rates.h"
#include "planners/model/model.h"
#include "planners/model/model_streams.h"
#include "test/unit/random.h"
#include "test/unit/request.h"
#include "test/unit/suites.h"
#include "test/unit/test_topo.h"

enum { MOST_HAND = 8 };
#define NEAR 1e-6

/* Plans of a few ranks, written operation by operation. */
struct hand {
    struct topo *t;
    struct plan_builder *b[MOST_HAND];
    struct plan *plan[MOST_HAND];
};

static struct hand hand_begin(const char *text, uint64_t chunk)
{
    struct hand h = {.t = test_topo_parse(text)};

    ck_assert_int_le(h.t->nranks, MOST_HAND);
    for (int r = 0; r < h.t->nranks; r++)
        ck_assert_ptr_nonnull(h.b[r] = plan_build_begin(r, h.t->nranks, chunk));
    return h;
}

/* A message of n bytes from one rank to another. */
static void message(struct hand *h, int from, int to, uint64_t n)
{
    plan_send(h->b[from], to, 0, PLAN_INPUT, 0, n);
    plan_recv(h->b[to], from, 0, PLAN_OUTPUT, 0, n);
}

static int hand_run(struct hand *h, struct model_result *m)
{
    for (int r = 0; r < h->t->nranks; r++)
        ck_assert_int_eq(plan_build_finish(h->b[r], "test", 0, 0, 0, 0, &h->plan[r]), 0);
    int rc = model_run(h->t, (const struct plan *const *)h->plan, m);
    for (int r = 0; r < h->t->nranks; r++)
        plan_free(h->plan[r]);
    topo_free(h->t);
    return rc;
}

static void assert_seconds(struct hand h, double seconds)
{
    struct model_result m;

    ck_assert_int_eq(hand_run(&h, &m), 0);
    ck_assert_double_eq_tol(m.seconds, seconds, seconds * NEAR);
    model_free(&m);
}

START_TEST(test_model__a_message_takes_latency_plus_bytes_over_rate)
{
    static const struct {
        const char *topology;
        double seconds; /* of a million bytes */
    } cases[] = {
        {"node:2 rail:1@80Mbit latency_rail:1ms", 1e-3 + 0.1},
        {"node:2 rail:1", 2e-6 + 1e6 / 12.5e9},
        {"node:2 rail:2@80Mbit,240Mbit rail_of:all latency_rail:1ms,2ms", 2e-3 + 0.025},
        {"node:1 rank:2 link_shm:1GB/s latency_shm:3us", 3e-6 + 1e-3},
        {"node:1 gpu:2 link_nvlink:10GB/s latency_nvlink:5us", 5e-6 + 1e-4},
        {"node:1 socket:2 link_socket:2GB/s latency_socket:7us", 7e-6 + 5e-4},
        {"node:1 socket:2 gpu:1 link_socket:2GB/s link_pcie:1GB/s latency_socket:7us", 7e-6 + 1e-3},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hand h = hand_begin(cases[i].topology, 1 << 30);

        message(&h, 0, 1, 1000000);
        assert_seconds(h, cases[i].seconds);
    }
}
END_TEST

START_TEST(test_model__chunks_of_one_message_follow_each_other_without_a_gap)
{
    struct hand h = hand_begin("node:2 rail:1@80Mbit latency_rail:1ms", 100000);

    message(&h, 0, 1, 1000000);
    assert_seconds(h, 1e-3 + 0.1);
}
END_TEST

START_TEST(test_model__two_messages_on_one_rail_get_half_each)
{
    struct hand h = hand_begin("node:2 rank:2 rail:1@80Mbit latency_rail:1ms", 1 << 30);

    message(&h, 0, 2, 1000000);
    message(&h, 1, 3, 500000); /* 0.1 s at half the rate, then the other goes on alone */
    assert_seconds(h, 1e-3 + 0.15);
}
END_TEST

/* Rails of 4 MB/s, connections of 1: messages between the same two ranks share one. */
START_TEST(test_model__a_capped_connection_does_not_fill_its_rail)
{
    const char *text = "node:3 rank:2 rail:1@32Mbit link_flow:8Mbit latency_rail:1ms";
    struct hand h = hand_begin(text, 1 << 30);

    message(&h, 0, 2, 1000000);
    assert_seconds(h, 1e-3 + 1);
    h = hand_begin(text, 1 << 30);
    message(&h, 0, 2, 250000);
    plan_send(h.b[0], 2, 1, PLAN_INPUT, 0, 250000); /* another queue */
    plan_recv(h.b[2], 0, 1, PLAN_OUTPUT, 0, 250000);
    message(&h, 0, 3, 500000);
    message(&h, 1, 4, 500000);
    message(&h, 1, 0, 5000000); /* inside the node, where nothing caps it */
    assert_seconds(h, 1e-3 + 0.5);
}
END_TEST

START_TEST(test_model__both_directions_of_a_rail_are_independent)
{
    struct hand h = hand_begin("node:2 rail:1@80Mbit latency_rail:1ms", 1 << 30);

    message(&h, 0, 1, 1000000);
    message(&h, 1, 0, 1000000);
    assert_seconds(h, 1e-3 + 0.1);
}
END_TEST

/* Rank 0's message is held to 1 MB/s by its receiver's rail; rank 1 gets the other 3 of 4. */
START_TEST(test_model__what_one_flow_cannot_use_the_others_get)
{
    struct hand h =
        hand_begin("node:2 rank:2 rail:2@32Mbit,8Mbit rail_of:0,0,1,0 latency_rail:1ms", 1 << 30);

    message(&h, 0, 2, 1000000);
    message(&h, 1, 3, 3000000);
    assert_seconds(h, 1e-3 + 1.0);
}
END_TEST

START_TEST(test_model__a_chunk_is_forwarded_when_it_is_in)
{
    struct hand h = hand_begin("node:3 rail:1@80Mbit latency_rail:1ms", 100000);

    message(&h, 0, 1, 1000000);
    plan_send(h.b[1], 2, 0, PLAN_OUTPUT, 0, 1000000);
    plan_after(h.b[1], 0);
    plan_recv(h.b[2], 1, 0, PLAN_OUTPUT, 0, 1000000);
    assert_seconds(h, 2e-3 + 0.1 + 0.01); /* the second hop is one chunk behind */
}
END_TEST

/* Four chunks of 1000 bytes (1 ms each) every 10 + 1 ms. */
START_TEST(test_model__few_small_chunks_in_flight_do_not_fill_a_long_link)
{
    struct hand h = hand_begin("node:2 rail:1@8Mbit latency_rail:10ms", 1000);

    message(&h, 0, 1, 400000);
    assert_seconds(h, 99 * 11e-3 + 10e-3 + 4e-3);
}
END_TEST

START_TEST(test_model__too_many_chunks_are_taken_together_and_keep_their_depth)
{
    struct hand h = hand_begin("node:2 rail:1@8Gbit latency_rail:1us", 16);
    double n = 1e9, rate = MODEL_DEPTH * 16 / (1e-6 + 16 / 1e9);
    struct model_result m;

    message(&h, 0, 1, (uint64_t)n);
    ck_assert_int_eq(hand_run(&h, &m), 0);
    ck_assert_uint_le(m.chunks, MODEL_CHUNKS);
    ck_assert_uint_eq(m.chunk_bytes, 256);
    ck_assert_double_eq_tol(m.seconds, n / rate, n / rate * 0.01);
    model_free(&m);
}
END_TEST

/* An arrival is combined by two operations, or by one: memory moves a chunk at 5 GB/s. */
START_TEST(test_model__combining_costs_memory_time)
{
    struct hand two = hand_begin("node:2 rail:1@80Mbit latency_rail:1ms", 100000);

    plan_send(two.b[0], 1, 0, PLAN_INPUT, 0, 1000000);
    plan_recv(two.b[1], 0, 0, PLAN_SCRATCH, 0, 1000000);
    plan_reduce(two.b[1], 0, PLAN_SCRATCH, 0, PLAN_OUTPUT, 0, 1000000);
    plan_after(two.b[1], 0);
    assert_seconds(two, 1e-3 + 0.1 + 100000 / 5e9);

    struct hand one = hand_begin("node:2 rail:1@80Mbit latency_rail:1ms", 100000);
    plan_send(one.b[0], 1, 0, PLAN_INPUT, 0, 1000000);
    plan_recv_reduce(one.b[1], 0, 0, PLAN_INPUT, 0, PLAN_OUTPUT, 0, 1000000);
    assert_seconds(one, 1e-3 + 0.1 + 100000 / 5e9);

    struct hand copies = hand_begin("node:1 rank:1", 1000); /* two at once share the memory */
    plan_copy(copies.b[0], 0, PLAN_INPUT, 0, PLAN_OUTPUT, 0, 1000000);
    plan_copy(copies.b[0], 1, PLAN_INPUT, 0, PLAN_SCRATCH, 0, 1000000);
    assert_seconds(copies, 2 * 1e6 / 5e9);

    struct hand device = hand_begin("node:1 gpu:1", 1000);
    plan_copy(device.b[0], 0, PLAN_INPUT, 0, PLAN_OUTPUT, 0, 1000000);
    assert_seconds(device, 1e6 / 400e9);
}
END_TEST

/* PLAN_HOST of ranks with GPUs: across PCIe, through shared memory, combined by the thread that
   receives. */
START_TEST(test_model__host_memory_beside_a_gpu_has_its_own_links)
{
    struct hand down = hand_begin("node:1 gpu:1 link_pcie:1GB/s latency_pcie:5us", 1 << 30);
    plan_copy(down.b[0], 0, PLAN_INPUT, 0, PLAN_HOST, 0, 1000000);
    plan_copy(down.b[0], 1, PLAN_HOST, 1000000, PLAN_OUTPUT, 0, 1000000); /* the other direction */
    assert_seconds(down, 5e-6 + 1e-3);

    struct hand same = hand_begin("node:1 gpu:1 link_pcie:1GB/s latency_pcie:5us", 1 << 30);
    plan_copy(same.b[0], 0, PLAN_INPUT, 0, PLAN_HOST, 0, 1000000);
    plan_copy(same.b[0], 1, PLAN_INPUT, 0, PLAN_HOST, 1000000, 1000000);
    assert_seconds(same, 2 * (5e-6 + 1e-3)); /* one after the other */

    struct hand message = hand_begin("node:1 gpu:2 link_shm:1GB/s latency_shm:3us", 1 << 30);
    plan_send(message.b[0], 1, 0, PLAN_HOST, 0, 1000000);
    plan_recv(message.b[1], 0, 0, PLAN_HOST, 0, 1000000);
    plan_send(message.b[0], 1, 1, PLAN_INPUT, 0, 1000000); /* beside it, over NVLink */
    plan_recv(message.b[1], 0, 1, PLAN_OUTPUT, 0, 1000000);
    assert_seconds(message, 3e-6 + 1e-3);

    struct hand across =
        hand_begin("node:1 socket:2 gpu:1 link_socket:2GB/s latency_socket:7us link_pcie:1GB/s "
                   "link_shm:4GB/s",
                   1 << 30); /* between sockets without PCIe */
    plan_send(across.b[0], 1, 0, PLAN_HOST, 0, 1000000);
    plan_recv(across.b[1], 0, 0, PLAN_HOST, 0, 1000000);
    assert_seconds(across, 7e-6 + 5e-4);

    struct hand combine =
        hand_begin("node:1 gpu:2 link_shm:1GB/s latency_shm:3us link_reduce:2GB/s", 1 << 30);
    plan_send(combine.b[0], 1, 0, PLAN_HOST, 0, 1000000);
    plan_recv_reduce(combine.b[1], 0, 0, PLAN_HOST, 0, PLAN_HOST, 0, 1000000);
    plan_reduce(combine.b[1], 1, PLAN_INPUT, 0, PLAN_OUTPUT, 0, 1000000); /* on the device */
    assert_seconds(combine, 3e-6 + 1e-3 + 5e-4);

    struct hand both = hand_begin("node:1 gpu:2 link_shm:1GB/s latency_shm:3us link_reduce:2GB/s",
                                  1 << 30); /* one thread receives and combines */
    plan_send(both.b[0], 1, 0, PLAN_HOST, 0, 1000000);
    plan_recv(both.b[1], 0, 0, PLAN_HOST, 0, 1000000);
    plan_reduce(both.b[1], 1, PLAN_HOST, 2000000, PLAN_HOST, 1000000, 1000000);
    assert_seconds(both, 3e-6 + 1e-3 + 5e-4);
}
END_TEST

START_TEST(test_model__combining_has_the_rate_that_the_topology_knows)
{
    struct hand device =
        hand_begin("node:1 gpu:1 link_reduce_gpu:1GB/s latency_reduce_gpu:7us", 1 << 30);
    plan_reduce(device.b[0], 0, PLAN_INPUT, 0, PLAN_OUTPUT, 0, 1000000);
    assert_seconds(device, 7e-6 + 1e-3);

    struct hand host = hand_begin("node:1 rank:1 link_reduce:2GB/s", 1 << 30);
    plan_copy(host.b[0], 0, PLAN_INPUT, 0, PLAN_HOST, 0, 1000000);
    assert_seconds(host, 5e-4);
}
END_TEST

START_TEST(test_model__links_inside_a_node_have_its_own_rate)
{
    static const char machine[] =
        "node:2 gpu:2 link_nvlink:20GB/s link_rate:1.nvlink@5GB/s latency_nvlink:1us";
    const struct {
        int from, to;
        double seconds;
    } cases[] = {{0, 1, 1e-6 + 5e-5}, {2, 3, 1e-6 + 2e-4}};

    for (int i = 0; i < 2; i++) {
        struct hand h = hand_begin(machine, 1 << 30);

        message(&h, cases[i].from, cases[i].to, 1000000);
        assert_seconds(h, cases[i].seconds);
    }
}
END_TEST

START_TEST(test_model__plans_that_never_end_are_refused)
{
    struct model_result m;
    struct hand circle = hand_begin("node:2", 1000);

    for (int r = 0; r < 2; r++) { /* each sends only what it has received */
        plan_recv(circle.b[r], 1 - r, 0, PLAN_OUTPUT, 0, 10);
        plan_send(circle.b[r], 1 - r, 0, PLAN_OUTPUT, 0, 10);
        plan_after(circle.b[r], 0);
    }
    ck_assert_int_eq(hand_run(&circle, &m), -EDEADLK);

    struct hand alone = hand_begin("node:2", 1000);
    plan_send(alone.b[0], 1, 0, PLAN_INPUT, 0, 10);
    ck_assert_int_eq(hand_run(&alone, &m), -EDEADLK);

    struct hand unsent = hand_begin("node:2", 1000);
    plan_recv(unsent.b[0], 1, 0, PLAN_OUTPUT, 0, 10);
    ck_assert_int_eq(hand_run(&unsent, &m), -EDEADLK);
}
END_TEST

static double seconds_of(const struct plan_request *q, const struct plan_algorithm *a)
{
    struct plan **plan = calloc((size_t)q->topo->nranks, sizeof(struct plan *));
    struct model_result m;

    ck_assert_int_eq(request_plans(*q, a, plan), 0);
    ck_assert_int_eq(model_run(q->topo, (const struct plan *const *)plan, &m), 0);
    for (int r = 0; r < q->topo->nranks; r++)
        plan_free(plan[r]);
    free(plan);
    double seconds = m.seconds;
    model_free(&m);
    return seconds;
}

/* A ring of one rank per node sends chunk after chunk; it ends nodes - 2 chunks after the bound. */
START_TEST(test_model__a_pipelined_ring_comes_near_its_bound)
{
    struct topo *t = test_topo_parse("node:8 rank:1 rail:1@1Gbit latency_rail:5us");
    struct plan_request q = REQUEST(COLL_BCAST, t, 16 << 20, 16 << 10);
    double seconds = seconds_of(&q, &plan_parallel_rings), bound = load_bound(&q);

    ck_assert_double_ge(seconds, bound);
    ck_assert_double_le(seconds, bound * 1.02);
    q.chunk_bytes = 16 << 20; /* store and forward */
    ck_assert_double_ge(seconds_of(&q, &plan_parallel_rings), 2 * bound);
    topo_free(t);
}
END_TEST

START_TEST(test_model__more_bytes_take_longer)
{
    static const char *const shapes[] = {"node:4 gpu:4 rail:4@1Gbit", "node:2 rank:3,5 rail:2",
                                         "node:1 socket:2 gpu:2"};

    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        struct topo *t = test_topo_parse(shapes[s]);
        double last = 0;

        for (size_t n = 1000; n < 10000000; n += n / 2) {
            struct plan_request q = REQUEST(COLL_ALLGATHER, t, n, 1 << 16);
            double seconds = seconds_of(&q, &plan_parallel_rings);

            ck_assert_msg(seconds > last * 0.99, "%s: %zu bytes take %g, fewer took %g", shapes[s],
                          n, seconds, last);
            last = seconds;
        }
        topo_free(t);
    }
}
END_TEST

/* Traffic whose last message would end alone, on a rail that idled before. */
START_TEST(test_model__an_exchange_ends_on_all_rails_together)
{
    static const struct {
        const char *topo;
        enum demand_kind kind;
        double of_bound;
    } cases[] = {
        {"node:3 rank:5 rail:5@100Mbit rail_rate:1.2@25Mbit latency_rail:60us", DEMAND_SKEW, .93},
        {"node:4 rank:4 rail:4@100Mbit rail_rate:2.1@25Mbit latency_rail:60us", DEMAND_SKEW, .93},
        {"node:4 rank:4 rail:4@100Mbit latency_rail:60us", DEMAND_FEW, .93},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct topo *t = test_topo_parse(cases[i].topo);
        struct demand d = demand_defaults;
        struct plan_request q = REQUEST(COLL_ALLTOALLV, t, 0, 32 << 10);
        uint64_t *matrix = calloc((size_t)t->nranks * (size_t)t->nranks, sizeof *matrix);

        d.kind = cases[i].kind;
        d.bytes = 4 << 20;
        demand_fill(&d, t, matrix);
        q.demand = matrix;
        double part = load_bound(&q) / seconds_of(&q, &plan_nimble);
        ck_assert_msg(part >= cases[i].of_bound, "%s: %.3f of the bound", cases[i].topo, part);
        free(matrix);
        topo_free(t);
    }
}
END_TEST

/* Slabs suit slow rails and fast ones. */
START_TEST(test_model__an_allreduce_on_unequal_nodes_has_slabs_that_suit_its_rails)
{
    static const struct {
        const char *topo;
        double of_bound;
    } cases[] = {
        {"node:4 rank:4 rail:4@100Mbit rail_rate:2.1@25Mbit latency_rail:60us", .9},
        {"node:4 gpu:8 rail:8@200Gbit rail_rate:2.1@50Gbit link_nvlink:200GB/s latency_rail:5us",
         .7},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct topo *t = test_topo_parse(cases[i].topo);
        struct plan_request q = {.collective = COLL_ALLREDUCE,
                                 .topo = t,
                                 .nbytes = 16 << 20,
                                 .grain = 4,
                                 .chunk_bytes = 32 << 10};
        double part = load_bound(&q) / seconds_of(&q, &plan_lane);

        ck_assert_msg(part >= cases[i].of_bound, "%s: %.3f of the bound", cases[i].topo, part);
        topo_free(t);
    }
}
END_TEST

/* In seconds, as the model assumes rails where nothing is known. */
static double in_seconds(const struct plan_request *q, double unit)
{
    return load_rates_known(q->topo) ? unit : unit / rates_assumed.rail.bw_bytes_per_s;
}

/* The model's load of the rails is that of the plans. */
static void assert_rails(const struct model_result *m, const struct load *l)
{
    double modelled = 0, loaded = 0;

    for (int i = 0; i < m->nlinks; i++)
        if (m->link[i].kind == MODEL_RAIL_OUT || m->link[i].kind == MODEL_RAIL_IN) {
            const struct load_link *rail = &l->rail[m->link[i].node * l->nrails + m->link[i].from];
            double bytes = m->link[i].kind == MODEL_RAIL_OUT ? rail->out : rail->in;

            ck_assert_double_eq_tol(m->link[i].bytes, bytes, 1e-6 * (bytes + 1));
            ck_assert_double_le(model_link_busy(m, &m->link[i]), 1 + NEAR);
            modelled += bytes;
        }
    for (int i = 0; i < l->nnodes * l->nrails; i++)
        loaded += l->rail[i].in + l->rail[i].out;
    ck_assert_double_eq_tol(modelled, loaded, 1e-6 * (loaded + 1));
}

static void check_shape(const struct plan_algorithm *a, int c, uint64_t seed)
{
    enum { MOST = 12 };
    struct rng r = {seed};
    struct plan_request q = rng_request(&r, (enum plan_collective)c, MOST, 20000);
    struct plan *plan[MOST] = {NULL};
    const struct plan *const *all = (const struct plan *const *)plan;
    struct load load;
    char text[1024];

    rng_request_text(&q, text);
    int rc = request_plans(q, a, plan);
    ck_assert_int_eq(load_open(q.topo, &load), 0);
    if (rc == 0) {
        struct model_result m, again;

        for (int rank = 0; rank < q.topo->nranks; rank++)
            load_add(&load, q.topo, plan[rank]);
        double bound = load_bound(&q), busiest = load_time(&load, q.topo);
        ck_assert_msg(busiest >= bound * (1 - NEAR), "%s, seed %llu, %s: load %g below bound %g",
                      a->name, (unsigned long long)seed, text, busiest, bound);
        ck_assert_msg(model_run(q.topo, all, &m) == 0, "%s, seed %llu, %s", a->name,
                      (unsigned long long)seed, text);
        ck_assert_msg(m.seconds >= in_seconds(&q, busiest) * (1 - NEAR),
                      "%s, seed %llu, %s: %g s, but its rails need %g", a->name,
                      (unsigned long long)seed, text, m.seconds, in_seconds(&q, busiest));
        assert_rails(&m, &load);
        ck_assert_int_eq(model_run(q.topo, all, &again), 0);
        ck_assert(memcmp(&m.seconds, &again.seconds, sizeof m.seconds) == 0);
        model_free(&m);
        model_free(&again);
    } else
        ck_assert_int_eq(rc, -ENOTSUP);
    for (int rank = 0; rank < q.topo->nranks; rank++)
        plan_free(plan[rank]);
    load_free(&load);
    rng_request_free(&q);
}

START_TEST(test_model__no_algorithm_is_faster_than_the_bound_on_random_shapes)
{
    for (int a = 0; a < plan_algorithm_count; a++)
        for (int c = 0; c < COLL_COUNT; c++)
            if (plan_algorithms[a]->collectives & 1u << c)
                for (uint64_t seed = 1; seed <= rng_seeds(200); seed++)
                    check_shape(plan_algorithms[a], c, seed);
}
END_TEST

Suite *suite_model(void)
{
    Suite *s = suite_create("model");
    TCase *t = tcase_create("model");

    tcase_add_test(t, test_model__a_message_takes_latency_plus_bytes_over_rate);
    tcase_add_test(t, test_model__chunks_of_one_message_follow_each_other_without_a_gap);
    tcase_add_test(t, test_model__two_messages_on_one_rail_get_half_each);
    tcase_add_test(t, test_model__a_capped_connection_does_not_fill_its_rail);
    tcase_add_test(t, test_model__both_directions_of_a_rail_are_independent);
    tcase_add_test(t, test_model__what_one_flow_cannot_use_the_others_get);
    tcase_add_test(t, test_model__a_chunk_is_forwarded_when_it_is_in);
    tcase_add_test(t, test_model__few_small_chunks_in_flight_do_not_fill_a_long_link);
    tcase_add_test(t, test_model__too_many_chunks_are_taken_together_and_keep_their_depth);
    tcase_add_test(t, test_model__combining_costs_memory_time);
    tcase_add_test(t, test_model__host_memory_beside_a_gpu_has_its_own_links);
    tcase_add_test(t, test_model__combining_has_the_rate_that_the_topology_knows);
    tcase_add_test(t, test_model__links_inside_a_node_have_its_own_rate);
    tcase_add_test(t, test_model__plans_that_never_end_are_refused);
    tcase_add_test(t, test_model__a_pipelined_ring_comes_near_its_bound);
    tcase_add_test(t, test_model__more_bytes_take_longer);
    tcase_add_test(t, test_model__an_exchange_ends_on_all_rails_together);
    tcase_add_test(t, test_model__an_allreduce_on_unequal_nodes_has_slabs_that_suit_its_rails);
    tcase_add_test(t, test_model__no_algorithm_is_faster_than_the_bound_on_random_shapes);
    suite_add_tcase(s, t);
    return s;
}
