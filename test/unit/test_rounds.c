/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rounds on real bytes: all ranks in one process, over messages that are buffered nowhere. A group
 * ends when all its messages have met, so rounds that do not fit together are seen as a deadlock.
 * Received bytes are written at the end of their group. So two messages of a group that touch the
 * same bytes are seen as wrong bytes.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planners/algorithms/lane/lane.h"
#include "planners/algorithms/nimble/nimble.h"
#include "planners/rounds/pace.h"
#include "planners/rounds/rounds.h"
#include "test/unit/loopback.h"
#include "test/unit/member.h"
#include "test/unit/random.h"
#include "test/unit/request.h"
#include "test/unit/suites.h"
#include "test/unit/test_topo.h"

enum { MOST_RANKS = 10 };

static int most_sources, most_passes; /* of a pass, and of a launch, in all that was run */

struct player {
    struct rounds *rounds;
    unsigned char *buffer[PLAN_NONE];
    uint32_t at;  /* the next step, or the first of the group under way */
    uint64_t met; /* messages of the group that have met, a bit each by their place */
    size_t grain;
};

static unsigned char *place(const struct player *p, const struct round_place *at)
{
    return p->buffer[at->buffer] + at->offset;
}

static int is_message(const struct round_step *s)
{
    return s->kind == ROUND_SEND || s->kind == ROUND_RECV;
}

static int same_place(const struct round_place *a, const struct round_place *b)
{
    return a->buffer == b->buffer && a->offset == b->offset;
}

/* The contributions of a pass, and how many steps it has. */
static uint32_t run_pass(const struct player *p, const struct round_step *first, unsigned char *sum)
{
    const struct round_step *s = first;
    uint32_t sources = 1;

    must(first->begins, "a pass does not begin");
    must(first->length % p->grain == 0, "half an element is combined");
    memcpy(sum, place(p, &first->src), first->length);
    do {
        must(s->kind == ROUND_REDUCE && s->length == first->length &&
                 same_place(&s->dst, &first->dst) &&
                 (s == first || same_place(&s->src, &first->dst)),
             "a pass of other places");
        for (uint64_t i = 0; i < s->length; i++)
            sum[i] = (unsigned char)(sum[i] + place(p, &s->with)[i]);
        sources++;
    } while (!s++->closes && !s->begins);
    must(sources <= ROUND_SOURCES, "a pass of too many sources");
    most_sources = (int)sources > most_sources ? (int)sources : most_sources;
    return (uint32_t)(s - first);
}

/* The passes of a launch run at the same time: nothing that one of them writes is there for
 * another. Nor may two write one place: the first of them has the last word here. */
static void run_launch(struct player *p)
{
    const struct round_step *s = &p->rounds->step[p->at], *pass[ROUND_PASSES];
    unsigned char *sum[ROUND_PASSES];
    int n = 0;

    must(s->opens, "a launch does not open");
    do {
        must(n < ROUND_PASSES, "a launch of too many passes");
        pass[n] = s;
        sum[n] = malloc(s->length);
        s += run_pass(p, s, sum[n++]);
    } while (!s[-1].closes);
    most_passes = n > most_passes ? n : most_passes;
    while (n--) {
        memcpy(place(p, &pass[n]->dst), sum[n], pass[n]->length);
        free(sum[n]);
    }
    p->at = (uint32_t)(s - p->rounds->step);
}

static void run_local(struct player *p)
{
    while (p->at < p->rounds->nsteps && !is_message(&p->rounds->step[p->at])) {
        const struct round_step *s = &p->rounds->step[p->at];

        if (s->kind != ROUND_COPY) {
            run_launch(p);
            continue;
        }
        memmove(place(p, &s->dst), place(p, &s->src), s->length);
        p->at++;
    }
}

static uint32_t group_length(const struct player *p)
{
    uint32_t n = 1;

    while (!p->rounds->step[p->at + n - 1].closes)
        n++;
    return n;
}

