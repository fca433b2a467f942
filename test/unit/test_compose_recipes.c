/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recipes of HiCCL's composition: random ones on random shapes through the checker and, where ranks
 * combine, through the engine; and what is said of wrong ones.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planners/algorithms/compose/compose.h"
#include "planners/check/check.h"
#include "test/unit/loopback.h"
#include "test/unit/random.h"
#include "test/unit/request.h"
#include "test/unit/suites.h"
#include "test/unit/test_topo.h"
#include "transports/engine/engine.h"

/* A random recipe, and a hierarchy it is for. */
struct cook {
    struct rng *r;
    const struct topo *t;
    int levels, factor[8];
    int by_node;
    char text[256];
};

static void say(struct cook *c, const char *key, const char *value)
{
    size_t n = strlen(c->text);

    snprintf(c->text + n, sizeof c->text - n, "%s%s=%s", n ? "," : "", key, value);
}

static void say_number(struct cook *c, const char *key, int value)
{
    char text[16];

    snprintf(text, sizeof text, "%d", value);
    say(c, key, text);
}

/* Some factors, in some order, whose product is n. */
static void add_factors(struct cook *c, int n)
{
    for (int d = 2; d <= n; d++)
        while (n % d == 0 && c->levels < 5 && rng_below(c->r, 4)) {
            c->factor[c->levels++] = d;
            n /= d;
        }
    if (n > 1 || !c->levels || !rng_below(c->r, 6))
        c->factor[c->levels++] = n;
    for (int i = c->levels - 1; i > 0; i--) {
        int j = (int)rng_below(c->r, (uint32_t)i + 1), f = c->factor[i];
        c->factor[i] = c->factor[j];
        c->factor[j] = f;
    }
}

static int product(const struct cook *c, int from, int to)
{
    int all = 1;

    for (int l = from; l < to; l++)
        all *= c->factor[l];
    return all;
}

static void cook_hierarchy(struct cook *c)
{
    int shape = (int)rng_below(c->r, 3), most = 0;
    char text[64] = "";

    for (int n = 0; n < c->t->nnodes; n++)
        if (topo_node_size(c->t, n) > most)
            most = topo_node_size(c->t, n);
    if (shape == 0) {
        add_factors(c, c->t->nranks);
    } else {
        if (shape == 1)
            add_factors(c, c->t->nnodes);
        else
            c->factor[c->levels++] = c->t->nnodes;
        c->factor[c->levels++] = most;
        c->by_node = 1;
    }
    for (int l = 0; l < c->levels; l++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d", l ? ":" : "",
                 c->factor[l]);
    if (shape != 2)
        say(c, "hierarchy", text);
}

/* The least number of levels that make so many groups, or -1. */
static int levels_of(const struct cook *c, int groups)
{
    for (int l = 0; l <= c->levels; l++)
        if (product(c, 0, l) == groups)
            return l;
    return -1;
}

static void cook_ring_and_stripe(struct cook *c)
{
    int ring = c->t->nnodes, levels;

    if (rng_below(c->r, 2)) {
        /* A ring of all ranks needs equal nodes. */
        int most = product(c, 0, c->levels) == c->t->nranks ? c->levels : c->levels - 1;

        ring = product(c, 0, (int)rng_below(c->r, (uint32_t)most + 1));
        say_number(c, "ring", ring);
    }
    levels = levels_of(c, ring);
    if (levels <= 0)
        levels = c->levels > 1;
    if (rng_below(c->r, 3))
        say_number(c, "stripe", 1 + (int)rng_below(c->r, (uint32_t)product(c, levels, c->levels)));
}

static void cook_library(struct cook *c)
{
    char text[64] = "";

    static const char *const any[] = {"auto", "mpi"};

    for (int l = 0; l < c->levels; l++)
        strcat(strcat(text, l ? ":" : ""), c->by_node && l == c->levels - 1 && rng_below(c->r, 2)
                                               ? "shm"
                                               : any[rng_below(c->r, 2)]);
    say(c, "library", text);
}

