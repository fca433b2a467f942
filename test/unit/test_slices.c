/* SPDX-License-Identifier: BSD-3-Clause */
/* Slices of a collective: together they are the whole of it, on every rank, and no byte twice. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planners/choose/choose.h"
#include "planners/choose/slices.h"
#include "planners/links/cost.h"
#include "planners/plan/flat.h"
#include "test/unit/random.h"
#include "test/unit/suites.h"
#include "test/unit/test_topo.h"

/* An allreduce of 16 MiB where there are so many processes per rank. */
static struct plan_request sums_of(const struct topo *t, int ppg)
{
    return (struct plan_request){
        .collective = COLL_ALLREDUCE, .topo = t, .nbytes = 16 << 20, .grain = 8, .ppg = ppg};
}

static const enum plan_collective cut[] = {COLL_ALLREDUCE, COLL_ALLGATHER,
                                           COLL_REDUCE_SCATTER_BLOCK, COLL_BCAST};

/* Count the bytes of a part in times[], `size` long. */
static void count_part(const struct slice_part *p, unsigned char *times, uint64_t size)
{
    for (uint64_t i = 0; i < p->n; i++) {
        uint64_t at = p->at + i * p->stride;

        must(at + p->length <= size, "a part ends at %llu of %llu",
             (unsigned long long)(at + p->length), (unsigned long long)size);
        for (uint64_t k = 0; k < p->length; k++)
            times[at + k]++;
    }
}

/* Is the part within the window, and where the slice's plan has that buffer? */
static void check_window(const struct slice_window *w, const struct plan_request *slice)
{
    uint64_t input = plan_input_bytes(slice, slice->rank);
    uint64_t output = plan_output_bytes(slice, slice->rank);

    must(w->input_at + input <= w->bytes && w->output_at + output <= w->bytes, "too small");
    must(!input || w->input_at + input <= w->output_at || w->output_at + output <= w->input_at,
         "input and output overlap");
    must(w->fetch.window_at + w->fetch.n * w->fetch.length <= w->bytes, "fetch beyond the window");
    must(w->store.window_at + w->store.n * w->store.length <= w->bytes, "store beyond the window");
    must(!w->store.n || w->store.window_at == w->output_at, "the stored bytes are not the output");
    must(!input || w->fetch.window_at == w->input_at, "the fetched bytes are not the input");
}

/* All slices' fetches and stores on one rank, byte by byte. */
static void check_rank(const struct plan_request *q, int n)
{
    uint64_t input = plan_input_bytes(q, q->rank), output = plan_output_bytes(q, q->rank), end = 0;
    unsigned char *in = calloc(1, input + 1), *out = calloc(1, output + 1);
    unsigned char *held = calloc(1, output + 1);
    int at_root = q->collective == COLL_BCAST && q->rank == q->root;

    for (int i = 0; i < n; i++) {
        uint64_t from;
        struct plan_request slice = slice_request(q, n, i, &from);
        struct slice_window w = slice_window(q, &slice, from);

        must(from == end && slice.nbytes > 0 && slice.nbytes % q->grain == 0, "slice %d of %d", i,
             n);
        end = from + slice.nbytes;
        check_window(&w, &slice);
        count_part(&w.fetch, w.fetch.buffer == PLAN_INPUT ? in : held,
                   w.fetch.buffer == PLAN_INPUT ? input : output);
        count_part(&w.store, out, output);
    }
    must(end == q->nbytes, "slices end at %llu of %zu", (unsigned long long)end, q->nbytes);
    for (uint64_t k = 0; k < input; k++)
        must(in[k] == 1, "input byte %llu is fetched %d times", (unsigned long long)k, in[k]);
    for (uint64_t k = 0; k < output; k++)
        must(out[k] == !at_root, "output byte %llu is stored %d times", (unsigned long long)k,
             out[k]);
    uint64_t held_bytes = 0;
    for (uint64_t k = 0; k < output; k++)
        held_bytes += held[k];
    must(held_bytes == (at_root || q->in_place ? q->nbytes : 0), "%llu bytes held",
         (unsigned long long)held_bytes);
    free(in);
    free(out);
    free(held);
}

