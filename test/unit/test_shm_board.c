/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Notices: what is sent to several ranks, and what is short. All ranks are in this process, each
 * polled when the test says so.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/unit/suites.h"
#include "transports/shm/shm.h"
#include "transports/shm/shm_board.h"
#include "transports/shm/shm_file.h"

enum { RANKS = 3, SLOTS = 80, LONG = SHM_NOTICE_BYTES, SHORT = 1000 };

static struct xport x[RANKS];

static void ranks_open(void)
{
    int member[RANKS] = {0, 1, 2};
    struct shm_offer offer[RANKS];

    for (int r = 0; r < RANKS; r++)
        ck_assert_int_eq(xport_shm_open(0, &x[r], &offer[r]), 0);
    for (int r = 0; r < RANKS; r++)
        ck_assert_int_eq(xport_shm_place(&x[r], member, RANKS, r, RANKS), 0);
    for (int r = 0; r < RANKS; r++) {
        ck_assert_int_eq(xport_shm_join(&x[r], offer), 0);
        ck_assert_int_eq(x[r].reserve(x[r].state, SLOTS), 0);
    }
}

static void ranks_close(void)
{
    for (int r = 0; r < RANKS; r++)
        xport_shm_close(&x[r]);
}

static unsigned poll(int rank)
{
    unsigned done[SLOTS], ndone;

    ck_assert_int_eq(x[rank].poll(x[rank].state, done, &ndone), 0);
    return ndone;
}

static void want_bytes(const unsigned char *at, size_t length, int value)
{
    size_t right = 0;

    while (right < length && at[right] == value)
        right++;
    ck_assert_msg(right == length, "byte %zu is not %d", right, value);
}

static void receive(int rank, int tag, size_t length, int value)
{
    unsigned char *to = calloc(1, length);

    ck_assert_int_eq(x[rank].recv(x[rank].state, 0, to, length, 0, tag), 0);
    for (int i = 0; i < 100 && poll(rank) == 0; i++)
        poll(0);
    want_bytes(to, length, value);
    free(to);
}

/* The sender is done before any rank receives, and goes on to send other bytes from the same place.
 */
START_TEST(test_board__what_goes_to_several_need_not_wait_for_any)
{
    static const size_t lengths[] = {1, SHORT, LONG};
    static unsigned char from[LONG];

    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        ranks_open();
        for (int value = 1; value <= 3; value++) {
            memset(from, value, sizeof from);
            for (unsigned peer = 1; peer < RANKS; peer++)
                ck_assert_int_eq(x[0].send(x[0].state, peer, from, lengths[k], (int)peer, 7), 0);
            ck_assert_uint_eq(poll(0), RANKS - 1);
        }
        for (int value = 1; value <= 3; value++)
            for (int peer = 1; peer < RANKS; peer++)
                receive(peer, 7, lengths[k], value);
        ranks_close();
    }
}
END_TEST

/* A reader copies it itself; at most it shares that. */
START_TEST(test_board__what_is_long_or_goes_to_one_waits_for_its_reader)
{
    static unsigned char from[LONG + 8];

    ranks_open();
    memset(from, 9, sizeof from);
    ck_assert_int_eq(x[0].send(x[0].state, 0, from, LONG, 1, 1), 0);
    ck_assert_int_eq(x[0].send(x[0].state, 1, from, LONG + 8, 1, 2), 0);
    ck_assert_int_eq(x[0].send(x[0].state, 2, from, LONG + 8, 2, 2), 0);
    for (int i = 0; i < 2000; i++)
        ck_assert_uint_eq(poll(0), 0);
    receive(1, 1, LONG, 9);
    receive(1, 2, LONG + 8, 9);
    receive(2, 2, LONG + 8, 9);
    ranks_close();
}
END_TEST

/* No rank receives from the board until the last message has come, for which it has no room. */
START_TEST(test_board__a_full_board_holds_nothing_up)
{
    enum { MESSAGES = 3 * SHM_NOTICES };
    static unsigned char from[MESSAGES][LONG];

    for (int several = 0; several < 2; several++) {
        size_t length = several ? LONG : SHORT;
        unsigned sent = 0, slot = 0;

        ranks_open();
        for (int i = 0; i < MESSAGES; i++) {
            memset(from[i], 1 + i, length);
            for (int peer = 1; peer <= 1 + several; peer++)
                ck_assert_int_eq(x[0].send(x[0].state, slot++, from[i], length, peer, i), 0);
        }
        for (int i = 0; i < 50000; i++)
            sent += poll(0);
        ck_assert_uint_eq(sent, SHM_NOTICES * (1u + (unsigned)several));
        for (int i = MESSAGES - 1; i >= 0; i--)
            for (int peer = 1; peer <= 1 + several; peer++)
                receive(peer, i, length, 1 + i);
        ranks_close();
    }
}
END_TEST

START_TEST(test_board__a_place_is_free_when_all_have_read)
{
    struct shm_segment segment;
    struct board b;
    static char first[SHORT], second[SHORT];
    int fd = shm_file_make();

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(shm_segment_create(&segment, 2, 1, fd), 0);
    board_open(&b, &segment, 1);
    for (int i = 0; i < SHM_NOTICES; i++)
        ck_assert_int_eq(board_put(&b, first + i, 8), i);
    ck_assert_int_eq(board_put(&b, first, 8), 0); /* one reader more */
    ck_assert_int_lt(board_put(&b, first, 9), 0); /* other bytes */
    ck_assert_int_lt(board_put(&b, second, 8), 0);
    board_read(b.at[0]);
    board_read(b.at[0]);
    ck_assert_int_lt(board_put(&b, second, 8), 0); /* the first is still open */
    board_close(&b);
    memset(first, 5, sizeof first);
    ck_assert_int_eq(board_put(&b, first, 8), 0); /* closed: copied again */
    ck_assert_int_eq(*shm_segment_notice_bytes(&segment, 1, 0), 5);
    ck_assert_int_eq(*shm_segment_notice_bytes(&segment, 1, 1), 0);
    shm_segment_close(&segment);
    close(fd);
}
END_TEST

Suite *suite_shm_board(void)
{
    Suite *s = suite_create("shm board");
    TCase *t = tcase_create("notices");

    tcase_add_test(t, test_board__what_goes_to_several_need_not_wait_for_any);
    tcase_add_test(t, test_board__what_is_long_or_goes_to_one_waits_for_its_reader);
    tcase_add_test(t, test_board__a_full_board_holds_nothing_up);
    tcase_add_test(t, test_board__a_place_is_free_when_all_have_read);
    suite_add_tcase(s, t);
    return s;
}
