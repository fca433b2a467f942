/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json_string and json_null are those of config/base/json.h in this program: json_pack stands in.
 *
 * Lists of objects become columns and rows, which takes a third of the bytes. No `<` of a string
 * gets into the file: JSON has another way to write it, and so no string can end the data.
 */
#define _GNU_SOURCE
#include "shim/cli/page/page.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/text.h"
#include "config/base/write_file.h"
#include "shim/cli/cli.h"

/* No table of ours has 50 columns. One with thousands would be rows of nothing. */
enum { MOST_BYTES = 1900000, MOST_ROWS = 4096, MOST_TEXT = 400, MOST_COLUMNS = 100 };

extern const char page_template[];
extern const uint64_t page_template_bytes;
static const char place[] = "@DATA@"; /* in the template */

struct packing {
    size_t most;      /* rows of a list, and members of an object */
    json_t *left_out; /* borrowed; rows by the list's name */
};

static json_t *pack(const struct packing *p, const char *name, json_t *value);

static json_t *pack_text(json_t *value)
{
    char text[MOST_TEXT];

    if (json_string_length(value) < sizeof text)
        return json_incref(value);
    return json_pack(
        "s", text_show(text, sizeof text, json_string_value(value), json_string_length(value)));
}

static json_t *pack_object(const struct packing *p, json_t *value)
{
    json_t *packed = json_object(), *member;
    const char *key;

    json_object_foreach(value, key, member)
    {
        if (json_object_size(packed) < p->most)
            json_object_set_new(packed, key, pack(p, key, member));
    }
    return packed;
}

/* The keys of all rows, in the order in which they come up; empty if a row is no object, or if they
   are too many. */
static json_t *columns_of(json_t *list, size_t n)
{
    json_t *seen = json_object(), *columns = json_array(), *member;
    const char *key;

    for (size_t i = 0; i < n && json_is_object(json_array_get(list, i)); i++)
        json_object_foreach(json_array_get(list, i), key, member)
        {
            if (!json_object_get(seen, key) && !json_object_set_new(seen, key, json_true()))
                json_array_append_new(columns, json_pack("s", key));
        }
    for (size_t i = 0; i < n; i++)
        if (!json_is_object(json_array_get(list, i)) || json_array_size(columns) > MOST_COLUMNS)
            json_array_clear(columns);
    json_decref(seen);
    return columns;
}

static json_t *pack_row(const struct packing *p, json_t *columns, json_t *row)
{
    json_t *packed = json_array(), *column;
    size_t i;

    json_array_foreach(columns, i, column)
    {
        const char *key = json_string_value(column);
        json_t *member = json_object_get(row, key);

        json_array_append_new(packed, member ? pack(p, key, member) : json_pack("n"));
    }
    return packed;
}

static json_t *pack_list(const struct packing *p, const char *name, json_t *value)
{
    size_t all = json_array_size(value), n = all < p->most ? all : p->most;
    json_t *columns = columns_of(value, n), *rows = json_array();
    int is_table = json_array_size(columns) > 0;

    for (size_t i = 0; i < n; i++) {
        json_t *row = json_array_get(value, i);

        json_array_append_new(rows, is_table ? pack_row(p, columns, row) : pack(p, name, row));
    }
    if (all > n) {
        json_t *before = json_object_get(p->left_out, name);
        long long left = json_integer_value(before) + (long long)(all - n);

        json_object_set_new(p->left_out, name, json_integer(left));
    }
    if (is_table)
        return json_pack("{s:o, s:o}", "columns", columns, "rows", rows);
    json_decref(columns);
    return rows;
}

static json_t *pack(const struct packing *p, const char *name, json_t *value)
{
    if (json_is_object(value))
        return pack_object(p, value);
    if (json_is_array(value))
        return pack_list(p, name, value);
    return json_is_string(value) ? pack_text(value) : json_incref(value);
}

static int put_escaped(const char *text, size_t n, void *to)
{
    for (size_t i = 0; i < n; i++)
        fprintf(to, strchr("<>&", text[i]) && text[i] ? "\\u%04x" : "%c", text[i]);
    return ferror(to) ? -1 : 0;
}

/* The data as JSON that may stand in HTML, of lists cut after `most`. The caller frees it. */
static char *data_text(const char *kind, json_t *data, const char *next, size_t most, size_t *size)
{
    struct packing p = {most, json_object()};
    char *text = NULL;
    FILE *f = open_memstream(&text, size);
    json_t *packed = pack(&p, "rows", data);
    json_t *page = json_pack("{s:s, s:s?, s:o, s:o}", "kind", kind, "next", next, "data", packed,
                             "left_out", p.left_out);
    int rc = !f || !page ||
             json_dump_callback(page, put_escaped, f,
                                JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(6));

    if (f && fclose(f))
        rc = -1;
    json_decref(page);
    if (!rc)
        return text;
    free(text);
    return NULL;
}

static const char *content; /* of the file that is being written */

static void print_page(FILE *f)
{
    const char *at = memmem(page_template, page_template_bytes, place, strlen(place));
    size_t before = (size_t)(at - page_template), behind = before + strlen(place);

    fwrite(page_template, 1, before, f);
    fputs(content, f);
    fwrite(page_template + behind, 1, page_template_bytes - behind, f);
}

int page_write(const char *path, const char *kind, json_t *data, const char *next)
{
    size_t size = MOST_BYTES + 1;
    char *text = NULL;
    const char *why;

    for (size_t most = MOST_ROWS; most && size > MOST_BYTES; most /= 2) {
        free(text);
        text = data_text(kind, data, next, most, &size);
        if (!text)
            return cli_fail("out of memory");
    }
    content = text;
    int rc = size > MOST_BYTES ? cli_fail("%s: the report's texts are too long for a page", path)
                               : CLI_OK;
    if (!rc && config_write_file(path, print_page, &why) < 0)
        rc = cli_fail("%s cannot be written: %s", path, why);
    free(text);
    return rc;
}
