/* SPDX-License-Identifier: BSD-3-Clause */
#include "planners/plan/recipe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The end of a part: the next comma outside parentheses, or the end; NULL if parentheses do not
   match. */
static const char *part_end(const char *s)
{
    int open = 0;

    for (; *s && (*s != ',' || open); s++) {
        open += *s == '(';
        open -= *s == ')';
        if (open < 0)
            return NULL;
    }
    return open ? NULL : s;
}

static int is_word(const char *word, const char *text, size_t length)
{
    return strlen(word) == length && !memcmp(word, text, length);
}

/* Append to a line that holds `used` characters; returns the new number. */
static size_t add(char *line, size_t size, size_t used, const char *word)
{
    int n = used < size ? snprintf(line + used, size - used, "%s", word) : 0;

    return used + (size_t)n;
}

static int unknown_key(const char *part, size_t length, const struct recipe_key *key, int nkeys,
                       char *why, size_t why_size)
{
    size_t used =
        (size_t)snprintf(why, why_size, "'%.*s': no such key; there is ", (int)length, part);

    for (int i = 0; i < nkeys; i++) {
        used = add(why, why_size, used, i ? ", " : "");
        used = add(why, why_size, used, key[i].name);
    }
    return -EINVAL;
}

static int read_word(const struct recipe_key *key, struct recipe_value *v, char *why,
                     size_t why_size)
{
    for (int i = 0; key->words[i]; i++)
        if (is_word(key->words[i], v->text, v->length)) {
            v->number = i;
            return 0;
        }
    size_t used =
        (size_t)snprintf(why, why_size, "%s=%.*s: must be ", key->name, (int)v->length, v->text);
    for (int i = 0; key->words[i]; i++) {
        used = add(why, why_size, used, i ? key->words[i + 1] ? ", " : " or " : "");
        used = add(why, why_size, used, key->words[i]);
    }
    return -EINVAL;
}

static int read_number(const struct recipe_key *key, struct recipe_value *v, char *why,
                       size_t why_size)
{
    long number = 0;
    size_t i = 0;

    for (; i < v->length && v->text[i] >= '0' && v->text[i] <= '9' && number <= key->most; i++)
        number = 10 * number + v->text[i] - '0';
    if (!i || i < v->length || number < key->least || number > key->most) {
        snprintf(why, why_size, "%s=%.*s: must be a whole number from %d to %d", key->name,
                 (int)v->length, v->text, key->least, key->most);
        return -EINVAL;
    }
    v->number = (int)number;
    return 0;
}

static int read_part(const char *part, size_t length, const struct recipe_key *key, int nkeys,
                     struct recipe_value *value, char *why, size_t why_size)
{
    const char *equals = memchr(part, '=', length);
    size_t name = equals ? (size_t)(equals - part) : length;
    int i = 0;

    while (i < nkeys && !is_word(key[i].name, part, name))
        i++;
    if (i == nkeys)
        return unknown_key(part, name, key, nkeys, why, why_size);
    if (!equals || name + 1 == length) {
        snprintf(why, why_size, "'%.*s': must be %s=VALUE", (int)length, part, key[i].name);
        return -EINVAL;
    }
    if (value[i].text) {
        snprintf(why, why_size, "%.*s: %s stands there twice; once will do", (int)length, part,
                 key[i].name);
        return -EINVAL;
    }
    value[i].text = equals + 1;
    value[i].length = length - name - 1;
    if (key[i].words)
        return read_word(&key[i], &value[i], why, why_size);
    return key[i].most > 0 ? read_number(&key[i], &value[i], why, why_size) : 0;
}

int recipe_read(const char *recipe, const struct recipe_key *key, int nkeys,
                struct recipe_value *value, char *why, size_t why_size)
{
    const char *part = recipe ? recipe : "";

    for (int i = 0; i < nkeys; i++)
        value[i].text = NULL;
    while (*part) {
        const char *end = part_end(part);
        int rc;

        if (!end) {
            snprintf(why, why_size, "'%s': parentheses do not match", part);
            return -EINVAL;
        }
        rc = read_part(part, (size_t)(end - part), key, nkeys, value, why, why_size);
        if (rc)
            return rc;
        if (*end == ',' && !end[1]) {
            snprintf(why, why_size, "nothing behind the last comma; take it away");
            return -EINVAL;
        }
        part = *end ? end + 1 : end;
    }
    return 0;
}