static void cook_recipe(struct cook *c, int collective)
{
    static const char *const steps[] = {"single", "multi", "rooted"};
    int choices = collective == COLL_ALLREDUCE ? 3 : collective < COLL_GATHER ? 2 : 1;
    int step = (int)rng_below(c->r, 4);

    cook_hierarchy(c);
    if (step < choices)
        say(c, "steps", steps[step]);
    if (collective == COLL_ALLREDUCE && step == 0)
        say(c, "ring", "1"); /* see one order for all below */
    else
        cook_ring_and_stripe(c);
    if (rng_below(c->r, 2))
        say_number(c, "pipeline", 1 + (int)rng_below(c->r, 9));
    if (rng_below(c->r, 2))
        cook_library(c);
}

static void check_recipe(int collective, uint64_t seed, int most)
{
    struct rng r = {seed * 7919 + (uint64_t)collective};
    struct plan_request q = rng_request(&r, (enum plan_collective)collective, most, 120);
    struct cook c = {.r = &r, .t = q.topo};
    char why[256] = "", text[1024];
    int rc;

    for (int rank = 0; rank < q.topo->nranks; rank++)
        q.topo->rank[rank].socket = (int32_t)rng_below(&r, 2);
    cook_recipe(&c, collective);
    q.recipe = c.text;
    rc = plan_compose.accepts(&q, why, sizeof why);
    ck_assert_msg(rc == 0, "'%s', seed %llu, %s: %s", c.text, (unsigned long long)seed,
                  rng_request_text(&q, text), why);
    rc = plan_check_algorithm(&q, &plan_compose, why, sizeof why);
    ck_assert_msg(rc == 0, "'%s', seed %llu, %s: %s", c.text, (unsigned long long)seed,
                  rng_request_text(&q, text), why);
    rng_request_free(&q);
}

START_TEST(test_compose__random_recipes_pass_the_checker_on_random_shapes)
{
    if (!(plan_compose.collectives & 1u << _i))
        return;
    for (uint64_t seed = 1; seed <= rng_seeds(2000); seed++)
        check_recipe(_i, seed, 14);
    for (uint64_t seed = 1; seed <= rng_seeds(25); seed++)
        check_recipe(_i, seed, 48);
}
END_TEST

/* The error and the right form, in one line. */
START_TEST(test_compose__a_wrong_recipe_is_told_what_would_do)
{
    static const struct {
        const char *topo;
        int collective;
        const char *recipe, *says;
    } wrong[] = {
        {"node:4 gpu:4", COLL_BCAST, "strype=4", "'strype': no such key"},
        {"node:4 gpu:4", COLL_BCAST, "hierarchy=4:5", "there are 16 ranks on 4 nodes"},
        {"node:4 gpu:4", COLL_BCAST, "hierarchy=4:5", "4:4 would do"},
        {"node:4 gpu:4", COLL_BCAST, "hierarchy=4:", "must be a number of groups"},
        {"node:4 gpu:4", COLL_BCAST, "hierarchy=4:x", "'x' must be a number"},
        {"node:4 gpu:4", COLL_BCAST, "hierarchy=0:4", "'0' must be a number"},
        {"node:4 gpu:4", COLL_BCAST, "hierarchy=16777216:16777216:16777216", "4:4 would do"},
        {"node:4 gpu:4", COLL_BCAST, "hierarchy=1:1:1:1:1:1:1:4:4", "at most 8 levels"},
        {"node:4 gpu:4", COLL_BCAST, "hierarchy=4:4,ring=3", "rings of 1 (no ring), 4, 16"},
        {"node:2 rank:1,3", COLL_BCAST, "ring=6", "rings of 1 (no ring), 2"},
        {"node:4 gpu:4", COLL_BCAST, "ring=0", "from 1"},
        {"node:4 gpu:4", COLL_BCAST, "stripe=5", "groups of 4; 1 to 4 would do"},
        {"node:4 gpu:4", COLL_BCAST, "hierarchy=2:2:4,ring=2,stripe=9", "1 to 8 would do"},
        {"node:4 gpu:4", COLL_BCAST, "pipeline=0", "pipeline=0: must be"},
        {"node:4 gpu:4", COLL_BCAST, "library=mpi:ucx",
         "no library 'ucx'; there is auto, mpi, shm"},
        {"node:4 gpu:4", COLL_BCAST, "library=mpi", "names 1, hierarchy=4:4 has 2 levels"},
        {"node:4 gpu:4", COLL_BCAST, "library=mpi:mpi:shm", "names 3"},
        {"node:4 gpu:4", COLL_BCAST, "library=shm:shm", "level 1 of hierarchy=4:4 crosses nodes"},
        {"node:4 gpu:4", COLL_BCAST, "hierarchy=2:8,library=mpi:shm", "level 2 of hierarchy=2:8"},
        {"node:4 gpu:4", COLL_BCAST, "steps=rooted", "bcast has no such composition"},
        {"node:4 gpu:4", COLL_SCATTER, "steps=multi", "scatter has no such composition"},
        {"node:4 gpu:4", COLL_ALLREDUCE, "steps=single,ring=4", "ring=1, or steps=multi"},
        {"node:4 gpu:4", COLL_ALLREDUCE, "steps=single,stripe=2", "stripe=1, or steps=multi"},
        {"node:4 gpu:4", COLL_BCAST, "steps=two", "must be single, multi or rooted"},
    };

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct topo *t = test_topo_parse(wrong[i].topo);
        struct plan_request q = REQUEST((enum plan_collective)wrong[i].collective, t, 1000, 100,
                                        .recipe = wrong[i].recipe);
        struct plan *p = NULL;
        char why[256] = "";

        ck_assert_int_eq(plan_compose.accepts(&q, why, sizeof why), -EINVAL);
        ck_assert_msg(strstr(why, wrong[i].says), "'%s': %s", wrong[i].recipe, why);
        ck_assert_msg(!strchr(why, '\n'), "'%s': %s", wrong[i].recipe, why);
        ck_assert_int_eq(plan_compose.build(&q, &p), -ENOTSUP);
        ck_assert_ptr_null(p);
        topo_free(t);
    }
}
END_TEST

