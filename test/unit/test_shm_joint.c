/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A message that both its ranks copy. Both ends are in this process, each polled when the test
 * says so, so that a sender can be held up in the middle of a piece.
 */
#define _GNU_SOURCE
#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/unit/random.h"
#include "test/unit/suites.h"
#include "transports/shm/shm.h"
#include "transports/shm/shm_peer.h"

/* Longer than one poll moves, so that a receiver can be stopped on the way. */
enum { LENGTH = (24 << 20) + 12345, POLLS = 200 };

/* Two ranks, a message from the first to the second, and the second's first poll. */
struct pair {
    struct xport x[2];
    struct shm_joint *joint;
    unsigned char *from, *to;
    size_t length;
    int shares;
};

static void set_own_cpus(struct shm_offer *offer, int n)
{
    for (int r = 0; r < n; r++)
        offer[r].cpus = (struct shm_cpus){{(uint64_t)1 << r}};
}

static void start_message(struct pair *p)
{
    unsigned done[1], ndone;

    for (size_t i = 0; i < p->length; i++)
        p->from[i] = (unsigned char)(i * 2654435761u >> 11);
    memset(p->to, 0, p->length);
    ck_assert_int_eq(p->x[0].send(p->x[0].state, 0, p->from, p->length, 1, 3), 0);
    ck_assert_int_eq(p->x[1].recv(p->x[1].state, 0, p->to, p->length, 0, 3), 0);
    ck_assert_int_eq(p->x[1].poll(p->x[1].state, done, &ndone), 0);
    ck_assert_int_eq(ndone == 0, p->shares);
}

static void pair_open(struct pair *p, int own_cpus)
{
    int member[2] = {0, 1};
    struct shm_offer offer[2];

    *p = (struct pair){.to = malloc(LENGTH), .length = LENGTH, .shares = own_cpus};
    p->from = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert(p->to && p->from != MAP_FAILED);
    for (int r = 0; r < 2; r++)
        ck_assert_int_eq(xport_shm_open(0, &p->x[r], &offer[r]), 0);
    for (int r = 0; r < 2; r++)
        ck_assert_int_eq(xport_shm_place(&p->x[r], member, 2, r, 2), 0);
    set_own_cpus(offer, 2);
    if (!own_cpus)
        offer[1].cpus = offer[0].cpus;
    for (int r = 0; r < 2; r++) {
        ck_assert_int_eq(xport_shm_join(&p->x[r], offer), 0);
        ck_assert_int_eq(p->x[r].reserve(p->x[r].state, 1), 0);
    }
    p->joint = &((struct shm *)p->x[1].state)->peer[0].in->joint;
    start_message(p);
}

/* Poll a rank. Returns whether its message is done, ever. */
static int is_done(struct pair *p, int rank, int polls)
{
    unsigned done[1], ndone = 0;

    for (int i = 0; i < polls && !ndone; i++)
        must(p->x[rank].poll(p->x[rank].state, done, &ndone) == 0, "rank %d", rank);
    return ndone == 1;
}

/* The receiver has all of the message, and the sender learns of it. */
static void assert_arrived(struct pair *p)
{
    ck_assert_int_eq(memcmp(p->from, p->to, p->length), 0);
    ck_assert_int_eq(is_done(p, 0, 1), 1);
}

static void pair_close(struct pair *p)
{
    for (int r = 0; r < 2; r++)
        xport_shm_close(&p->x[r]);
    munmap(p->from, LENGTH);
    free(p->to);
}

START_TEST(test_shm_joint__a_sender_that_waits_writes_what_is_not_read)
{
    struct pair p;

    pair_open(&p, 1);
    ck_assert_int_eq(is_done(&p, 0, 10), 0);
    ck_assert_int_eq(memcmp(p.from, p.to, p.length), 0); /* while the receiver does nothing */
    ck_assert_int_eq(is_done(&p, 1, 1), 1);
    ck_assert_int_eq(is_done(&p, 0, 1), 1);
    pair_close(&p);
}
END_TEST

START_TEST(test_shm_joint__no_sender_writes_where_ranks_share_a_cpu)
{
    struct pair p;

    pair_open(&p, 0); /* the receiver has all of it at once */
    ck_assert_uint_eq(p.joint->claim, 0);
    assert_arrived(&p);
    pair_close(&p);
}
END_TEST