START_TEST(test_slices__together_are_the_whole_on_every_rank)
{
    int were_cut = 0;

    for (uint64_t seed = 1; seed <= 150; seed++) {
        struct rng r = {seed};
        struct plan_request q = rng_request(&r, cut[_i], 8, 3000);
        int n = slices_of(&q, 1 + (int)(seed % 9));

        were_cut += n > 1;
        for (q.rank = 0; n > 1 && q.rank < q.topo->nranks; q.rank++)
            check_rank(&q, n);
        rng_request_free(&q);
    }
    ck_assert_int_gt(were_cut, 50);
}
END_TEST

/* Are so many bytes counted, once each? */
static void check_times(const unsigned char *times, uint64_t n, const char *what)
{
    for (uint64_t k = 0; k < n; k++)
        must(times[k] == 1, "%s byte %llu is copied %d times", what, (unsigned long long)k,
             times[k]);
}

/* The one slice of a collective that is not cut. */
static void check_whole(const struct plan_request *q)
{
    uint64_t input = plan_input_bytes(q, q->rank), output = plan_output_bytes(q, q->rank), from;
    unsigned char *in = calloc(1, input + 1), *out = calloc(1, output + 1);
    unsigned char *held = calloc(1, output + 1);
    struct plan_request slice = slice_request(q, 1, 0, &from);
    struct slice_window w = slice_window(q, &slice, from);
    int is_held = w.fetch.n && w.fetch.buffer == PLAN_OUTPUT;

    must(from == 0 && slice.nbytes == q->nbytes, "not the whole");
    check_window(&w, &slice);
    count_part(&w.fetch, is_held ? held : in, is_held ? output : input);
    count_part(&w.store, out, output);
    check_times(in, input, "input");
    check_times(out, output, "output");
    must(!plan_in_place(q, q->rank) || !output || is_held, "a block in place is not fetched");
    check_times(held, is_held ? output : 0, "held");
    free(in);
    free(out);
    free(held);
}

static const enum plan_collective whole[] = {COLL_ALLGATHERV, COLL_REDUCE_SCATTER, COLL_REDUCE,
                                             COLL_GATHER,     COLL_GATHERV,        COLL_SCATTER,
                                             COLL_SCATTERV,   COLL_ALLTOALL,       COLL_ALLTOALLV};

START_TEST(test_slices__one_helper_has_the_whole_of_what_is_not_cut)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct rng r = {seed};
        struct plan_request q = rng_request(&r, whole[_i], 8, 3000);

        ck_assert_int_eq(slices_of(&q, 1 + (int)(seed % 5)), 1);
        for (q.rank = 0; q.rank < q.topo->nranks; q.rank++)
            check_whole(&q);
        rng_request_free(&q);
    }
}
END_TEST

START_TEST(test_slices__more_processes_than_elements)
{
    struct topo *t = test_topo_parse("node:4");
    struct plan_request q = {.collective = COLL_ALLREDUCE, .topo = t, .nbytes = 3 * 64, .grain = 8};
    ck_assert_int_eq(slices_of(&q, 16), 3);
    q.nbytes = 127; /* less than two cache lines */
    q.grain = 1;
    ck_assert_int_eq(slices_of(&q, 16), 1);
    q.nbytes = 0;
    ck_assert_int_eq(slices_of(&q, 16), 1);
    q.collective = COLL_ALLTOALL;
    q.nbytes = 1 << 20;
    ck_assert_int_eq(slices_of(&q, 16), 1);
    topo_free(t);
}
END_TEST

