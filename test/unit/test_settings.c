/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The settings: every form a value may take, every way a value or a file may be
 * wrong, and that each wrong one costs exactly one line and changes nothing.
 * The environment is handed in, so no test depends on the one it runs in; files
 * live in a directory of their own that the fixture removes.
 */
#include <check.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/base/nearest.h"
#include "config/settings/settings.h"
#include "test/unit/folder.h"
#include "test/unit/suites.h"

static struct cfg c;
static char directory[FOLDER_PATH], yaml_path[96], config_variable[128];

static void make_directory(void)
{
    folder_make(directory);
    snprintf(yaml_path, sizeof yaml_path, "%s/settings.yaml", directory);
    snprintf(config_variable, sizeof config_variable, "COLLSHIM_CONFIG=%s", yaml_path);
}

static int load(const char *variable)
{
    char copy[CFG_TEXT_MAX * 4];
    char *environment[] = {copy, NULL};

    snprintf(copy, sizeof copy, "%s", variable);
    return cfg_load(&c, environment);
}

static void write_yaml(const char *text, size_t size)
{
    FILE *f = fopen(yaml_path, "w");

    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(text, 1, size, f), size);
    ck_assert_int_eq(fclose(f), 0);
}

static int load_yaml(const char *text)
{
    write_yaml(text, strlen(text));
    return load(config_variable);
}

static int lines(const char *text)
{
    int n = 0;

    for (; *text; text++)
        n += *text == '\n';
    return n;
}

#define assert_says(part)                                                                          \
    ck_assert_msg(strstr(c.problem, part) != NULL, "no `%s` in: %s", part, c.problem)

/* One problem, one line, and it says this. */
#define assert_one_problem(count, part)                                                            \
    do {                                                                                           \
        ck_assert_int_eq((count), 1);                                                              \
        ck_assert_int_eq(lines(c.problem), 1);                                                     \
        assert_says(part);                                                                         \
    } while (0)

#define assert_no_problem(count) ck_assert_msg((count) == 0, "%s", c.problem)

START_TEST(test_settings__defaults)
{
    char *nothing[] = {NULL};

    assert_no_problem(cfg_load(&c, nothing));
    ck_assert_int_eq(c.mode, CFG_MODE_ON);
    ck_assert_uint_eq(c.min_bytes, 65536);
    ck_assert_int_eq(c.log, CFG_LEVEL_WARN);
    ck_assert_str_eq(c.topology, "");
    for (int id = 0; id < CFG_COUNT; id++)
        ck_assert_int_eq(c.origin[id], CFG_FROM_DEFAULT);
}
END_TEST

START_TEST(test_settings__variable_is_the_field_in_capitals)
{
    for (int id = 0; id < CFG_ALL; id++) {
        const char *variable = cfg_rows[id].variable, *name = cfg_rows[id].name;

        ck_assert_int_eq(strncmp(variable, "COLLSHIM_", 9), 0);
        variable += 9;
        ck_assert_uint_eq(strlen(variable), strlen(name));
        for (int i = 0; name[i]; i++)
            ck_assert_int_eq(variable[i], name[i] == '_' ? '_' : name[i] - 'a' + 'A');
    }
}
END_TEST

/* A value that cfg_value_text prints is read again as the same value, for every row's default. */
START_TEST(test_settings__printed_value_reads_back)
{
    char text[CFG_TEXT_MAX], again[CFG_TEXT_MAX], variable[CFG_TEXT_MAX + 64];
    char *nothing[] = {NULL};

    for (int id = 0; id < CFG_COUNT; id++) {
        cfg_load(&c, nothing);
        ck_assert_int_lt(cfg_value_text(&c, id, text, sizeof text), (int)sizeof text);
        snprintf(variable, sizeof variable, "%s=%s", cfg_rows[id].variable, text);
        assert_no_problem(load(variable));
        cfg_value_text(&c, id, again, sizeof again);
        ck_assert_str_eq(again, text);
    }
}
END_TEST

