/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shared-memory transport between real processes: a forked child per rank, results by
 * exit status. Every test runs in several ways: with peers' memory, through the cells alone, and
 * with writing or reading that stops being permitted in the middle.
 */
#define _GNU_SOURCE
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/unit/member.h"
#include "test/unit/random.h"
#include "test/unit/suites.h"
#include "transports/base/workers.h"
#include "transports/engine/engine.h"
#include "transports/shm/shm.h"
#include "transports/shm/shm_peer.h"

enum { MOST = 12, WINDOW = 3, TAGS = 3 };
enum way { READING, WRITING_FORBIDDEN, COPYING, FORBIDDEN, WAYS };

/* Memory that the children of a test share beside the transport: a meeting point. */
struct world {
    _Atomic int arrived;
    int ranks;
    struct shm_offer offer[MOST];
};

static struct world *world_open(int ranks)
{
    struct world *w =
        mmap(NULL, sizeof *w, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    ck_assert_ptr_ne(w, MAP_FAILED);
    w->ranks = ranks;
    return w;
}

/* The how-many-eth meeting of all ranks, from 1. */
static void meet(struct world *w, int nth)
{
    w->arrived++;
    while (w->arrived < nth * w->ranks)
        sched_yield();
}

/* In a child a failed claim ends the child, which its parent reports. */
#define need(claim)                                                                                \
    do {                                                                                           \
        if (!(claim)) {                                                                            \
            fprintf(stderr, "test_shm.c:%d: %s\n", __LINE__, #claim);                              \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static void join(struct world *w, int rank, enum way way, struct xport *x)
{
    int member[MOST];

    for (int r = 0; r < w->ranks; r++)
        member[r] = r;
    need(!xport_shm_open(way == COPYING, x, &w->offer[rank]));
    need(!xport_shm_place(x, member, w->ranks, rank, w->ranks));
    w->offer[rank].cpus = (struct shm_cpus){{1u << rank}};
    meet(w, 1);
    need(!xport_shm_join(x, w->offer));
    meet(w, 2);
    xport_shm_joined(x);
}

/* Fork the ranks, run body in each, and want all to end well. */
static void run_ranks(int ranks, void (*body)(struct world *, int rank, enum way, uint64_t seed),
                      enum way way, uint64_t seed)
{
    struct world *w = world_open(ranks);
    pid_t child[MOST];
    int status, bad = 0;

    for (int r = 0; r < ranks; r++) {
        child[r] = fork();
        ck_assert_int_ge(child[r], 0);
        if (!child[r]) {
            alarm(240);
            body(w, r, way, seed);
            _exit(0);
        }
    }
    for (int r = 0; r < ranks; r++) {
        waitpid(child[r], &status, 0);
        if (status && !bad++)
            for (int i = r + 1; i < ranks; i++)
                kill(child[i], SIGKILL);
    }
    munmap(w, sizeof *w);
    ck_assert_msg(!bad, "way %d, %d ranks, seed %llu", way, ranks, (unsigned long long)seed);
}

/* Message i on a tag from one rank to another: its length, and its bytes. */
static size_t length_of(uint64_t seed, int from, int to, int tag, int i)
{
    struct rng r = {seed * 131 + (uint64_t)(from * 1000003 + to * 10007 + tag * 101 + i)};
    uint32_t most = rng_below(&r, 4) ? 3000 : 200000;

    return 8 * (1 + rng_below(&r, most / 8));
}

static unsigned char byte_of(int from, int to, int tag, int i, size_t at)
{
    return (unsigned char)(((at + 1) * 2654435761u + (size_t)from * 97 + (size_t)to * 57 +
                            (size_t)tag * 31 + (size_t)i * 13) >>
                           9);
}

/* A queue of messages towards one peer on one tag: `window` of them are in flight. */
struct stream {
    int peer, tag, receives, combines;
    int posted, total;
    unsigned char *buf[WINDOW], *own[WINDOW];
    size_t length[WINDOW];
};

static void sum(void *context, const void *a, const void *b, void *dst, size_t bytes)
{
    const unsigned char *x = a, *y = b;
    unsigned char *to = dst;

    need(bytes % *(size_t *)context == 0);
    for (size_t i = 0; i < bytes; i++)
        to[i] = (unsigned char)(x[i] + y[i]);
}

static size_t grain = 8;

/* From now on this process may not read, or write, the memory of others: the call fails. */
static void forbid(unsigned call)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
    char byte = 0, other = 0;
    struct iovec local = {&other, 1}, remote = {&byte, 1};

    need(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    need(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
    need(syscall(call, getpid(), &local, 1, &remote, 1, 0) < 0 && errno == EPERM);
}

static void post_one(struct xport *x, struct stream *s, int rank, unsigned slot, uint64_t seed)
{
    int k = s->posted % WINDOW, i = s->posted++;
    int from = s->receives ? s->peer : rank, to = s->receives ? rank : s->peer;
    size_t n = s->length[k] = length_of(seed, from, to, s->tag, i);

    s->buf[k] = malloc(n + 1);
    s->buf[k][n] = 0xee;
    if (!s->receives) {
        for (size_t at = 0; at < n; at++)
            s->buf[k][at] = byte_of(from, to, s->tag, i, at);
        need(!x->send(x->state, slot + (unsigned)k, s->buf[k], n, s->peer, s->tag));
        return;
    }
    memset(s->buf[k], 0xdd, n);
    if (!s->combines) {
        need(!x->recv(x->state, slot + (unsigned)k, s->buf[k], n, s->peer, s->tag));
        return;
    }
    s->own[k] = i % 2 ? malloc(n) : s->buf[k]; /* elsewhere, or in place */
    memset(s->own[k], 5, n);
    need(x->reduces(x->state, s->peer, s->tag));
    need(!x->recv_reduce(x->state, slot + (unsigned)k,
                         &(struct xport_reduce){.combine = sum,
                                                .context = &grain,
                                                .grain = grain,
                                                .own = s->own[k],
                                                .dst = s->buf[k],
                                                .length = n},
                         s->peer, s->tag));
}

static void finish_one(struct stream *s, int rank, int k, int i)
{
    if (s->receives)
        for (size_t at = 0; at < s->length[k]; at++)
            need(s->buf[k][at] ==
                 (unsigned char)(byte_of(s->peer, rank, s->tag, i, at) + (s->combines ? 5 : 0)));
    need(s->buf[k][s->length[k]] == 0xee); /* nothing past the end */
    memset(s->buf[k], 0xcc, s->length[k]); /* a send that is done may be overwritten */
    if (s->combines && s->own[k] != s->buf[k])
        free(s->own[k]);
    free(s->buf[k]);
    s->buf[k] = NULL;
}

/* With some seeds two more threads read and combine; what is forbidden later is so to this one
   alone, so that some parts of a message can be read and others cannot. */
static struct workers *hire(struct world *w, uint64_t seed, struct xport *x)
{
    struct workers *h = NULL;
    cpu_set_t cpus;

    if (seed < 3 || w->ranks > 3)
        return NULL;
    need(!sched_getaffinity(0, sizeof cpus, &cpus));
    need(!workers_open(2, &cpus, sizeof cpus, &h) && !xport_shm_use_workers(x, h));
    workers_wake(h);
    return h;
}

/* Every rank sends to every other on every tag, or, with an odd seed, to those above it: then
   senders that have nothing to receive help. Streams proceed at the whim of the seed. */
static void exchange(struct world *w, int rank, enum way way, uint64_t seed)
{
    struct rng r = {seed * 77 + (uint64_t)rank};
    struct stream stream[2 * TAGS * MOST] = {{0}};
    unsigned done[2 * TAGS * MOST * WINDOW], ndone;
    int place[2 * TAGS * MOST * WINDOW] = {0}; /* which message a slot holds */
    int n = 0, left = 0;
    struct xport x;

    join(w, rank, way, &x);
    struct workers *workers = hire(w, seed, &x);
    for (int peer = 0; peer < w->ranks; peer++)
        for (int tag = 0; tag < TAGS && peer != rank; tag++)
            for (int receives = 0; receives < 2; receives++) {
                if (seed % 2 && (peer > rank) == receives)
                    continue;
                int total = w->ranks > 8 ? 2 : 8;
                stream[n++] = (struct stream){.peer = peer,
                                              .tag = tag * 1000,
                                              .receives = receives,
                                              .combines = receives && tag == 1,
                                              .total = total};
                left += total;
            }
    need(!x.reserve(x.state, (unsigned)(n * WINDOW)));
    for (int round = 0; left; round++) {
        int s = (int)rng_below(&r, (uint32_t)n);
        if (stream[s].posted < stream[s].total && !stream[s].buf[stream[s].posted % WINDOW]) {
            place[s * WINDOW + stream[s].posted % WINDOW] = stream[s].posted;
            post_one(&x, &stream[s], rank, (unsigned)(s * WINDOW), seed);
        }
        if (way == FORBIDDEN && round == 20)
            forbid(SYS_process_vm_readv);
        if (way == WRITING_FORBIDDEN && round == 20)
            forbid(SYS_process_vm_writev);
        need(!x.poll(x.state, done, &ndone));
        for (unsigned i = 0; i < ndone; i++, left--) {
            struct stream *of = &stream[done[i] / WINDOW];
            finish_one(of, rank, (int)(done[i] % WINDOW), place[done[i]]);
        }
        if (!ndone)
            sched_yield();
    }
    meet(w, 3);
    workers_close(workers);
    xport_shm_close(&x);
}

START_TEST(test_shm__every_message_arrives_once_whole_and_in_order_of_its_tag)
{
    static const int ranks[] = {2, 3, 5, MOST};

    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
        for (uint64_t seed = 1; seed <= (ranks[i] == MOST ? 2 : 4); seed++)
            run_ranks(ranks[i], exchange, (enum way)_i, seed);
}
END_TEST

/* Two threads read a message together, and one of them may not read: its parts come through the
   cells. */
static void read_in_part(struct world *w, int rank, enum way way, uint64_t seed)
{
    enum { BYTES = 400000 };
    struct xport x;
    unsigned done[1], ndone = 0;
    unsigned char *own = malloc(BYTES), *buf = malloc(BYTES);
    struct workers *workers = NULL;

    join(w, rank, way, &x);
    need(own && buf && !x.reserve(x.state, 1));
    for (size_t at = 0; at < BYTES; at++) {
        own[at] = 5;
        buf[at] = byte_of(0, 1, 0, 0, at);
    }
    if (rank == 0) {
        need(!x.send(x.state, 0, buf, BYTES, 1, 0));
    } else {
        workers = hire(w, seed, &x);
        forbid(SYS_process_vm_readv);
        need(!x.recv_reduce(x.state, 0,
                            &(struct xport_reduce){.combine = sum,
                                                   .context = &grain,
                                                   .grain = grain,
                                                   .own = own,
                                                   .dst = own,
                                                   .length = BYTES},
                            0, 0));
    }
    while (!ndone) {
        need(!x.poll(x.state, done, &ndone));
        sched_yield();
    }
    for (size_t at = 0; rank && at < BYTES; at++)
        need(own[at] == (unsigned char)(byte_of(0, 1, 0, 0, at) + 5));
    meet(w, 3);
    workers_close(workers);
    xport_shm_close(&x);
    free(own);
    free(buf);
}

START_TEST(test_shm__what_only_some_threads_can_read_arrives_once)
{
    for (uint64_t seed = 3; seed < 13; seed++)
        run_ranks(2, read_in_part, READING, seed);
}
END_TEST

/* Plans of one algorithm after another, on one transport. */
static void run_plans(struct world *w, int rank, enum way way, uint64_t seed)
{
    const struct plan_algorithm *a = plan_algorithms[seed % (uint64_t)plan_algorithm_count];
    struct xport x;

    join(w, rank, way, &x);
    for (int c = 0; c < COLL_COUNT; c++)
        for (int i = 0; i < 4 && a->collectives & 1u << c; i++) {
            struct rng r = {seed * 1000 + (uint64_t)(c * 10 + i)};
            struct plan_request q;
            struct member m = {.xport = x};
            enum engine_state state = ENGINE_MOVED;
            q = rng_request(&r, (enum plan_collective)c, w->ranks, i == 3 ? 60000 : 1500);
            if (q.topo->nranks < rank + 1) { /* a collective of fewer ranks */
                rng_request_free(&q);
                continue;
            }
            q.rank = rank;
            member_open(&m, a, &q, seed);
            if (way == FORBIDDEN && c == COLL_BCAST && i == 3)
                forbid(SYS_process_vm_readv);
            while (state != ENGINE_DONE) {
                if (state == ENGINE_IDLE)
                    sched_yield();
                need(!engine_step(m.engine, &state));
            }
            member_close(&m, &q, rank, seed);
            rng_request_free(&q);
        }
    meet(w, 3);
    xport_shm_close(&x);
}

START_TEST(test_shm__every_algorithm_delivers)
{
    for (uint64_t seed = 1; seed <= 2 * (uint64_t)plan_algorithm_count; seed++)
        run_ranks(2 + (int)seed % 4, run_plans, (enum way)_i, seed);
}
END_TEST

static void hold_back(struct world *w, int rank, enum way way, uint64_t seed)
{
    static unsigned char bytes[1 << 20];
    unsigned done[1], ndone = 0;
    struct xport x;

    (void)seed;
    join(w, rank, way, &x);
    need(!x.reserve(x.state, 1));
    memset(bytes, rank ? 0 : 7, sizeof bytes);
    if (rank == 0)
        need(!x.send(x.state, 0, bytes, sizeof bytes, 1, 9));
    for (int i = 0; i < 1000 && rank == 0; i++) {
        need(!x.poll(x.state, done, &ndone) && !ndone);
    }
    meet(w, 3);
    if (rank == 1)
        need(!x.recv(x.state, 0, bytes, sizeof bytes, 0, 9));
    while (!ndone) {
        need(!x.poll(x.state, done, &ndone));
        sched_yield();
    }
    if (rank == 0)
        memset(bytes, 1, sizeof bytes); /* not the receiver's any more */
    meet(w, 4);
    for (size_t i = 0; i < sizeof bytes; i++)
        need(bytes[i] == (rank ? 7 : 1));
    xport_shm_close(&x);
}

START_TEST(test_shm__a_send_is_done_when_it_has_been_received)
{
    run_ranks(2, hold_back, (enum way)_i, 0);
}
END_TEST

/* A message that is posted and never received must not keep another tag from moving. */
static void crowd(struct world *w, int rank, enum way way, uint64_t seed)
{
    enum { POSTS = 200 };
    static unsigned char bytes[70000];
    unsigned done[POSTS + 1], ndone, got = 0;
    struct xport x;

    (void)seed;
    join(w, rank, way, &x);
    need(!x.reserve(x.state, POSTS + 1));
    for (unsigned i = 0; i < POSTS && rank == 0; i++)
        need(!x.send(x.state, i, bytes, sizeof bytes, 1, 1));
    if (rank == 0)
        need(!x.send(x.state, POSTS, bytes, sizeof bytes, 1, 2));
    else
        need(!x.recv(x.state, POSTS, bytes, sizeof bytes, 0, 2));
    while (!got) {
        need(!x.poll(x.state, done, &ndone));
        got = ndone;
        sched_yield();
    }
    need(got == 1 && done[0] == POSTS);
    meet(w, 3);
    for (unsigned i = 0; i < POSTS && rank == 1; i++)
        need(!x.recv(x.state, i, bytes, sizeof bytes, 0, 1));
    for (got = 0; got < POSTS; got += ndone) {
        need(!x.poll(x.state, done, &ndone));
        sched_yield();
    }
    meet(w, 4);
    xport_shm_close(&x);
}

START_TEST(test_shm__a_tag_without_receives_blocks_no_other)
{
    run_ranks(2, crowd, (enum way)_i, 0);
}
END_TEST

/* A rank that has memory of its device lent takes it back once the reader is gone, also while its
   parent has not waited for it. */
START_TEST(test_shm__a_reader_that_has_ended_is_not_waited_for)
{
    static struct shm_pair pair = {.window_state = SHM_WINDOW_ACCEPTED};
    struct peer p = {.out = &pair, .pid = fork()};
    siginfo_t ended;

    if (!p.pid)
        for (;;)
            pause();
    ck_assert_int_eq(shm_peer_withdraw(&p), 0);
    kill(p.pid, SIGKILL);
    ck_assert_int_eq(waitid(P_PID, (id_t)p.pid, &ended, WEXITED | WNOWAIT), 0);
    ck_assert_int_eq(shm_peer_withdraw(&p), 1);
    waitpid(p.pid, NULL, 0);
    ck_assert_int_eq(shm_peer_withdraw(&p), 1);
}
END_TEST

START_TEST(test_shm__of_lengths_that_differ_both_ends_are_told_and_abandoning_is_an_error)
{
    int member[2] = {0, 1};
    struct shm_offer offer[2];
    struct xport x[2];
    static const size_t lengths[][2] = {{64, 32}, {32, 64}, {100000, 50000}, {50000, 100000}};
    char bytes[100000] = "", room[100000] = "";
    unsigned done[1], ndone;

    for (int r = 0; r < 2; r++)
        ck_assert_int_eq(xport_shm_open(0, &x[r], &offer[r]), 0);
    for (int r = 0; r < 2; r++)
        ck_assert_int_eq(xport_shm_place(&x[r], member, 2, r, 2), 0);
    for (int r = 0; r < 2; r++) {
        ck_assert_int_eq(xport_shm_join(&x[r], offer), 0);
        ck_assert_int_eq(x[r].reserve(x[r].state, 1), 0);
    }
    for (int i = 0; i < 4; i++) {
        unsigned sent, gone[1];

        ck_assert_int_eq(x[0].send(x[0].state, 0, bytes, lengths[i][0], 1, 0), 0);
        ck_assert_int_eq(x[0].poll(x[0].state, gone, &sent), 0);
        ck_assert_int_eq(x[1].recv(x[1].state, 0, room, lengths[i][1], 0, 0), 0);
        ck_assert_int_eq(x[1].poll(x[1].state, done, &ndone), 0);
        ck_assert_uint_eq(ndone, 1);
        ck_assert_uint_eq(done[0], XPORT_UNEQUAL);
        for (int polls = 0; !sent && polls < 10; polls++)
            ck_assert_int_eq(x[0].poll(x[0].state, gone, &sent), 0);
        ck_assert_uint_eq(sent, 1);
        ck_assert_uint_eq(gone[0], 0);
    }
    x[1].abandon(x[1].state);
    ck_assert_int_lt(x[1].reserve(x[1].state, 1), 0);
    for (int r = 0; r < 2; r++)
        xport_shm_close(&x[r]);
}
END_TEST

START_TEST(test_shm__a_segment_that_is_not_there_or_another_is_refused)
{
    int member[2] = {0, 1}, files = 0, after = 0;
    struct shm_offer offer[2], wrong[2];
    struct xport x[2];

    for (int r = 0; r < 2; r++)
        ck_assert_int_eq(xport_shm_open(0, &x[r], &offer[r]), 0);
    for (int r = 0; r < 2; r++)
        ck_assert_int_eq(xport_shm_place(&x[r], member, 2, r, 2), 0);
    memcpy(wrong, offer, sizeof wrong);
    wrong[0].nonce ^= 1;
    ck_assert_int_lt(xport_shm_join(&x[1], wrong), 0);
    memcpy(wrong, offer, sizeof wrong);
    wrong[0].fd = 0; /* something else */
    ck_assert_int_lt(xport_shm_join(&x[1], wrong), 0);
    wrong[0].fd = -1; /* none */
    ck_assert_int_lt(xport_shm_join(&x[1], wrong), 0);
    ck_assert_int_eq(xport_shm_join(&x[1], offer), 0);
    for (int fd = 0; fd < 256; fd++)
        files += fcntl(fd, F_GETFD) >= 0;
    for (int r = 0; r < 2; r++)
        xport_shm_close(&x[r]);
    for (int fd = 0; fd < 256; fd++)
        after += fcntl(fd, F_GETFD) >= 0;
    ck_assert_int_eq(after, files - 1); /* the segment's one descriptor */
}
END_TEST

/* A process that may not write large files gets no segment and no signal. */
START_TEST(test_shm__a_file_size_limit_is_respected)
{
    int member[2] = {0, 1};
    struct rlimit limit = {.rlim_cur = 4096, .rlim_max = RLIM_INFINITY};
    struct shm_offer offer;
    struct xport x;

    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_int_eq(xport_shm_open(0, &x, &offer), 0);
    ck_assert_int_eq(xport_shm_place(&x, member, 2, 0, 2), -EFBIG);
    xport_shm_close(&x);
}
END_TEST

Suite *suite_shm(void)
{
    Suite *s = suite_create("shm");
    TCase *t = tcase_create("shm");

    tcase_add_loop_test(t, test_shm__every_message_arrives_once_whole_and_in_order_of_its_tag, 0,
                        WAYS);
    tcase_add_loop_test(t, test_shm__every_algorithm_delivers, 0, WAYS);
    tcase_add_test(t, test_shm__what_only_some_threads_can_read_arrives_once);
    tcase_add_loop_test(t, test_shm__a_send_is_done_when_it_has_been_received, 0, COPYING + 1);
    tcase_add_loop_test(t, test_shm__a_tag_without_receives_blocks_no_other, 0, COPYING + 1);
    tcase_add_test(t, test_shm__a_reader_that_has_ended_is_not_waited_for);
    tcase_add_test(t,
                   test_shm__of_lengths_that_differ_both_ends_are_told_and_abandoning_is_an_error);
    tcase_add_test(t, test_shm__a_segment_that_is_not_there_or_another_is_refused);
    tcase_add_test(t, test_shm__a_file_size_limit_is_respected);
    suite_add_tcase(s, t);
    return s;
}