/* The first message between two ranks, one way, that has not met yet in the group under way. */
static const struct round_step *first_open(const struct player *p, int kind, int peer, uint32_t *i)
{
    if (p->at == p->rounds->nsteps)
        return NULL;
    for (*i = 0; *i < group_length(p); ++*i) {
        const struct round_step *s = &p->rounds->step[p->at + *i];

        if (s->kind == kind && s->peer == peer && !(p->met >> *i & 1))
            return s;
    }
    return NULL;
}

/* Let what two ranks have for each other meet. The bytes wait in `mail` for the group's end. */
static int meet(struct player *from, int a, struct player *to, int b, unsigned char **mail)
{
    uint32_t i, k;
    const struct round_step *s = first_open(from, ROUND_SEND, b, &i);
    const struct round_step *r = first_open(to, ROUND_RECV, a, &k);

    if (!s || !r)
        return 0;
    must(s->length == r->length, "a message of another length");
    must(k < 64 && i < 64, "a group of this test has at most 64 messages");
    mail[k] = malloc(s->length);
    memcpy(mail[k], place(from, &s->src), s->length);
    from->met |= 1ull << i;
    to->met |= 1ull << k;
    return 1;
}

static int end_group(struct player *p, unsigned char **mail)
{
    uint32_t n = p->at < p->rounds->nsteps ? group_length(p) : 0;

    if (!n || p->met != (n == 64 ? ~0ull : (1ull << n) - 1))
        return 0;
    must(p->rounds->step[p->at].opens, "a group does not open");
    for (uint32_t i = 0; i < n; i++)
        if (mail[i]) {
            memcpy(place(p, &p->rounds->step[p->at + i].dst), mail[i],
                   p->rounds->step[p->at + i].length);
            free(mail[i]);
            mail[i] = NULL;
        }
    p->at += n;
    p->met = 0;
    run_local(p);
    return 1;
}

static void play(struct player *player, int nranks, uint64_t seed)
{
    unsigned char *mail[MOST_RANKS][64] = {{0}};
    int left = 1, moved = 1;

    for (int r = 0; r < nranks; r++)
        run_local(&player[r]);
    while (left) {
        must(moved, "seed %llu: the rounds wait for each other", (unsigned long long)seed);
        left = moved = 0;
        for (int a = 0; a < nranks; a++)
            for (int b = 0; b < nranks; b++)
                moved |= meet(&player[a], a, &player[b], b, mail[b]);
        for (int r = 0; r < nranks; r++) {
            moved |= end_group(&player[r], mail[r]);
            left |= player[r].at < player[r].rounds->nsteps;
        }
    }
}

static uint32_t most_in_a_group(const struct rounds *r)
{
    uint32_t n = 0, most = 0;

    for (uint32_t i = 0; i < r->nsteps; i++) {
        if (!is_message(&r->step[i]))
            continue;
        n = r->step[i].opens ? 1 : n + 1;
        most = n > most ? n : most;
    }
    return most;
}

