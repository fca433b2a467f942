/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The topology: what each word of the synthetic form means, what is refused and
 * how, and what is built from reports and for a sub-communicator.
 */
#include "test/unit/test_topo.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/topo/topo_rate.h"
#include "test/unit/folder.h"
#include "test/unit/suites.h"

static char why[256];

struct topo *test_topo_parse(const char *text)
{
    struct topo *t = NULL;
    int code = topo_parse(text, 0, &t, why, sizeof why);

    ck_assert_msg(code == 0, "`%.80s`: %s", text, why);
    return t;
}

void assert_topo_valid(const struct topo *t)
{
    int seen = 0;

    ck_assert_int_ge(t->nranks, 1);
    ck_assert_int_ge(t->nnodes, 1);
    ck_assert_int_ge(t->nrails, 1);
    ck_assert_int_eq(t->node_first[0], 0);
    ck_assert_int_eq(t->node_first[t->nnodes], t->nranks);
    for (int n = 0; n < t->nnodes; n++) {
        int size = topo_node_size(t, n);

        ck_assert_int_ge(size, 1);
        for (int l = 0; l < size; l++) {
            int r = topo_node_rank(t, n, l);

            ck_assert_int_eq(t->rank[r].node, n);
            ck_assert_int_eq(t->rank[r].local, l);
            ck_assert(l == 0 || r > topo_node_rank(t, n, l - 1));
            seen++;
        }
        ck_assert(n == 0 || topo_node_rank(t, n, 0) > topo_node_rank(t, n - 1, 0));
    }
    ck_assert_int_eq(seen, t->nranks);
    for (int r = 0; r < t->nranks; r++) {
        ck_assert_int_ge(t->rank[r].socket, 0);
        ck_assert_int_ge(t->rank[r].gpu, -1);
        ck_assert(t->rank[r].rail >= -1 && t->rank[r].rail < t->nrails);
    }
}

static size_t rates_of(const struct topo *t)
{
    return 2 * (size_t)t->nnodes * (size_t)t->nrails;
}

int test_topo_same(const struct topo *a, const struct topo *b)
{
    return a->nranks == b->nranks && a->nnodes == b->nnodes && a->nrails == b->nrails &&
           !memcmp(a->rank, b->rank, (size_t)a->nranks * sizeof *a->rank) &&
           !memcmp(a->rail, b->rail, (size_t)a->nrails * sizeof *a->rail) && !a->rate == !b->rate &&
           !(a->rate && memcmp(a->rate, b->rate, rates_of(a) * sizeof *a->rate)) &&
           !memcmp(a->link, b->link, sizeof a->link);
}

/* The synthetic form; free() it. */
static char *printed(const struct topo *t)
{
    int n = topo_print(t, NULL, 0);
    char *text = malloc((size_t)n + 1);

    ck_assert_ptr_nonnull(text);
    ck_assert_int_eq(topo_print(t, text, (size_t)n + 1), n);
    ck_assert_uint_eq(strlen(text), (size_t)n);
    return text;
}

void assert_round_trip(const struct topo *t, unsigned seed)
{
    char *text = printed(t), *again;
    struct topo *back = NULL;

    ck_assert_msg(topo_parse(text, t->nranks, &back, why, sizeof why) == 0, "seed %u: %s: %s", seed,
                  text, why);
    assert_topo_valid(back);
    ck_assert_msg(test_topo_same(t, back), "seed %u: %s", seed, text);
    ck_assert_uint_eq(topo_hash(t), topo_hash(back));
    again = printed(back);
    ck_assert_str_eq(text, again);
    free(again);
    free(text);
    topo_free(back);
}