/* The receive must not end while a sender may still write; nor may it after. */
START_TEST(test_shm_joint__a_receive_ends_after_its_senders_last_byte)
{
    struct pair p;
    struct shm_claim c;

    pair_open(&p, 1);
    for (int round = 0; round < 2; round++) {
        ck_assert_int_eq(shm_joint_claim_last(p.joint, &c), 1);
        ck_assert_uint_eq(c.piece.from + c.piece.length, p.length);
        ck_assert_int_eq(is_done(&p, 1, POLLS), 0);
        memcpy(p.to + c.piece.from, p.from + c.piece.from, c.piece.length);
        shm_joint_put(p.joint, 1);
        ck_assert_int_eq(is_done(&p, 1, 1), 1);
        ck_assert_int_eq(shm_joint_claim_last(p.joint, &c), 0);
        assert_arrived(&p);
        if (!round)
            start_message(&p);
    }
    pair_close(&p);
}
END_TEST

START_TEST(test_shm_joint__a_piece_given_back_is_read)
{
    struct pair p;
    struct shm_claim c;

    pair_open(&p, 1);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(shm_joint_claim_last(p.joint, &c), 1);
        if (i < 2)
            memcpy(p.to + c.piece.from, p.from + c.piece.from, c.piece.length);
        shm_joint_put(p.joint, i < 2);
    }
    ck_assert_int_eq(shm_joint_claim_last(p.joint, &c), 0); /* no further tries */
    ck_assert_int_eq(is_done(&p, 1, 2), 1);
    assert_arrived(&p);
    p.shares = 0; /* a rank that could not write once is not asked again */
    start_message(&p);
    ck_assert_int_eq(memcmp(p.from, p.to, p.length), 0);
    pair_close(&p);
}
END_TEST

/* A receiver that can read no more gets the rest through the cells, with the bytes that the sender
   has claimed. It asks for that when the sender has stopped writing. */
START_TEST(test_shm_joint__reading_may_fail_in_between)
{
    struct pair p;
    struct shm_claim c, other;
    int rounds = 0, done[2] = {0, 0};

    pair_open(&p, 1);
    ck_assert_int_eq(shm_joint_claim_last(p.joint, &c), 1);
    ck_assert_int_eq(mprotect(p.from, p.length, PROT_NONE), 0);
    ck_assert_int_eq(is_done(&p, 1, 1), 0);
    ck_assert_int_eq(mprotect(p.from, p.length, PROT_READ), 0);
    ck_assert_int_eq(shm_joint_claim_last(p.joint, &other), 0);
    for (int i = 0; i < POLLS; i++)
        must(!is_done(&p, 1, 1) && !is_done(&p, 0, 1), "poll %d", i);
    ck_assert_int_ne(memcmp(p.from, p.to, p.length), 0);
    shm_joint_put(p.joint, 1);
    for (; rounds < 100000 && !(done[0] && done[1]); rounds++)
        for (int r = 1; r >= 0; r--)
            done[r] |= is_done(&p, r, 1);
    ck_assert_int_eq(done[0] && done[1], 1);
    ck_assert_int_eq(memcmp(p.from, p.to, p.length), 0);
    pair_close(&p);
}
END_TEST

/* A sender in another process claims pieces and is killed. */
START_TEST(test_shm_joint__a_sender_that_is_killed_is_an_error)
{
    int member[2] = {0, 1}, rc = 0;
    unsigned done[1], ndone = 0;
    struct shm_offer *offer =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    _Atomic int *stage = (_Atomic int *)(offer + 2);
    unsigned char *bytes = calloc(1, LENGTH);
    struct shm_claim c;
    struct xport x;

    ck_assert_ptr_ne(offer, MAP_FAILED);
    pid_t child = fork();
    int rank = child ? 0 : 1;
    must(!xport_shm_open(0, &x, &offer[rank]), "rank %d", rank);
    must(!xport_shm_place(&x, member, 2, rank, 2), "rank %d", rank);
    for (++*stage; *stage < 2;)
        usleep(100);
    if (rank == 0)
        set_own_cpus(offer, 2);
    for (*stage += rank == 0; *stage < 3;)
        usleep(100);
    must(!xport_shm_join(&x, offer) && !x.reserve(x.state, 1), "rank %d", rank);
    if (!child) {
        must(!x.send(x.state, 0, bytes, LENGTH, 0, 0), "rank %d", rank);
        while (!shm_joint_claim_last(&((struct shm *)x.state)->peer[0].out->joint, &c))
            usleep(100);
        while (shm_joint_claim_last(&((struct shm *)x.state)->peer[0].out->joint, &c))
            ; /* all that is left: the receiver has nothing to read that would tell */
        raise(SIGKILL);
    }
    must(!x.recv(x.state, 0, bytes, LENGTH, 1, 0), "rank %d", rank);
    while (!rc && waitpid(child, NULL, WNOHANG) == 0) { /* reads at most what one poll moves */
        rc = ((struct shm *)x.state)->peer[1].matched.first ? 0 : x.poll(x.state, done, &ndone);
        usleep(100);
    }
    for (int i = 0; i < 1000 && !rc && !ndone; i++)
        rc = x.poll(x.state, done, &ndone);
    ck_assert_int_eq(rc, -ESRCH);
    xport_shm_close(&x);
    munmap(offer, 4096);
    free(bytes);
}
END_TEST

