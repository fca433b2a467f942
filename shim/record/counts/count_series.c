/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/record/counts/count_series.h"

#include <pthread.h>
#include <stdlib.h>

#include "shim/record/sites/histogram.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
static struct count_series
    *all[COLL_COUNT][HISTOGRAM_SIZE_CLASSES]; /* owned; for the process's life */

void count_series_lock(void)
{
    pthread_mutex_lock(&lock);
}

void count_series_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

const struct count_series *count_series_of(enum plan_collective c, int size_class)
{
    return all[c][size_class];
}

static int is_one(const struct count_series *s, const struct count_block *a,
                  const struct count_block *b)
{
    return a->row == b->row && a->calls + b->calls <= s->longest;
}

static void make_room(struct count_series *s)
{
    int n = 0, kept = 0;

    s->longest *= s->longest < s->calls ? 2 : 1;
    s->taken = 0;
    for (int i = 0; i < s->n; i++) {
        struct count_block *into = &s->block[n ? n - 1 : 0], *b = &s->block[i];

        if (n && is_one(s, into, b)) {
            double calls = (double)(into->calls + b->calls);
            into->us = (into->us * (double)into->calls + b->us * (double)b->calls) / calls;
            into->calls += b->calls;
        } else {
            s->block[n++] = *b;
        }
    }
    for (int i = 0; i < n; i++) /* pairs: contenders may alternate */
        if (n <= COUNT_BLOCKS * 3 / 4 || !(i & 2))
            s->block[kept++] = s->block[i];
    s->n = kept;
}

static void take(struct count_series *s, double us)
{
    int i = s->taken++;

    for (; i && s->us[i - 1] > us; i--)
        s->us[i] = s->us[i - 1];
    s->us[i] = us;
}

static void add(struct count_series *s, int row, double us)
{
    struct count_block *b = s->n ? &s->block[s->n - 1] : NULL;

    s->calls++;
    if (!b || b->row != row || b->calls >= s->longest || !s->taken) {
        if (s->n == COUNT_BLOCKS)
            make_room(s);
        b = &s->block[s->n++];
        *b = (struct count_block){.from = s->calls, .row = row};
        s->taken = 0;
    }
    uint64_t apart = (s->longest + COUNT_OF_BLOCK - 1) / COUNT_OF_BLOCK;
    if (b->calls++ % apart == 0) {
        take(s, us);
        b->us = s->us[s->taken / 2];
    }
}

void count_series_add(enum plan_collective c, int size_class, int row, double us)
{
    struct count_series **s = &all[c][size_class];

    count_series_lock();
    if (!*s && (*s = calloc(1, sizeof **s)))
        (*s)->longest = 1;
    if (*s)
        add(*s, row, us);
    count_series_unlock();
}

void count_series_verdict(enum plan_collective c, int size_class, int rerouted)
{
    count_series_lock();
    struct count_series *s = all[c][size_class];
    if (s) {
        int at = s->verdicts < COUNT_VERDICTS ? s->verdicts++ : COUNT_VERDICTS - 1;
        s->verdict[at].call = s->calls;
        s->verdict[at].rerouted = rerouted;
    }
    count_series_unlock();
}
