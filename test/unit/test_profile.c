/* SPDX-License-Identifier: BSD-3-Clause */
/* The tuning profile: every form of a row, every way it may be wrong, and which row is found. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "planners/algorithms/parallel_rings/parallel_rings.h"
#include "planners/choose/tuning.h"
#include "test/unit/folder.h"
#include "test/unit/request.h"
#include "test/unit/suites.h"

static struct cfg c;
static struct profile p;
static struct tuning t;

static void open_profile(const char *text)
{
    memset(&c, 0, sizeof c);
    ck_assert_int_eq(profile_parse("P", text, &c, &p), 0);
    ck_assert_int_eq(tuning_open("P", &p, &c, &t), 0);
}

static void close_profile(void)
{
    tuning_free(&t);
    profile_free(&p);
}

/* The server of so many bytes on that topology: a row's name, "native", or "" for no row. */
static const char *serves_in(enum plan_memory memory, const char *topology,
                             enum plan_collective collective, uint64_t bytes)
{
    struct topo *topo = NULL;
    char why[256];

    ck_assert_msg(topo_parse(topology, 0, &topo, why, sizeof why) == 0, "%s", why);
    struct plan_request q = REQUEST(collective, topo, bytes, 1 << 20, .memory = memory);
    const struct tuning_row *r = tuning_find(&t, &q, bytes);
    topo_free(topo);
    return !r ? "" : r->algorithm ? r->algorithm->name : "native";
}

static const char *serves(const char *topology, enum plan_collective collective, uint64_t bytes)
{
    return serves_in(PLAN_IN_HOST, topology, collective, bytes);
}

START_TEST(test_profile__the_first_row_that_matches_wins)
{
    open_profile("# a comment\n"
                 "\n"
                 "allgather 4x4   64K-1M parallel_rings chunk=32K # another\n"
                 "allgather 4x4   *      native\n"
                 "allgather 2-8x* 1M-*   parallel_rings ppg=4\r\n"
                 "  bcast\t*  100  native");
    ck_assert_msg(c.problems == 0, "%s", c.problem);
    ck_assert_int_eq(t.nrows, 4);
    ck_assert_uint_eq(t.row[0].chunk_bytes, 32768);
    ck_assert_uint_eq(t.row[2].chunk_bytes, 0);
    ck_assert_int_eq(t.row[2].ppg, 4);
    ck_assert_str_eq(serves("node:4 rank:4", COLL_ALLGATHER, 65536), "parallel_rings");
    ck_assert_str_eq(serves("node:4 rank:4", COLL_ALLGATHER, 1 << 20), "parallel_rings");
    ck_assert_str_eq(serves("node:4 rank:4", COLL_ALLGATHER, 65535), "native");
    ck_assert_str_eq(serves("node:4 rank:4", COLL_ALLGATHER, (1 << 20) + 1), "native");
    ck_assert_str_eq(serves("node:4 rank:3", COLL_ALLGATHER, 65536), "");
    ck_assert_str_eq(serves("node:8 rank:3", COLL_ALLGATHER, 1 << 20), "parallel_rings");
    ck_assert_str_eq(serves("node:9 rank:3", COLL_ALLGATHER, 1 << 20), "");
    ck_assert_str_eq(serves("node:4 rank:3,4,1,2", COLL_ALLGATHER, 65536), "parallel_rings");
    ck_assert_str_eq(serves("node:4 rank:4", COLL_ALLGATHERV, 65536), "");
    ck_assert_str_eq(serves("node:1", COLL_BCAST, 100), "native");
    ck_assert_str_eq(serves("node:1", COLL_BCAST, 101), "");
    close_profile();
}
END_TEST

/* Rows of two paths are for memory on the GPUs: other calls of the size skip them. */
START_TEST(test_profile__a_row_for_device_memory_is_for_nothing_else)
{
    static const char gpus[] = "node:1 gpu:2";

    open_profile("allreduce 1x2 1M-2M collaborative(split=20.10) # so much goes through the host\n"
                 "allreduce *   1M-* linear\n");
    ck_assert_msg(c.problems == 0, "%s", c.problem);
    ck_assert_str_eq(serves_in(PLAN_ON_DEVICE, gpus, COLL_ALLREDUCE, 1 << 20), "collaborative");
    ck_assert_str_eq(serves_in(PLAN_ON_DEVICE, gpus, COLL_ALLREDUCE, 4 << 20), "linear");
    ck_assert_str_eq(serves_in(PLAN_IN_HOST, gpus, COLL_ALLREDUCE, 1 << 20), "linear");
    ck_assert_str_eq(serves_in(PLAN_IN_HOST, "node:1 rank:2", COLL_ALLREDUCE, 1 << 20), "linear");
    ck_assert_str_eq(t.row[0].recipe, "split=20.10");
    close_profile();
}
END_TEST

