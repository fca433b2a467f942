/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collaborative Allreduce: right with every division, one result on all ranks, and a division
 * that is as good as any.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planners/algorithms/collaborative/collaborative.h"
#include "planners/algorithms/collaborative/split.h"
#include "planners/check/check.h"
#include "planners/choose/choose.h"
#include "planners/model/model.h"
#include "test/unit/loopback.h"
#include "test/unit/member.h"
#include "test/unit/random.h"
#include "test/unit/suites.h"
#include "test/unit/test_topo.h"

enum { MOST = 9 };

/* A random request on one node, with a random division; recipe has room for 64 bytes. */
static struct plan_request random_request(struct rng *r, char *recipe)
{
    struct plan_request q = rng_request(r, COLL_ALLREDUCE, MOST, 1500);
    uint32_t kind = rng_below(r, 4);
    char text[64];

    snprintf(text, sizeof text, "node:1 gpu:%u", 1 + rng_below(r, MOST));
    topo_free((struct topo *)(uintptr_t)q.topo);
    q.topo = test_topo_parse(text);
    q.memory = PLAN_ON_DEVICE;
    if (rng_below(r, 4) == 0) /* long enough for slices of whole vectors */
        q.nbytes = q.grain * ((512 << 10) + rng_below(r, 1000)), q.chunk_bytes = q.grain << 14;
    snprintf(recipe, 64, "split=%u.%02u,device=%s", kind ? rng_below(r, 100) : 100,
             kind ? rng_below(r, 100) : 0, rng_below(r, 2) ? "ring" : "direct");
    q.recipe = kind == 1 ? "split=0" : recipe;
    return q;
}

START_TEST(test_collaborative__every_division_passes_the_checker)
{
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        struct rng r = {seed};
        char recipe[64], why[256] = "", text[1024];
        struct plan_request q = random_request(&r, recipe);
        int rc = plan_check_algorithm(&q, &plan_collaborative, why, sizeof why);

        must(rc == 0, "seed %llu, %s, %s: %s", (unsigned long long)seed, q.recipe,
             rng_request_text(&q, text), why);
        rng_request_free(&q);
    }
}
END_TEST

START_TEST(test_collaborative__every_division_delivers)
{
    for (uint64_t seed = 1; seed <= rng_seeds(300); seed++) {
        struct rng r = {seed};
        char recipe[64];
        struct plan_request q = random_request(&r, recipe);
        int n = q.topo->nranks, left = n;
        struct member member[MOST] = {{0}};
        struct loopback *net = loopback_open(n, seed);

        for (q.rank = 0; q.rank < n; q.rank++) {
            loopback_attach(net, q.rank, &member[q.rank].xport);
            member_open(&member[q.rank], &plan_collaborative, &q, seed);
        }
        for (long step = 0; left; step++) {
            struct member *m = &member[rng_below(&r, (uint32_t)n)];
            enum engine_state state;

            must(step < 3000000, "seed %llu: no end in sight", (unsigned long long)seed);
            if (m->finished)
                continue;
            must(engine_step(m->engine, &state) == 0, "the engine fails");
            m->finished = state == ENGINE_DONE;
            left -= m->finished;
        }
        for (int rank = 0; rank < n; rank++)
            member_close(&member[rank], &q, rank, seed);
        ck_assert_uint_eq(loopback_unmatched(net), 0);
        loopback_close(net);
        rng_request_free(&q);
    }
}
END_TEST

/* An operation that shows every difference in order and grouping. */
static void entangle(void *context, const void *a, const void *b, void *dst, size_t bytes)
{
    const uint64_t *x = a, *y = b;
    uint64_t *to = dst;

    (void)context;
    for (size_t i = 0; i < bytes / sizeof *to; i++)
        to[i] = (x[i] * 3 + y[i]) ^ (x[i] >> 7);
}

enum { ELEMENTS = 500 };