static const struct {
    const char *text;
    size_t bytes;
} sizes[] = {
    {"0", 0},          {"1", 1},         {"65536", 65536},  {"64K", 65536},
    {"64k", 65536},    {"64KiB", 65536}, {"64kib", 65536},  {"1M", 1 << 20},
    {"1MiB", 1 << 20}, {"1G", 1 << 30},  {"1GiB", 1 << 30}, {"1T", (size_t)1 << 40},
    {"12B", 12},       {" 64K ", 65536}, {"007", 7},        {"1099511627776", (size_t)1 << 40},
};

START_TEST(test_settings__size)
{
    char variable[128];

    snprintf(variable, sizeof variable, "COLLSHIM_MIN_BYTES=%s", sizes[_i].text);
    assert_no_problem(load(variable));
    ck_assert_uint_eq(c.min_bytes, sizes[_i].bytes);
    ck_assert_int_eq(c.origin[CFG_min_bytes], CFG_FROM_ENVIRONMENT);
}
END_TEST

static const char *const bad_sizes[] = {
    "-1",
    "+1",
    "-0",
    "1.5M",
    "64KB",
    "64 K",
    "0x10",
    "K",
    "abc",
    "1e6",
    "64KiBx",
    "64Ki",
    "1,000",
    "1099511627777",
    "2T",
    "18446744073709551616",
    "99999999999999999999999",
    "17179869184G",
    " ",
    "16777216T",
};

START_TEST(test_settings__bad_size_keeps_the_default)
{
    char variable[128];

    snprintf(variable, sizeof variable, "COLLSHIM_MIN_BYTES=%s", bad_sizes[_i]);
    assert_one_problem(load(variable), variable);
    assert_says("min_bytes stays 64KiB (default)");
    ck_assert_uint_eq(c.min_bytes, 65536);
    ck_assert_int_eq(c.origin[CFG_min_bytes], CFG_FROM_DEFAULT);
}
END_TEST

START_TEST(test_settings__out_of_range_says_the_range)
{
    assert_one_problem(load("COLLSHIM_CHUNK_BYTES=2G"), "expected 0 to 1GiB");
}
END_TEST

static const struct {
    const char *text;
    int value;
} booleans[] = {
    {"0", 0}, {"1", 1}, {"off", 0}, {"on", 1}, {"no", 0}, {"yes", 1}, {"false", 0}, {"TRUE", 1},
};

START_TEST(test_settings__boolean)
{
    char variable[128];

    snprintf(variable, sizeof variable, "COLLSHIM_STRICT=%s", booleans[_i].text);
    assert_no_problem(load(variable));
    ck_assert_int_eq(c.strict, booleans[_i].value);
}
END_TEST

START_TEST(test_settings__words)
{
    assert_no_problem(load("COLLSHIM_MODE=verify"));
    ck_assert_int_eq(c.mode, CFG_MODE_VERIFY);
    assert_no_problem(load("COLLSHIM_LOG=INFO"));
    ck_assert_int_eq(c.log, CFG_LEVEL_INFO);
    assert_one_problem(load("COLLSHIM_MODE=onn"), "expected on, off, ab or verify");
    assert_one_problem(load("COLLSHIM_LOG=2"), "expected error, warn, info or debug");
    assert_one_problem(load("COLLSHIM_STRICT=2"), "expected 0 or 1");
}
END_TEST

/* I and i differ by more than a case in Turkish; words must not care. */
START_TEST(test_settings__locale_does_not_matter)
{
    const char *locales[] = {"tr_TR.UTF-8", "de_DE.UTF-8", ""};

    for (size_t i = 0; i < sizeof locales / sizeof *locales; i++) {
        setlocale(LC_ALL, locales[i]);
        assert_no_problem(load("COLLSHIM_LOG=INFO"));
        ck_assert_int_eq(c.log, CFG_LEVEL_INFO);
    }
    setlocale(LC_ALL, "C");
}
END_TEST

START_TEST(test_settings__empty_variable_counts_as_not_set)
{
    assert_no_problem(load("COLLSHIM_MIN_BYTES="));
    ck_assert_int_eq(c.origin[CFG_min_bytes], CFG_FROM_DEFAULT);
    assert_no_problem(load("COLLSHIM_CONFIG="));
}
END_TEST

