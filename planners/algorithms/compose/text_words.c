/* SPDX-License-Identifier: BSD-3-Clause */
/* From characters to words and signs. Blanks, comments and machine(...) are no words. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/text.h"
#include "planners/algorithms/compose/text_parts.h"

int text_wrong(const struct text *t, uint32_t token, char *why, size_t why_size, const char *format,
               ...)
{
    uint32_t line = 1, start = 0, at = t->token[token].at;
    va_list arguments;

    for (uint32_t i = 0; i < at; i++)
        if (t->content[i] == '\n') {
            line++;
            start = i + 1;
        }
    int n = snprintf(why, why_size, "%s:%u:%u: ", t->name, line, at - start + 1);
    va_start(arguments, format);
    if (n >= 0 && (size_t)n < why_size)
        vsnprintf(why + n, why_size - (size_t)n, format, arguments);
    va_end(arguments);
    return -EINVAL;
}

static uint32_t skip_blanks(const struct text *t, uint32_t at)
{
    while (t->content[at] && (text_is_blank(t->content[at]) || t->content[at] == '#'))
        at += t->content[at] == '#' ? (uint32_t)strcspn(t->content + at, "\n") : 1;
    return at;
}

/* machine(...): what stands in parentheses, without blanks. Returns where the text goes on, or 0.
 */
static uint32_t read_machine(struct text *t, uint32_t at, char *why, size_t why_size)
{
    size_t n = 0;

    t->machine_token = t->ntokens;
    at = skip_blanks(t, at);
    if (t->content[at] != '(' || t->machine[0]) {
        text_wrong(t, t->ntokens, why, why_size,
                   "machine(hierarchy=...,stripe=...,ring=...) stands once");
        return 0;
    }
    for (at = skip_blanks(t, at + 1);
         t->content[at] && t->content[at] != ')' && n < sizeof t->machine - 1;
         at = skip_blanks(t, at + 1))
        t->machine[n++] = t->content[at];
    t->machine[n] = 0;
    if (t->content[at] == ')')
        return at + 1;
    text_wrong(t, t->ntokens, why, why_size, "machine( has no ')' within %zu characters",
               sizeof t->machine);
    return 0;
}

/* The token at that place. Returns where the text goes on, or 0 with a line in why. */
static uint32_t read_token(struct text *t, uint32_t at, char *why, size_t why_size)
{
    static const char signs[] = "(){};,+-*/%=:";
    struct text_token *k = &t->token[t->ntokens];
    const char *c = t->content + at;
    uint32_t n = 0;

    *k = (struct text_token){.at = at};
    if (text_is_digit(*c)) {
        for (k->kind = 'n'; text_is_digit(c[n]) && k->length < 100000000; n++)
            k->length = 10 * k->length + (uint32_t)(c[n] - '0');
        if (!text_is_digit(c[n]))
            return at + n;
        text_wrong(t, t->ntokens, why, why_size, "the number is too large");
        return 0;
    }
    while (text_is_letter(c[n]) || c[n] == '_' || (n && text_is_digit(c[n])))
        n++;
    if (n == strlen("machine") && !memcmp(c, "machine", n)) {
        at = read_machine(t, at + n, why, why_size);
        k->kind = ';';
        return at;
    }
    k->kind = n ? 'a' : !memcmp(c, "..", 2) ? '.' : !memcmp(c, "->", 2) ? '>' : *c;
    k->length = n ? n : k->kind == '.' || k->kind == '>' ? 2 : 1;
    if (n || k->length == 2 || (k->kind && strchr(signs, k->kind)))
        return at + k->length;
    text_wrong(t, t->ntokens, why, why_size, "a character that has no meaning here");
    return 0;
}

int text_read_words(struct text *t, char *why, size_t why_size)
{
    size_t room = 0;

    for (uint32_t at = skip_blanks(t, 0);; at = skip_blanks(t, at)) {
        if (t->ntokens == room) {
            struct text_token *more = realloc(t->token, (room = 2 * room + 64) * sizeof *more);

            if (!more)
                return -ENOMEM;
            t->token = more;
        }
        t->token[t->ntokens] = (struct text_token){.at = at};
        if (at == t->size) {
            t->ntokens++;
            return 0;
        }
        at = read_token(t, at, why, why_size);
        if (!at)
            return -EINVAL;
        t->ntokens++;
    }
}