static void allreduce(struct plan_request *q, uint64_t seed, uint64_t result[MOST][ELEMENTS])
{
    static uint64_t input[MOST][ELEMENTS], host[MOST][ELEMENTS];
    struct loopback *net = loopback_open(q->topo->nranks, seed);
    struct engine *engine[MOST];
    struct plan *plan[MOST];
    struct xport xport[MOST];
    struct rng r = {seed};
    int n = q->topo->nranks, left = n;

    for (q->rank = 0; q->rank < n; q->rank++) {
        int k = q->rank;

        for (int i = 0; i < ELEMENTS; i++)
            input[k][i] = ((uint64_t)k + 1) * 2654435761u + (uint64_t)i;
        ck_assert_int_eq(plan_collaborative.build(q, &plan[k]), 0);
        loopback_attach(net, k, &xport[k]);
        ck_assert_int_eq(engine_create(plan[k], &xport[k], &engine[k]), 0);
        ck_assert_int_eq(engine_begin(engine[k], &(struct engine_buffers){.input = input[k],
                                                                          .output = result[k],
                                                                          .host = host[k],
                                                                          .combine = entangle,
                                                                          .grain = 8}),
                         0);
    }
    for (long step = 0; left; step++) {
        uint32_t k = rng_below(&r, (uint32_t)n);
        enum engine_state state;

        must(step < 3000000, "seed %llu: no end in sight", (unsigned long long)seed);
        if (!engine[k])
            continue;
        must(engine_step(engine[k], &state) == 0, "the engine fails");
        if (state != ENGINE_DONE)
            continue;
        engine_free(engine[k]);
        plan_free(plan[k]);
        engine[k] = NULL;
        left--;
    }
    loopback_close(net);
}

START_TEST(test_collaborative__all_ranks_get_the_same_bits_in_every_run)
{
    static uint64_t first[MOST][ELEMENTS], again[MOST][ELEMENTS];
    static const char *const recipes[] = {"split=0", "split=37.5", "split=100",
                                          "split=20,device=ring"};

    for (int n = 2; n <= 8; n++)
        for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
            char text[64];

            snprintf(text, sizeof text, "node:1 gpu:%d", n);
            struct topo *t = test_topo_parse(text);
            struct plan_request q = {.collective = COLL_ALLREDUCE,
                                     .topo = t,
                                     .nbytes = ELEMENTS * 8,
                                     .grain = 8,
                                     .chunk_bytes = 160,
                                     .memory = PLAN_ON_DEVICE,
                                     .recipe = recipes[i]};
            allreduce(&q, 1, first);
            for (uint64_t seed = 2; seed <= 6; seed++) {
                allreduce(&q, seed, again);
                for (int k = 0; k < n; k++)
                    must(!memcmp(first[0], again[k], sizeof first[0]),
                         "%d ranks, %s, seed %llu: rank %d differs", n, recipes[i],
                         (unsigned long long)seed, k);
            }
            topo_free(t);
        }
}
END_TEST

/* ---- the division ---- */

static struct plan_request request(const struct topo *t, size_t bytes)
{
    struct plan_request q = {.collective = COLL_ALLREDUCE,
                             .topo = t,
                             .nbytes = bytes,
                             .grain = 4,
                             .memory = PLAN_ON_DEVICE};
    size_t chunk[PLAN_CHUNKS];

    plan_chunks(&q, chunk);
    q.chunk_bytes = chunk[0];
    return q;
}

/* Seconds as the model sees them; share < 0: the row's own division. */
static double modelled(const struct topo *t, size_t bytes, int share)
{
    struct plan_request q = request(t, bytes);
    struct plan *plan[MOST];
    struct model_result m;
    char recipe[32];

    snprintf(recipe, sizeof recipe, "split=%d.%02d", share / 100, share % 100);
    q.recipe = share < 0 ? NULL : recipe;
    for (q.rank = 0; q.rank < t->nranks; q.rank++)
        ck_assert_int_eq(plan_collaborative.build(&q, &plan[q.rank]), 0);
    ck_assert_int_eq(model_run(t, (const struct plan *const *)plan, &m), 0);
    for (int r = 0; r < t->nranks; r++)
        plan_free(plan[r]);
    double seconds = m.seconds;
    model_free(&m);
    return seconds;
}