START_TEST(test_settings__unknown_variable_names_the_nearest)
{
    assert_one_problem(load("COLLSHIM_ALGORITM=allgather=native"), "COLLSHIM_ALGORITHM");
    assert_one_problem(load("COLLSHIM_MIN_BYTE=1"), "COLLSHIM_MIN_BYTES");
    assert_one_problem(load("COLLSHIM_mode=off"), "COLLSHIM_MODE");
    assert_one_problem(load("COLLSHIM_XYLOPHONE=1"), "collshim info");
    assert_one_problem(load("COLLSHIM_ANY=1"), "collshim info");
    assert_one_problem(load("COLLSHIM_=1"), "collshim info");
    ck_assert_int_eq(c.mode, CFG_MODE_ON);
}
END_TEST

START_TEST(test_settings__tools_names_are_not_unknown)
{
    assert_no_problem(load("COLLSHIM_FABRIC_RATE=100Mbit"));
    assert_no_problem(load("COLLSHIM_BENCH=1"));
    assert_no_problem(load("COLLSHIMX=1"));
    assert_no_problem(load("PATH=/bin"));
    assert_no_problem(load("COLLSHIM_MODE")); /* no `=`: not a variable at all */
}
END_TEST

START_TEST(test_settings__first_of_two_equal_variables_counts)
{
    char *environment[] = {"COLLSHIM_MODE=off", "COLLSHIM_MODE=ab", NULL};

    assert_no_problem(cfg_load(&c, environment));
    ck_assert_int_eq(c.mode, CFG_MODE_OFF);
}
END_TEST

START_TEST(test_settings__long_text_is_refused_not_cut)
{
    char variable[CFG_TEXT_MAX + 64] = "COLLSHIM_TOPOLOGY=";
    size_t n = strlen(variable);

    memset(variable + n, 'x', CFG_TEXT_MAX - 1);
    assert_no_problem(load(variable));
    ck_assert_uint_eq(strlen(c.topology), CFG_TEXT_MAX - 1);
    variable[n + CFG_TEXT_MAX - 1] = 'x';
    assert_one_problem(load(variable), "512 bytes long, at most 511");
    ck_assert_str_eq(c.topology, "");
}
END_TEST

START_TEST(test_settings__control_characters_stay_on_one_line)
{
    assert_one_problem(load("COLLSHIM_MODE=a\nb\033[2J"), "COLLSHIM_MODE=a?b?[2J");
}
END_TEST

START_TEST(test_settings__too_many_problems_are_counted)
{
    static char text[100][32];
    char *environment[101];

    for (int i = 0; i < 100; i++) {
        snprintf(text[i], sizeof text[i], "COLLSHIM_NONSENSE_%d=1", i);
        environment[i] = text[i];
    }
    environment[100] = NULL;
    ck_assert_int_eq(cfg_load(&c, environment), 100);
    ck_assert_int_eq(c.problems, 100);
    ck_assert_int_lt(lines(c.problem), 100);
    ck_assert_int_gt(lines(c.problem), 10);
    ck_assert_int_eq(c.problem[strlen(c.problem) - 1], '\n');
}
END_TEST

static const char *const good_algorithms[] = {
    "",
    "allgather=parallel_rings",
    "allgather=parallel_rings,allreduce=lane,alltoallv=native",
    " allgather = parallel_rings , allreduce = lane ",
    "bcast=compose(hierarchy=4:4,stripe=4,ring=4,pipeline=16,library=mpi:shm)",
    "bcast=compose(a=(1,2),b=3),reduce=x",
};

START_TEST(test_settings__algorithm_of_good_form)
{
    char variable[256];

    snprintf(variable, sizeof variable, "COLLSHIM_ALGORITHM=%s", good_algorithms[_i]);
    assert_no_problem(load(variable));
    ck_assert_str_eq(c.algorithm, good_algorithms[_i]);
}
END_TEST

static const char *const bad_algorithms[][2] = {
    {"parallel_rings", "`=` is missing"},
    {"allgather=", "nothing stands behind"},
    {"=parallel_rings", "not a word"},
    {"all gather=x", "not a word"},
    {"allgather=x,", "ends with a comma"},
    {",allgather=x", "`=` is missing"},
    {"allgather=x,,bcast=y", "`=` is missing"},
    {"bcast=compose(a=1", "never closed"},
    {"bcast=compose(a=1))", "closes nothing"},
    {"bcast=)(", "closes nothing"},
    {"bcast=(a)", "name is missing"},
    {"bcast==x", "name is missing"},
    {"bcast=x,allgather=y,bcast=z", "named twice"},
};