/* The profile's row for NCCL's own call: "", "native", or a variant with its channels. */
static const char *own(enum plan_collective collective, int nodes, int ranks, uint64_t bytes)
{
    const struct tuning_row *r = tuning_find_native(&t, collective, nodes, ranks, bytes);
    static char text[64];

    snprintf(text, sizeof text, "%s", !r ? "" : r->variant ? r->variant->row.name : "native");
    if (r && r->channels)
        snprintf(text + strlen(text), sizeof text - strlen(text), " %d", r->channels);
    return text;
}

/* Each of the two, our schedules and NCCL's own call, passes the other's rows over. */
START_TEST(test_profile__algorithms_of_nccl_are_for_its_own_calls)
{
    open_profile("allreduce 4x8 1M native\n"
                 "allreduce 4x8 1M-64M native:ring/ll128 channels=16\n"
                 "allreduce * 1M-* parallel_rings\n"
                 "allreduce 4x8 * native:tree/simple\n"
                 "reduce_scatter_block * * native:pat/simple\n");
    ck_assert_msg(c.problems == 0, "%s", c.problem);
    ck_assert_int_eq(t.nrows, 5);
    ck_assert_str_eq(own(COLL_ALLREDUCE, 4, 8, 1 << 20), "native");
    ck_assert_str_eq(own(COLL_ALLREDUCE, 4, 8, 2 << 20), "native:ring/ll128 16");
    ck_assert_str_eq(own(COLL_ALLREDUCE, 4, 8, 65 << 20), "native:tree/simple");
    ck_assert_str_eq(own(COLL_ALLREDUCE, 4, 7, 2 << 20), "");
    ck_assert_str_eq(own(COLL_REDUCE_SCATTER_BLOCK, 1, 1, 1), "native:pat/simple");
    ck_assert_str_eq(serves("node:4 rank:8", COLL_ALLREDUCE, 2 << 20), "parallel_rings");
    ck_assert_str_eq(serves("node:4 rank:8", COLL_ALLREDUCE, 1024), "");
    close_profile();
}
END_TEST

static const struct {
    const char *row, *says;
} wrong[] = {
    {"alllgather * * native", "P:2: no collective 'alllgather'; the nearest is allgather"},
    {"allgather * * paralel_rings", "the nearest is parallel_rings"},
    {"allgather * * parallel_rings(", "P:2: "},
    {"allgather * * nativ", "the nearest is native"},
    {"allgather 4 * native", "P:2: `4`: expected nodes x ranks"},
    {"allgather 0x4 * native", "`0x4`: expected nodes x ranks"},
    {"allgather 4x4x4 * native", "`4x4x4`: expected nodes x ranks"},
    {"allgather 8-2x4 * native", "`8-2x4`: expected nodes x ranks"},
    {"allgather 99999999999999999999x4 * native", "expected nodes x ranks"},
    {"allgather * 1M-64K native", "`1M-64K`: expected a range of bytes"},
    {"allgather * 64KB native", "`64KB`: expected a range of bytes"},
    {"allgather * -5 native", "`-5`: expected a range of bytes"},
    {"allgather * * native chunks=3", "`chunks=3`: expected chunk=SIZE"},
    {"allgather * * native chunk=", "`chunk=`: expected chunk=SIZE"},
    {"allgather * * native chunk=4G", "`chunk=4G`: expected chunk=SIZE"},
    {"allgather * * native chunk=4K more", "`more`: expected chunk=SIZE"},
    {"allgather * * native ppg=65", "`ppg=65`: expected chunk=SIZE"},
    {"allgather * * native ppg=2 ppg=2", "`ppg=2`: expected chunk=SIZE"},
    {"allgather * * native ppg=2 chunk=4K more", "`more`: expected the end of the line"},
    {"allgather * * native channels=65", "`channels=65`: expected chunk=SIZE"},
    {"allgather * * native channels=8", "P:2: channels= is for native:ring/"},
    {"allgather * * parallel_rings channels=8", "P:2: channels= is for native:ring/"},
    {"allgather * * native:nvls/simple channels=8", "P:2: channels= is for native:ring/"},
    {"allgather * * native:", "P:2: NCCL has no 'native:' for allgather"},
    {"allgather * * native:ring/l128", "for allgather; the nearest is native:ring/ll128"},
    {"bcast * * native:tree/ll", "P:2: NCCL has no 'native:tree/ll' for bcast"},
    {"alltoall * * native:ring/ll", "for alltoall; it may be native"},
    {"allgather * *", "it ends where an algorithm or native should stand"},
    {"allgather", "it ends where nodes x ranks"},
    {"link_pcie:fast", "`link_pcie:fast`: expected a rate such as"},
    {"link_pcie:5GB/s5", "`link_pcie:5GB/s5`: expected a rate such as"},
    {"link_pcie:0", "`link_pcie:0`: expected a rate such as"},
    {"latency_pcie:5GB/s", "`latency_pcie:5GB/s`: expected a time such as"},
    {"link_pci:5GB/s", "`link_pci:5GB/s`: expected link_CLASS:RATE"},
    {"link_pcie:5GB/s link_pcie:6GB/s", "`link_pcie:6GB/s`: expected each rate once"},
    {"link_pcie:5GB/s native", "`native`: expected link_CLASS:RATE"},
    {"an_uncommonly_long_name_of_a_collective * * native", "expected a collective"},
};