static struct topo *linked(int gpus, int ratio)
{
    char text[128];

    snprintf(text, sizeof text, "node:1 gpu:%d link_shm:5GB/s link_nvlink:%dGB/s link_pcie:2GB/s",
             gpus, 2 * ratio);
    return test_topo_parse(text);
}

/* Every share in steps of 2%, then of 0.1% around the best of them. */
static double best_of_all(const struct topo *t, size_t bytes)
{
    double best = modelled(t, bytes, 0);
    int at = 0;

    for (int share = 200; share <= 6000; share += 200) {
        double now = modelled(t, bytes, share);

        if (now < best) {
            best = now;
            at = share;
        }
    }
    for (int share = at > 200 ? at - 200 : 10; share < at + 200; share += 10) {
        double now = modelled(t, bytes, share);

        best = now < best ? now : best;
    }
    return best;
}

START_TEST(test_collaborative__the_division_is_as_good_as_any)
{
    static const int gpus[] = {2, 4, 8}, ratios[] = {2, 4, 8, 16, 32};
    static const size_t sizes[] = {1 << 20, 8 << 20, 64 << 20};
    int n = gpus[_i];

    for (size_t k = 0; k < sizeof ratios / sizeof *ratios; k++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            struct topo *t = linked(n, ratios[k]);
            double own = modelled(t, sizes[s], -1), alone = modelled(t, sizes[s], 0);
            double best = best_of_all(t, sizes[s]);

            must(own <= 1.03 * best, "%d GPUs, %d:1, %zu bytes: %g s, the best division %g", n,
                 ratios[k], sizes[s], own, best);
            must(own <= alone, "%d GPUs, %d:1, %zu bytes: %g s, the devices alone %g", n, ratios[k],
                 sizes[s], own, alone);
            topo_free(t);
        }
}
END_TEST

/* The closed form beside the simulation, on either side of each rate that can be the narrowest. */
START_TEST(test_collaborative__the_closed_form_says_what_the_model_says)
{
    static const char *const links[] = {
        "link_nvlink:8GB/s link_pcie:2GB/s link_shm:5GB/s",
        "link_nvlink:100GB/s link_reduce_gpu:100GB/s",
        "link_nvlink:100GB/s link_reduce_gpu:20GB/s link_pcie:20GB/s link_shm:50GB/s",
        "link_nvlink:20GB/s link_pcie:20GB/s link_shm:40GB/s link_reduce:2GB/s",
        "link_nvlink:20GB/s link_pcie:20GB/s link_shm:2GB/s link_reduce:40GB/s"};
    static const int gpus[] = {2, 3, 8}, shares[] = {0, 1000, 5000, SPLIT_WHOLE};

    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        for (int n = 0; n < 3; n++)
            for (int s = 0; s < 4; s++)
                for (size_t bytes = 8 << 20; bytes <= 64 << 20; bytes *= 8) {
                    char text[160];

                    snprintf(text, sizeof text, "node:1 gpu:%d %s", gpus[n], links[i]);
                    struct topo *t = test_topo_parse(text);
                    struct plan_request q = request(t, bytes);
                    double closed = split_seconds(&q, split_bytes(&q, shares[s]));
                    double model = modelled(t, bytes, shares[s]);

                    must(closed > 0.85 * model && closed < 1.15 * model,
                         "%s, %zu bytes, share %d: %g s, the model says %g", text, bytes, shares[s],
                         closed, model);
                    topo_free(t);
                }
}
END_TEST

