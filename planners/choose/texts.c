/* SPDX-License-Identifier: BSD-3-Clause */
#include "planners/choose/texts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/read_file.h"
#include "config/settings/settings.h"
#include "planners/algorithms/compose/text.h"

int texts_is(const char *name)
{
    size_t n = strlen(plan_text.name);

    return !strncmp(name, plan_text.name, n) && (!name[n] || name[n] == ':' || name[n] == '(');
}

/* The hash behind the last '@' of a path, which is cut there; or NULL. */
static const char *cut_hash(char *path)
{
    enum { DIGITS = 16 };
    char *at = strrchr(path, '@');

    if (!at || strspn(at + 1, "0123456789abcdef") != DIGITS || at[1 + DIGITS])
        return NULL;
    *at = 0;
    return at + 1;
}

const struct plan_algorithm *texts_open(enum plan_collective c, const char *name, char *recipe,
                                        size_t recipe_size, char *why, size_t why_size)
{
    char path[CFG_TEXT_MAX], *content;
    size_t n = strlen(plan_text.name), size;
    const char *hash, *wrong;

    snprintf(recipe, recipe_size, "%s", "");
    snprintf(path, sizeof path, "%s", name[n] ? name + n + 1 : "");
    if (name[n] == '(' && path[0] && path[strlen(path) - 1] == ')')
        path[strlen(path) - 1] = 0;
    hash = cut_hash(path);
    if (!path[0] || !(plan_text.collectives & 1u << c)) {
        snprintf(why, why_size,
                 path[0] ? "text does not serve %s" : "text takes a file, as in %s=text:FILE",
                 plan_collective_name(c));
        return NULL;
    }
    if (config_read_file(path, TEXT_MOST_BYTES, &content, &size, &wrong) < 0) {
        snprintf(why, why_size, "%s: %s; a text has at most %d bytes", path, wrong,
                 TEXT_MOST_BYTES);
        return NULL;
    }
    int rc = text_keep(path, content, size, hash, recipe, recipe_size, why, why_size);
    free(content);
    return rc ? NULL : &plan_text;
}