/* One rank per node leaves it nothing to gain but by connections; four per node gain without. */
START_TEST(test_slices__are_tried_first_where_they_may_pay)
{
    static const struct {
        const char *topology;
        int alone; /* candidates without helpers */
    } on[] = {{"node:4 rail:1@50Mbit latency_rail:100us", 0},
              {"node:4 rank:4 rail:4@50Mbit latency_rail:100us", 1}};
    struct plan_candidate c[PLAN_CANDIDATES];

    for (size_t i = 0; i < sizeof on / sizeof *on; i++) {
        struct topo *t = test_topo_parse(on[i].topology);
        struct plan_request q = sums_of(t, 0);
        int n = plan_candidates(&q, c, PLAN_CANDIDATES);
        ck_assert_int_eq(n > 0, on[i].alone);
        for (int k = 0; k < n; k++)
            ck_assert_int_eq(c[k].ppg, 1);
        q.ppg = 4;
        n = plan_candidates(&q, c, PLAN_CANDIDATES);
        ck_assert_int_eq(n, 3 + on[i].alone);
        ck_assert_int_eq(c[0].ppg, 4);
        ck_assert_int_eq(c[1].ppg, 4);
        ck_assert_ptr_ne(c[0].algorithm, c[1].algorithm);
        ck_assert_int_eq(c[2].ppg, on[i].alone ? 1 : 2);
        ck_assert_int_eq(c[n - 1].ppg, 2);
        ck_assert_ptr_null(plan_nothing_pays(&q));
        q.collective = COLL_ALLTOALL; /* which is not cut */
        n = plan_candidates(&q, c, PLAN_CANDIDATES);
        for (int k = 0; k < n; k++)
            ck_assert_int_eq(c[k].ppg, 1);
        topo_free(t);
    }
}
END_TEST

/* Where helpers can leave slices to the library: the processes of each candidate in their order, as
   letters behind them what carries a slice, r a row and l the library. */
START_TEST(test_slices__may_be_the_librarys_own)
{
    static const struct {
        const char *topology;
        int ppg;
        const char *candidates;
    } on[] = {{"node:4 rail:1@50Mbit", 0, ""},
              {"node:4 rail:1@50Mbit", 2, "2l"},
              {"node:4 rail:1@50Mbit", 16, "16l 8l"},
              {"node:4 rail:1@200Mbit link_flow:50Mbit", 16, "4l 2l"},
              {"node:4 rail:1@200Mbit link_flow:200Mbit", 16, ""},
              {"node:4 rank:4 rail:4@50Mbit latency_rail:100us", 1, "1r"},
              {"node:4 rank:4 rail:4@50Mbit latency_rail:100us", 3, "3r 3l 1r"},
              {"node:4 rank:4 rail:4@50Mbit latency_rail:100us", 4, "4r 4l 1r 2r"},
              {"node:4 rank:2 rail:2@200Mbit link_flow:200Mbit", 8, "1r"}};
    struct plan_candidate c[PLAN_CANDIDATES];

    for (size_t i = 0; i < sizeof on / sizeof *on; i++) {
        struct topo *t = test_topo_parse(on[i].topology);
        struct plan_request q = sums_of(t, on[i].ppg);
        char got[64] = "";
        int n = plan_candidates_with_library(&q, c, 1);
        for (int k = 0; k < n; k++)
            snprintf(got + strlen(got), sizeof got - strlen(got), "%s%d%c", k ? " " : "", c[k].ppg,
                     c[k].algorithm ? 'r' : 'l');
        ck_assert_msg(!strcmp(got, on[i].candidates), "%s, %d processes: %s", on[i].topology,
                      on[i].ppg, got);
        topo_free(t);
    }
}
END_TEST

/* As many processes as fill the rails, and none where one does; half as many are tried beside. */
START_TEST(test_slices__no_more_than_fill_the_rails)
{
    static const struct {
        const char *topology;
        int ppg, first; /* processes of the first candidate */
    } on[] = {{"node:4 rail:1@200Mbit", 8, 8},
              {"node:4 rail:1@200Mbit link_flow:50Mbit", 8, 4},
              {"node:4 rail:1@200Mbit link_flow:60Mbit", 8, 4},
              {"node:4 rail:1@200Mbit link_flow:50Mbit", 2, 2},
              {"node:4 rank:2 rail:2@200Mbit link_flow:100Mbit", 8, 2},
              {"node:4 rank:2 rail:2@200Mbit link_flow:200Mbit", 8, 1},
              {"node:4 rank:1 rail:4@200Mbit link_flow:100Mbit", 8, 2},
              {"node:4 rank:1 rail:2@200Mbit rail_of:all link_flow:100Mbit", 8, 2}};
    struct plan_candidate c[PLAN_CANDIDATES];

    for (size_t i = 0; i < sizeof on / sizeof *on; i++) {
        struct topo *t = test_topo_parse(on[i].topology);
        struct plan_request q = sums_of(t, on[i].ppg);

        ck_assert_int_ge(plan_candidates_all(&q, c, PLAN_CANDIDATES), 1);
        ck_assert_msg(c[0].ppg == on[i].first, "%s: %d processes", on[i].topology, c[0].ppg);
        topo_free(t);
    }
}
END_TEST

