/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/record/waits/meeting.h"

#include <stdlib.h>

static int order(const void *a, const void *b)
{
    const struct meeting *x = a, *y = b;

    return x->comm != y->comm               ? (x->comm > y->comm) - (x->comm < y->comm)
           : x->domain != y->domain         ? (x->domain > y->domain) - (x->domain < y->domain)
           : x->collective != y->collective ? (int)x->collective - (int)y->collective
                                            : (x->number > y->number) - (x->number < y->number);
}

struct meeting meeting_of(const struct series_key *key, const struct sample *s,
                          const struct host_clock *clock, int rank)
{
    uint64_t entry = clock_common(clock, s->entry), exit = clock_common(clock, s->exit);
    int comes = s->role & SAMPLE_COMES, waits = s->role & SAMPLE_WAITS;

    return (struct meeting){.comm = key->comm,
                            .number = s->number,
                            .domain = clock->domain,
                            .collective = key->collective,
                            .ranks = key->ranks,
                            .seen = 1,
                            .late_rank = comes ? rank : -1,
                            .last_rank = s->landed ? rank : -1,
                            .landed = s->landed ? clock_common(clock, s->landed) : 0,
                            .latest = comes ? entry : 0,
                            .late_work = comes ? s->work : 0,
                            .least_work = waits ? s->work : UINT64_MAX,
                            .all_work = s->work,
                            .first = waits ? entry : UINT64_MAX,
                            .first_exit = waits ? exit : UINT64_MAX};
}

int meetings_begin(struct meetings *m, const struct host_clock *clock, int rank)
{
    struct sample_place count = {0}, at = {0};
    const struct sample *s;
    struct series_key key;
    size_t n = 0;

    while (sample_next(&count, &key))
        n++;
    *m = (struct meetings){.list = malloc((n + 1) * sizeof *m->list)};
    if (!m->list)
        return -1;
    while ((s = sample_next(&at, &key)))
        m->list[m->n++] = meeting_of(&key, s, clock, rank);
    qsort(m->list, m->n, sizeof *m->list, order);
    return 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static struct meeting sum_of(const struct meeting *a, const struct meeting *b)
{
    const struct meeting *late =
        b->late_rank < 0 ||
                (a->late_rank >= 0 &&
                 (a->latest != b->latest ? a->latest > b->latest : a->late_rank < b->late_rank))
            ? a
            : b;
    const struct meeting *last = a->landed != b->landed ? (a->landed > b->landed ? a : b)
                                                        : (a->last_rank < b->last_rank ? a : b);
    struct meeting m = *late;

    m.seen = a->seen + b->seen;
    m.last_rank = last->last_rank;
    m.landed = last->landed;
    m.all_work = a->all_work + b->all_work;
    m.least_work = least(a->least_work, b->least_work);
    m.first = least(a->first, b->first);
    m.first_exit = least(a->first_exit, b->first_exit);
    return m;
}

int meetings_add(struct meetings *m, const struct meeting *other, size_t n)
{
    size_t most = m->n + n < MEETINGS_MOST ? m->n + n : MEETINGS_MOST, made = 0, i = 0, k = 0;
    struct meeting *list = malloc((most + 1) * sizeof *list);

    if (!list)
        return -1;
    while (made < most && (i < m->n || k < n)) {
        int which = i == m->n ? 1 : k == n ? -1 : order(&m->list[i], &other[k]);

        list[made++] = which < 0   ? m->list[i]
                       : which > 0 ? other[k]
                                   : sum_of(&m->list[i], &other[k]);
        i += which <= 0;
        k += which >= 0;
    }
    free(m->list);
    *m = (struct meetings){list, made};
    return 0;
}

void meetings_keep_whole(struct meetings *m)
{
    size_t n = 0;

    for (size_t i = 0; i < m->n; i++) {
        const struct meeting *t = &m->list[i];

        if (t->seen == t->ranks && t->late_rank >= 0 &&
            t->first_exit >= t->latest - MEETING_DOUBT_NS)
            m->list[n++] = *t;
    }
    m->n = n;
}

void meetings_find_own(const struct meetings *m, const struct host_clock *clock,
                       const struct sample **own)
{
    struct sample_place at = {0};
    const struct sample *s;
    struct series_key key;

    for (size_t i = 0; i < m->n; i++)
        own[i] = NULL;
    while ((s = sample_next(&at, &key))) {
        struct meeting mine = meeting_of(&key, s, clock, 0);
        const struct meeting *t = bsearch(&mine, m->list, m->n, sizeof mine, order);

        if (t)
            own[t - m->list] = s;
    }
}

static uint64_t others_work(const struct meeting *m)
{
    return m->seen > 1 ? (m->all_work - m->late_work) / (m->seen - 1) : 0;
}

int meeting_is_late(const struct meeting *m)
{
    uint64_t spread = m->latest > m->first ? m->latest - m->first : 0;
    uint64_t enough = least(spread / MEETING_PART, MEETING_ENOUGH_NS) + MEETING_NOISE_NS;

    return spread > MEETING_NOISE_NS && m->late_work > m->least_work &&
           m->late_work - m->least_work > enough;
}

uint64_t meeting_wait(const struct meeting *m, const struct host_clock *clock,
                      const struct sample *own)
{
    uint64_t entry = clock_common(clock, own->entry);

    if (!(own->role & SAMPLE_WAITS) || !meeting_is_late(m) || entry >= m->latest ||
        own->work >= m->late_work)
        return 0;
    return least(least(m->latest - entry, m->late_work - own->work), own->exit - own->entry);
}

void meetings_attribute(const struct meetings *m, const struct host_clock *clock, int rank,
                        const struct sample *const *own, struct waits_sum *sum)
{
    for (size_t i = 0; i < m->n; i++) {
        const struct meeting *t = &m->list[i];

        if (!own[i])
            continue;
        int is_late = t->late_rank == rank && meeting_is_late(t);
        uint64_t wait = meeting_wait(t, clock, own[i]);
        struct site_waits *w = &site_table->row[own[i]->row].waits;
        w->calls++;
        w->waiting += wait;
        w->moving += own[i]->exit - own[i]->entry - wait;
        w->combining += own[i]->combining;
        if (t->last_rank == rank)
            site_add_last(w, &(struct site_last){rank, 1});
        if (wait || is_late)
            site_add_late(w, &(struct site_late){.rank = t->late_rank,
                                                 .times = (uint32_t)is_late,
                                                 .ns = wait,
                                                 .work = is_late ? t->late_work : 0,
                                                 .others = is_late ? others_work(t) : 0});
        *sum->waiting += wait;
        *sum->times += (uint64_t)is_late;
        sum->caused[t->late_rank] += wait;
    }
}