static void run(const struct plan_algorithm *a, int collective, uint64_t seed)
{
    struct rng r = {seed};
    struct plan_request q = rng_request(&r, (enum plan_collective)collective, MOST_RANKS, 300);
    int nranks = q.topo->nranks;
    struct loopback *net = loopback_open(nranks, seed);
    struct member member[MOST_RANKS] = {{0}};
    struct player player[MOST_RANKS] = {{0}};
    const struct plan *plan[MOST_RANKS];
    int32_t group[MOST_RANKS];
    struct rounds_links links = {.group = group,
                                 .fast_chunks = 1 + rng_below(&r, 3),
                                 .taper = 1 + rng_below(&r, 4),
                                 .shared = (int)rng_below(&r, 2),
                                 .bytes_per_s = {2e9, 1e9},
                                 .most_messages = rng_below(&r, 2) ? 2 + rng_below(&r, 9) : 0};

    for (q.rank = 0; q.rank < nranks; q.rank++) {
        loopback_attach(net, q.rank, &member[q.rank].xport);
        member_open(&member[q.rank], a, &q, seed);
        plan[q.rank] = member[q.rank].plan;
        group[q.rank] = q.topo->rank[q.rank].node;
    }
    for (int rank = 0; rank < nranks; rank++) {
        struct member *m = &member[rank];

        ck_assert_int_eq(rounds_build(plan, nranks, rank, &links, &player[rank].rounds), 0);
        m->scratch = realloc(m->scratch, player[rank].rounds->scratch_bytes + 1);
        player[rank].buffer[PLAN_INPUT] = m->input;
        player[rank].buffer[PLAN_OUTPUT] = m->output;
        player[rank].buffer[PLAN_SCRATCH] = m->scratch;
        player[rank].grain = q.grain;
        ck_assert_double_eq(player[rank].rounds->seconds, player[0].rounds->seconds);
        ck_assert_uint_eq(player[rank].rounds->whole_bytes, player[0].rounds->whole_bytes);
        if (links.most_messages)
            ck_assert_uint_le(most_in_a_group(player[rank].rounds), links.most_messages);
    }
    play(player, nranks, seed);
    for (int rank = 0; rank < nranks; rank++) {
        member[rank].scratch[member[rank].plan->scratch_bytes] = 0xdd; /* a stage lay there */
        member_close(&member[rank], &q, rank, seed);
        rounds_free(player[rank].rounds);
    }
    loopback_close(net);
    rng_request_free(&q);
}

START_TEST(test_rounds__every_algorithm_in_groups_of_messages)
{
    for (int a = 0; a < plan_algorithm_count; a++)
        for (int c = 0; c < COLL_COUNT; c++)
            if (plan_algorithms[a]->collectives & 1u << c)
                for (uint64_t seed = 1; seed <= rng_seeds(60); seed++)
                    run(plan_algorithms[a], c, seed);
    ck_assert_int_gt(most_sources, 2);
    ck_assert_int_gt(most_passes, 2);
}
END_TEST

START_TEST(test_rounds__plans_that_do_not_fit_are_refused)
{
    struct plan *plan[2] = {NULL, NULL};
    struct rounds *rounds = NULL;
    struct plan_builder *b = plan_build_begin(0, 2, 16);

    plan_send(b, 1, 0, PLAN_INPUT, 0, 64);
    ck_assert_int_eq(plan_build_finish(b, "test", 64, 0, 0, 0, &plan[0]), 0);
    b = plan_build_begin(1, 2, 16);
    plan_recv(b, 0, 1, PLAN_OUTPUT, 0, 64); /* with another tag */
    ck_assert_int_eq(plan_build_finish(b, "test", 0, 64, 0, 0, &plan[1]), 0);
    const struct rounds_links links = {(int32_t[]){0, 1}, 1, 1, 0, {1e9, 1e9}, 0};
    ck_assert_int_lt(rounds_build((const struct plan *const *)plan, 2, 0, &links, &rounds), 0);
    ck_assert_ptr_null(rounds);
    plan_free(plan[0]);
    plan_free(plan[1]);
}
END_TEST

/* The request's rounds, and how many launches are between its groups. */
static struct rounds *paced(const char *topology, const char *algorithm, enum plan_collective c,
                            double mib, size_t chunk, const struct rounds *like, uint32_t *launches)
{
    struct topo *t = test_topo_parse(topology);
    struct plan_request q = {.collective = c, .topo = t, .grain = 4, .chunk_bytes = chunk};
    struct rounds *rounds = NULL;

    q.nbytes = (size_t)(mib * (1 << 20));
    q.in_place = c == COLL_ALLREDUCE;
    ck_assert_int_eq(pace_rounds(&q, plan_algorithm_find(c, algorithm), like, &rounds), 0);
    *launches = 0;
    for (uint32_t i = 0; i < rounds->nsteps; i++)
        *launches += rounds->step[i].kind == ROUND_COPY ||
                     (rounds->step[i].kind == ROUND_REDUCE && rounds->step[i].opens);
    topo_free(t);
    return rounds;
}

