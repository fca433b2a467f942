/* SPDX-License-Identifier: BSD-3-Clause */
#include "planners/model/model_events.h"

#include <errno.h>
#include <stdlib.h>

int events_open(struct events *e, uint32_t n)
{
    *e = (struct events){.when = malloc((n + 1u) * sizeof *e->when),
                         .heap = malloc((n + 1u) * sizeof *e->heap),
                         .place = malloc((n + 1u) * sizeof *e->place)};
    if (!e->when || !e->heap || !e->place) {
        events_close(e);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < n; i++)
        e->place[i] = EVENTS_NONE;
    return 0;
}

void events_close(struct events *e)
{
    free(e->when);
    free(e->heap);
    free(e->place);
    *e = (struct events){0};
}

static int before(const struct events *e, uint32_t a, uint32_t b)
{
    return e->when[a] < e->when[b] || (!(e->when[b] < e->when[a]) && a < b);
}

static void put(struct events *e, uint32_t at, uint32_t number)
{
    e->heap[at] = number;
    e->place[number] = at;
}

static void rise(struct events *e, uint32_t at, uint32_t number)
{
    for (; at && before(e, number, e->heap[(at - 1) / 2]); at = (at - 1) / 2)
        put(e, at, e->heap[(at - 1) / 2]);
    put(e, at, number);
}

static void sink(struct events *e, uint32_t at, uint32_t number)
{
    for (uint32_t child; (child = 2 * at + 1) < e->used; at = child) {
        if (child + 1 < e->used && before(e, e->heap[child + 1], e->heap[child]))
            child++;
        if (!before(e, e->heap[child], number))
            break;
        put(e, at, e->heap[child]);
    }
    put(e, at, number);
}

void events_set(struct events *e, uint32_t number, double when)
{
    uint32_t at = e->place[number];
    int earlier = at == EVENTS_NONE || when < e->when[number];

    e->when[number] = when;
    if (at == EVENTS_NONE)
        at = e->used++;
    if (earlier)
        rise(e, at, number);
    else
        sink(e, at, number);
}

uint32_t events_take(struct events *e)
{
    if (!e->used)
        return EVENTS_NONE;
    uint32_t number = e->heap[0], last = e->heap[--e->used];

    e->place[number] = EVENTS_NONE;
    if (e->used)
        sink(e, 0, last);
    return number;
}