/* A wrong row costs one line and itself; the rows around it hold. */
START_TEST(test_profile__a_wrong_row_costs_itself_only)
{
    char text[512];

    snprintf(text, sizeof text, "allgather 4x4 1 native\n%s\nallgather 4x4 2 parallel_rings\n",
             wrong[_i].row);
    open_profile(text);
    ck_assert_msg(c.problems == 1, "%s: %d problems", wrong[_i].row, c.problems);
    ck_assert_msg(strstr(c.problem, wrong[_i].says) != NULL, "%s: %s", wrong[_i].row, c.problem);
    ck_assert_msg(strstr(c.problem, "P:2: ") == c.problem, "%s", c.problem);
    ck_assert_int_eq(t.nrows, 2);
    ck_assert_str_eq(serves("node:4 rank:4", COLL_ALLGATHER, 1), "native");
    ck_assert_str_eq(serves("node:4 rank:4", COLL_ALLGATHER, 2), "parallel_rings");
    close_profile();
}
END_TEST

START_TEST(test_profile__blanks_in_a_recipe_belong_to_it)
{
    memset(&c, 0, sizeof c);
    ck_assert_int_eq(
        profile_parse("P", "bcast * * compose(hierarchy=4:4, (stripe = 4)) chunk=1K\n", &c, &p), 0);
    ck_assert_int_eq(c.problems, 0);
    ck_assert_int_eq(p.nrows, 1);
    ck_assert_str_eq(p.row[0].algorithm, "compose(hierarchy=4:4, (stripe = 4))");
    ck_assert_uint_eq(p.row[0].chunk_bytes, 1024);
    profile_free(&p);
}
END_TEST

static uint64_t hash_of(const char *text)
{
    open_profile(text);
    uint64_t h = tuning_hash(&t);
    close_profile();
    return h;
}

START_TEST(test_profile__the_hash_is_of_the_rows_and_not_of_the_comments)
{
    uint64_t h = hash_of("allgather 4x4 1M native\n");

    ck_assert_uint_eq(h, hash_of("# measured today\n  allgather   4x4 1024K native # 3 ms\n"));
    ck_assert_uint_ne(h, hash_of("allgather 4x4 1M parallel_rings\n"));
    ck_assert_uint_ne(h, hash_of("allgather 4x4 1M native chunk=1K\n"));
    ck_assert_uint_ne(h, hash_of("allgather 4x5 1M native\n"));
    ck_assert_uint_ne(h, hash_of("allgather 4x4 1M-2M native\n"));
    ck_assert_uint_ne(h, hash_of("allgatherv 4x4 1M native\n"));
    ck_assert_uint_ne(hash_of("allgather * * native:ring/ll\n"),
                      hash_of("allgather * * native:ring/ll128\n"));
    ck_assert_uint_ne(hash_of("allgather * * native:ring/ll\n"),
                      hash_of("allgather * * native:ring/ll channels=2\n"));
    ck_assert_uint_eq(hash_of("# nothing\n"), 0);
    ck_assert_uint_ne(hash_of("bcast * * native\nreduce * * native\n"),
                      hash_of("reduce * * native\nbcast * * native\n"));
}
END_TEST

