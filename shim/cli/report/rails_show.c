/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/cli/report/rails_show.h"

#include <stdio.h>
#include <string.h>

#include "config/base/text.h"
#include "shim/cli/cli.h"

static const double slower = 0.9; /* than the fastest of its host: worth a sentence */

enum { OUT, IN, WAYS };

/* Strings are borrowed from the report; 0: not known. */
struct row {
    const char *host;
    long long rail, ranks, calls, changed_at; /* rail -1: all of its host's */
    double seconds;
    struct {
        long long bytes;
        double share, rate, can, could;
    } way[WAYS];
};

/* A number, or null: then 0. Returns -1: it is neither, or not there. */
static int known(json_t *o, const char *key, double *value)
{
    json_t *v = json_object_get(o, key);

    *value = json_number_value(v);
    return json_is_number(v) || json_is_null(v) ? 0 : -1;
}

static int read_way(json_t *o, const char *way, const char *can, const char *could, struct row *r,
                    int w)
{
    char bytes[32], share[32], rate[32];
    json_t *n;

    snprintf(bytes, sizeof bytes, "%s_bytes", way);
    snprintf(share, sizeof share, "%s_share", way);
    snprintf(rate, sizeof rate, "%s_bytes_per_s", way);
    n = json_object_get(o, bytes);
    r->way[w].bytes = json_integer_value(n);
    return !json_is_integer(n) || known(o, share, &r->way[w].share) ||
                   known(o, rate, &r->way[w].rate) || known(o, can, &r->way[w].can) ||
                   known(o, could, &r->way[w].could)
               ? -1
               : 0;
}

static int read_row(json_t *o, struct row *r)
{
    double changed_at = 0, rail = 0;

    *r = (struct row){0};
    if (json_unpack(o, "{s:s, s:I, s:I, s:F}", "host", &r->host, "ranks", &r->ranks, "calls",
                    &r->calls, "seconds", &r->seconds) < 0 ||
        known(o, "rail", &rail) || known(o, "changed_at_call", &changed_at))
        return -1;
    r->rail = json_is_null(json_object_get(o, "rail")) ? -1 : (long long)rail;
    r->changed_at = (long long)changed_at;
    return read_way(o, "sent", "can_send_bytes_per_s", "could_send_bytes_per_s", r, OUT) ||
                   read_way(o, "received", "can_receive_bytes_per_s", "could_receive_bytes_per_s",
                            r, IN)
               ? -1
               : 0;
}

int rails_are_valid(json_t *list)
{
    struct row r;
    json_t *o;
    size_t i;

    if (list && !json_is_array(list))
        return 0;
    json_array_foreach(list, i, o)
    {
        if (read_row(o, &r) < 0)
            return 0;
    }
    return 1;
}

static const struct cli_column columns[] = {
    {"  host", -16, -22}, {"rail", 4, 5},   {"calls", 0, 8}, {"sent MB", 9, 11},
    {"share", 5, 5},      {"Mbit/s", 6, 7}, {"can", 5, 6},   {"received MB", 11, 11},
    {"share", 5, 5},      {"Mbit/s", 6, 7}, {"can", 5, 6},   {NULL, 0, 0},
};

static const char *mbit(double bytes_per_s, char *text, size_t size)
{
    double mbit_per_s = bytes_per_s * 8 / 1e6;

    snprintf(text, size, mbit_per_s >= 100 ? "%.0f" : mbit_per_s > 0 ? "%.3g" : "-", mbit_per_s);
    return text;
}

static const char *rail_name(const struct row *r, char *text, size_t size)
{
    snprintf(text, size, r->rail < 0 ? "all" : "%lld", r->rail);
    return text;
}

static void print_row(const struct row *r)
{
    struct cli_cells c = {0};
    char text[24], host[21];

    text_show(host, cli_is_wide ? sizeof host : 15, r->host, strlen(r->host));
    cli_cell(&c, "  %s", host);
    cli_cell(&c, "%s", rail_name(r, text, sizeof text));
    cli_cell(&c, "%lld", r->calls);
    for (int w = 0; w < WAYS; w++) {
        cli_cell(&c, "%.1f", (double)r->way[w].bytes / 1e6);
        cli_cell(&c, "%.0f%%", 100 * r->way[w].share);
        cli_cell(&c, "%s", mbit(r->way[w].rate, text, sizeof text));
        cli_cell(&c, "%s", mbit(r->way[w].can, text, sizeof text));
    }
    cli_print_row(columns, &c);
}

/* The most that a rail of that host can carry that way, of those that are listed. */
static double best_of(json_t *list, const char *host, int w)
{
    struct row r;
    double best = 0;
    json_t *o;
    size_t i;

    json_array_foreach(list, i, o)
    {
        if (!read_row(o, &r) && !strcmp(r.host, host) && r.way[w].can > best)
            best = r.way[w].can;
    }
    return best;
}

/* The rail's earlier rate, or the rate of a better rail of its host: the text behind "25 Mbit/s".
   Returns 0: there is none. */
static int compare(json_t *list, const struct row *r, int w, char *text, size_t size)
{
    double now = r->way[w].can, was = r->way[w].could;
    double best = was > 0 ? 0 : best_of(list, r->host, w);
    char other[24];

    if (now <= 0 || (was > 0 ? now == was : now >= slower * best))
        return 0;
    if (was > 0)
        snprintf(text, size, "of the %s it had until call %lld", mbit(was, other, sizeof other),
                 r->changed_at);
    else
        snprintf(text, size, "where another of this host carries %s",
                 mbit(best, other, sizeof other));
    return 1;
}

/* "Rail 2 of b carries 25 Mbit/s of the 100 it had until call 412; 9 % of the host's data go
 * there." */
static void say(json_t *list, const struct row *r)
{
    static const char *const verb[WAYS] = {"sends", "receives"};
    int alike = r->way[OUT].can == r->way[IN].can && r->way[OUT].could == r->way[IN].could;
    int most = r->way[IN].bytes > r->way[OUT].bytes;
    char name[24], can[24], than[80];

    for (int w = 0; w < WAYS; w++) {
        if ((alike && w != most) || !compare(list, r, w, than, sizeof than))
            continue;
        printf("  Rail %s of %s %s %s Mbit/s %s; %.0f %% of the host's data go there.\n",
               rail_name(r, name, sizeof name), r->host, alike ? "carries" : verb[w],
               mbit(r->way[w].can, can, sizeof can), than, 100 * r->way[w].share);
    }
}

void rails_print(json_t *root, size_t most)
{
    json_t *list = json_object_get(root, "rails"), *o;
    size_t n = json_array_size(list), i;
    long long more = json_integer_value(json_object_get(root, "rails_not_listed"));
    struct row r;

    if (!n)
        return;
    puts("\nRails, as rerouted calls used them");
    cli_print_titles(columns);
    json_array_foreach(list, i, o)
    {
        if (i < most && !read_row(o, &r))
            print_row(&r);
    }
    more += n > most ? (long long)(n - most) : 0;
    if (more)
        printf("  and %lld more\n", more);
    json_array_foreach(list, i, o)
    {
        if (i < most && !read_row(o, &r))
            say(list, &r);
    }
}
