/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading and printing a value, by type. Strict on purpose: "64 KB", "1.5M" or
 * "-1" could each be meant in two ways, and a value that was guessed wrong is
 * found only by measuring. Numbers are read by hand because strtoull takes signs
 * and wraps "-1" round to a huge size.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "config/base/text.h"
#include "config/settings/settings_private.h"

/* The first of a word's forms, which '|' divides, is the one that is printed. */
static int form_length(const char *word)
{
    return (int)strcspn(word, "|");
}

static int has_form(const char *word, const char *text, size_t size)
{
    for (;; word++) {
        size_t n = (size_t)form_length(word), i = 0;

        while (i < n && i < size && text_lower(word[i]) == text_lower(text[i]))
            i++;
        if (i == n && i == size)
            return 1;
        word += n;
        if (!*word)
            return 0;
    }
}

static int read_word(const struct cfg_kind *kind, const char *text, size_t size, long long least,
                     long long most, void *value)
{
    (void)least, (void)most;
    text_trim(&text, &size);
    for (int i = 0; kind->words[i]; i++)
        if (has_form(kind->words[i], text, size)) {
            *(int *)value = i;
            return 0;
        }
    return -EINVAL;
}

static int print_word(const struct cfg_kind *kind, const void *value, char *text, size_t size)
{
    const char *word = kind->words[*(const int *)value];

    return snprintf(text, size, "%.*s", form_length(word), word);
}

int cfg_print_expected(const struct cfg_kind *kind, char *text, size_t size)
{
    int n = 0;

    if (kind->expected)
        return snprintf(text, size, "%s", kind->expected);
    for (const char *const *word = kind->words; *word && (size_t)n < size; word++)
        n += snprintf(text + n, size - (size_t)n, "%s%.*s",
                      word == kind->words ? ""
                      : word[1]           ? ", "
                                          : " or ",
                      form_length(*word), *word);
    return n;
}

/* The digits at the start of *text. Returns 0, -EINVAL (there are none) or -ERANGE. */
static int read_digits(const char **text, size_t *size, unsigned long long *value)
{
    unsigned long long sum = 0;
    int code = *size && text_is_digit(**text) ? 0 : -EINVAL;

    for (; *size && text_is_digit(**text); (*text)++, (*size)--)
        if (__builtin_mul_overflow(sum, 10, &sum) ||
            __builtin_add_overflow(sum, (unsigned)(**text - '0'), &sum))
            code = -ERANGE;
    *value = sum;
    return code;
}

static const char *const units[] = {"|B", "KiB|K", "MiB|M", "GiB|G", "TiB|T"};
enum { UNITS = sizeof units / sizeof *units };

/* The power of two that a unit stands for, or -1. */
static int unit_shift(const char *text, size_t size)
{
    for (int i = 0; i < UNITS; i++)
        if (has_form(units[i], text, size))
            return 10 * i;
    return -1;
}

static int read_bytes(const struct cfg_kind *kind, const char *text, size_t size, long long least,
                      long long most, void *value)
{
    unsigned long long bytes;
    int code, shift;

    (void)kind;
    text_trim(&text, &size);
    code = read_digits(&text, &size, &bytes);
    shift = unit_shift(text, size);
    if (code == -EINVAL || shift < 0)
        return -EINVAL;
    if (code || bytes > ULLONG_MAX >> shift)
        return -ERANGE;
    bytes <<= shift;
    if (bytes < (unsigned long long)least || bytes > (unsigned long long)most || bytes > SIZE_MAX)
        return -ERANGE;
    *(size_t *)value = (size_t)bytes;
    return 0;
}

int cfg_print_bytes(unsigned long long bytes, char *text, size_t size)
{
    int unit = 0;

    while (bytes && bytes % 1024 == 0 && unit < UNITS - 1) {
        bytes /= 1024;
        unit++;
    }
    return snprintf(text, size, "%llu%.*s", bytes, form_length(units[unit]), units[unit]);
}

static int print_bytes(const struct cfg_kind *kind, const void *value, char *text, size_t size)
{
    (void)kind;
    return cfg_print_bytes(*(const size_t *)value, text, size);
}

