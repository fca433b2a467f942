/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/record/report/waits_report.h"

#include <stdlib.h>
#include <string.h>

#include "shim/record/report/spool.h"

struct waits_found waits_found;

/* The time that the last rank cost the first one. */
static uint64_t loss(const struct meeting *m)
{
    return meeting_is_late(m) ? m->latest - m->first : 0;
}

static int by_loss(const void *a, const void *b)
{
    uint64_t x = loss(*(const struct meeting *const *)a);
    uint64_t y = loss(*(const struct meeting *const *)b);

    return (x < y) - (x > y);
}

void waits_choose(struct meetings *m, int ranks)
{
    size_t most = WAITS_STAYS / (size_t)ranks;
    struct meeting **order = malloc((m->n + 1) * sizeof(struct meeting *));

    for (size_t i = 0; order && i < m->n; i++)
        order[i] = &m->list[i];
    if (order)
        qsort(order, m->n, sizeof(struct meeting *), by_loss);
    for (size_t i = 0; order && i < m->n && i < most; i++)
        order[i]->traced = 1;
    free(order);
}

struct waits_stay *waits_stays(const struct meetings *m, const struct host_clock *clock,
                               const struct sample *const *own, size_t *n)
{
    struct waits_stay *stays;

    *n = 0;
    for (size_t i = 0; i < m->n; i++)
        *n += m->list[i].traced;
    stays = calloc(*n + 1, sizeof *stays);
    for (size_t i = 0, k = 0; stays && i < m->n; i++) {
        if (own[i] && m->list[i].traced)
            stays[k] = (struct waits_stay){clock_common(clock, own[i]->entry),
                                           clock_common(clock, own[i]->exit),
                                           meeting_wait(&m->list[i], clock, own[i])};
        k += m->list[i].traced;
    }
    return stays;
}

static void put_seconds(struct json *j, const char *key, uint64_t ns)
{
    json_rounded(j, key, 6, (double)ns * 1e-9);
}

static void put_rank(struct json *j, int rank)
{
    json_int(j, "rank", rank);
    json_string(j, "host", waits_found.places ? waits_found.places[rank].host : NULL);
}

static int by_cost(const void *a, const void *b)
{
    const struct site_late *x = a, *y = b;

    return x->ns != y->ns ? (x->ns < y->ns) - (x->ns > y->ns) : (int)y->times - (int)x->times;
}

/* The ranks of one rail add up. */
static void put_last_rails(struct json *j, const struct site_waits *w)
{
    const struct waits_place *places = waits_found.places;
    uint32_t times[SITE_LATE] = {0};
    int at[SITE_LATE], n = 0;

    for (int i = 0; i < SITE_LATE && places; i++) {
        const struct waits_place *p = &places[w->last[i].rank];
        int k = 0;

        if (!w->last[i].times)
            continue;
        while (k < n && (places[at[k]].rail != p->rail || strcmp(places[at[k]].host, p->host) != 0))
            k++;
        at[k] = w->last[i].rank;
        times[k] += w->last[i].times;
        n += k == n;
    }
    json_open(j, "last_rail", '[');
    for (int k = 0; k < n; k++) {
        json_open(j, NULL, '{');
        json_index(j, "rail", places[at[k]].rail);
        json_string(j, "host", places[at[k]].host);
        json_int(j, "times", times[k]);
        json_close(j, '}');
    }
    json_close(j, ']');
}

void waits_report_row(struct json *j, const struct site_waits *w, double ranks)
{
    struct site_waits sorted = *w;

    if (!w->calls)
        return;
    qsort(sorted.late, SITE_LATE, sizeof *sorted.late, by_cost);
    json_open(j, "waiting", '{');
    json_rounded(j, "calls", 15, (double)(uint64_t)((double)w->calls / ranks + 0.5));
    put_seconds(j, "seconds", w->waiting);
    put_seconds(j, "moving", w->moving);
    put_seconds(j, "combining", w->combining);
    json_open(j, "late", '[');
    for (int i = 0; i < SITE_LATE; i++) {
        const struct site_late *l = &sorted.late[i];

        if (!l->times && !l->ns)
            continue;
        json_open(j, NULL, '{');
        put_rank(j, l->rank);
        json_int(j, "times", l->times);
        put_seconds(j, "seconds", l->ns);
        json_rounded(j, "work", 4, l->others ? (double)l->work / (double)l->others : 0);
        json_close(j, '}');
    }
    json_close(j, ']');
    put_last_rails(j, w);
    json_close(j, '}');
}

static void put_by_rank(struct json *j)
{
    const uint64_t *waiting = waits_found.sums, *times = waiting + waits_found.ranks;
    const uint64_t *caused = times + waits_found.ranks;

    json_open(j, "by_rank", '[');
    for (int r = 0; r < waits_found.ranks && r < WAITS_RANKS; r++) {
        json_open(j, NULL, '{');
        put_rank(j, r);
        put_seconds(j, "waiting", waiting[r]);
        json_int(j, "late", (long long)times[r]);
        put_seconds(j, "late_seconds", caused[r]);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static double us_since(uint64_t t, uint64_t from)
{
    return (double)(int64_t)(t - from) * 1e-3;
}

/* A call: its ranks as [rank, entry, exit, waiting], microseconds from the first entry of all. */
static void put_call(struct json *j, const struct meeting *m, size_t k, uint64_t from)
{
    const struct waits_found *f = &waits_found;
    char comm[20];

    snprintf(comm, sizeof comm, "%llx", (unsigned long long)m->comm);
    json_open(j, NULL, '{');
    json_string(j, "collective", site_collective_name(m->collective));
    json_string(j, "comm", comm);
    json_int(j, "call", (long long)m->number);
    json_index(j, "late", meeting_is_late(m) ? m->late_rank : -1);
    json_open(j, "ranks", '[');
    for (int r = 0; r < f->ranks; r++) {
        const struct waits_stay *s = &f->stays[(size_t)r * f->traced + k];

        if (!s->entry)
            continue;
        json_open(j, NULL, '[');
        json_int(j, NULL, r);
        json_rounded(j, NULL, 12, us_since(s->entry, from));
        json_rounded(j, NULL, 12, us_since(s->exit, from));
        json_rounded(j, NULL, 12, us_since(s->wait, 0));
        json_close(j, ']');
    }
    json_close(j, ']');
    json_close(j, '}');
}

static void put_trace(struct json *j)
{
    const struct meetings *m = &waits_found.meetings;
    int line = j->line;
    uint64_t from = UINT64_MAX;

    json_open(j, "trace", '[');
    j->line = 1; /* a list of numbers is not for reading */
    for (size_t i = 0; i < (size_t)waits_found.ranks * waits_found.traced; i++)
        if (waits_found.stays[i].entry && waits_found.stays[i].entry < from)
            from = waits_found.stays[i].entry;
    for (size_t i = 0, k = 0; i < m->n; i++)
        if (m->list[i].traced)
            put_call(j, &m->list[i], k++, from);
    j->line = line;
    json_close(j, ']');
}

void waits_report(struct json *j)
{
    if (!waits_found.ranks || spool_is_printing)
        return;
    put_by_rank(j);
    put_trace(j);
}
