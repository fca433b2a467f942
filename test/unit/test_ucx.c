/* SPDX-License-Identifier: BSD-3-Clause */
/* The transport over UCX on functions of our own, which note what they are asked. */
#include <check.h>

#include "test/unit/suites.h"

#if __has_include(<ucp/api/ucp.h>)
#include "transports/net/ucx.c"

static size_t noted;
static int address;

static ucs_status_t note_connect(ucp_worker_h worker, const ucp_ep_params_t *how, ucp_ep_h *ep)
{
    (void)worker, (void)how;
    *ep = (ucp_ep_h)&address;
    return UCS_OK;
}

static ucs_status_ptr_t note_send(ucp_ep_h ep, const void *buf, size_t n, ucp_tag_t tag,
                                  const ucp_request_param_t *how)
{
    (void)ep, (void)buf, (void)tag, (void)how;
    noted += n;
    return NULL; /* it has ended */
}

static ucs_status_ptr_t note_recv(ucp_worker_h worker, void *buf, size_t n, ucp_tag_t tag,
                                  ucp_tag_t mask, const ucp_request_param_t *how)
{
    (void)worker, (void)buf, (void)tag, (void)mask, (void)how;
    noted += n;
    return NULL;
}

static unsigned note_progress(ucp_worker_h worker)
{
    (void)worker;
    return 0;
}

START_TEST(test_ucx__a_length_beyond_32_bits_is_handed_on)
{
    struct ucx u = {0};
    struct xport x;
    unsigned done[2], n;
    char byte;

    calls.ucp_ep_create = note_connect;
    calls.ucp_tag_send_nbx = note_send;
    calls.ucp_tag_recv_nbx = note_recv;
    calls.ucp_worker_progress = note_progress;
    ck_assert_int_eq(xport_ucx_open(&u, 0, 0, 1, &address, sizeof address, &x), 0);
    for (int i = -1; i <= 1; i++)
        for (int shift = 31; shift <= 32; shift++) {
            size_t length = ((size_t)1 << shift) + (size_t)i;

            noted = 0;
            ck_assert_int_eq(x.reserve(x.state, 2), 0);
            ck_assert_int_eq(x.send(x.state, 0, &byte, length, 0, 0), 0);
            ck_assert_int_eq(x.recv(x.state, 1, &byte, length, 0, 0), 0);
            ck_assert_uint_eq(noted, 2 * length);
            ck_assert_int_eq(x.poll(x.state, done, &n), 0);
            ck_assert_uint_eq(n, 2);
        }
    xport_ucx_close(&x);
    free(u.links);
}
END_TEST
#endif

Suite *suite_ucx(void)
{
    Suite *s = suite_create("ucx");
    TCase *t = tcase_create("ucx");

#if __has_include(<ucp/api/ucp.h>)
    tcase_add_test(t, test_ucx__a_length_beyond_32_bits_is_handed_on);
#endif
    suite_add_tcase(s, t);
    return s;
}
