/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Read by hand, and not as YAML: a person compares a row with the row above it, and a wrong row
 * must affect only itself.
 */
#include "config/settings/profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/read_file.h"
#include "config/base/text.h"
#include "config/topo/topo_rate.h"

enum { FILE_MAX = 1 << 20, WORDS = 6 };

struct word {
    const char *at;
    size_t size;
};

/* The next word of the line: up to a blank outside parentheses. Returns 0 at its end. */
static int next_word(const char **at, const char *end, struct word *w)
{
    int depth = 0;

    while (*at < end && text_is_blank(**at))
        (*at)++;
    w->at = *at;
    for (; *at < end && (depth > 0 || !text_is_blank(**at)); (*at)++)
        depth += (**at == '(') - (**at == ')');
    w->size = (size_t)(*at - w->at);
    return w->size > 0;
}

static int read_count(const char *text, uint64_t *value)
{
    uint64_t n = 0;

    for (const char *p = text; *p; p++) {
        if (!text_is_digit(*p) || n > 100000000)
            return -EINVAL;
        n = n * 10 + (uint64_t)(*p - '0');
    }
    if (n == 0)
        return -EINVAL;
    *value = n;
    return 0;
}

static int read_bytes(const char *text, uint64_t *value)
{
    size_t bytes;
    int rc = cfg_parse_bytes(text, &bytes);

    if (!rc)
        *value = bytes;
    return rc;
}

/* `*`, one value, FROM-TO or FROM-*. */
static int read_range(const char *text, size_t size, int (*read)(const char *, uint64_t *),
                      struct profile_range *r)
{
    char copy[48];

    *r = (struct profile_range){0, UINT64_MAX};
    if (size == 1 && *text == '*')
        return 0;
    if (size >= sizeof copy)
        return -EINVAL;
    memcpy(copy, text, size);
    copy[size] = 0;
    char *dash = strchr(copy, '-');
    if (dash)
        *dash = 0;
    if (read(copy, &r->from) < 0)
        return -EINVAL;
    r->to = r->from;
    if (dash && !strcmp(dash + 1, "*"))
        r->to = UINT64_MAX;
    else if (dash && read(dash + 1, &r->to) < 0)
        return -EINVAL;
    return r->from <= r->to ? 0 : -EINVAL;
}

/* NODESxRANKS, or `*`. */
static int read_shape(const struct word *w, struct profile_row *row)
{
    const char *x = memchr(w->at, 'x', w->size);

    if (!x)
        return w->size == 1 && !read_range(w->at, 1, read_count, &row->nodes) &&
                       !read_range(w->at, 1, read_count, &row->ranks) && *w->at == '*'
                   ? 0
                   : -EINVAL;
    size_t before = (size_t)(x - w->at);
    if (read_range(w->at, before, read_count, &row->nodes) < 0)
        return -EINVAL;
    return read_range(x + 1, w->size - before - 1, read_count, &row->ranks);
}

static int read_name(const struct word *w, char *text, size_t size)
{
    if (w->size >= size)
        return -EINVAL;
    memcpy(text, w->at, w->size);
    text[w->size] = 0;
    return 0;
}

static int read_collective(const struct word *w, struct profile_row *row)
{
    return read_name(w, row->collective, sizeof row->collective);
}

static int read_size(const struct word *w, struct profile_row *row)
{
    return read_range(w->at, w->size, read_bytes, &row->bytes);
}

static int read_algorithm(const struct word *w, struct profile_row *row)
{
    return read_name(w, row->algorithm, sizeof row->algorithm);
}

/* The text behind KEY= in the word; 0 if it begins otherwise or does not fit. */
static int option_value(const struct word *w, const char *key, char *text, size_t size)
{
    size_t n = strlen(key);

    if (w->size <= n || memcmp(w->at, key, n) != 0 || w->size - n >= size)
        return 0;
    memcpy(text, w->at + n, w->size - n);
    text[w->size - n] = 0;
    return 1;
}