#define TWO_OF_FOUR "node:2 gpu:4 rail:4@25GB/s link_nvlink:300GB/s"
#define SLOW "node:2 gpu:4 rail:4@0.1GB/s link_nvlink:1.2GB/s"

/*
 * Groups and launches are few where they would take longer than what they overlap, and many where
 * they do not matter. With ROUNDS_TABLE set, the figures of docs/figures.md are printed; the
 * blocks of 0.125 to 32 MiB are 1 to 256 MiB of all ranks'.
 */
START_TEST(test_rounds__as_many_as_pay)
{
    static const struct {
        const char *topology, *algorithm;
        enum plan_collective collective;
        double mib;
        uint32_t groups, launches; /* at most */
        double fraction;           /* of the bound at least, groups and launches included */
    } rows[] = {
        {TWO_OF_FOUR, "lane", COLL_ALLREDUCE, 1, 3, 2, 0.12},
        {TWO_OF_FOUR, "lane", COLL_ALLREDUCE, 4, 3, 2, 0.32},
        {TWO_OF_FOUR, "lane", COLL_ALLREDUCE, 16, 3, 2, 0.52},
        {TWO_OF_FOUR, "lane", COLL_ALLREDUCE, 64, 6, 5, 0.79},
        {TWO_OF_FOUR, "lane", COLL_ALLREDUCE, 256, 8, 7, 0.90},
        {TWO_OF_FOUR, "lane", COLL_ALLREDUCE, 512, 12, 11, 0.93},
        {TWO_OF_FOUR, "parallel_rings", COLL_ALLREDUCE, 16, 4, 3, 0.55},
        {TWO_OF_FOUR, "parallel_rings", COLL_ALLGATHER, 0.125, 2, 1, 0.10},
        {TWO_OF_FOUR, "parallel_rings", COLL_ALLGATHER, 0.5, 2, 1, 0.29},
        {TWO_OF_FOUR, "parallel_rings", COLL_ALLGATHER, 2, 2, 1, 0.56},
        {TWO_OF_FOUR, "parallel_rings", COLL_ALLGATHER, 8, 2, 1, 0.72},
        {TWO_OF_FOUR, "parallel_rings", COLL_ALLGATHER, 32, 9, 1, 0.85},
        {TWO_OF_FOUR, "parallel_rings", COLL_ALLGATHER, 64, 9, 1, 0.90},
        {TWO_OF_FOUR, "parallel_rings", COLL_REDUCE_SCATTER_BLOCK, 0.125, 2, 2, 0.09},
        {TWO_OF_FOUR, "parallel_rings", COLL_REDUCE_SCATTER_BLOCK, 0.5, 2, 2, 0.28},
        {TWO_OF_FOUR, "parallel_rings", COLL_REDUCE_SCATTER_BLOCK, 2, 2, 2, 0.55},
        {TWO_OF_FOUR, "parallel_rings", COLL_REDUCE_SCATTER_BLOCK, 8, 2, 2, 0.71},
        {TWO_OF_FOUR, "parallel_rings", COLL_REDUCE_SCATTER_BLOCK, 32, 6, 6, 0.83},
        {TWO_OF_FOUR, "parallel_rings", COLL_REDUCE_SCATTER_BLOCK, 64, 9, 11, 0.89},
        {SLOW, "lane", COLL_ALLREDUCE, 4, 8, 7, 0.95},
        {SLOW, "parallel_rings", COLL_ALLGATHER, 4, 17, 1, 0.97},
        {SLOW, "parallel_rings", COLL_REDUCE_SCATTER_BLOCK, 4, 17, 20, 0.97},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double rate = strcmp(rows[i].topology, SLOW) ? 25e9 : 0.1e9;
        double bytes = rows[i].mib * (1 << 20) * (rows[i].collective == COLL_ALLREDUCE ? 0.25 : 1);
        uint32_t launches;
        struct rounds *r = paced(rows[i].topology, rows[i].algorithm, rows[i].collective,
                                 rows[i].mib, 0, NULL, &launches);
        double fraction = bytes / rate / r->seconds;

        ck_assert_msg(r->ngroups <= rows[i].groups && launches <= rows[i].launches &&
                          fraction >= rows[i].fraction && fraction <= 1,
                      "row %zu: %u groups, %u launches, %.3f of the bound", i, r->ngroups, launches,
                      fraction);
        if (getenv("ROUNDS_TABLE"))
            printf("%-20s %-14s %7.3f MiB  %.2f, %.2f without launches; %u + %u\n",
                   plan_collective_name(rows[i].collective), rows[i].algorithm, rows[i].mib,
                   fraction, bytes / rate / (r->seconds - r->launch_s), r->ngroups, launches);
        rounds_free(r);
    }
}
END_TEST