/* Every message between ranks of a node, or none, goes over the network. */
START_TEST(test_compose__a_levels_library_is_obeyed)
{
    static const struct {
        const char *recipe;
        int inside, across; /* with tags of the network's? */
    } row[] = {{"", 0, 0},
               {"library=auto:auto", 0, 0},
               {"library=mpi:shm", 0, 1},
               {"library=auto:mpi", 1, 0},
               {"hierarchy=2:2:2,library=mpi:mpi:mpi", 1, 1}};

    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        for (int rank = 0; rank < 8; rank++) {
            struct topo *t = test_topo_parse("node:4 gpu:2");
            struct plan_request q =
                REQUEST(COLL_ALLREDUCE, t, 1000, 100, .rank = rank, .recipe = row[i].recipe);
            struct plan *p = NULL;
            int messages = 0;

            ck_assert_int_eq(plan_compose.build(&q, &p), 0);
            for (uint32_t j = 0; j < p->nqueues; j++) {
                const struct plan_queue *queue = &p->queues[j];
                int inside = queue->peer >= 0 && t->rank[queue->peer].node == t->rank[rank].node;

                if (queue->peer < 0)
                    continue;
                messages++;
                ck_assert_msg((queue->tag >= PLAN_NETWORK_TAG) ==
                                  (inside ? row[i].inside : row[i].across),
                              "'%s': rank %d to %d with tag %d", row[i].recipe, rank, queue->peer,
                              queue->tag);
            }
            ck_assert_int_gt(messages, 0);
            plan_free(p);
            topo_free(t);
        }
}
END_TEST

/* Commutative, but not associative, as sums of floating-point numbers are. */
static void combine(void *context, const void *a, const void *b, void *dst, size_t bytes)
{
    (void)context;
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        uint64_t x, y, z;

        memcpy(&x, (const char *)a + at, sizeof x);
        memcpy(&y, (const char *)b + at, sizeof y);
        z = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u + (y ^ y >> 29) * 0xbf58476d1ce4e5b9u;
        memcpy((char *)dst + at, &z, sizeof z);
    }
}

enum { MOST = 12, ELEMENTS = 24 };

struct member {
    struct plan *plan;
    struct engine *engine;
    struct xport xport;
    uint64_t input[ELEMENTS], output[ELEMENTS];
    char *scratch;
};

