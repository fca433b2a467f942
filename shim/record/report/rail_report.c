/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/record/report/rail_report.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS_SHOWN = 4096 };

static int by_host(const struct rail_row *a, const struct rail_row *b)
{
    int order = strncmp(a->host, b->host, sizeof a->host);

    return order ? order : (a->host_key > b->host_key) - (a->host_key < b->host_key);
}

static int by_rank(const void *a, const void *b)
{
    const struct rail_row *x = a, *y = b;
    int order = by_host(x, y);

    return order ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

static int by_rail(const void *a, const void *b)
{
    const struct rail_row *x = a, *y = b;
    int order = by_host(x, y);

    order = order ? order : (x->number > y->number) - (x->number < y->number);
    return order ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

/* If no setting names a rank's rail, the rank has the rail of its place among its host's ranks. */
void rail_rows_number(struct rail_row *rows, int n)
{
    qsort(rows, (size_t)n, sizeof *rows, by_rank);
    for (int i = 0, place = 0; i < n; i++) {
        uint64_t number = rows[i].rail.number;

        place = i && !by_host(&rows[i - 1], &rows[i]) ? place + 1 : 0;
        rows[i].ranks = 1;
        rows[i].number = number == LIVE_RAIL_ALL ? -1
                         : number                ? (int64_t)(number - LIVE_RAIL_FIRST)
                                                 : place;
    }
}

static uint64_t greater(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Ranks of one rail take part in the same calls, and see the same rail. */
static void merge(struct rail_row *into, const struct rail_row *row)
{
    struct live_rail *r = &into->rail;

    into->ranks++;
    r->calls = greater(r->calls, row->rail.calls);
    r->nanoseconds = greater(r->nanoseconds, row->rail.nanoseconds);
    if (row->rail.changed_at > r->changed_at) {
        r->changed_at = row->rail.changed_at;
        memcpy(r->could, row->rail.could, sizeof r->could);
        memcpy(r->can, row->rail.can, sizeof r->can);
    }
    for (int w = 0; w < LIVE_WAYS; w++) {
        r->bytes[w] += row->rail.bytes[w];
        r->can[w] = r->can[w] ? r->can[w] : row->rail.can[w];
    }
}

int rail_rows_merge(struct rail_row *rows, int n)
{
    int kept = 0;

    rail_rows_number(rows, n);
    qsort(rows, (size_t)n, sizeof *rows, by_rail);
    for (int i = 0; i < n; i++)
        if (kept && !by_host(&rows[kept - 1], &rows[i]) && rows[kept - 1].number == rows[i].number)
            merge(&rows[kept - 1], &rows[i]);
        else
            rows[kept++] = rows[i];
    return kept;
}

double rail_row_share(const struct rail_row *rows, int n, int i, enum live_way w)
{
    double all = 0;
    int from = i;

    while (from && !by_host(&rows[from - 1], &rows[i]))
        from--;
    for (; from < n && !by_host(&rows[from], &rows[i]); from++)
        all += (double)rows[from].rail.bytes[w];
    return all > 0 ? (double)rows[i].rail.bytes[w] / all : 0;
}

static const struct {
    const char *bytes, *share, *rate, *can, *could;
} keys[LIVE_WAYS] = {
    [LIVE_OUT] = {"sent_bytes", "sent_share", "sent_bytes_per_s", "can_send_bytes_per_s",
                  "could_send_bytes_per_s"},
    [LIVE_IN] = {"received_bytes", "received_share", "received_bytes_per_s",
                 "can_receive_bytes_per_s", "could_receive_bytes_per_s"},
};

/* null: not known. */
static void put_rate(struct json *j, const char *key, double bytes_per_s)
{
    if (bytes_per_s > 0)
        json_rounded(j, key, 4, bytes_per_s);
    else
        json_null(j, key);
}

static void put_row(struct json *j, const struct rail_row *rows, int n, int i)
{
    const struct live_rail *r = &rows[i].rail;
    double seconds = (double)r->nanoseconds * 1e-9;

    json_open(j, NULL, '{');
    json_string(j, "host", rows[i].host);
    json_index(j, "rail", (int)rows[i].number);
    json_int(j, "ranks", rows[i].ranks);
    json_int(j, "calls", (long long)r->calls);
    json_rounded(j, "seconds", 6, seconds);
    for (int w = 0; w < LIVE_WAYS; w++) {
        json_int(j, keys[w].bytes, (long long)r->bytes[w]);
        json_rounded(j, keys[w].share, 4, rail_row_share(rows, n, i, (enum live_way)w));
        put_rate(j, keys[w].rate, seconds > 0 ? (double)r->bytes[w] / seconds : 0);
        put_rate(j, keys[w].can, (double)r->can[w]);
        put_rate(j, keys[w].could, (double)r->could[w]);
    }
    if (r->could[LIVE_OUT] || r->could[LIVE_IN])
        json_int(j, "changed_at_call", (long long)r->changed_at);
    else
        json_null(j, "changed_at_call");
    json_close(j, '}');
}

void rail_report(struct json *j, const struct rail_row *rows, int n)
{
    uint64_t calls = 0;
    int shown;

    for (int i = 0; i < n; i++)
        calls += rows[i].rail.calls;
    n = calls ? n : 0;
    shown = n < ROWS_SHOWN ? n : ROWS_SHOWN;
    json_open(j, "rails", '[');
    for (int i = 0; i < shown; i++)
        put_row(j, rows, n, i);
    json_close(j, ']');
    json_int(j, "rails_not_listed", n - shown);
}
