/* SPDX-License-Identifier: BSD-3-Clause */
/* Where what a rank sends lies in its device's window, which its peers' devices read. */
#include <check.h>
#include <stdlib.h>

#include "planners/choose/registry.h"
#include "test/unit/loopback.h"
#include "test/unit/random.h"
#include "test/unit/suites.h"
#include "transports/engine/engine.h"
#include "transports/engine/engine_state.h"

enum { GPUS = 8 };

static size_t asked; /* bytes of cells */

static void *cells(void *state, size_t bytes)
{
    asked = bytes;
    return state;
}

static char *window(void *state, struct device_window *w)
{
    *w = (struct device_window){.bytes = DEVICE_WINDOW_BYTES};
    return state;
}

static void use_device(void *state, struct device *d)
{
    (void)state;
    (void)d;
}

/* All sends of device memory have places of their own in it, and none of host memory has a cell. */
static void look_at(const struct plan_request *q, const struct plan_algorithm *a)
{
    static char memory[64];
    struct device d = {.state = memory, .cells = cells, .window = window};
    struct loopback *net = loopback_open(q->topo->nranks, 1);
    struct plan *plan = NULL;
    struct engine *e = NULL;
    struct xport x;
    size_t room = 0, all = 0;

    if (a->build(q, &plan)) {
        loopback_close(net);
        return;
    }
    loopback_attach(net, q->rank, &x);
    x.use_device = use_device;
    ck_assert_int_eq(engine_create(plan, &x, &e), 0);
    ck_assert_int_eq(engine_begin(e, &(struct engine_buffers){.grain = 4, .device = &d}), 0);
    for (uint32_t i = 0; i < plan->nqueues; i++) {
        const struct queue_run *run = &e->queue[i];
        size_t bytes = run->depth * run->room;

        ck_assert_int_eq(!run->cell, !run->celled);
        all += run->celled ? bytes : 0;
        if (plan->queues[i].kind != PLAN_SEND || !run->celled)
            continue;
        ck_assert_uint_eq(run->lent_at, room);
        room += bytes;
    }
    ck_assert_uint_eq(all, asked);
    must(room <= e->window_bytes, "%s, %s of %zu bytes: %zu bytes are sent at once", a->name,
         plan_collective_name(q->collective), q->nbytes, room);
    engine_free(e);
    plan_free(plan);
    loopback_close(net);
}

START_TEST(test_windows__what_eight_gpus_send_each_other_fits)
{
    static const struct {
        const char *algorithm, *recipe;
        enum plan_collective collective;
    } cases[] = {
        {"collaborative", "split=20", COLL_ALLREDUCE},
        {"collaborative", "split=0", COLL_ALLREDUCE},
        {"linear", NULL, COLL_ALLGATHER},
        {"linear", NULL, COLL_REDUCE_SCATTER_BLOCK},
        {"linear", NULL, COLL_BCAST},
        {"linear", NULL, COLL_ALLREDUCE},
        {"linear", NULL, COLL_SCATTER},
    };
    struct topo *t = NULL;
    char why[128] = "";

    ck_assert_msg(topo_parse("node:1 gpu:8", GPUS, &t, why, sizeof why) == 0, "%s", why);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t bytes = 1 << 20; bytes <= 1 << 28; bytes *= 4)
            for (int rank = 0; rank < GPUS; rank++) {
                size_t chunk[PLAN_CHUNKS];
                struct plan_request q = {.collective = cases[i].collective,
                                         .topo = t,
                                         .rank = rank,
                                         .nbytes = bytes,
                                         .grain = 4,
                                         .memory = PLAN_ON_DEVICE,
                                         .recipe = cases[i].recipe};
                const struct plan_algorithm *a =
                    plan_algorithm_find(q.collective, cases[i].algorithm);

                ck_assert_ptr_nonnull(a);
                plan_chunks(&q, chunk);
                q.chunk_bytes = chunk[0];
                look_at(&q, a);
            }
    topo_free(t);
}
END_TEST

Suite *suite_windows(void)
{
    Suite *s = suite_create("windows");
    TCase *t = tcase_create("windows");

    tcase_add_test(t, test_windows__what_eight_gpus_send_each_other_fits);
    suite_add_tcase(s, t);
    return s;
}
