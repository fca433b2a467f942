/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/text.h"

/* Characters that a terminal would obey are escaped, since a person may look at them. */
static void put_string(FILE *f, const char *text)
{
    size_t left = strlen(text);

    fputc('"', f);
    while (left) {
        unsigned code;
        int n = text_character(text, left, &code);

        if (n == 0)
            fputs("\\ufffd", f);
        else if (*text == '"' || *text == '\\')
            fprintf(f, "\\%c", *text);
        else if (*text == '\n')
            fputs("\\n", f);
        else if (text_is_control(code)) /* none needs more than four digits */
            fprintf(f, "\\u%04x", code);
        else
            fprintf(f, "%.*s", n, text);
        text += n ? n : 1;
        left -= n ? (size_t)n : 1;
    }
    fputc('"', f);
}

static void break_line(const struct json *j)
{
    if (!j->line)
        fprintf(j->f, "\n%*s", 2 * j->depth, "");
}

/* The text before a value: comma, line break, indentation, key. */
static void put_key(struct json *j, const char *key)
{
    if (!j->first)
        fputc(',', j->f);
    if (j->depth)
        break_line(j);
    j->first = 0;
    if (!key)
        return;
    put_string(j->f, key);
    fputs(j->line ? ":" : ": ", j->f);
}

struct json json_begin(FILE *f)
{
    return (struct json){.f = f, .first = 1};
}

void json_open(struct json *j, const char *key, char bracket)
{
    put_key(j, key);
    fputc(bracket, j->f);
    j->depth++;
    j->first = 1;
}

void json_close(struct json *j, char bracket)
{
    j->depth--;
    if (!j->first)
        break_line(j);
    fputc(bracket, j->f);
    j->first = 0;
    if (j->depth == 0)
        fputc('\n', j->f);
}

void json_string(struct json *j, const char *key, const char *value)
{
    if (!value) {
        json_null(j, key);
        return;
    }
    put_key(j, key);
    put_string(j->f, value);
}

void json_int(struct json *j, const char *key, long long value)
{
    put_key(j, key);
    fprintf(j->f, "%lld", value);
}

void json_bool(struct json *j, const char *key, int value)
{
    put_key(j, key);
    fputs(value ? "true" : "false", j->f);
}

void json_number(struct json *j, const char *key, double value)
{
    char text[64];

    snprintf(text, sizeof text, "%.15g", value);
    json_rounded(j, key, strtod(text, NULL) == value ? 15 : 17, value);
}

/* The locale is the application's: its decimal point may be a comma, or several bytes. */
void json_rounded(struct json *j, const char *key, int digits, double value)
{
    static const char numeric[] = "0123456789+-e";
    char text[64];

    if (!isfinite(value)) {
        json_null(j, key);
        return;
    }
    put_key(j, key);
    snprintf(text, sizeof text, "%.*g", digits, value);
    size_t whole = strspn(text, numeric);
    fprintf(j->f, "%.*s", (int)whole, text);
    if (text[whole])
        fprintf(j->f, ".%s", text + whole + strcspn(text + whole, numeric));
}

void json_known(struct json *j, const char *key, double value)
{
    json_number(j, key, value != 0 ? value : NAN);
}

void json_index(struct json *j, const char *key, int value)
{
    if (value < 0)
        json_null(j, key);
    else
        json_int(j, key, value);
}

void json_null(struct json *j, const char *key)
{
    put_key(j, key);
    fputs("null", j->f);
}