/* The copies of a rank in one direction follow each other, a chunk of each slice in turn: so the
   first slice's first chunk goes up while the second slice's comes down. */
START_TEST(test_collaborative__slices_come_down_in_turn)
{
    const double down = 2e9, bytes = 8 << 20;
    struct topo *t =
        test_topo_parse("node:1 gpu:2 link_pcie:2GB/s link_shm:1000GB/s link_reduce:1000GB/s");
    struct plan_request q = request(t, 8 << 20);
    double chunk = (double)q.chunk_bytes, took = modelled(t, 8 << 20, SPLIT_WHOLE);

    ck_assert_double_ge(took, (bytes + chunk) / down);
    ck_assert_double_le(took, (bytes + 1.5 * chunk) / down);
    topo_free(t);
}
END_TEST

START_TEST(test_collaborative__two_paths_add_up)
{
    struct topo *t = linked(2, 4);
    double gain = modelled(t, 64 << 20, 0) / modelled(t, 64 << 20, -1);

    ck_assert_double_ge(gain, 0.9 * (1 + 1.0 / 4));
    ck_assert_double_le(gain, 1 + 1.0 / 4);
    topo_free(t);
}
END_TEST

/* Where sockets part the GPUs, both paths use PCIe. */
START_TEST(test_collaborative__shared_links_are_counted_for_both_paths)
{
    static const char *const texts[] = {
        "node:1 socket:2 gpu:1 link_pcie:10GB/s link_socket:20GB/s link_shm:40GB/s",
        "node:1 socket:2 gpu:2 link_nvlink:100GB/s link_pcie:20GB/s link_socket:20GB/s",
        "node:1 socket:2 gpu:4 link_nvlink:100GB/s link_pcie:20GB/s link_socket:200GB/s"};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct topo *t = test_topo_parse(texts[i]);
        double own = modelled(t, 64 << 20, -1), alone = modelled(t, 64 << 20, 0);

        must(own <= alone * 1.001, "%s: %g s, the devices alone %g", texts[i], own, alone);
        must(own <= 1.05 * best_of_all(t, 64 << 20), "%s: %g s, the best division %g", texts[i],
             own, best_of_all(t, 64 << 20));
        topo_free(t);
    }
}
END_TEST

/* A host path that is too slow, or a vector too short for it, is left out. */
START_TEST(test_collaborative__the_host_is_left_out_where_it_does_not_pay)
{
    struct topo *t =
        test_topo_parse("node:1 gpu:2 link_nvlink:100GB/s link_pcie:20GB/s latency_pcie:10us");
    struct plan_request q = {.collective = COLL_ALLREDUCE,
                             .topo = t,
                             .nbytes = 1 << 20,
                             .grain = 4,
                             .chunk_bytes = 1 << 19,
                             .memory = PLAN_ON_DEVICE};

    ck_assert_uint_eq(split_best(&q), 0);
    q.nbytes = 256 << 20;
    ck_assert_uint_gt(split_best(&q), 0);
    q.memory = PLAN_IN_HOST;
    ck_assert_uint_eq(split_best(&q), 0);
    topo_free(t);
}
END_TEST

/* The library's own call beside the host's part: it gains between two GPUs if calls are large, and
   not between eight, whose links are too fast. */
