/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Characters in ASCII. <ctype.h>, strtod and strcasecmp follow the locale that the application
 * chose. With them, "1.5" or "INFO" would read differently in a Turkish or German process. The
 * meaning of a setting must not depend on the locale.
 */
#ifndef COLLSHIM_CONFIG_TEXT_H
#define COLLSHIM_CONFIG_TEXT_H

#include <stddef.h>

static inline int text_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

static inline int text_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline char text_upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static inline char text_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static inline int text_is_letter(char c)
{
    return text_lower(c) >= 'a' && text_lower(c) <= 'z';
}

/* 1 if the first size bytes of a spell the whole word b, in upper or lower case. */
static inline int text_is_word(const char *a, size_t size, const char *b)
{
    size_t i;

    for (i = 0; i < size && b[i]; i++)
        if (text_lower(a[i]) != text_lower(b[i]))
            return 0;
    return i == size && !b[i];
}

/* Narrow [*begin, *begin + *size) to what lies between the blanks at its ends. */
static inline void text_trim(const char **begin, size_t *size)
{
    while (*size && text_is_blank(**begin)) {
        (*begin)++;
        (*size)--;
    }
    while (*size && text_is_blank((*begin)[*size - 1]))
        (*size)--;
}

/* The UTF-8 character at the start of n bytes: its length and *code, or 0: there is none. */
int text_character(const char *text, size_t n, unsigned *code);

/* Does a terminal obey that character, or show what follows in another place? The control
   characters of ASCII and of Unicode, marks for the direction of writing, line separators. */
int text_is_control(unsigned code);

/*
 * For text that may come from a file, another process or the network, and will be printed: control
 * characters and bytes that are not UTF-8 become '?'. text_show copies at most size - 1 of the n
 * bytes at text. It cuts between characters, and "..." ends a text that was cut; size must be at
 * least 4. Both return the result.
 */
const char *text_show(char *out, size_t size, const char *text, size_t n);
const char *text_clean(char *text);

#endif