/* These are printed exactly as they are written. */
static const char *const canonical[] = {
    "node:1 rail:1",
    "node:4 socket:2 gpu:2 rail:4",
    "node:4 rank:4 rail:4@100Mbit",
    "node:4 rank:4 rail:4@3x100Mbit,50Mbit",
    "node:2 rail:2@100Mbit,0",
    "node:3 rank:4,3,4 rail:2",
    "node:3 gpu:4 rank:3,4,1 rail:1",
    "node:2 socket:2 gpu:2 rank:2 rail:8",
    "node:2 socket:2 gpu:4 rank:6,3 rail:4",
    "node:3 rank:2,1,2 rail:2 place:cyclic",
    "node:2 rail:1 place:0,2x1,0",
    "node:2 gpu:2 rail:2 place:2x0,1,0,3x1",
    "node:1 rank:4 rail:2 socket_of:2x1,2x0",
    "node:1 rank:2 rail:2 gpu_of:5,-1",
    "node:2 rank:2 rail:2 rail_of:1,0,1,-1",
    "node:2 rank:2 rail:4 rail_of:all",
    "node:1 rank:2 rail:2 latency_rail:1.5us",
    "node:1 rank:2 rail:2@200Gbit latency_rail:1us,2us link_shm:10GB/s latency_shm:200ns "
    "link_nvlink:200GB/s latency_socket:0.5ns",
    "node:2 rail:1@200Mbit link_flow:6.25MB/s",
    "node:2 rank:2 rail:2@100Mbit rail_rate:1.0@50Mbit",
    "node:3 rank:2 rail:2@100Mbit,200Mbit rail_rate:0.1out@1Mbit,1.0in@50Mbit,2.1out@20Mbit,"
    "2.1in@10Mbit link_shm:1GB/s",
    "node:2 rail:1@100Mbit rail_rate:1.0@0",
    "node:3 rank:2 rail:2 link_shm:9GB/s link_rate:1.shm@4GB/s,1.nvlink@25GB/s,2.reduce_gpu@1GB/s",
};

START_TEST(test_topo__canonical_text_is_printed_again)
{
    struct topo *t = test_topo_parse(canonical[_i]);
    char *text = printed(t);

    assert_topo_valid(t);
    ck_assert_str_eq(text, canonical[_i]);
    free(text);
    assert_round_trip(t, 0);
    topo_free(t);
}
END_TEST

/* The second text means what the first one does. */
static const char *const equal[][2] = {
    {"node:2 socket:2 gpu:2 rail:4", "rail:4,gpu:2,\n socket:2 # comment node:9\n\t,node:2"},
    {"node:2 rank:2", "node:2 rank:2,2"},
    {"node:2 rank:2", "rank:2x2"},
    {"node:2 rank:2", "place:0,0,1,1"},
    {"node:2 rank:2", "place:1, 1,\n  0, # the other\n 0"},
    {"node:2 rank:3 rail:3", "node:2 rank:3"},
    {"node:2 rank:2 rail:2@8Mbit", "node:2 rank:2 rail:2@1MB/s"},
    {"node:2 rank:2 rail:2@8Mbit", "node:2 rank:2 rail:2@1000000B/s,8e3kbit"},
    {"node:2 rank:2 rail:1 latency_rail:1.5us", "node:2 rank:2 rail:1 latency_rail:1500ns"},
    {"node:3 rank:2 place:cyclic", "node:3 place:0,1,2,0,1,2"},
    {"node:3 rank:1,2,3 place:cyclic", "node:3 place:0,1,2,1,2,2"},
    {"node:2 rank:1,2 place:0,1,1", "node:2 place:0,1,1"},
    {"node:2 socket:2", "node:2 socket:2 rank:1 place:block"},
    {"node:1 socket:2 rank:2", "rank:4 socket_of:0,0,1,1"},
    {"node:1 socket:2 gpu:2 rank:1x3", "rank:3 socket_of:0,0,1 gpu_of:0,1,2"},
};

START_TEST(test_topo__other_ways_to_write_it)
{
    struct topo *a = test_topo_parse(equal[_i][0]), *b = test_topo_parse(equal[_i][1]);

    assert_topo_valid(b);
    ck_assert(test_topo_same(a, b));
    ck_assert_uint_eq(topo_hash(a), topo_hash(b));
    topo_free(a);
    topo_free(b);
}
END_TEST

START_TEST(test_topo__regular_machine)
{
    struct topo *t = test_topo_parse("node:4 socket:2 gpu:2 rail:4");

    ck_assert_int_eq(t->nranks, 16);
    for (int r = 0; r < 16; r++) {
        ck_assert_int_eq(t->rank[r].node, r / 4);
        ck_assert_int_eq(t->rank[r].local, r % 4);
        ck_assert_int_eq(t->rank[r].socket, r % 4 / 2);
        ck_assert_int_eq(t->rank[r].gpu, r % 4);
        ck_assert_int_eq(t->rank[r].rail, r % 4);
    }
    topo_free(t);
}
END_TEST

