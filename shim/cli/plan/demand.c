/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/cli/plan/demand.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/nearest.h"
#include "config/base/read_file.h"
#include "config/settings/settings.h"
#include "planners/algorithms/nimble/demand.h"

enum { MOST_FILE = 64 << 20, MOST_RANKS = 8192 /* 512 MiB of sizes */, WORD = 64 };

/* "skew" or "skew:..." */
static int kind_of(const char *text)
{
    char name[WORD];

    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, ":"), text);
    return demand_kind_find(name);
}

/* A whole number or a fraction up to `most`; 0 or -EINVAL. */
static int take_number(const char *text, double most, double *value)
{
    char *end;

    *value = strtod(text, &end);
    return end == text || *end || !(*value >= 0 && *value <= most) ? -EINVAL : 0;
}

/* One NAME=VALUE of a made-up demand. */
static int take_pair(const char *command, const char *pair, int nranks, struct demand *d)
{
    size_t n = strcspn(pair, "="), bytes;
    const char *value = pair[n] ? pair + n + 1 : "";
    double number;

    if (n == 5 && !strncmp(pair, "bytes", n)) {
        if (cfg_parse_bytes(value, &bytes) < 0)
            return cli_usage(command, "--demand: '%s' is no size such as 65536, 64K or 1MiB",
                             value);
        d->bytes = bytes;
        return CLI_OK;
    }
    int hot = n == 3 && !strncmp(pair, "hot", n), peer = n == 4 && !strncmp(pair, "peer", n);
    int every = n == 5 && !strncmp(pair, "every", n), seed = n == 4 && !strncmp(pair, "seed", n);
    if (!hot && !peer && !every && !seed)
        return cli_usage(command,
                         "--demand: '%s' is none of hot=, peer=, every=, bytes=, seed=", pair);
    double most = hot ? 1 : seed ? 1e15 : peer ? nranks - 1 : nranks;
    if (take_number(value, most, &number) < 0 || (!hot && number != (double)(uint64_t)number) ||
        (every && number < 1))
        return cli_usage(command, "--demand: '%s' must be a %s of %s to %g", pair,
                         hot ? "number" : "whole number", every ? "1" : "0", most);
    if (hot)
        d->hot = number;
    else if (peer)
        d->peer = (int)number;
    else if (every)
        d->every = (int)number;
    else
        d->seed = (uint64_t)number;
    return CLI_OK;
}

static int make_up(const char *command, const char *text, const struct topo *t, uint64_t *demand)
{
    struct demand d = demand_defaults;
    char pair[WORD];
    int code = CLI_OK;

    d.kind = (enum demand_kind)kind_of(text);
    text += strcspn(text, ":");
    while (*text && !code) {
        size_t n = strcspn(++text, ",");

        snprintf(pair, sizeof pair, "%.*s", (int)n, text);
        code = n ? take_pair(command, pair, t->nranks, &d) : CLI_OK;
        text += n;
    }
    if (!code)
        demand_fill(&d, t, demand);
    return code;
}

/* One line of a file, up to its end or comment. */
static int take_row(const char *path, int line, const char *text, size_t length, int nranks,
                    uint64_t *row)
{
    char word[WORD];
    int known = 0;

    for (size_t at = 0; at < length;) {
        size_t n = strcspn(text + at, " \t,\r#\n"), bytes;

        if (!n) {
            at++;
            continue;
        }
        snprintf(word, sizeof word, "%.*s", (int)n, text + at);
        if (n >= sizeof word || cfg_parse_bytes(word, &bytes) < 0)
            return cli_fail("%s, line %d: '%s' is no size such as 65536, 64K or 1MiB", path, line,
                            word);
        if (known == nranks)
            return cli_fail("%s, line %d: more than one size for each of %d ranks", path, line,
                            nranks);
        row[known++] = bytes;
        at += n;
    }
    if (known != nranks)
        return cli_fail("%s, line %d: %d sizes for %d ranks", path, line, known, nranks);
    return CLI_OK;
}

static int is_blank(const char *text, size_t length)
{
    return strspn(text, " \t,\r") >= length;
}

static int read_rows(const char *path, const char *text, int nranks, uint64_t *demand)
{
    int line = 0, known = 0, code = CLI_OK;

    while (*text && !code) {
        size_t all = strcspn(text, "\n"), length = strcspn(text, "#\n");

        line++;
        if (!is_blank(text, length)) {
            if (known == nranks)
                return cli_fail("%s, line %d: a row too many for %d ranks", path, line, nranks);
            code = take_row(path, line, text, length, nranks,
                            demand + (size_t)known++ * (size_t)nranks);
        }
        text += all + (text[all] == '\n');
    }
    if (!code && known < nranks)
        return cli_fail("%s: %d rows for %d ranks", path, known, nranks);
    return code;
}

static int read_file(const char *path, int nranks, uint64_t *demand)
{
    char *text;
    size_t size;
    const char *why;

    if (config_read_file(path, MOST_FILE, &text, &size, &why) < 0)
        return cli_fail("%s: %s", path, why);
    int code = read_rows(path, text, nranks, demand);
    free(text);
    return code;
}

/* Neither a kind nor a path: which kind may have been meant? */
static int unknown_kind(const char *command, const char *text)
{
    char name[WORD];

    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, ":"), text);
    struct nearest n = nearest_to(name);
    for (int k = 0; k < DEMAND_COUNT; k++)
        nearest_offer(&n, demand_kind_name((enum demand_kind)k));
    if (n.best)
        return cli_usage(command, "--demand: no kind '%s', the nearest is %s", name, n.best);
    return cli_usage(command, "--demand: no kind '%s'", name);
}

int cli_demand_read(const char *command, const char *text, const struct topo *t,
                    uint64_t **demand_p)
{
    size_t nranks = (size_t)t->nranks;

    if (nranks > MOST_RANKS)
        return cli_fail("--demand: too many ranks for a size between each two: %zu; at most %d",
                        nranks, MOST_RANKS);
    uint64_t *demand = calloc(nranks * nranks, sizeof *demand);
    int code;

    if (!demand)
        return cli_fail("out of memory");
    if (kind_of(text) >= 0)
        code = make_up(command, text, t, demand);
    else if (strchr(text, ':') && !strchr(text, '/'))
        code = unknown_kind(command, text);
    else
        code = read_file(text, t->nranks, demand);
    if (code)
        free(demand);
    else
        *demand_p = demand;
    return code;
}