START_TEST(test_settings__algorithm_of_bad_form)
{
    char variable[256];

    snprintf(variable, sizeof variable, "COLLSHIM_ALGORITHM=%s", bad_algorithms[_i][0]);
    assert_one_problem(load(variable), bad_algorithms[_i][1]);
    ck_assert_str_eq(c.algorithm, "");
}
END_TEST

START_TEST(test_settings__algorithm_for_a_collective)
{
    char value[64], small[4];

    load("COLLSHIM_ALGORITHM= allgather = rings ,bcast=compose(a=1,b=(2,3)),reduce=native");
    ck_assert_int_eq(cfg_algorithm_for(&c, "allgather", value, sizeof value), 5);
    ck_assert_str_eq(value, "rings");
    ck_assert_int_eq(cfg_algorithm_for(&c, "bcast", value, sizeof value), 20);
    ck_assert_str_eq(value, "compose(a=1,b=(2,3))");
    ck_assert_int_eq(cfg_algorithm_for(&c, "reduce", small, sizeof small), 6);
    ck_assert_str_eq(small, "nat");
    ck_assert_int_eq(cfg_algorithm_pair(&c, 1, small, sizeof small, value, sizeof value), 1);
    ck_assert_str_eq(small, "bca");
    ck_assert_str_eq(value, "compose(a=1,b=(2,3))");
    ck_assert_int_eq(cfg_algorithm_pair(&c, 3, small, sizeof small, value, sizeof value), 0);
    ck_assert_int_eq(cfg_algorithm_for(&c, "a", value, sizeof value), 0);
    ck_assert_str_eq(value, "");
}
END_TEST

START_TEST(test_yaml__values_and_types)
{
    assert_no_problem(load_yaml("# a comment\n"
                                "mode: off\n"
                                "min_bytes: 1M\n"
                                "chunk_bytes: \"256KiB\"\n"
                                "strict: yes\n"
                                "algorithm: allgather=parallel_rings, allreduce=native\n"
                                "topology: |\n"
                                "  node:4 socket:2\n"
                                "  gpu:2 rail:4\n"
                                "report: \"\"\n"));
    ck_assert_int_eq(c.mode, CFG_MODE_OFF);
    ck_assert_uint_eq(c.min_bytes, 1 << 20);
    ck_assert_uint_eq(c.chunk_bytes, 256 << 10);
    ck_assert_int_eq(c.strict, 1);
    ck_assert_str_eq(c.topology, "node:4 socket:2\ngpu:2 rail:4\n");
    ck_assert_int_eq(c.origin[CFG_mode], CFG_FROM_FILE);
    ck_assert_int_eq(c.origin[CFG_config], CFG_FROM_ENVIRONMENT);
    ck_assert_int_eq(c.origin[CFG_log], CFG_FROM_DEFAULT);
    assert_no_problem(load_yaml("mode: on\n"));
    ck_assert_int_eq(c.mode, CFG_MODE_ON);
}
END_TEST

START_TEST(test_yaml__environment_overrides_the_file)
{
    char *environment[] = {"COLLSHIM_MODE=ab", config_variable, "COLLSHIM_MIN_BYTES=junk",
                           "COLLSHIM_REPORT=", NULL};

    write_yaml("mode: off\nmin_bytes: 5\nreport: r.json\n", 38);
    assert_one_problem(cfg_load(&c, environment), "min_bytes stays 5 (file)");
    ck_assert_int_eq(c.mode, CFG_MODE_AB);
    ck_assert_int_eq(c.origin[CFG_mode], CFG_FROM_ENVIRONMENT);
    ck_assert_uint_eq(c.min_bytes, 5);
    ck_assert_str_eq(c.report, "");
}
END_TEST

