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

struct word {
    const char *name;
    int value;
};

/* The first row of a value is the one that is printed. */
static const struct word modes[] = {
    {"on", CFG_MODE_ON},
    {"off", CFG_MODE_OFF},
    {"ab", CFG_MODE_AB},
    {"verify", CFG_MODE_VERIFY},
    {0},
};
static const struct word shm[] = {
    {"on", CFG_SHM_ON},
    {"copy", CFG_SHM_COPY},
    {"off", CFG_SHM_OFF},
    {0},
};
static const struct word levels[] = {
    {"error", CFG_LEVEL_ERROR}, {"warn", CFG_LEVEL_WARN},    {"info", CFG_LEVEL_INFO},
    {"debug", CFG_LEVEL_DEBUG}, {"warning", CFG_LEVEL_WARN}, {0},
};
static const struct word booleans[] = {
    {"0", 0},   {"1", 1},     {"off", 0},  {"on", 1}, {"no", 0},
    {"yes", 1}, {"false", 0}, {"true", 1}, {0},
};
static const struct word units[] = {
    {"", 0},     {"B", 0},  {"KiB", 10}, {"K", 10}, {"MiB", 20}, {"M", 20},
    {"GiB", 30}, {"G", 30}, {"TiB", 40}, {"T", 40}, {0},
};

static const struct word *find_word(const struct word *words, const char *text, size_t size)
{
    for (; words->name; words++)
        if (text_is_word(text, size, words->name))
            return words;
    return NULL;
}

static int read_word(const struct word *words, const char *text, size_t size, void *value)
{
    const struct word *w;

    text_trim(&text, &size);
    w = find_word(words, text, size);
    if (!w)
        return -EINVAL;
    *(int *)value = w->value;
    return 0;
}

static int print_word(const struct word *words, const void *value, char *text, size_t size)
{
    while (words->name && words->value != *(const int *)value)
        words++;
    return snprintf(text, size, "%s", words->name ? words->name : "?");
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

static int read_mode(const char *text, size_t size, long long least, long long most, void *value)
{
    (void)least, (void)most;
    return read_word(modes, text, size, value);
}

static int print_mode(const void *value, char *text, size_t size)
{
    return print_word(modes, value, text, size);
}

static int read_level(const char *text, size_t size, long long least, long long most, void *value)
{
    (void)least, (void)most;
    return read_word(levels, text, size, value);
}

static int print_level(const void *value, char *text, size_t size)
{
    return print_word(levels, value, text, size);
}

static int read_shm(const char *text, size_t size, long long least, long long most, void *value)
{
    (void)least, (void)most;
    return read_word(shm, text, size, value);
}

static int print_shm(const void *value, char *text, size_t size)
{
    return print_word(shm, value, text, size);
}

static int read_bool(const char *text, size_t size, long long least, long long most, void *value)
{
    (void)least, (void)most;
    return read_word(booleans, text, size, value);
}

static int print_bool(const void *value, char *text, size_t size)
{
    return print_word(booleans, value, text, size);
}

static int read_bytes(const char *text, size_t size, long long least, long long most, void *value)
{
    unsigned long long bytes;
    const struct word *unit;
    int code;

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

static int print_bytes(const void *value, char *text, size_t size)
{
    return cfg_print_bytes(*(const size_t *)value, text, size);
}

static int read_int(const char *text, size_t size, long long least, long long most, void *value)
{
    unsigned long long magnitude;
    long long number;
    int negative = 0, code;

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

static int print_int(const void *value, char *text, size_t size)
{
    return snprintf(text, size, "%d", *(const int *)value);
}

static int read_text(const char *text, size_t size, long long least, long long most, void *value)
{
    (void)least, (void)most;
    if (memchr(text, 0, size))
        return -EINVAL;
    if (size >= CFG_TEXT_MAX)
        return -ENAMETOOLONG;
    memcpy(value, text, size);
    ((char *)value)[size] = 0;
    return 0;
}

static int print_text(const void *value, char *text, size_t size)
{
    return snprintf(text, size, "%s", (const char *)value);
}

const struct cfg_kind cfg_kind_MODE = {"on, off, ab or verify", read_mode, print_mode};
const struct cfg_kind cfg_kind_LEVEL = {"error, warn, info or debug", read_level, print_level};
const struct cfg_kind cfg_kind_SHM = {"on, copy or off", read_shm, print_shm};
const struct cfg_kind cfg_kind_BYTES = {"a size such as 65536, 64K or 1MiB", read_bytes,
                                        print_bytes};
const struct cfg_kind cfg_kind_INT = {"a whole number", read_int, print_int};
const struct cfg_kind cfg_kind_BOOL = {"0 or 1 (or off/on, no/yes, false/true)", read_bool,
                                       print_bool};
const struct cfg_kind cfg_kind_TEXT = {"a text without NUL bytes", read_text, print_text};

int cfg_parse_bytes(const char *text, size_t *bytes)
{
    return read_bytes(text, strlen(text), 0, LLONG_MAX, bytes);
}