START_TEST(test_topo__fewer_rails_than_ranks)
{
    struct topo *t = test_topo_parse("node:2 rank:5 rail:2@100Mbit,50Mbit latency_rail:2us");

    for (int r = 0; r < t->nranks; r++)
        ck_assert_int_eq(t->rank[r].rail, t->rank[r].local % 2);
    ck_assert_double_eq(t->rail[0].bw_bytes_per_s, 12500000);
    ck_assert_double_eq(t->rail[1].bw_bytes_per_s, 6250000);
    ck_assert_double_eq(t->rail[1].latency_ns, 2000);
    topo_free(t);
}
END_TEST

static const struct {
    const char *text;
    int nranks;
    const char *says;
} refused[] = {
    {"", 0, "empty; expected words such as node:4"},
    {"  # nothing\n", 0, "empty"},
    {"node:0", 0, "node:0: expected a whole number from 1"},
    {"node:-4", 0, "node:-4: expected a whole number from 1"},
    {"node:4194305", 0, "expected a whole number from 1 to 4194304"},
    {"node:99999999999999999999", 0, "expected a whole number"},
    {"node:", 0, "expected a whole number"},
    {"node:four", 0, "node:four: expected a whole number"},
    {"node:4.5", 0, "`.` cannot follow here"},
    {"node:4x", 0, "`x` cannot follow here"},
    {"node:4;rail:4", 0, "`;` cannot follow here; words are separated by blanks"},
    {"nodes:4", 0, "nodes:4: no such word; the nearest is node"},
    {"zebra:4", 0, "zebra:4: no such word; expected node"},
    {"node", 0, "no such file either"},
    {"topology.txt", 0, "no such file either"},
    {"node 4:4", 0, "expected words such as node:4"},
    {"node:4 node:4", 0, "node:4: node: is given twice"},
    {"node:4 rank:4 rail:4 rank:4", 0, "rank: is given twice"},
    {"node:4 socket:2 gpu:2", 12, "describes 16 ranks on 4 nodes, but there are 12 ranks"},
    {"rank:4", 3, "describes 4 ranks on 1 node, but there are 3 ranks"},
    {"node:2048 socket:64 gpu:64", 0, "more than 4194304 ranks"},
    {"node:2 rank:2147483647", 0, "more than 4194304 ranks"},
    {"socket:4194304 gpu:4194304", 0, "at most 4194304"},
    {"rank:0", 0, "rank: node 0 gets 0 ranks"},
    {"rank:-1", 0, "rank: node 0 gets -1 ranks"},
    {"node:3 rank:4,0,4", 0, "rank: node 1 gets 0 ranks"},
    {"node:4 rank:4,3,4", 0, "rank: gives the ranks of 3 nodes, node: says 4"},
    {"rank:9999999x1", 0, "a list has 1 to 4194304 values"},
    {"rank:0x1", 0, "a list has 1 to 4194304 values"},
    {"node:2 place:0,0", 0, "place: puts no rank on node 1 of 2"},
    {"node:2 place:0,2", 0, "place: names node 2, but there are nodes 0 to 1"},
    {"place:0,-1", 0, "place: rank 1 is on node -1"},
    {"place:0,2147483647", 0, "place: node 2147483647 is beyond"},
    {"node:2 rank:2 place:0,1,1", 0, "place: puts 1 ranks on node 0, rank: says 2"},
    {"place:snake", 0, "place:snake: expected block, cyclic"},
    {"place:blocks", 0, "place:blocks: expected block, cyclic"},
    {"node:1 rank:4 socket_of:0,1", 0, "socket_of: has 2 values for 4 ranks"},
    {"node:1 rank:2 socket_of:0,-1", 0, "socket_of: rank 1 has -1, expected 0 to"},
    {"node:1 rank:2 gpu_of:0,-2", 0, "gpu_of: rank 1 has -2, expected -1 to"},
    {"node:1 rank:2 rail_of:0,2", 0, "rail_of: rank 1 has 2, expected -1 to 1"},
    {"rail:4@100", 0, "rail:4@100: expected a rate such as 100Mbit"},
    {"rail:4@100Mb", 0, "expected a rate"},
    {"rail:4@0Mbit", 0, "expected a rate"},
    {"rail:4@-1Mbit", 0, "expected a rate"},
    {"rail:4@1e999GB/s", 0, "expected a rate"},
    {"rail:4@infMbit", 0, "expected a rate"},
    {"rail:4@", 0, "expected a rate"},
    {"rail:0@1Mbit", 0, "expected a whole number"},
    {"rail:4@1Mbit,2Mbit", 0, "rail: has 2 rates for 4 rails"},
    {"node:2 rail:2@1Mbit rail_rate:2.0@1Mbit", 0,
     "rail_rate: names rail 0 of node 2; expected rails 0 to 1 of nodes 0 to 1"},
    {"node:2 rail:2@1Mbit rail_rate:0.2@1Mbit", 0, "names rail 2 of node 0"},
    {"node:2 rail:2@1Mbit rail_rate:0.-1@1Mbit", 0, "names rail -1 of node 0"},
    {"node:2 rail:2@1Mbit rail_rate:0.1@2Mbit,0.1in@1Mbit", 0, "gives rail 1 of node 0 twice"},
    {"node:2 rail:2@1Mbit rail_rate:0.1", 0, "expected rates such as 1.2@50Mbit"},
    {"node:2 rail:2@1Mbit rail_rate:0@1Mbit", 0, "expected rates such as 1.2@50Mbit"},
    {"node:2 rail:2@1Mbit rail_rate:0.1up@1Mbit", 0, "expected rates such as 1.2@50Mbit"},
    {"node:2 rail:2@1Mbit rail_rate:0.1@-1Mbit", 0, "expected rates such as 1.2@50Mbit"},
    {"node:2 link_rate:2.shm@1GB/s", 0, "link_rate: names node 2; expected nodes 0 to 1"},
    {"node:2 link_rate:1.shm@1GB/s,1.shm@2GB/s", 0, "link_rate: gives shm of node 1 twice"},
    {"node:2 link_rate:1.shm@0", 0, "link_rate: gives shm of node 1 no rate; expected one above 0"},
    {"node:2 link_rate:1.flow@1GB/s", 0, "expected rates such as 1.nvlink@25GB/s (node 1;"},
    {"node:2 link_rate:1@1GB/s", 0, "expected rates such as 1.nvlink@25GB/s (node 1;"},
    {"node:2 link_rate:1.shm", 0, "expected rates such as 1.nvlink@25GB/s (node 1;"},
    {"node:4194304 rail:2 rail_rate:0.1@1Mbit", 0, "at most 4194304 rails on all nodes"},
    {"rail:4 latency_rail:1us,2us", 0, "latency_rail: has 2 times for 4 rails"},
    {"link_nvlink:200", 0, "expected a rate"},
    {"link_nvlnk:200GB/s", 0, "the nearest is link_nvlink"},
    {"latency_shm:1GB/s", 0, "expected a time such as 1500ns"},
    {"/nonexistent/topology", 0, "/nonexistent/topology: no such file"},
    {"dir/none", 0, "dir/none: no such file"},
    {"/", 0, "a directory, not a file"},
};