/* An allreduce of 24 elements over a transport of that seed: every rank's result. */
static void allreduce(struct plan_request *q, uint64_t seed, uint64_t result[MOST][ELEMENTS])
{
    struct member member[MOST];
    struct loopback *net = loopback_open(q->topo->nranks, seed);
    int left = q->topo->nranks;

    for (q->rank = 0; q->rank < q->topo->nranks; q->rank++) {
        struct member *m = &member[q->rank];

        ck_assert_int_eq(plan_compose.build(q, &m->plan), 0);
        loopback_attach(net, q->rank, &m->xport);
        ck_assert_int_eq(engine_create(m->plan, &m->xport, &m->engine), 0);
        for (int i = 0; i < ELEMENTS; i++)
            m->input[i] = m->output[i] = (uint64_t)(q->rank + 1) * 2654435761u + (uint64_t)i;
        m->scratch = malloc(m->plan->scratch_bytes + 1);
        ck_assert_int_eq(engine_begin(m->engine, &(struct engine_buffers){.input = m->input,
                                                                          .output = m->output,
                                                                          .scratch = m->scratch,
                                                                          .combine = combine,
                                                                          .grain = 8}),
                         0);
    }
    for (int rank = 0; left; rank = (rank + 1) % q->topo->nranks) {
        enum engine_state state = ENGINE_DONE;

        if (!member[rank].engine)
            continue;
        if (engine_step(member[rank].engine, &state))
            ck_abort_msg("seed %llu: a step failed", (unsigned long long)seed);
        if (state != ENGINE_DONE)
            continue;
        memcpy(result[rank], member[rank].output, sizeof member[rank].output);
        engine_free(member[rank].engine);
        member[rank].engine = NULL;
        left--;
    }
    for (int rank = 0; rank < q->topo->nranks; rank++) {
        plan_free(member[rank].plan);
        free(member[rank].scratch);
    }
    loopback_close(net);
}

START_TEST(test_compose__all_ranks_of_an_allreduce_get_the_same_bits_in_every_run)
{
    static const char *const recipes[] = {"steps=single", "steps=multi", "steps=rooted"};

    for (uint64_t seed = 1; seed <= 120; seed++) {
        struct rng r = {seed};
        struct topo *t = rng_topo(&r, MOST);
        struct cook c = {.r = &r, .t = t};
        uint64_t first[MOST][ELEMENTS] = {{0}}, again[MOST][ELEMENTS] = {{0}};
        struct plan_request q = {.collective = COLL_ALLREDUCE,
                                 .topo = t,
                                 .nbytes = ELEMENTS * sizeof(uint64_t),
                                 .grain = sizeof(uint64_t),
                                 .in_place = (int)rng_below(&r, 2),
                                 .chunk_bytes = 5 * sizeof(uint64_t),
                                 .recipe = c.text};

        cook_hierarchy(&c);
        snprintf(c.text + strlen(c.text), sizeof c.text - strlen(c.text), "%s%s",
                 c.text[0] ? "," : "", recipes[seed % 3]);
        allreduce(&q, seed, first);
        allreduce(&q, seed + 1000, again);
        ck_assert_msg(!memcmp(first, again, sizeof first), "seed %llu: %s",
                      (unsigned long long)seed, c.text);
        for (int rank = 1; rank < t->nranks; rank++)
            ck_assert_msg(!memcmp(first[rank], first[0], sizeof first[0]), "seed %llu, rank %d: %s",
                          (unsigned long long)seed, rank, c.text);
        topo_free(t);
    }
}
END_TEST

Suite *suite_compose_recipes(void)
{
    Suite *s = suite_create("compose_recipes");
    TCase *t = tcase_create("compose_recipes");

    tcase_add_loop_test(t, test_compose__random_recipes_pass_the_checker_on_random_shapes, 0,
                        COLL_COUNT);
    tcase_add_test(t, test_compose__a_levels_library_is_obeyed);
    tcase_add_test(t, test_compose__a_wrong_recipe_is_told_what_would_do);
    tcase_add_test(t, test_compose__all_ranks_of_an_allreduce_get_the_same_bits_in_every_run);
    suite_add_tcase(s, t);
    return s;
}