static const struct {
    const char *yaml;
    const char *says; /* behind FILE */
} bad_yaml[] = {
    {"", ":1: empty"},
    {"# only a comment\n", ":1: empty"},
    {"---\n...\n", ":1: empty"},
    {"- mode\n- off\n", ":1: expected lines such as `mode: on`, found a list"},
    {"mode\n", ":1: expected lines such as `mode: on`, found a single value"},
    {"mode: [on]\n", ":1: mode: expected one value, found a list"},
    {"\nmode:\n  a: b\n", ":2: mode: expected one value, found a mapping"},
    {"[mode]: on\n", ":1: expected the name of a setting, found a list"},
    {"mode:\n", ":1: mode: no value"},
    {"mode: ~\n", ":1: mode: no value"},
    {"log: info\nmin_bytes: -4\n", ":2: min_bytes: -4: expected a size"},
    {"log: info\nmin_byte: 4\n", ":2: min_byte: no such setting; the nearest is min_bytes"},
    {"collective:\n  a: b\n", ":1: collective: no such setting; `collshim info`"},
    {"mode: off\nlog: info\nmode: ab\n", ":3: mode: already given on line 1, which stays"},
    {"config: other.yaml\n", ":1: config: a settings file cannot name another"},
    {"mode: off\n---\nmode: ab\n", ":2: a second document"},
    {"algorithm: allgather\n", ":1: algorithm: allgather: `=` is missing"},
    {"report: \"a\\0b\"\n", ":1: report: a?b: expected a text without NUL"},
    {"mode: on\nmin_bytes: [1, 2\n", ":3: not YAML: "},
    {"mode: on\n\tlog: info\n", ":2: not YAML: "},
    {"mode: on\nlog: 'info\n", "not YAML: "},
    {"mode: \xff\xfe\n", ":1: not YAML: "},
    {"log: info\n\nmode: \x01\n", ":3: not YAML: "},
    {"mode: *nowhere\n", ":1: not YAML: "},
    {"mode: on\n---\n*x\n", ":2: a second document"},
};

START_TEST(test_yaml__bad_file_costs_one_line)
{
    char begin[256];

    snprintf(begin, sizeof begin, "%s%s", bad_yaml[_i].says[0] == ':' ? yaml_path : "",
             bad_yaml[_i].says);
    assert_one_problem(load_yaml(bad_yaml[_i].yaml), begin);
    ck_assert_int_eq(strncmp(c.problem, yaml_path, strlen(yaml_path)), 0);
}
END_TEST

START_TEST(test_yaml__file_with_a_syntax_error_changes_nothing)
{
    ck_assert_int_eq(load_yaml("mode: off\nmin_bytes: [1\n"), 1);
    assert_says("; nothing is taken from this file");
    ck_assert_int_eq(c.mode, CFG_MODE_ON);
    ck_assert_int_eq(load_yaml("mode: off\n---\na: [1\n"), 1);
    ck_assert_int_eq(c.mode, CFG_MODE_ON);
}
END_TEST

START_TEST(test_yaml__deep_nesting_is_survived)
{
    static char text[1000000];

    memset(text, '[', sizeof text - 1);
    assert_one_problem(load_yaml(text), ":1: nested too deep");
}
END_TEST

START_TEST(test_yaml__file_that_cannot_be_read)
{
    char variable[CFG_TEXT_MAX];

    assert_one_problem(load("COLLSHIM_CONFIG=/nonexistent/x.yaml"),
                       "/nonexistent/x.yaml: no such file; COLLSHIM_CONFIG must name a readable "
                       "YAML file");
    assert_one_problem(load("COLLSHIM_CONFIG=/dev/zero"), "/dev/zero: not a regular file");
    snprintf(variable, sizeof variable, "COLLSHIM_CONFIG=%s", directory);
    assert_one_problem(load(variable), "a directory, not a file");
    ck_assert_int_eq(mkfifo(yaml_path, 0600), 0);
    assert_one_problem(load(config_variable), "not a regular file"); /* and does not wait */
    unlink(yaml_path);
    if (geteuid() != 0) {
        write_yaml("mode: off\n", 10);
        ck_assert_int_eq(chmod(yaml_path, 0), 0);
        assert_one_problem(load(config_variable), "no permission");
    }
}
END_TEST

START_TEST(test_yaml__huge_file_is_refused)
{
    FILE *f = fopen(yaml_path, "w");

    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(ftruncate(fileno(f), (off_t)1 << 40), 0); /* sparse */
    fclose(f);
    assert_one_problem(load(config_variable), "too large");
}
END_TEST