/* Receiver and sender in any order: each piece is claimed once, and settled last. */
START_TEST(test_shm_joint__every_byte_has_one_claimer)
{
    static unsigned char claimed[(8 << 20) + 1];
    struct shm_joint *s = aligned_alloc(64, sizeof *s);

    memset(s, 0, sizeof *s);
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct rng r = {seed};
        uint64_t length = (64 << 10) + rng_below(&r, seed % 3 ? 1 << 20 : 7 << 20);
        struct shm_piece piece, none;
        struct shm_claim c;
        int more = 1, held = 0;
        memset(claimed, 0, sizeof claimed);
        must(shm_joint_pays(length), "length %llu", (unsigned long long)length);
        shm_joint_open(s, (uint32_t)seed, seed << 20, length);
        while (more) {
            if (rng_below(&r, 2)) {
                more = shm_joint_claim_first(s, &piece);
            } else if (!held) {
                more = held = shm_joint_claim_last(s, &c);
                piece = c.piece;
                must(!more || (c.slot == seed && c.address == seed << 20), "seed %d", (int)seed);
            } else {
                shm_joint_put(s, 1);
                held = 0;
                continue;
            }
            for (uint64_t i = 0; more && i < piece.length; i++)
                must(claimed[piece.from + i]++ == 0, "seed %d", (int)seed);
        }
        must(shm_joint_look(s, &none) == (held ? SHM_JOINT_WAITING : SHM_JOINT_SETTLED), "seed %d",
             (int)seed);
        if (held)
            shm_joint_put(s, 1);
        must(shm_joint_look(s, &none) == SHM_JOINT_SETTLED, "seed %d", (int)seed);
        for (uint64_t i = 0; i <= length; i++)
            must(claimed[i] == (i < length), "seed %d", (int)seed);
    }
    free(s);
}
END_TEST

START_TEST(test_shm_joint__who_has_a_cpu)
{
    static const struct {
        int n, well;
        uint64_t cpus[4];
    } rows[] = {
        {2, 1, {1, 2}},           {2, 0, {1, 1}},        {2, 1, {3, 3}},
        {3, 0, {3, 3, 3}},        {3, 1, {7, 3, 1}},     {3, 0, {7, 1, 1}},
        {4, 1, {3, 12, 3, 12}},   {4, 0, {3, 12, 3, 3}}, {2, 0, {0, 3}},
        {4, 1, {15, 15, 15, 15}}, {1, 1, {4}},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int word = 0; word < SHM_CPU_WORDS; word += SHM_CPU_WORDS - 1) {
            struct shm_cpus cpus[4] = {{{0}}};
            for (int r = 0; r < rows[i].n; r++)
                cpus[r].word[word] = rows[i].cpus[r];
            ck_assert_msg(shm_cpus_suffice(cpus, rows[i].n) == rows[i].well, "row %zu", i);
        }
}
END_TEST

Suite *suite_shm_joint(void)
{
    Suite *s = suite_create("shm_joint");
    TCase *t = tcase_create("shm_joint");

    tcase_add_test(t, test_shm_joint__a_sender_that_waits_writes_what_is_not_read);
    tcase_add_test(t, test_shm_joint__no_sender_writes_where_ranks_share_a_cpu);
    tcase_add_test(t, test_shm_joint__a_receive_ends_after_its_senders_last_byte);
    tcase_add_test(t, test_shm_joint__a_piece_given_back_is_read);
    tcase_add_test(t, test_shm_joint__reading_may_fail_in_between);
    tcase_add_test(t, test_shm_joint__a_sender_that_is_killed_is_an_error);
    tcase_add_test(t, test_shm_joint__every_byte_has_one_claimer);
    tcase_add_test(t, test_shm_joint__who_has_a_cpu);
    suite_add_tcase(s, t);
    return s;
}