START_TEST(test_collaborative__library_beside)
{
    static const struct {
        const char *links;
        uint64_t mib;
        double gain;
    } row[] = {
        {"node:1 gpu:8 link_nvlink:68.75GB/s link_pcie:50GB/s link_reduce_gpu:1000GB/s", 1024, 1},
        {"node:1 gpu:2 link_nvlink:115GB/s link_pcie:50GB/s link_reduce_gpu:1000GB/s", 64, 1},
        {"node:1 gpu:2 link_nvlink:115GB/s link_pcie:50GB/s link_reduce_gpu:1000GB/s", 256, 1.22},
        {"node:1 gpu:2 link_nvlink:115GB/s link_pcie:50GB/s link_reduce_gpu:1000GB/s", 1024, 1.29},
        {"node:1 gpu:2 link_nvlink:115GB/s link_pcie:25GB/s link_reduce_gpu:1000GB/s", 256, 1.07},
        {"node:1 gpu:2 link_nvlink:115GB/s link_pcie:25GB/s link_reduce_gpu:1000GB/s", 1024, 1.14}};

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct topo *t = test_topo_parse(row[i].links);
        struct plan_request q = {.collective = COLL_ALLREDUCE,
                                 .topo = t,
                                 .nbytes = row[i].mib << 20,
                                 .grain = 4,
                                 .memory = PLAN_ON_DEVICE,
                                 .library_beside = 1};
        uint64_t host = split_best(&q);

        ck_assert_double_eq_tol(split_seconds(&q, 0) / split_seconds(&q, host), row[i].gain, .01);
        ck_assert_int_eq(host > 0, row[i].gain > 1);
        ck_assert_uint_le(host, split_pieces(host) * SPLIT_PIECE);
        topo_free(t);
    }
}
END_TEST

/* Where combining is the narrowest, twice the threads take twice as much; else they change little.
 */
START_TEST(test_collaborative__a_rank_s_threads_are_counted)
{
    static const char *const texts[] = {
        "node:1 gpu:2 link_nvlink:40GB/s link_pcie:50GB/s link_shm:6GB/s link_reduce:6GB/s",
        "node:1 gpu:2 link_nvlink:40GB/s link_pcie:5GB/s link_shm:200GB/s link_reduce:200GB/s"};

    for (int i = 0; i < 2; i++) {
        struct topo *t = test_topo_parse(texts[i]);
        struct plan_request q = request(t, 64 << 20);
        double one = (double)split_best(&q), two;

        q.host_threads = 2;
        two = (double)split_best(&q);
        ck_assert_double_ge(two / one, i ? 0.99 : 1.7);
        ck_assert_double_le(two / one, i ? 1.1 : 2);
        topo_free(t);
    }
}
END_TEST

/* ---- recipe and choice ---- */

START_TEST(test_collaborative__a_wrong_recipe_is_named)
{
    static const struct {
        const char *recipe, *why; /* NULL: it is right */
    } cases[] = {
        {"split=0", NULL},
        {"split=100", NULL},
        {"split=12.5,device=ring", NULL},
        {"split=100.01", "must be the percentage"},
        {"split=101", "must be the percentage"},
        {"split=12.345", "must be the percentage"},
        {"split=12.", "must be the percentage"},
        {"split=.5", "must be the percentage"},
        {"split=-1", "must be the percentage"},
        {"split=99999999999999999999", "must be the percentage"},
        {"split=1x", "must be the percentage"},
        {"device=tree", "must be direct or ring"},
        {"half=50", "no such key"},
    };
    struct topo *t = test_topo_parse("node:1 gpu:2");

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan_request q = {.collective = COLL_ALLREDUCE,
                                 .topo = t,
                                 .nbytes = 800,
                                 .grain = 8,
                                 .chunk_bytes = 64,
                                 .memory = PLAN_ON_DEVICE,
                                 .recipe = cases[i].recipe};
        char why[256] = "";
        int rc = plan_collaborative.accepts(&q, why, sizeof why);

        ck_assert_msg(cases[i].why ? rc < 0 && strstr(why, cases[i].why) : rc == 0, "%s: %d, %s",
                      cases[i].recipe, rc, why);
    }
    topo_free(t);
}
END_TEST