START_TEST(test_topo__refused_in_one_line)
{
    struct topo *t = NULL;
    int code = topo_parse(refused[_i].text, refused[_i].nranks, &t, why, sizeof why);

    ck_assert_int_eq(code, -22);
    ck_assert_ptr_null(t);
    ck_assert_msg(strstr(why, refused[_i].says) != NULL, "`%s`: no `%s` in: %s", refused[_i].text,
                  refused[_i].says, why);
    ck_assert_ptr_null(strchr(why, '\n'));
}
END_TEST

START_TEST(test_topo__from_a_file)
{
    char folder[FOLDER_PATH], path[96], expected[160];
    struct topo *t = NULL;

    folder_make(folder);
    snprintf(path, sizeof path, "%s/file", folder);
    FILE *f = fopen(path, "w");

    ck_assert_ptr_nonnull(f);
    fputs("# four hosts\nnode:4\n  rank:4 rail:4@100Mbit\n", f);
    fflush(f);
    t = test_topo_parse(path);
    ck_assert_int_eq(t->nranks, 16);
    topo_free(t);
    fputs("\nraill:4\n", f);
    fflush(f);
    ck_assert_int_lt(topo_parse(path, 0, &t, why, sizeof why), 0);
    snprintf(expected, sizeof expected, "%s:5: raill:4: no such word; the nearest is rail", path);
    ck_assert_str_eq(why, expected);
    rewind(f);
    ck_assert_int_eq(ftruncate(fileno(f), 0), 0);
    ck_assert_int_eq((int)fwrite("node:2\n\0node:3", 1, 14, f), 14);
    fclose(f);
    ck_assert_int_lt(topo_parse(path, 0, &t, why, sizeof why), 0);
    snprintf(expected, sizeof expected, "%s:2: ", path);
    ck_assert_msg(!strncmp(why, expected, strlen(expected)) && strstr(why, "NUL"), "%s", why);
}
END_TEST

