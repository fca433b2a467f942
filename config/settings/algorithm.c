/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The form of COLLSHIM_ALGORITHM: collective=algorithm pairs with commas between them, where a
 * comma inside parentheses belongs to the recipe. This file does not check the names: the table of
 * algorithms lies above config/, and a process without a planner must be able to read the setting.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config/base/text.h"
#include "config/settings/settings_private.h"

struct pair {
    const char *name, *value;
    size_t name_size, value_size;
};

static int is_name(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (!text_is_letter(text[i]) && text[i] != '_' && !(i && text_is_digit(text[i])))
            return 0;
    return size > 0;
}

/* The end of the pair at text: a comma outside parentheses, or the end of the text. depth: left
   open. */
static const char *pair_end(const char *text, int *depth)
{
    for (*depth = 0; *text; text++) {
        if (*text == ',' && *depth == 0)
            break;
        *depth += (*text == '(') - (*text == ')');
        if (*depth < 0)
            break;
    }
    return text;
}

/* Split the pair at *text and move *text to the next one. Returns 0, or -EINVAL if it is no pair.
 */
static int next_pair(const char **text, struct pair *p, const char **wrong)
{
    int depth;
    const char *end = pair_end(*text, &depth), *equal = memchr(*text, '=', (size_t)(end - *text));

    p->name = *text;
    p->name_size = (size_t)((equal ? equal : end) - *text);
    p->value = equal ? equal + 1 : end;
    p->value_size = (size_t)(end - p->value);
    text_trim(&p->name, &p->name_size);
    text_trim(&p->value, &p->value_size);
    *wrong = depth > 0                                  ? "a `(` is never closed"
             : depth < 0                                ? "a `)` closes nothing"
             : !equal                                   ? "`=` is missing"
             : !is_name(p->name, p->name_size)          ? "the collective's name is not a word"
             : p->value_size == 0                       ? "nothing stands behind `=`"
             : p->value[0] == '(' || p->value[0] == '=' ? "the algorithm's name is missing"
                                                        : NULL;
    if (*wrong)
        return -EINVAL;
    *text = *end ? end + 1 : end;
    return 0;
}

static int is_named_before(const char *text, const struct pair *p)
{
    struct pair earlier;
    const char *wrong;

    while (text < p->name && next_pair(&text, &earlier, &wrong) == 0)
        if (earlier.name < p->name && earlier.name_size == p->name_size &&
            !memcmp(earlier.name, p->name, p->name_size))
            return 1;
    return 0;
}

static int is_blank(const char *text)
{
    while (text_is_blank(*text))
        text++;
    return !*text;
}

int cfg_check_algorithm(const char *text, char *why, size_t why_size)
{
    const char *at = text, *wrong;
    struct pair p;
    char shown[48];

    if (is_blank(text))
        return 0;
    while (*at) {
        const char *begin = at;

        if (next_pair(&at, &p, &wrong) == 0 && is_named_before(text, &p))
            wrong = "that collective is named twice";
        if (wrong) {
            text_show(shown, sizeof shown, begin, strlen(begin));
            snprintf(why, why_size, "%s at `%s`; expected pairs such as %s", wrong, shown,
                     "allgather=parallel_rings,allreduce=native");
            return -EINVAL;
        }
    }
    if (at > text && at[-1] == ',') {
        snprintf(why, why_size, "it ends with a comma");
        return -EINVAL;
    }
    return 0;
}

int cfg_algorithm_for(const struct cfg *c, const char *collective, char *value, size_t size)
{
    const char *at = c->algorithm, *wrong;
    struct pair p;

    while (*at && next_pair(&at, &p, &wrong) == 0)
        if (text_is_word(p.name, p.name_size, collective))
            return snprintf(value, size, "%.*s", (int)p.value_size, p.value);
    return snprintf(value, size, "%s", "");
}

int cfg_algorithm_pair(const struct cfg *c, int index, char *collective, size_t collective_size,
                       char *value, size_t value_size)
{
    const char *at = c->algorithm, *wrong;
    struct pair p;

    while (*at && next_pair(&at, &p, &wrong) == 0) {
        if (index-- > 0)
            continue;
        snprintf(collective, collective_size, "%.*s", (int)p.name_size, p.name);
        snprintf(value, value_size, "%.*s", (int)p.value_size, p.value);
        return 1;
    }
    return 0;
}