/* Rates of a profile stand in for what a topology does not say, and for nothing else. */
START_TEST(test_profile__rates_by_node_fill_in_what_is_not_known)
{
    static const char line[] = "node:3 rail:2@100Mbit rail_rate:1.0@50Mbit,2.1in@25Mbit "
                               "link_socket:9GB/s link_rate:2.socket@5GB/s\n";
    static const struct {
        const char *text;
        int rails; /* they take the profile's rates */
        double rail, socket;
    } cases[] = {
        {"node:3 rank:2 rail:2", 1, 6.25e6, 5e9},
        {"node:3 rank:2 rail:2@1Mbit", 0, 1.25e5, 5e9},
        {"node:3 rank:2 rail:2 link_socket:1GB/s", 1, 6.25e6, 1e9},
        {"node:4 rank:2 rail:2", 0, 0, 0},
        {"node:3 rank:2 rail:1", 0, 0, 0},
    };

    open_profile(line);
    ck_assert_msg(c.problems == 0, "%s", c.problem);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct topo *topo = NULL;
        char why[256];

        ck_assert_int_eq(topo_parse(cases[i].text, 0, &topo, why, sizeof why), 0);
        ck_assert_int_eq(tuning_fill_in_nodes(&t, topo), cases[i].rails);
        ck_assert_double_eq(topo_rail_rate(topo, 1, 0, TOPO_OUT), cases[i].rail);
        ck_assert_double_eq(topo_rail_rate(topo, 2, topo->nrails - 1, TOPO_IN),
                            cases[i].rails ? 3.125e6 : cases[i].rail);
        ck_assert_double_eq(topo_link_rate(topo, 2, TOPO_LINK_SOCKET), cases[i].socket);
        topo_free(topo);
    }
    close_profile();
    ck_assert_uint_ne(hash_of(line), 0);
    ck_assert_uint_ne(hash_of(line), hash_of("node:3 rail:2@100Mbit\n"));
}
END_TEST

static const struct {
    const char *text, *why;
} bad_rates[] = {
    {"node:2 rail:2@1Mbit rail_rate:5.0@1Mbit", "P:1: rail_rate: names rail 0 of node 5; expected"},
    {"node:2 rail:2 rank:4", "P:1: `rank:4`: expected node:, rail:, rail_rate:, link_rate:"},
    {"node:2 rail:2@1Mbit rail_rate:1.0@fast", "rail_rate:1.0@fast: expected rates such as"},
    {"node:2 rail:2@1Mbit\nnode:3 rail:2@1Mbit", "P:2: a second line of rates by node"},
    {"rail_rate:1.0@1Mbit", "P:1: `rail_rate:1.0@1Mbit`: expected"},
};

START_TEST(test_profile__bad_rates_by_node_cost_one_line)
{
    open_profile(bad_rates[_i].text);
    ck_assert_int_eq(c.problems, 1);
    ck_assert_msg(strstr(c.problem, bad_rates[_i].why) != NULL, "%s", c.problem);
    close_profile();
}
END_TEST

START_TEST(test_profile__rates_fill_in_what_is_not_known)
{
    struct topo *topo = NULL;
    char why[256];

    open_profile("link_nvlink:400GB/s latency_nvlink:2us # measured\n"
                 "allgather * * native\n"
                 "link_reduce_gpu:1TB/s\n"
                 "link_pcie:50GB/s\n");
    ck_assert_msg(c.problems == 0, "%s", c.problem);
    ck_assert_int_eq(t.nrows, 1);
    ck_assert_int_eq(topo_parse("node:1 gpu:2 link_pcie:12GB/s", 0, &topo, why, sizeof why), 0);
    tuning_fill_in(&t, topo);
    ck_assert_double_eq(topo->link[TOPO_LINK_NVLINK].bw_bytes_per_s, 400e9);
    ck_assert_double_eq(topo->link[TOPO_LINK_NVLINK].latency_ns, 2000);
    ck_assert_double_eq(topo->link[TOPO_LINK_REDUCE_GPU].bw_bytes_per_s, 1e12);
    ck_assert_double_eq(topo->link[TOPO_LINK_PCIE].bw_bytes_per_s, 12e9);
    ck_assert_double_eq(topo->link[TOPO_LINK_SHM].bw_bytes_per_s, 0);
    topo_free(topo);
    close_profile();
    ck_assert_uint_ne(hash_of("link_pcie:50GB/s\n"), 0);
    ck_assert_uint_ne(hash_of("link_pcie:50GB/s\n"), hash_of("link_pcie:51GB/s\n"));
    ck_assert_uint_eq(hash_of("link_pcie:50GB/s link_shm:1GB/s\n"),
                      hash_of("link_shm:1GB/s\nlink_pcie:50GB/s # as it was\n"));
    ck_assert_uint_ne(hash_of("allgather 4x4 1M native\n"),
                      hash_of("allgather 4x4 1M native\nlink_pcie:50GB/s\n"));
}
END_TEST

