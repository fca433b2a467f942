/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/cli/page/csv.h"

#include <stdlib.h>
#include <string.h>

#include "shim/cli/cli.h"

static json_t *at(json_t *o, const char *path)
{
    char key[64];

    for (size_t n; *path; path += n + (path[n] == '/')) {
        n = strcspn(path, "/");
        snprintf(key, sizeof key, "%.*s", (int)n, path);
        o = json_object_get(o, key);
    }
    return o;
}

/* Members of `from` into the flat object. texts_only: no others. */
static void flatten(json_t *flat, json_t *from, const char *prefix, int texts_only)
{
    const char *key;
    json_t *value;
    char name[512];

    json_object_foreach(from, key, value)
    {
        snprintf(name, sizeof name, "%s%s%s", prefix, *prefix ? "." : "", key);
        if (json_is_object(value) && !texts_only)
            flatten(flat, value, name, 0);
        else if (json_is_string(value) || !texts_only)
            json_object_set(flat, name, value);
    }
}

static void add_rows(json_t *rows, json_t *list, json_t *outer)
{
    json_t *row, *flat;
    const char *key;
    size_t i;

    json_array_foreach(list, i, row)
    {
        flat = json_object();
        flatten(flat, outer, "", 1);
        flatten(flat, row, "", 0);
        json_array_append_new(rows, flat);
    }
    json_object_foreach(list, key, row)
    {
        flat = json_object();
        flatten(flat, outer, "", 1);
        json_object_set_new(flat, "key", json_pack("s", key));
        json_object_set(flat, "value", row);
        json_array_append_new(rows, flat);
    }
}

static void print_text(const char *text)
{
    int quoted = strpbrk(text, ",\"\r\n") != NULL;

    fputs(quoted ? "\"" : "", stdout);
    if (*text && strchr("=+-@", *text))
        putchar('\'');
    for (; *text; text++)
        fputs(*text == '"' ? "\"\"" : (char[2]){*text}, stdout);
    fputs(quoted ? "\"" : "", stdout);
}

static void print_value(json_t *value)
{
    if (json_is_string(value)) {
        print_text(json_string_value(value));
    } else if (value && !json_is_null(value)) {
        char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(12));

        if (json_is_array(value) && text)
            print_text(text);
        else
            fputs(text ? text : "", stdout);
        free(text);
    }
}

static void print_rows(json_t *rows)
{
    json_t *columns = json_object(), *row, *value;
    const char *key;
    size_t i;
    int n = 0;

    json_array_foreach(rows, i, row)
    {
        json_object_update_missing(columns, row);
    }
    json_object_foreach(columns, key, value)
    {
        fputs(n++ ? "," : "", stdout);
        print_text(key);
    }
    fputs(n ? "\r\n" : "", stdout);
    json_array_foreach(rows, i, row)
    {
        n = 0;
        json_object_foreach(columns, key, value)
        {
            fputs(n++ ? "," : "", stdout);
            print_value(json_object_get(row, key));
        }
        fputs("\r\n", stdout);
    }
    json_decref(columns);
}

int csv_print(const char *command, const struct csv_table *tables, const char *name, json_t *root)
{
    const struct csv_table *t = tables;
    char names[256] = "";
    json_t *rows, *row;
    size_t i;

    for (; t->name && strcmp(t->name, name) != 0; t++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", *names ? ", " : "",
                 t->name);
    if (!t->name)
        return cli_usage(command, "--csv: no table '%s'; the tables are %s", name, names);
    rows = json_array();
    if (!t->inner)
        add_rows(rows, at(root, t->list), NULL);
    else
        json_array_foreach(at(root, t->list), i, row)
        {
            add_rows(rows, at(row, t->inner), row);
        }
    print_rows(rows);
    json_decref(rows);
    return CLI_OK;
}