START_TEST(test_collaborative__a_share_is_the_share_it_says)
{
    struct topo *t = test_topo_parse("node:1 gpu:2");
    struct plan *p = NULL;
    struct plan_request q = {.collective = COLL_ALLREDUCE,
                             .topo = t,
                             .nbytes = 8000,
                             .grain = 8,
                             .chunk_bytes = 64,
                             .memory = PLAN_ON_DEVICE,
                             .recipe = "split=12.5"};

    ck_assert_int_eq(plan_collaborative.build(&q, &p), 0);
    ck_assert_uint_eq(p->host_bytes, 1000);
    ck_assert_uint_eq(p->scratch_bytes, 0);
    plan_free(p);
    q.recipe = "split=100";
    q.nbytes = 8;
    ck_assert_int_eq(plan_collaborative.build(&q, &p), 0);
    ck_assert_uint_eq(p->host_bytes, 8);
    plan_free(p);
    topo_free(t);
}
END_TEST

START_TEST(test_collaborative__it_is_chosen_for_gpus_of_one_node_alone)
{
    static const struct {
        const char *topology;
        enum plan_memory memory;
        int chosen;
    } cases[] = {
        {"node:1 gpu:2", PLAN_ON_DEVICE, 1},  {"node:1 gpu:8", PLAN_ON_DEVICE, 1},
        {"node:1 gpu:2", PLAN_IN_HOST, 0},    {"node:2 gpu:2", PLAN_ON_DEVICE, 0},
        {"node:1 gpu:1", PLAN_ON_DEVICE, 0},  {"node:1 gpu:2 rank:2", PLAN_ON_DEVICE, 0},
        {"node:1 rank:2", PLAN_ON_DEVICE, 0}, {"node:1 gpu:9", PLAN_ON_DEVICE, 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct topo *t = test_topo_parse(cases[i].topology);
        struct plan_candidate c[PLAN_CANDIDATES];
        struct plan_request q = {.collective = COLL_ALLREDUCE,
                                 .topo = t,
                                 .nbytes = 64 << 20,
                                 .grain = 4,
                                 .memory = cases[i].memory};
        int n = plan_candidates(&q, c, PLAN_CANDIDATES);
        int chosen = n > 0 && c[0].algorithm == &plan_collaborative;

        ck_assert_msg(chosen == cases[i].chosen, "%s, case %zu", cases[i].topology, i);
        ck_assert_msg((plan_collaborative.pays(&q) == NULL) == cases[i].chosen, "%s, case %zu",
                      cases[i].topology, i);
        q.memory = PLAN_ON_DEVICE; /* it must be asked about exactly where it could be that */
        ck_assert_msg((plan_collaborative.pays(&q) == NULL) == plan_memory_matters(&q),
                      "%s, case %zu", cases[i].topology, i);
        topo_free(t);
    }
}
END_TEST

Suite *suite_collaborative(void)
{
    Suite *s = suite_create("collaborative");
    TCase *t = tcase_create("collaborative");

    tcase_add_test(t, test_collaborative__every_division_passes_the_checker);
    tcase_add_test(t, test_collaborative__every_division_delivers);
    tcase_add_test(t, test_collaborative__all_ranks_get_the_same_bits_in_every_run);
    tcase_add_loop_test(t, test_collaborative__the_division_is_as_good_as_any, 0, 3);
    tcase_add_test(t, test_collaborative__the_closed_form_says_what_the_model_says);
    tcase_add_test(t, test_collaborative__slices_come_down_in_turn);
    tcase_add_test(t, test_collaborative__two_paths_add_up);
    tcase_add_test(t, test_collaborative__shared_links_are_counted_for_both_paths);
    tcase_add_test(t, test_collaborative__the_host_is_left_out_where_it_does_not_pay);
    tcase_add_test(t, test_collaborative__library_beside);
    tcase_add_test(t, test_collaborative__a_rank_s_threads_are_counted);
    tcase_add_test(t, test_collaborative__a_wrong_recipe_is_named);
    tcase_add_test(t, test_collaborative__a_share_is_the_share_it_says);
    tcase_add_test(t, test_collaborative__it_is_chosen_for_gpus_of_one_node_alone);
    suite_add_tcase(s, t);
    return s;
}
