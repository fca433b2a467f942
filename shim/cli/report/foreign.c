/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/cli/report/foreign.h"

#include <stdlib.h>
#include <string.h>

#include "config/base/text.h"

static void clean_string(json_t *string)
{
    char *clean = strdup(json_string_value(string));

    json_string_set(string, clean ? text_clean(clean) : "");
    free(clean);
}

/* The order stays. */
static void clean_keys(json_t *object)
{
    json_t *copy = json_object(), *value;
    const char *key;

    json_object_foreach(object, key, value)
    {
        char *clean = strdup(key);

        if (clean)
            json_object_set(copy, text_clean(clean), value);
        free(clean);
    }
    json_object_clear(object);
    json_object_update(object, copy);
    json_decref(copy);
}

static void clean_object(json_t *object)
{
    const char *key;
    json_t *value;
    int is_clean = 1;

    json_object_foreach(object, key, value)
    {
        char *clean = strdup(key);

        is_clean &= clean && !strcmp(text_clean(clean), key);
        free(clean);
        foreign_clean(value);
    }
    if (!is_clean)
        clean_keys(object);
}

void foreign_clean(json_t *value)
{
    json_t *item;
    size_t i;

    if (json_is_string(value))
        clean_string(value);
    else if (json_is_object(value))
        clean_object(value);
    json_array_foreach(value, i, item)
    {
        foreign_clean(item);
    }
}