/* On rails of 200 Mbit/s and connections of 50, in bytes of both: k times as fast up to four. */
START_TEST(test_slices__cost_what_capped_connections_carry)
{
    struct topo *t = test_topo_parse("node:4 rail:1@200Mbit link_flow:50Mbit");
    double seconds[3];

    struct plan_request q = {
        .collective = COLL_ALLREDUCE, .topo = t, .nbytes = 16 << 20, .grain = 8};
    seconds[0] = cost_crossing(&q);
    ck_assert_double_eq_tol(seconds[0], 1.5 * (16 << 20) / 6.25e6, 1e-6);
    for (int i = 1; i < 3; i++) {
        uint64_t from;
        struct plan_request slice = slice_request(&q, 4 * i, 0, &from);

        slice.ppg = 4 * i;
        seconds[i] = cost_crossing(&slice);
        ck_assert_double_eq_tol(seconds[i], seconds[0] / 4, 1e-6);
    }
    topo_free(t);
}
END_TEST

static void must_be_same_plan(const struct plan *a, const struct plan *b)
{
    must(a->rank == b->rank && a->nranks == b->nranks && a->chunk_bytes == b->chunk_bytes &&
             a->input_bytes == b->input_bytes && a->output_bytes == b->output_bytes &&
             a->scratch_bytes == b->scratch_bytes && a->nqueues == b->nqueues &&
             a->nops == b->nops && a->ndeps == b->ndeps,
         "the sizes differ");
    must(!a->nops || !memcmp(a->ops, b->ops, a->nops * sizeof *a->ops), "operations");
    must(!a->nqueues || !memcmp(a->queues, b->queues, a->nqueues * sizeof *a->queues), "queues");
    must(!a->ndeps || !memcmp(a->deps, b->deps, a->ndeps * sizeof *a->deps), "dependencies");
}

START_TEST(test_slices__a_plan_is_the_same_after_it_was_flat)
{
    int built = 0;

    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct rng r = {seed};
        struct plan_request q = rng_request(&r, cut[_i], 12, 5000);
        const struct plan_algorithm *a = plan_algorithm_default(cut[_i]);
        struct plan *p = NULL, opened;

        if (a->build(&q, &p) == 0) {
            size_t bytes = plan_flat_bytes(p);
            void *flat = aligned_alloc(PLAN_FLAT_ALIGN, bytes);

            plan_flatten(p, flat);
            must(plan_flat_open(flat, bytes, &opened) == 0, "it cannot be opened");
            must_be_same_plan(p, &opened);
            must(plan_flat_open(flat, bytes - PLAN_FLAT_ALIGN, &opened) == -EINVAL, "cut short");
            must(plan_flat_open(flat, 8, &opened) == -EINVAL, "cut to nothing");
            free(flat);
            plan_free(p);
            built++;
        }
        rng_request_free(&q);
    }
    ck_assert_int_gt(built, 30);
}
END_TEST

Suite *suite_slices(void)
{
    Suite *s = suite_create("slices");
    TCase *t = tcase_create("cutting");
    int n = sizeof cut / sizeof *cut;

    tcase_add_loop_test(t, test_slices__together_are_the_whole_on_every_rank, 0, n);
    tcase_add_loop_test(t, test_slices__one_helper_has_the_whole_of_what_is_not_cut, 0,
                        sizeof whole / sizeof *whole);
    tcase_add_test(t, test_slices__more_processes_than_elements);
    tcase_add_test(t, test_slices__are_tried_first_where_they_may_pay);
    tcase_add_test(t, test_slices__may_be_the_librarys_own);
    tcase_add_test(t, test_slices__no_more_than_fill_the_rails);
    tcase_add_test(t, test_slices__cost_what_capped_connections_carry);
    tcase_add_loop_test(t, test_slices__a_plan_is_the_same_after_it_was_flat, 0, n);
    suite_add_tcase(s, t);
    return s;
}