/* KEY=N, once. Returns whether it is that. */
static int read_option_count(const struct word *w, const char *key, uint64_t most, int *value)
{
    uint64_t n;
    char text[48];

    if (*value || !option_value(w, key, text, sizeof text) || read_count(text, &n) < 0 || n > most)
        return 0;
    *value = (int)n;
    return 1;
}

/* chunk=SIZE, ppg=K or channels=N, each once. */
static int read_option(const struct word *w, struct profile_row *row)
{
    enum { CHUNK_MAX = 1 << 30, PPG_MAX = 64, CHANNELS_MAX = 64 };
    char text[48];

    if (!row->chunk_bytes && option_value(w, "chunk=", text, sizeof text))
        return cfg_parse_bytes(text, &row->chunk_bytes) < 0 || row->chunk_bytes > CHUNK_MAX
                   ? -EINVAL
                   : 0;
    return read_option_count(w, "ppg=", PPG_MAX, &row->ppg) ||
                   read_option_count(w, "channels=", CHANNELS_MAX, &row->channels)
               ? 0
               : -EINVAL;
}

#define OPTIONS "chunk=SIZE, of at most 1GiB, ppg=K or channels=N, of at most 64"
static const struct {
    int (*read)(const struct word *w, struct profile_row *row);
    const char *expected;
} words[WORDS] = {
    {read_collective, "a collective such as allgather"},
    {read_shape, "nodes x ranks such as 4x4, 2-8x4 or *"},
    {read_size, "a range of bytes such as 64K-1M, 1M-* or *"},
    {read_algorithm, "an algorithm or native"},
    {read_option, OPTIONS},
    {read_option, OPTIONS},
};
enum { NEEDED = 4 };

/* The number that a word KIND_CLASS: sets, and which kind; NULL: there is no such word. */
static double *rate_of(const struct word *w, struct topo_link *link, int *is_time)
{
    char name[32];

    for (int i = 0; i < TOPO_LINK_CLASSES; i++)
        for (*is_time = 0; *is_time < 2; ++*is_time) {
            int n = snprintf(name, sizeof name, "%s_%s:", *is_time ? "latency" : "link",
                             topo_link_name((enum topo_link_class)i));

            if (w->size > (size_t)n && !memcmp(w->at, name, (size_t)n))
                return *is_time ? &link[i].latency_ns : &link[i].bw_bytes_per_s;
        }
    return NULL;
}

/* link_CLASS:RATE or latency_CLASS:TIME, each once. Returns what was expected instead, or NULL. */
static const char *read_rate(const struct word *w, struct topo_link *link)
{
    int is_time;
    double value, *field = rate_of(w, link, &is_time);
    const char *at = memchr(w->at, ':', w->size);

    if (!field)
        return "link_CLASS:RATE or latency_CLASS:TIME, as in a topology";
    if (*field > 0)
        return "each rate once";
    at++;
    if ((is_time ? topo_read_time : topo_read_rate)(&at, &value) < 0 || at != w->at + w->size ||
        !(value > 0))
        return is_time ? TOPO_TIME_EXPECTED : TOPO_RATE_EXPECTED;
    *field = value;
    return NULL;
}

/* A line of rates, which begins with w. Returns 0, or -EINVAL after a line in c. */
static int read_rates(const char *name, int line, const char *at, const char *end, struct cfg *c,
                      struct word w, struct topo_link *link)
{
    char shown[48];
    int rc = 0;

    do {
        const char *expected = read_rate(&w, link);

        if (!expected)
            continue;
        cfg_problem(c, "%s:%d: `%s`: expected %s; it is left out", name, line,
                    text_show(shown, sizeof shown, w.at, w.size), expected);
        rc = -EINVAL;
    } while (next_word(&at, end, &w));
    return rc;
}

/* The words of a line of rates by node. A rank's place is the job's matter, and not such a line's.
 */
static int is_word_of_rates(const struct word *w)
{
    static const char *const prefixes[] = {
        "node:", "rail:", "rail_rate:", "latency_rail:", "link_rate:", "link_", "latency_"};
    const char *colon = memchr(w->at, ':', w->size);

    for (size_t i = 0; colon && i < sizeof prefixes / sizeof *prefixes; i++)
        if (!strncmp(w->at, prefixes[i], strlen(prefixes[i])))
            return 1;
    return 0;
}

