/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How many bytes the UTF-8 character at c has, 0 if there is no such character. */
static int utf8_length(const unsigned char *c)
{
    static const struct {
        unsigned char first, last, least, most; /* of the first byte; of the second one */
        int length;
    } forms[] = {
        {0x01, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };

    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (*c < forms[i].first || *c > forms[i].last)
            continue;
        if (forms[i].length > 1 && (c[1] < forms[i].least || c[1] > forms[i].most))
            return 0;
        for (int n = 2; n < forms[i].length; n++)
            if ((c[n] & 0xc0) != 0x80)
                return 0;
        return forms[i].length;
    }
    return 0;
}

static void put_string(FILE *f, const char *text)
{
    const unsigned char *c = (const unsigned char *)text;

    fputc('"', f);
    while (*c) {
        int n = utf8_length(c);

        if (n == 0)
            fputs("\\ufffd", f);
        else if (*c == '"' || *c == '\\')
            fprintf(f, "\\%c", *c);
        else if (*c == '\n')
            fputs("\\n", f);
        else if (*c < ' ' || *c == 127)
            fprintf(f, "\\u%04x", *c);
        else
            fprintf(f, "%.*s", n, (const char *)c);
        c += n ? n : 1;
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
