/* SPDX-License-Identifier: BSD-3-Clause */
/* No time, rate or ratio of a benchmark is 0, so 0 in one stands for "not measured" and is written
 * as null; a reader that took a 0 for a time would compute an infinite ratio from it. */
#include "json.h"

#include <errno.h>

static void key(struct json *j, const char *name)
{
    fprintf(j->out, "%s\"%s\":", j->keys++ ? "," : "", name);
}

void json_begin(struct json *j, FILE *out)
{
    j->out = out;
    j->keys = 0;
    fputc('{', out);
}

void json_string(struct json *j, const char *name, const char *value)
{
    key(j, name);
    if (!value) {
        fputs("null", j->out);
        return;
    }
    fputc('"', j->out);
    for (; *value; value++) {
        unsigned char c = (unsigned char)*value;

        if (c == '"' || c == '\\')
            fprintf(j->out, "\\%c", c);
        else if (c < 0x20)
            fprintf(j->out, "\\u%04x", c);
        else
            fputc(c, j->out);
    }
    fputc('"', j->out);
}

void json_integer(struct json *j, const char *name, long long value)
{
    key(j, name);
    fprintf(j->out, "%lld", value);
}

void json_number(struct json *j, const char *name, double value)
{
    key(j, name);
    fprintf(j->out, "%.6g", value);
}

void json_figure(struct json *j, const char *name, double value)
{
    if (value != 0)
        json_number(j, name, value);
    else
        json_string(j, name, NULL);
}

void json_boolean(struct json *j, const char *name, int value)
{
    key(j, name);
    fputs(value ? "true" : "false", j->out);
}

int json_end(struct json *j)
{
    fputs("}\n", j->out);
    return fflush(j->out) || ferror(j->out) ? -EIO : 0;
}