static int read_int(const struct cfg_kind *kind, const char *text, size_t size, long long least,
                    long long most, void *value)
{
    unsigned long long magnitude;
    long long number;
    int negative = 0, code;

    (void)kind;
    text_trim(&text, &size);
    if (size && *text == '-') {
        negative = 1;
        text++;
        size--;
    }
    code = read_digits(&text, &size, &magnitude);
    if (code == -EINVAL || size)
        return -EINVAL;
    if (code || magnitude > INT_MAX)
        return -ERANGE;
    number = negative ? -(long long)magnitude : (long long)magnitude;
    if (number < least || number > most)
        return -ERANGE;
    *(int *)value = (int)number;
    return 0;
}

static int print_int(const struct cfg_kind *kind, const void *value, char *text, size_t size)
{
    (void)kind;
    return snprintf(text, size, "%d", *(const int *)value);
}

static const struct {
    const char *unit;
    int seconds;
} durations[] = {{"|s", 1}, {"m", 60}, {"h", 3600}};
enum { DURATIONS = sizeof durations / sizeof *durations };

static int read_seconds(const struct cfg_kind *kind, const char *text, size_t size, long long least,
                        long long most, void *value)
{
    unsigned long long number;
    int code, i = 0;

    (void)kind;
    text_trim(&text, &size);
    code = read_digits(&text, &size, &number);
    while (i < DURATIONS && !has_form(durations[i].unit, text, size))
        i++;
    if (code == -EINVAL || i == DURATIONS)
        return -EINVAL;
    if (code || __builtin_mul_overflow(number, (unsigned)durations[i].seconds, &number) ||
        number < (unsigned long long)least || number > (unsigned long long)most)
        return -ERANGE;
    *(int *)value = (int)number;
    return 0;
}

static int print_seconds(const struct cfg_kind *kind, const void *value, char *text, size_t size)
{
    (void)kind;
    return snprintf(text, size, "%ds", *(const int *)value);
}

static int read_text(const struct cfg_kind *kind, const char *text, size_t size, long long least,
                     long long most, void *value)
{
    (void)kind, (void)least, (void)most;
    if (memchr(text, 0, size))
        return -EINVAL;
    if (size >= CFG_TEXT_MAX)
        return -ENAMETOOLONG;
    memcpy(value, text, size);
    ((char *)value)[size] = 0;
    return 0;
}

static int print_text(const struct cfg_kind *kind, const void *value, char *text, size_t size)
{
    (void)kind;
    return snprintf(text, size, "%s", (const char *)value);
}

#define WORDS(type, name_, ...)                                                                    \
    const struct cfg_kind cfg_kind_##type = {.name = name_,                                        \
                                             .read = read_word,                                    \
                                             .print = print_word,                                  \
                                             .words = (const char *const[]){__VA_ARGS__, NULL}};
#include "config/settings/settings.def"
const struct cfg_kind cfg_kind_BOOL = {
    .name = "bool",
    .expected = "0 or 1 (or off/on, no/yes, false/true)",
    .read = read_word,
    .print = print_word,
    .words = (const char *const[]){"0|off|no|false", "1|on|yes|true", NULL}};
const struct cfg_kind cfg_kind_BYTES = {.name = "bytes",
                                        .expected = "a size such as 65536, 64K or 1MiB",
                                        .read = read_bytes,
                                        .print = print_bytes};
const struct cfg_kind cfg_kind_INT = {
    .name = "int", .expected = "a whole number", .read = read_int, .print = print_int};
const struct cfg_kind cfg_kind_SECONDS = {.name = "seconds",
                                          .expected = "a time such as 60s, 5m or 1h",
                                          .read = read_seconds,
                                          .print = print_seconds};
const struct cfg_kind cfg_kind_TEXT = {
    .name = "text", .expected = "a text without NUL bytes", .read = read_text, .print = print_text};

int cfg_parse_bytes(const char *text, size_t *bytes)
{
    return read_bytes(&cfg_kind_BYTES, text, strlen(text), 0, LLONG_MAX, bytes);
}
