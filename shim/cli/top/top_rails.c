/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/cli/top/top_rails.h"

#include <stdlib.h>
#include <string.h>

#include "config/base/text.h"

/* One way of a rail. Rates are bytes/s; 0: not known. */
struct flow {
    double total;    /* bytes since the job began */
    double rate;     /* between the readings */
    double in_calls; /* likewise, over the time that calls took */
    double share;    /* of its host's: between the readings, or since the job began if it rests */
    double can, could;
};

static struct flow flow_of(const struct top_rails *r, int i, enum live_way w)
{
    const struct live_rail *total = &r->total[i].rail, *change = &r->change[i].rail;
    double bytes = (double)change->bytes[w];

    return (struct flow){.total = (double)total->bytes[w],
                         .rate = r->interval > 0 ? bytes / r->interval : 0,
                         .in_calls =
                             change->nanoseconds ? bytes * 1e9 / (double)change->nanoseconds : 0,
                         .share = rail_row_share(change->calls ? r->change : r->total, r->n, i, w),
                         .can = (double)total->can[w],
                         .could = (double)total->could[w]};
}

static uint64_t grown(uint64_t is, uint64_t was)
{
    return is > was ? is - was : 0;
}

static struct rail_row row_of(const struct top_counters *c)
{
    struct rail_row row = {.rank = c->rank, .rail = c->counts.rail};

    memcpy(row.host, c->host, sizeof row.host);
    return row;
}

static void subtract(struct live_rail *r, const struct live_rail *was)
{
    r->calls = grown(r->calls, was->calls);
    r->nanoseconds = grown(r->nanoseconds, was->nanoseconds);
    for (int w = 0; w < LIVE_WAYS; w++)
        r->bytes[w] = grown(r->bytes[w], was->bytes[w]);
}

struct top_rails top_rails_of(const struct top_reading *now, const struct top_reading *before,
                              int from, int to, double interval)
{
    static const struct live_rail none;
    size_t n = (size_t)(to - from);
    struct top_rails r = {.total = calloc(n, sizeof *r.total),
                          .change = calloc(n, sizeof *r.change),
                          .interval = interval};
    uint64_t calls = 0;

    for (size_t i = 0; i < n && r.total && r.change; i++) {
        const struct top_counters *c = &now->list[(size_t)from + i], *b = top_same(before, c);

        r.total[i] = r.change[i] = row_of(c);
        subtract(&r.change[i].rail, b ? &b->counts.rail : &none);
        calls += r.total[i].rail.calls;
    }
    if (calls) { /* both come out in one order: of hosts, ranks and rails alone */
        r.n = rail_rows_merge(r.total, (int)n);
        rail_rows_merge(r.change, (int)n);
    }
    return r;
}

void top_rails_free(struct top_rails *r)
{
    free(r->total);
    free(r->change);
    r->total = r->change = NULL;
    r->n = 0;
}

static void print_rate(double bytes_per_s, int width)
{
    if (bytes_per_s > 0)
        printf(" %*.*f", width, bytes_per_s < 1e6 / 8 ? 3 : 1, bytes_per_s * 8 / 1e6);
    else
        printf(" %*s", width, "-");
}

static void print_flow(const struct flow *f)
{
    printf(" %9.1f %5.0f%%", f->rate / 1e6, 100 * f->share);
    print_rate(f->in_calls, 8);
    print_rate(f->can, 8);
}

void top_rails_print(const struct top_rails *r)
{
    struct flow flow[LIVE_WAYS];
    char rail[24], host[19];

    if (!r->n)
        return;
    printf("  %-18s %4s %9s %6s %8s %8s %9s %6s %8s %8s\n", "host", "rail", "sent MB/s", "share",
           "Mbit/s", "can", "got MB/s", "share", "Mbit/s", "can");
    for (int i = 0; i < r->n; i++) {
        snprintf(rail, sizeof rail, r->total[i].number < 0 ? "all" : "%d", (int)r->total[i].number);
        text_show(host, sizeof host, r->total[i].host, strlen(r->total[i].host));
        printf("  %-18s %4s", host, rail);
        for (int w = 0; w < LIVE_WAYS; w++) {
            flow[w] = flow_of(r, i, (enum live_way)w);
            print_flow(&flow[w]);
        }
        if (flow[LIVE_OUT].could > 0)
            printf("  %.3g until call %llu", flow[LIVE_OUT].could * 8 / 1e6,
                   (unsigned long long)r->total[i].rail.changed_at);
        putchar('\n');
    }
}

static const struct {
    const char *bytes, *share, *rate, *in_calls, *can, *could;
} keys[LIVE_WAYS] = {
    [LIVE_OUT] = {"sent_bytes", "sent_share", "sent_bytes_per_s", "sent_bytes_per_s_in_calls",
                  "can_send_bytes_per_s", "could_send_bytes_per_s"},
    [LIVE_IN] = {"received_bytes", "received_share", "received_bytes_per_s",
                 "received_bytes_per_s_in_calls", "can_receive_bytes_per_s",
                 "could_receive_bytes_per_s"},
};

/* null: not known. */
static void put_rate(struct json *j, const char *key, double bytes_per_s)
{
    if (bytes_per_s > 0)
        json_rounded(j, key, 4, bytes_per_s);
    else
        json_null(j, key);
}

static void put_rail(struct json *j, const struct top_rails *r, int i)
{
    const struct live_rail *total = &r->total[i].rail;

    json_open(j, NULL, '{');
    json_string(j, "host", r->total[i].host);
    json_index(j, "rail", (int)r->total[i].number);
    json_int(j, "calls", (long long)total->calls);
    for (int w = 0; w < LIVE_WAYS; w++) {
        struct flow f = flow_of(r, i, (enum live_way)w);

        json_rounded(j, keys[w].bytes, 15, f.total);
        json_rounded(j, keys[w].share, 4, f.share);
        json_rounded(j, keys[w].rate, 4, f.rate);
        put_rate(j, keys[w].in_calls, f.in_calls);
        put_rate(j, keys[w].can, f.can);
        put_rate(j, keys[w].could, f.could);
    }
    if (total->could[LIVE_OUT] || total->could[LIVE_IN])
        json_int(j, "changed_at_call", (long long)total->changed_at);
    else
        json_null(j, "changed_at_call");
    json_close(j, '}');
}

void top_rails_put(struct json *j, const struct top_rails *r)
{
    json_open(j, "rails", '[');
    for (int i = 0; i < r->n; i++)
        put_rail(j, r, i);
    json_close(j, ']');
}
