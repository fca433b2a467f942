/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/record/waits/sample.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
static struct series *all;
static int made;
static struct ended {
    struct series_key key;
    struct sample sample;
} ended[ENDED_MOST]; /* of communicators that are gone */
static int nended;
static uint64_t ended_mask;

struct series *series_make(const struct series_key *key)
{
    struct series *s = NULL;

    pthread_mutex_lock(&lock);
    if (made < SERIES_MOST && (s = calloc(1, sizeof *s))) {
        s->key = *key;
        s->next = all;
        all = s;
        made++;
    }
    pthread_mutex_unlock(&lock);
    return s;
}

/* From the root all wait for it; to the root, it waits for all. */
unsigned sample_role(unsigned collective, int is_root)
{
    enum { ALL = SAMPLE_COMES | SAMPLE_WAITS, ROOT = 4, TO_ROOT = 8 };
    static const uint8_t kinds[SITE_BARRIER + 1] = {
        [COLL_ALLGATHER] = ALL,
        [COLL_ALLGATHERV] = ALL,
        [COLL_ALLREDUCE] = ALL,
        [COLL_REDUCE_SCATTER] = ALL,
        [COLL_REDUCE_SCATTER_BLOCK] = ALL,
        [COLL_BCAST] = ROOT,
        [COLL_SCATTER] = ROOT,
        [COLL_SCATTERV] = ROOT,
        [COLL_REDUCE] = TO_ROOT,
        [COLL_GATHER] = TO_ROOT,
        [COLL_GATHERV] = TO_ROOT,
        [COLL_ALLTOALL] = ALL,
        [COLL_ALLTOALLV] = ALL,
        [SITE_BARRIER] = ALL,
    };
    unsigned kind = collective <= SITE_BARRIER ? kinds[collective] : 0;

    return kind == ROOT      ? (is_root ? SAMPLE_COMES : SAMPLE_WAITS)
           : kind == TO_ROOT ? (is_root ? SAMPLE_WAITS : SAMPLE_COMES)
                             : kind;
}

static uint64_t mixed(uint64_t number)
{
    return number * 0x9e3779b97f4a7c15ull >> 32;
}

static void drop_half(struct series *series)
{
    int n = 0;

    series->mask = series->mask << 1 | 1;
    for (int i = 0; i < series->n; i++)
        if (!(mixed(series->kept[i].number) & series->mask))
            series->kept[n++] = series->kept[i];
    series->n = n;
}

int series_keeps_next(const struct series *series)
{
    return !(mixed(series->calls + 1) & series->mask);
}

void series_add(struct series *series, struct sample s)
{
    s.number = ++series->calls;
    if (mixed(s.number) & series->mask)
        return;
    while (series->n == SAMPLES)
        drop_half(series);
    if (!(mixed(s.number) & series->mask))
        series->kept[series->n++] = s;
}

static void drop_half_of_ended(void)
{
    int n = 0;

    ended_mask = ended_mask << 1 | 1;
    for (int i = 0; i < nended; i++)
        if (!(mixed(ended[i].key.comm) & ended_mask))
            ended[n++] = ended[i];
    nended = n;
}

/* The first ones: other ranks keep the same. */
static void keep_some(const struct series *s)
{
    for (int i = 0; i < s->n && i < ENDED_EACH; i++) {
        while (nended == ENDED_MOST && ended_mask < UINT32_MAX)
            drop_half_of_ended();
        if (nended < ENDED_MOST && !(mixed(s->key.comm) & ended_mask))
            ended[nended++] = (struct ended){s->key, s->kept[i]};
    }
}

void series_end(struct series *series)
{
    struct series **at = &all;

    if (!series)
        return;
    pthread_mutex_lock(&lock);
    keep_some(series);
    while (*at != series)
        at = &(*at)->next;
    *at = series->next;
    made--;
    pthread_mutex_unlock(&lock);
    free(series);
}

const struct sample *sample_next(struct sample_place *at, struct series_key *key)
{
    if (!at->begun) {
        at->begun = 1;
        at->series = all;
    }
    for (; at->series; at->series = at->series->next, at->i = 0)
        if (at->i < at->series->n) {
            *key = at->series->key;
            return &at->series->kept[at->i++];
        }
    if (at->i == nended)
        return NULL;
    *key = ended[at->i].key;
    return &ended[at->i++].sample;
}