START_TEST(test_topo__from_reports)
{
    struct topo_report report[7] = {
        {.node_key = 900, .socket = 1, .gpu = 3},
        {.node_key = 5, .gpu = -1},
        {.node_key = 900, .socket = -1, .gpu = -7},
        {.node_key = ~0ull, .gpu = 0},
        {.node_key = 5, .gpu = 1},
        {.node_key = 900, .gpu = 0},
        {.node_key = 5, .gpu = 2},
    };
    static const int node[] = {0, 1, 0, 2, 1, 0, 1}, local[] = {0, 0, 1, 0, 1, 2, 2};
    struct topo *t = NULL;

    ck_assert_int_eq(topo_from_reports(report, 0, 0, &t), -22);
    ck_assert_int_eq(topo_from_reports(report, 7, 0, &t), 0);
    assert_topo_valid(t);
    ck_assert_int_eq(t->nnodes, 3);
    ck_assert_int_eq(t->nrails, 3);
    for (int r = 0; r < 7; r++) {
        ck_assert_int_eq(t->rank[r].node, node[r]);
        ck_assert_int_eq(t->rank[r].local, local[r]);
        ck_assert_int_eq(t->rank[r].rail, local[r]);
    }
    ck_assert_int_eq(t->rank[0].socket, 1);
    ck_assert_int_eq(t->rank[2].socket, 0);
    static const int gpu[] = {1, -1, -1, 0, 0, 0, 1}; /* as the numbers of a node are ordered */
    for (int r = 0; r < 7; r++)
        ck_assert_int_eq(t->rank[r].gpu, gpu[r]);
    assert_round_trip(t, 0);
    topo_free(t);
    ck_assert_int_eq(topo_from_reports(report, 7, 2, &t), 0);
    ck_assert_int_eq(t->nrails, 2);
    ck_assert_int_eq(t->rank[5].rail, 0);
    topo_free(t);
}
END_TEST

START_TEST(test_topo__restrict)
{
    struct topo *t = test_topo_parse("node:3 socket:2 gpu:2 rail:4@100Mbit link_shm:10GB/s"),
                *part = NULL;
    const int member[] = {11, 2, 9, 3};

    ck_assert_int_eq(topo_restrict(t, member, 0, &part), -22);
    ck_assert_int_eq(topo_restrict(t, (int[]){0, 12}, 2, &part), -22);
    ck_assert_int_eq(topo_restrict(t, (int[]){-1}, 1, &part), -22);
    ck_assert_int_eq(topo_restrict(t, member, 4, &part), 0);
    assert_topo_valid(part);
    ck_assert_int_eq(part->nnodes, 2);
    ck_assert_int_eq(part->nrails, 4);
    ck_assert_int_eq(part->rank[0].node, 0);
    ck_assert_int_eq(part->rank[0].local, 0);
    ck_assert_int_eq(part->rank[0].gpu, 3);
    ck_assert_int_eq(part->rank[0].rail, 3);
    ck_assert_int_eq(part->rank[2].local, 1);
    ck_assert_int_eq(part->rank[2].rail, 1);
    ck_assert_double_eq(part->rail[3].bw_bytes_per_s, 12500000);
    ck_assert_double_eq(part->link[TOPO_LINK_SHM].bw_bytes_per_s, 1e10);
    assert_round_trip(part, 0);
    topo_free(part);
    topo_free(t);
}
END_TEST

