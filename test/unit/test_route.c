/* SPDX-License-Identifier: BSD-3-Clause */
/* Two transports as one: which one carries a message. */
#include <check.h>
#include <errno.h>

#include "planners/plan/plan.h"
#include "test/unit/suites.h"
#include "transports/engine/route.h"

/* A transport that counts what it is given, and reports it done at the next poll. */
struct counter {
    unsigned sends, receives, combined, polls, flying;
    unsigned slot[8];
};

static int count_send(void *state, unsigned slot, const void *buf, size_t length, int peer, int tag)
{
    struct counter *c = state;

    (void)buf, (void)length, (void)peer, (void)tag;
    c->sends++;
    c->slot[c->flying++] = slot;
    return 0;
}

static int count_recv(void *state, unsigned slot, void *buf, size_t length, int peer, int tag)
{
    struct counter *c = state;

    (void)buf, (void)length, (void)peer, (void)tag;
    c->receives++;
    c->slot[c->flying++] = slot;
    return 0;
}

static int count_reduces(void *state, int peer, int tag)
{
    (void)state, (void)peer, (void)tag;
    return 1;
}

static int count_recv_reduce(void *state, unsigned slot, const struct xport_reduce *r, int peer,
                             int tag)
{
    struct counter *c = state;

    (void)r, (void)peer, (void)tag;
    c->combined++;
    c->slot[c->flying++] = slot;
    return 0;
}

static int count_poll(void *state, unsigned *done, unsigned *ndone)
{
    struct counter *c = state;

    c->polls++;
    for (unsigned i = 0; i < c->flying; i++)
        done[i] = c->slot[i];
    *ndone = c->flying;
    c->flying = 0;
    return 0;
}

static void count_abandon(void *state)
{
    ((struct counter *)state)->flying = 0;
}

static int count_reserve(void *state, unsigned nslots)
{
    (void)state, (void)nslots;
    return 0;
}

static struct xport xport_of(struct counter *c, int reduces)
{
    return (struct xport){.name = "counter",
                          .state = c,
                          .send = count_send,
                          .recv = count_recv,
                          .reduces = reduces ? count_reduces : NULL,
                          .recv_reduce = reduces ? count_recv_reduce : NULL,
                          .poll = count_poll,
                          .abandon = count_abandon,
                          .reserve = count_reserve};
}

START_TEST(test_route__near_peers_go_near_except_on_the_networks_tag)
{
    const unsigned char is_near[3] = {1, 1, 0};
    struct counter near = {0}, far = {0};
    struct xport n = xport_of(&near, 1), f = xport_of(&far, 0), x;
    char byte = 0;
    unsigned done[8], ndone;

    ck_assert_int_eq(xport_route_open(&n, &f, is_near, 3, &x), 0);
    ck_assert_int_eq(x.reserve(x.state, 8), 0);

    ck_assert_int_eq(x.send(x.state, 0, &byte, 1, 1, 0), 0);
    ck_assert_int_eq(x.recv(x.state, 1, &byte, 1, 1, PLAN_NETWORK_TAG - 1), 0);
    ck_assert_uint_eq(near.sends + near.receives, 2);
    ck_assert_int_eq(x.send(x.state, 2, &byte, 1, 2, 0), 0);
    ck_assert_int_eq(x.send(x.state, 3, &byte, 1, 1, PLAN_NETWORK_TAG), 0);
    ck_assert_int_eq(x.recv(x.state, 4, &byte, 1, 1, PLAN_NETWORK_TAG + 5), 0);
    ck_assert_uint_eq(near.sends + near.receives, 2);
    ck_assert_uint_eq(far.sends, 2);
    ck_assert_uint_eq(far.receives, 1);

    ck_assert_int_eq(x.poll(x.state, done, &ndone), 0);
    ck_assert_uint_eq(ndone, 5);
    ck_assert_int_eq(x.poll(x.state, done, &ndone), 0);
    ck_assert_uint_eq(far.polls, 1); /* nothing of it is in flight */
    xport_route_close(&x);
}
END_TEST

START_TEST(test_route__who_combines_on_arrival_is_asked_of_the_carrier)
{
    const unsigned char is_near[2] = {1, 1};
    struct counter near = {0}, far = {0};
    struct xport n = xport_of(&near, 1), f = xport_of(&far, 0), x;
    struct xport_reduce r = {.length = 1};

    ck_assert_int_eq(xport_route_open(&n, &f, is_near, 2, &x), 0);
    ck_assert_int_eq(x.reduces(x.state, 1, 0), 1);
    ck_assert_int_eq(x.reduces(x.state, 1, PLAN_NETWORK_TAG), 0);
    ck_assert_int_eq(x.recv_reduce(x.state, 0, &r, 1, 0), 0);
    ck_assert_uint_eq(near.combined, 1);
    xport_route_close(&x);
}
END_TEST

Suite *suite_route(void)
{
    Suite *s = suite_create("route");
    TCase *t = tcase_create("route");

    tcase_add_test(t, test_route__near_peers_go_near_except_on_the_networks_tag);
    tcase_add_test(t, test_route__who_combines_on_arrival_is_asked_of_the_carrier);
    suite_add_tcase(s, t);
    return s;
}
