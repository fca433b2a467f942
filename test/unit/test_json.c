/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <check.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/json.h"
#include "test/unit/folder.h"
#include "test/unit/suites.h"

static char *written;
static size_t size;

static struct json begin(void)
{
    return json_begin(open_memstream(&written, &size));
}

/* The written bytes are the text. */
static void end(const struct json *j, const char *text)
{
    ck_assert_int_eq(fclose(j->f), 0);
    ck_assert_str_eq(written, text);
    free(written);
}

START_TEST(test_json__is_indented_by_two_and_ends_its_line)
{
    struct json j = begin();

    json_open(&j, NULL, '{');
    json_int(&j, "a", -3);
    json_open(&j, "list", '[');
    json_bool(&j, NULL, 1);
    json_null(&j, NULL);
    json_close(&j, ']');
    json_open(&j, "empty", '{');
    json_close(&j, '}');
    json_close(&j, '}');
    end(&j, "{\n  \"a\": -3,\n  \"list\": [\n    true,\n    null\n  ],\n  \"empty\": {}\n}\n");
}
END_TEST

START_TEST(test_json__a_line_has_no_breaks_and_no_blanks)
{
    struct json j = begin();

    json_open(&j, NULL, '[');
    for (int i = 0; i < 2; i++) {
        json_open(&j, NULL, '{');
        j.line = 1;
        json_int(&j, "i", i);
        json_string(&j, "none", NULL);
        json_close(&j, '}');
        j.line = 0;
    }
    json_close(&j, ']');
    end(&j, "[\n  {\"i\":0,\"none\":null},\n  {\"i\":1,\"none\":null}\n]\n");
}
END_TEST

START_TEST(test_json__strings_may_hold_any_bytes)
{
    static const struct {
        const char *text, *json;
    } cases[] = {
        {"say \"\\\"", "\"say \\\"\\\\\\\"\""},
        {"a\nb\tc\177", "\"a\\nb\\u0009c\\u007f\""},
        {"gr\xc3\xbc\xc3\x9f", "\"gr\xc3\xbc\xc3\x9f\""},
        {"\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\""},
        {"a\xffz", "\"a\\ufffdz\""},
        {"\xc3", "\"\\ufffd\""},
        {"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""}, /* a surrogate */
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct json j = begin();

        json_string(&j, NULL, cases[i].text);
        end(&j, cases[i].json);
    }
}
END_TEST

START_TEST(test_json__numbers_keep_their_bits_or_are_rounded)
{
    static const double exact[] = {0.1, 1.0 / 3, 12345678.9, 5e-324, 1.7976931348623157e308, 1e15};
    struct json j;

    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
        j = begin();
        json_number(&j, NULL, exact[i]);
        fclose(j.f);
        ck_assert(strtod(written, NULL) == exact[i]);
        free(written);
    }
    j = begin();
    json_open(&j, NULL, '[');
    j.line = 1;
    json_number(&j, NULL, 42);
    json_rounded(&j, NULL, 6, 1.0 / 3);
    json_rounded(&j, NULL, 15, 123 / 10.0);
    json_number(&j, NULL, INFINITY);
    json_rounded(&j, NULL, 6, NAN);
    json_known(&j, NULL, 0);
    json_known(&j, NULL, 0.5);
    json_index(&j, NULL, -1);
    json_index(&j, NULL, 0);
    json_close(&j, ']');
    end(&j, "[42,0.333333,12.3,null,null,null,0.5,null,0]\n");
}
END_TEST

/* An MPI program may have called setlocale, and the report is written in its process. */
START_TEST(test_json__a_number_has_a_point_in_every_locale)
{
    char dir[FOLDER_PATH], command[256];
    struct json j = begin();

    folder_make(dir);
    snprintf(command, sizeof command, "localedef -f UTF-8 -i de_DE %s/de_DE.UTF-8 2>/dev/null",
             dir);
    int made = system(command);
    setenv("LOCPATH", dir, 1);
    int comma = setlocale(LC_NUMERIC, "de_DE.UTF-8") && *localeconv()->decimal_point == ',';
    if (made == -1 || !comma) {
        printf("skipped: no locale with a decimal comma\n");
        fclose(j.f);
        free(written);
        return;
    }
    json_number(&j, NULL, -1234.5);
    json_rounded(&j, NULL, 3, 1.25e-9);
    end(&j, "-1234.5,1.25e-09");
}
END_TEST

Suite *suite_json(void)
{
    Suite *s = suite_create("json");
    TCase *t = tcase_create("json");

    tcase_add_test(t, test_json__is_indented_by_two_and_ends_its_line);
    tcase_add_test(t, test_json__a_line_has_no_breaks_and_no_blanks);
    tcase_add_test(t, test_json__strings_may_hold_any_bytes);
    tcase_add_test(t, test_json__numbers_keep_their_bits_or_are_rounded);
    tcase_add_test(t, test_json__a_number_has_a_point_in_every_locale);
    suite_add_tcase(s, t);
    return s;
}