/* With any bytes in a file, reading it ends and leaves a usable struct. */
START_TEST(test_yaml__random_bytes)
{
    static const char alphabet[] = "mode: on\nlog:\tinfo#[]{}&*!|>'\"%@`,-?~\\0\xc3\xa9\xff";
    char text[80], value[CFG_TEXT_MAX];
    unsigned seed = 20240 + (unsigned)_i;

    srand(seed);
    for (int round = 0; round < 200; round++) {
        size_t n = (size_t)rand() % sizeof text;

        for (size_t i = 0; i < n; i++)
            text[i] = alphabet[(size_t)rand() % (sizeof alphabet - 1)];
        write_yaml(text, n);
        load(config_variable);
        ck_assert_msg(lines(c.problem) == c.problems, "seed %u round %d: %s", seed, round,
                      c.problem);
        for (int id = 0; id < CFG_COUNT; id++)
            cfg_value_text(&c, id, value, sizeof value);
    }
}
END_TEST

START_TEST(test_nearest)
{
    static const struct {
        const char *name, *candidate;
        int offered;
    } cases[] = {
        {"nod", "node", 1},       {"noed", "node", 1},
        {"SOCKETS", "socket", 1}, {"topo", "topology", 1},
        {"x", "rank", 0},         {"", "node", 0},
        {"core", "node", 0},      {"minbytes", "min_bytes", 1},
        {"a", "ab", 0},
    };
    char longest[300];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nearest n = nearest_to(cases[i].name);

        nearest_offer(&n, cases[i].candidate);
        ck_assert_msg((n.best != NULL) == cases[i].offered, "%s", cases[i].name);
    }
    memset(longest, 'n', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    struct nearest n = nearest_to(longest);
    nearest_offer(&n, "node");
    ck_assert_ptr_null(n.best);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

Suite *suite_settings(void)
{
    Suite *s = suite_create("settings");
    TCase *t = tcase_create("environment"), *y = tcase_create("yaml");

    tcase_add_test(t, test_settings__defaults);
    tcase_add_test(t, test_settings__variable_is_the_field_in_capitals);
    tcase_add_test(t, test_settings__printed_value_reads_back);
    tcase_add_loop_test(t, test_settings__size, 0, COUNT(sizes));
    tcase_add_loop_test(t, test_settings__bad_size_keeps_the_default, 0, COUNT(bad_sizes));
    tcase_add_test(t, test_settings__out_of_range_says_the_range);
    tcase_add_loop_test(t, test_settings__boolean, 0, COUNT(booleans));
    tcase_add_test(t, test_settings__words);
    tcase_add_test(t, test_settings__locale_does_not_matter);
    tcase_add_test(t, test_settings__empty_variable_counts_as_not_set);
    tcase_add_test(t, test_settings__unknown_variable_names_the_nearest);
    tcase_add_test(t, test_settings__tools_names_are_not_unknown);
    tcase_add_test(t, test_settings__first_of_two_equal_variables_counts);
    tcase_add_test(t, test_settings__long_text_is_refused_not_cut);
    tcase_add_test(t, test_settings__control_characters_stay_on_one_line);
    tcase_add_test(t, test_settings__too_many_problems_are_counted);
    tcase_add_loop_test(t, test_settings__algorithm_of_good_form, 0, COUNT(good_algorithms));
    tcase_add_loop_test(t, test_settings__algorithm_of_bad_form, 0, COUNT(bad_algorithms));
    tcase_add_test(t, test_settings__algorithm_for_a_collective);
    tcase_add_test(t, test_nearest);
    suite_add_tcase(s, t);

    tcase_add_checked_fixture(y, make_directory, NULL);
    tcase_add_test(y, test_yaml__values_and_types);
    tcase_add_test(y, test_yaml__environment_overrides_the_file);
    tcase_add_loop_test(y, test_yaml__bad_file_costs_one_line, 0, COUNT(bad_yaml));
    tcase_add_test(y, test_yaml__file_with_a_syntax_error_changes_nothing);
    tcase_add_test(y, test_yaml__deep_nesting_is_survived);
    tcase_add_test(y, test_yaml__file_that_cannot_be_read);
    tcase_add_test(y, test_yaml__huge_file_is_refused);
    tcase_add_loop_test(y, test_yaml__random_bytes, 0, 5);
    suite_add_tcase(s, y);
    return s;
}