/* A line of rates by node. Returns 0, or -EINVAL after a line in c. */
static int read_nodes(const char *name, int line, const char *at, const char *end, struct cfg *c,
                      struct topo **nodes)
{
    char why[256] = "out of memory", shown[48], *text = strndup(at, (size_t)(end - at));
    struct word w;
    int rc = text && !*nodes ? 0 : -EINVAL;

    if (*nodes)
        snprintf(why, sizeof why, "a second line of rates by node; expected one");
    while (!rc && next_word(&at, end, &w))
        if (!is_word_of_rates(&w)) {
            snprintf(why, sizeof why,
                     "`%s`: expected node:, rail:, rail_rate:, link_rate: or rates of links",
                     text_show(shown, sizeof shown, w.at, w.size));
            rc = -EINVAL;
        }
    if (!rc && topo_parse(text, 0, nodes, why, sizeof why) < 0)
        rc = -EINVAL;
    free(text);
    if (rc)
        cfg_problem(c, "%s:%d: %s; the line is left out", name, line, why);
    return rc;
}

/* Read one line. Returns 1 for a row, 0 for none, or -EINVAL after a line in c. */
static int read_line(const char *name, int line, const char *at, const char *end, struct cfg *c,
                     struct profile_row *row, struct profile *p)
{
    const char *comment = memchr(at, '#', (size_t)(end - at));
    struct word w;
    char shown[48];
    int n = 0;

    if (comment)
        end = comment;
    *row = (struct profile_row){.line = line};
    while (next_word(&at, end, &w)) {
        if (!n && w.size > 5 && !memcmp(w.at, "node:", 5))
            return read_nodes(name, line, w.at, end, c, &p->nodes);
        if (!n && memchr(w.at, ':', w.size))
            return read_rates(name, line, at, end, c, w, p->link);
        if (n < WORDS && words[n].read(&w, row) == 0) {
            n++;
            continue;
        }
        cfg_problem(c, "%s:%d: `%s`: expected %s; the row is left out", name, line,
                    text_show(shown, sizeof shown, w.at, w.size),
                    n < WORDS ? words[n].expected : "the end of the line");
        return -EINVAL;
    }
    if (n > 0 && n < NEEDED) {
        cfg_problem(c, "%s:%d: it ends where %s should stand; the row is left out", name, line,
                    words[n].expected);
        return -EINVAL;
    }
    return n > 0;
}

static int append(struct profile *p, const struct profile_row *row)
{
    if ((p->nrows & (p->nrows - 1)) == 0) { /* full: room for as many again */
        size_t room = p->nrows ? 2 * (size_t)p->nrows : 1;
        struct profile_row *more = realloc(p->row, room * sizeof *more);

        if (!more)
            return -ENOMEM;
        p->row = more;
    }
    p->row[p->nrows++] = *row;
    return 0;
}

int profile_parse(const char *name, const char *text, struct cfg *c, struct profile *p)
{
    struct profile_row row;
    int rc = 0;

    *p = (struct profile){0};
    for (int line = 1; *text && !rc; line++) {
        const char *end = text + strcspn(text, "\n");

        if (read_line(name, line, text, end, c, &row, p) == 1)
            rc = append(p, &row);
        text = end + (*end == '\n');
    }
    return rc;
}

int profile_read(const char *path, struct cfg *c, struct profile *p)
{
    const char *why;
    char *text;
    size_t size;
    int rc;

    *p = (struct profile){0};
    if (config_read_file(path, FILE_MAX, &text, &size, &why) < 0) {
        cfg_problem(c, "%s: %s; COLLSHIM_PROFILE must name a readable profile (no rows are used)",
                    path, why);
        return 0;
    }
    if (strlen(text) != size) {
        cfg_problem(c, "%s: not a text; COLLSHIM_PROFILE must name a profile (no rows are used)",
                    path);
        rc = 0;
    } else {
        rc = profile_parse(path, text, c, p);
    }
    free(text);
    return rc;
}

void profile_free(struct profile *p)
{
    free(p->row);
    topo_free(p->nodes);
    *p = (struct profile){0};
}
