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

#include "config/settings_private.h"
#include "config/text.h"

struct cfg_word {
    const char *name;
    int value;
};

/* The first row of a value is the one that is printed. */
static const struct cfg_word modes[] = {
    {"on", CFG_MODE_ON},
    {"off", CFG_MODE_OFF},
    {"ab", CFG_MODE_AB},
    {"verify", CFG_MODE_VERIFY},
    {0},
};
static const struct cfg_word shm[] = {
    {"on", CFG_SHM_ON},
    {"copy", CFG_SHM_COPY},
    {"off", CFG_SHM_OFF},
    {0},
};
static const struct cfg_word levels[] = {
    {"error", CFG_LEVEL_ERROR}, {"warn", CFG_LEVEL_WARN},    {"info", CFG_LEVEL_INFO},
    {"debug", CFG_LEVEL_DEBUG}, {"warning", CFG_LEVEL_WARN}, {0},
};
static const struct cfg_word booleans[] = {
    {"0", 0},   {"1", 1},     {"off", 0},  {"on", 1}, {"no", 0},
    {"yes", 1}, {"false", 0}, {"true", 1}, {0},
};
static const struct cfg_word units[] = {
    {"", 0},     {"B", 0},  {"KiB", 10}, {"K", 10}, {"MiB", 20}, {"M", 20},
    {"GiB", 30}, {"G", 30}, {"TiB", 40}, {"T", 40}, {0},
};

static const struct cfg_word *find_word(const struct cfg_word *words, const char *text, size_t size)
{
    for (; words->name; words++)
        if (text_is_word(text, size, words->name))
            return words;
    return NULL;
}

static int read_word(const struct cfg_kind *kind, const char *text, size_t size, long long least,
                     long long most, void *value)
{
    const struct cfg_word *w;

    (void)least, (void)most;
    text_trim(&text, &size);
    w = find_word(kind->words, text, size);
    if (!w)
        return -EINVAL;
    *(int *)value = w->value;
    return 0;
}

static int print_word(const struct cfg_kind *kind, const void *value, char *text, size_t size)
{
    const struct cfg_word *w = kind->words;

    while (w->name && w->value != *(const int *)value)
        w++;
    return snprintf(text, size, "%s", w->name ? w->name : "?");
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

static int read_bytes(const struct cfg_kind *kind, const char *text, size_t size, long long least,
                      long long most, void *value)
{
    unsigned long long bytes;
    const struct cfg_word *unit;
    int code;

    (void)kind;
    text_trim(&text, &size);
    code = read_digits(&text, &size, &bytes);
    unit = find_word(units, text, size);
    if (code == -EINVAL || !unit)
        return -EINVAL;
    if (code || bytes > ULLONG_MAX >> unit->value)
        return -ERANGE;
    bytes <<= unit->value;
    if (bytes < (unsigned long long)least || bytes > (unsigned long long)most || bytes > SIZE_MAX)
        return -ERANGE;
    *(size_t *)value = (size_t)bytes;
    return 0;
}

int cfg_print_bytes(unsigned long long bytes, char *text, size_t size)
{
    static const char *const names[] = {"", "KiB", "MiB", "GiB", "TiB"};
    int unit = 0;

    while (bytes && bytes % 1024 == 0 && unit < 4) {
        bytes /= 1024;
        unit++;
    }
    return snprintf(text, size, "%llu%s", bytes, names[unit]);
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

#define WORDS(expected_, words_)                                                                   \
    {                                                                                              \
        .expected = expected_, .read = read_word, .print = print_word, .words = words_             \
    }
const struct cfg_kind cfg_kind_MODE = WORDS("on, off, ab or verify", modes);
const struct cfg_kind cfg_kind_LEVEL = WORDS("error, warn, info or debug", levels);
const struct cfg_kind cfg_kind_SHM = WORDS("on, copy or off", shm);
const struct cfg_kind cfg_kind_BOOL = WORDS("0 or 1 (or off/on, no/yes, false/true)", booleans);
const struct cfg_kind cfg_kind_BYTES = {
    .expected = "a size such as 65536, 64K or 1MiB", .read = read_bytes, .print = print_bytes};
const struct cfg_kind cfg_kind_INT = {
    .expected = "a whole number", .read = read_int, .print = print_int};
const struct cfg_kind cfg_kind_TEXT = {
    .expected = "a text without NUL bytes", .read = read_text, .print = print_text};

int cfg_parse_bytes(const char *text, size_t *bytes)
{
    return read_bytes(&cfg_kind_BYTES, text, strlen(text), 0, LLONG_MAX, bytes);
}