START_TEST(test_profile__a_file_that_cannot_be_read_is_one_line_and_no_rows)
{
    char folder[FOLDER_PATH], path[96];

    folder_make(folder);
    snprintf(path, sizeof path, "%s/file", folder);
    int fd = open(path, O_RDWR | O_CREAT, 0600);

    memset(&c, 0, sizeof c);
    ck_assert_int_eq(profile_read("/none/such.profile", &c, &p), 0);
    ck_assert_int_eq(p.nrows, 0);
    ck_assert_int_eq(c.problems, 1);
    ck_assert_ptr_nonnull(strstr(c.problem, "/none/such.profile: no such file; COLLSHIM_PROFILE"));
    ck_assert_int_eq(profile_read("/tmp", &c, &p), 0);
    ck_assert_int_eq(c.problems, 2);
    ck_assert_int_eq(write(fd, "allgather * * native\0x", 22), 22);
    ck_assert_int_eq(profile_read(path, &c, &p), 0);
    ck_assert_int_eq(p.nrows, 0);
    ck_assert_int_eq(c.problems, 3);
    ck_assert_int_eq(ftruncate(fd, 20), 0);
    ck_assert_int_eq(profile_read(path, &c, &p), 0);
    ck_assert_int_eq(p.nrows, 1);
    ck_assert_int_eq(c.problems, 3);
    profile_free(&p);
    close(fd);
}
END_TEST

/* More wrong rows than there is room to tell of: all are counted, nothing overflows. */
START_TEST(test_profile__many_rows_good_and_bad)
{
    enum { ROWS = 3000 };
    char *text = malloc(ROWS * 40), *at = text;

    ck_assert_ptr_nonnull(text);
    for (int i = 0; i < ROWS; i++)
        at += sprintf(at, "%s * %d native\n", i % 3 ? "allgather" : "gatherall", i + 1);
    open_profile(text);
    ck_assert_int_eq(c.problems, ROWS / 3);
    ck_assert_int_eq(t.nrows, ROWS - ROWS / 3);
    ck_assert_str_eq(serves("node:1", COLL_ALLGATHER, ROWS), "native");
    ck_assert_str_eq(serves("node:1", COLL_ALLGATHER, ROWS + 1), "");
    close_profile();
    free(text);
}
END_TEST

Suite *suite_profile(void)
{
    Suite *s = suite_create("profile");
    TCase *k = tcase_create("rows");

    tcase_add_test(k, test_profile__the_first_row_that_matches_wins);
    tcase_add_test(k, test_profile__a_row_for_device_memory_is_for_nothing_else);
    tcase_add_test(k, test_profile__algorithms_of_nccl_are_for_its_own_calls);
    tcase_add_loop_test(k, test_profile__a_wrong_row_costs_itself_only, 0,
                        sizeof wrong / sizeof *wrong);
    tcase_add_test(k, test_profile__blanks_in_a_recipe_belong_to_it);
    tcase_add_test(k, test_profile__the_hash_is_of_the_rows_and_not_of_the_comments);
    tcase_add_test(k, test_profile__rates_fill_in_what_is_not_known);
    tcase_add_test(k, test_profile__rates_by_node_fill_in_what_is_not_known);
    tcase_add_loop_test(k, test_profile__bad_rates_by_node_cost_one_line, 0,
                        sizeof bad_rates / sizeof *bad_rates);
    tcase_add_test(k, test_profile__a_file_that_cannot_be_read_is_one_line_and_no_rows);
    tcase_add_test(k, test_profile__many_rows_good_and_bad);
    suite_add_tcase(s, k);
    return s;
}