/* Values from the settings are not searched for. */
START_TEST(test_rounds__by_the_chunk_that_is_named)
{
    uint32_t launches;
    struct rounds *coarse =
                      paced(TWO_OF_FOUR, "lane", COLL_ALLREDUCE, 64, 8 << 20, NULL, &launches),
                  *fine =
                      paced(TWO_OF_FOUR, "lane", COLL_ALLREDUCE, 64, 128 << 10, NULL, &launches);

    ck_assert_uint_gt(fine->ngroups, 4 * coarse->ngroups);
    ck_assert_double_gt(fine->seconds, coarse->seconds);
    rounds_free(coarse);
    rounds_free(fine);
}
END_TEST

/* Nor what a size like it was cut by, unless the settings name a chunk. */
START_TEST(test_rounds__as_a_size_like_it)
{
    const struct rounds like = {.chunk_bytes = 96 << 10, .fast_chunks = 2, .taper = 4};
    uint32_t launches;
    struct rounds *alike = paced(TWO_OF_FOUR, "lane", COLL_ALLREDUCE, 64, 0, &like, &launches),
                  *named =
                      paced(TWO_OF_FOUR, "lane", COLL_ALLREDUCE, 64, 512 << 10, &like, &launches);

    ck_assert_uint_eq(alike->chunk_bytes, like.chunk_bytes);
    ck_assert_uint_eq(alike->fast_chunks, like.fast_chunks);
    ck_assert_uint_eq(alike->taper, like.taper);
    ck_assert_uint_eq(named->chunk_bytes, 512 << 10);
    ck_assert_uint_eq(named->taper, 1);
    rounds_free(alike);
    rounds_free(named);
}
END_TEST

static uint32_t steps_of_copies(enum plan_buffer first, enum plan_buffer then)
{
    const struct rounds_links links = {(int32_t[]){0}, 1, 1, 0, {1e9, 1e9}, 0};
    struct plan_builder *b = plan_build_begin(0, 1, 16);
    struct plan *plan = NULL;
    struct rounds *rounds = NULL;
    uint32_t steps;

    uint32_t one = plan_copy(b, 0, first, 0, then, 16, 16);
    plan_copy(b, 0, first, 16, then, 32, 16);
    plan_after(b, one);
    ck_assert_int_eq(plan_build_finish(b, "test", 32, 48, 48, 0, &plan), 0);
    ck_assert_int_eq(rounds_build((const struct plan *const *)&plan, 1, 0, &links, &rounds), 0);
    steps = rounds->nsteps;
    rounds_free(rounds);
    plan_free(plan);
    return steps;
}

/* Copies become one, but for those that copy what others have copied. */
START_TEST(test_rounds__copies_are_joined)
{
    ck_assert_uint_eq(steps_of_copies(PLAN_INPUT, PLAN_OUTPUT), 1);
    ck_assert_uint_eq(steps_of_copies(PLAN_SCRATCH, PLAN_SCRATCH), 2);
}
END_TEST

/* The messages of a rank in a group are bounded, as a kernel's arguments are, also in a skewed
   exchange on 64 ranks. There are no more groups than that needs. */
