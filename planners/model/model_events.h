/* SPDX-License-Identifier: BSD-3-Clause */
/* The next thing to happen: a heap of times, at most one for each of n numbers. */
#ifndef COLLSHIM_PLANNERS_MODEL_EVENTS_H
#define COLLSHIM_PLANNERS_MODEL_EVENTS_H

#include <stdint.h>

struct events {
    double *when;    /* [n] owned */
    uint32_t *heap;  /* [n] owned: numbers, the earliest first; of equal times the lower number */
    uint32_t *place; /* [n] owned: where in the heap, or EVENTS_NONE */
    uint32_t used;
};
#define EVENTS_NONE UINT32_MAX

/* 0 or -ENOMEM; free with events_close. */
int events_open(struct events *e, uint32_t n);
void events_close(struct events *e);

/* The number's time is `when` now, whether it had one or not. */
void events_set(struct events *e, uint32_t number, double when);
/* Take the earliest out; EVENTS_NONE if there is none. */
uint32_t events_take(struct events *e);

/* The time of the earliest; only while used > 0. */
static inline double events_next(const struct events *e)
{
    return e->when[e->heap[0]];
}

#endif