START_TEST(test_topo__hash_sees_every_field)
{
    struct topo *t = test_topo_parse(
        "node:2 socket:2 gpu:2 rail:4@100Mbit rail_rate:1.2@50Mbit latency_rail:1us "
        "link_rate:1.shm@1GB/s");
    uint64_t hash = topo_hash(t);

#define CHANGED(field, value)                                                                      \
    do {                                                                                           \
        __typeof__(field) old = (field);                                                           \
        (field) = (value);                                                                         \
        ck_assert_msg(topo_hash(t) != hash, "the hash does not see " #field);                      \
        (field) = old;                                                                             \
        ck_assert_uint_eq(topo_hash(t), hash);                                                     \
    } while (0)
    CHANGED(t->rank[3].node, 1);
    CHANGED(t->rank[3].socket, 0);
    CHANGED(t->rank[3].gpu, -1);
    CHANGED(t->rank[3].rail, -1);
    CHANGED(t->rail[1].bw_bytes_per_s, 1);
    CHANGED(t->rail[1].latency_ns, 1);
    CHANGED(t->rate[5], 1);
    CHANGED(t->link_rate[1], 1);
    CHANGED(t->link[TOPO_LINK_PCIE].bw_bytes_per_s, 1);
    CHANGED(t->link[TOPO_LINK_SOCKET].latency_ns, 1);
    CHANGED(t->nranks, 7);
    CHANGED(t->nrails, 3);
#undef CHANGED
    topo_free(t);
}
END_TEST

START_TEST(test_topo__rates_are_the_same_in_every_locale)
{
    const char *locales[] = {"C", "de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", ""};

    for (size_t i = 0; i < sizeof locales / sizeof *locales; i++) {
        char text[TOPO_RATE_TEXT];
        const char *at = "1.5us";
        double ns;

        setlocale(LC_ALL, locales[i]);
        ck_assert_int_eq(topo_read_time(&at, &ns), 0);
        ck_assert_double_eq(ns, 1500);
        topo_print_rate(1.2345678e9 / 7, text, sizeof text);
        ck_assert_ptr_null(strchr(text, ','));
        ck_assert_ptr_nonnull(strchr(text, '.'));
    }
    setlocale(LC_ALL, "C");
}
END_TEST

START_TEST(test_topo__rates_print_short)
{
    static const struct {
        double rate;
        const char *bits, *bytes;
    } cases[] = {
        {12.5e6, "100Mbit", "12.5MB/s"},
        {11.95e6, "95.6Mbit", "11.95MB/s"},
        {125e6, "1Gbit", "125MB/s"},
        {5e9, "40Gbit", "5GB/s"},
        {25e9, "200Gbit", "25GB/s"},
        {100e9, "800Gbit", "100GB/s"},
        {1, "1B/s", "1B/s"},
        {0, "0", "0"},
    };
    char text[TOPO_RATE_TEXT];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        topo_print_bit_rate(cases[i].rate, text, sizeof text);
        ck_assert_str_eq(text, cases[i].bits);
        topo_print_rate(cases[i].rate, text, sizeof text);
        ck_assert_str_eq(text, cases[i].bytes);
    }
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

Suite *suite_topo(void)
{
    Suite *s = suite_create("topo");
    TCase *t = tcase_create("text");

    tcase_add_loop_test(t, test_topo__canonical_text_is_printed_again, 0, COUNT(canonical));
    tcase_add_loop_test(t, test_topo__other_ways_to_write_it, 0, COUNT(equal));
    tcase_add_test(t, test_topo__regular_machine);
    tcase_add_test(t, test_topo__fewer_rails_than_ranks);
    tcase_add_loop_test(t, test_topo__refused_in_one_line, 0, COUNT(refused));
    tcase_add_test(t, test_topo__from_a_file);
    tcase_add_test(t, test_topo__from_reports);
    tcase_add_test(t, test_topo__restrict);
    tcase_add_test(t, test_topo__hash_sees_every_field);
    tcase_add_test(t, test_topo__rates_are_the_same_in_every_locale);
    tcase_add_test(t, test_topo__rates_print_short);
    suite_add_tcase(s, t);

    suite_add_tcase(s, tcase_topo_random());
    return s;
}