START_TEST(test_rounds__no_more_messages_than_a_kernel_takes)
{
    enum { RANKS = 64, MOST = 12 };
    static uint64_t demand[RANKS * RANKS];
    struct topo *t = test_topo_parse("node:8 gpu:8 rail:8@50GB/s link_nvlink:450GB/s");
    struct plan_request q = REQUEST(COLL_ALLTOALLV, t, 0, 1 << 20, .demand = demand);
    struct rounds *any = NULL, *few = NULL;

    for (int i = 0; i < RANKS * RANKS; i++)
        demand[i] = i % RANKS == i / RANKS ? 0 : i % RANKS == 5 ? 4 << 20 : 64 << 10;
    ck_assert_int_eq(pace_rounds(&q, &plan_nimble, NULL, &any), 0);
    q.most_messages = MOST;
    ck_assert_int_eq(pace_rounds(&q, &plan_nimble, NULL, &few), 0);
    ck_assert_uint_gt(most_in_a_group(any), MOST);
    ck_assert_uint_le(most_in_a_group(few), MOST);
    ck_assert_uint_le(few->ngroups, any->ngroups + 2 * RANKS * 2 / MOST + 8);
    rounds_free(any);
    rounds_free(few);
    topo_free(t);
}
END_TEST

/* On several nodes, a rank's messages inside its own have the channels of one message: no schedule
   is faster than these, and an exchange is not relayed through channels that do not carry it. */
START_TEST(test_rounds__messages_inside_a_node_share_channels)
{
    enum { BYTES = 64 << 20, RANKS = 8 };
    const double channels = 2 * ROUND_CHANNEL_BYTES_PER_S, inside = 2.0 * 3 / 4 * BYTES;
    static uint64_t demand[RANKS * RANKS];
    struct topo *t = test_topo_parse(TWO_OF_FOUR);
    struct plan_request q = {
        .collective = COLL_ALLREDUCE, .topo = t, .nbytes = BYTES, .grain = 4, .in_place = 1};
    struct rounds *links = NULL, *shared = NULL;
    double direct, balanced, of_links;

    ck_assert_int_eq(pace_rounds(&q, &plan_lane, NULL, &links), 0);
    q.inside_bytes_per_s = channels;
    ck_assert_int_eq(pace_rounds(&q, &plan_lane, NULL, &shared), 0);
    ck_assert_double_lt(links->seconds, inside / channels);
    ck_assert_double_ge(shared->seconds, inside / channels);
    rounds_free(links);
    rounds_free(shared);

    for (int i = 0; i < RANKS * RANKS; i++)
        demand[i] = i % RANKS == i / RANKS ? 0 : i % RANKS == 5 ? 32 << 20 : 1 << 20;
    q = (struct plan_request){.collective = COLL_ALLTOALLV,
                              .topo = t,
                              .grain = 1,
                              .demand = demand,
                              .chunk_bytes = 1 << 20};
    ck_assert_int_eq(nimble_predict(&q, &direct, &of_links), 0);
    q.inside_bytes_per_s = channels;
    ck_assert_int_eq(nimble_predict(&q, &direct, &balanced), 0);
    ck_assert_double_gt(balanced, 1.2 * of_links);
    topo_free(t);
}
END_TEST

Suite *suite_rounds(void)
{
    Suite *s = suite_create("rounds");
    TCase *t = tcase_create("rounds");

    tcase_add_test(t, test_rounds__every_algorithm_in_groups_of_messages);
    tcase_add_test(t, test_rounds__plans_that_do_not_fit_are_refused);
    tcase_add_test(t, test_rounds__as_many_as_pay);
    tcase_add_test(t, test_rounds__by_the_chunk_that_is_named);
    tcase_add_test(t, test_rounds__as_a_size_like_it);
    tcase_add_test(t, test_rounds__copies_are_joined);
    tcase_add_test(t, test_rounds__no_more_messages_than_a_kernel_takes);
    tcase_add_test(t, test_rounds__messages_inside_a_node_share_channels);
    suite_add_tcase(s, t);
    return s;
}
