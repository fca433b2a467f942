/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * strtod and printf("%g") do the work, under the C locale of this thread. Rejected: an own decimal
 * conversion, because it must be exact to the last bit. Otherwise a topology that was printed and
 * read again would hash differently on another rank.
 */
#include "config/topo/topo_rate.h"

#include <errno.h>
#include <float.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/text.h"

#define NUMBER_TEXT 40

struct unit {
    const char *name;
    double factor;
};

/*
 * The first of equally short forms is printed, and bits only for rails. Lower-case b alone would
 * leave bit or byte open.
 */
#define BIT_UNITS                                                                                  \
    {"Gbit", 1.25e8}, {"Mbit", 1.25e5}, {"Kbit", 125}, {"Tbit", 1.25e11}, {"gbit", 1.25e8},        \
        {"mbit", 1.25e5},                                                                          \
    {                                                                                              \
        "kbit", 125                                                                                \
    }
#define BYTE_UNITS                                                                                 \
    {"GB/s", 1e9}, {"MB/s", 1e6}, {"KB/s", 1e3}, {"B/s", 1},                                       \
    {                                                                                              \
        "TB/s", 1e12                                                                               \
    }

static const struct unit bit_rates[] = {BIT_UNITS, {0}};
static const struct unit byte_rates[] = {BYTE_UNITS, {0}};
static const struct unit rates[] = {BIT_UNITS, BYTE_UNITS, {0}};
static const struct unit times[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {0}};

static locale_t enter_c_locale(locale_t *c)
{
    *c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return uselocale(*c);
}

static void leave_c_locale(locale_t c, locale_t old)
{
    uselocale(old);
    if (c)
        freelocale(c);
}

static const char *skip_digits(const char *at)
{
    while (text_is_digit(*at))
        at++;
    return at;
}

/* The end of the plain decimal number at `at`: 12, 1.5, 2e9; `at` itself if there is none. */
static const char *number_end(const char *at)
{
    const char *end = skip_digits(at), *exponent;

    if (end == at)
        return at;
    if (*end == '.')
        end = skip_digits(end + 1);
    if (*end == 'e') {
        exponent = end + 1 + (end[1] == '+' || end[1] == '-');
        if (text_is_digit(*exponent))
            end = skip_digits(exponent);
    }
    return end;
}

static const struct unit *find_unit(const struct unit *units, const char *at)
{
    for (; units->name; units++) {
        size_t n = strlen(units->name);

        if (!strncmp(at, units->name, n) && !text_is_letter(at[n]) && at[n] != '/')
            return units;
    }
    return NULL;
}

static int read_quantity(const struct unit *units, const char **at, double *value)
{
    const char *end = number_end(*at);
    size_t n = (size_t)(end - *at);
    char number[NUMBER_TEXT];
    const struct unit *unit;
    locale_t c, old;
    double v;

    if (n == 0 || n >= sizeof number)
        return -EINVAL;
    memcpy(number, *at, n);
    number[n] = 0;
    old = enter_c_locale(&c);
    v = strtod(number, NULL);
    leave_c_locale(c, old);

    unit = find_unit(units, end);
    if (unit) {
        v *= unit->factor;
        if (!(v > 0 && v <= DBL_MAX))
            return -EINVAL;
        end += strlen(unit->name);
    } else if (strcmp(number, "0") || text_is_letter(*end)) {
        return -EINVAL;
    }
    *at = end;
    *value = v;
    return 0;
}

/* Write value in one unit if that reads back exactly. Returns its length, or 0. */
static int try_unit(const struct unit *units, const struct unit *unit, double value, char *text)
{
    for (int digits = 6; digits <= DBL_DECIMAL_DIG; digits += digits < 15 ? 9 : 1) {
        int n = snprintf(text, TOPO_RATE_TEXT, "%.*g%s", digits, value / unit->factor, unit->name);
        const char *at = text;
        double back;

        if (n < TOPO_RATE_TEXT && read_quantity(units, &at, &back) == 0 && !*at && back == value)
            return n;
    }
    return 0;
}

/* The shortest form with 1 to 9999 in front of the unit, or the shortest of all. 0: there is none.
 */
static int find_form(const struct unit *units, double value, char *best)
{
    char form[TOPO_RATE_TEXT];
    int shortest = 0, is_handy = 0;

    for (const struct unit *u = units; u->name; u++) {
        int n = try_unit(units, u, value, form);
        int handy = value >= u->factor && value < 1e4 * u->factor;

        if (n == 0 || handy < is_handy || (handy == is_handy && shortest && n >= shortest))
            continue;
        shortest = n;
        is_handy = handy;
        memcpy(best, form, sizeof form);
    }
    return shortest;
}

/* In the preferred units if the others are not far shorter or the only exact ones. */
static int print_quantity(const struct unit *units, const struct unit *others, double value,
                          char *text, size_t size)
{
    char best[TOPO_RATE_TEXT] = "0", other[TOPO_RATE_TEXT];
    locale_t c, old;
    int n, m;

    if (value > 0 && value <= DBL_MAX) {
        old = enter_c_locale(&c);
        n = find_form(units, value, best);
        m = find_form(others, value, other);
        if (m && (!n || n > m + 4))
            memcpy(best, other, sizeof best);
        leave_c_locale(c, old);
    }
    return snprintf(text, size, "%s", best);
}

int topo_read_rate(const char **at, double *bytes_per_s)
{
    return read_quantity(rates, at, bytes_per_s);
}

int topo_read_time(const char **at, double *ns)
{
    return read_quantity(times, at, ns);
}

int topo_print_rate(double bytes_per_s, char *text, size_t size)
{
    return print_quantity(byte_rates, bit_rates, bytes_per_s, text, size);
}

int topo_print_bit_rate(double bytes_per_s, char *text, size_t size)
{
    return print_quantity(bit_rates, byte_rates, bytes_per_s, text, size);
}

int topo_print_time(double ns, char *text, size_t size)
{
    return print_quantity(times, times, ns, text, size);
}
