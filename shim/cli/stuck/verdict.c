/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/cli/stuck/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BUSY_PATIENCE = 10 /* times */ };
static const double BUSY = 0.05; /* of a processor, which many ranks may share */

int stuck_is_stopped(const struct stuck_process *p)
{
    return p->state == 'T' || p->state == 't';
}

int stuck_is_busy(const struct stuck_process *p)
{
    return (p->cpu > BUSY || p->state == 'R') && !stuck_is_stopped(p);
}

const struct stuck_call *stuck_call_at(const struct stuck_line *l, uint64_t number)
{
    for (int i = 0; i < l->calls; i++)
        if (l->call[i].number == number)
            return &l->call[i];
    return NULL;
}

/* Seconds since the process began or ended a collective. */
static double age_of(const struct stuck_process *p)
{
    double least = p->lines ? p->line[0].age : 0;

    for (int i = 1; i < p->lines; i++)
        least = p->line[i].age < least ? p->line[i].age : least;
    return least;
}

/* The rank is not in the call, but has started it, and MPI's way to wait for it is not seen. Before
   MPI_Finalize it has waited. */
static int has_started(const struct stuck_member *m)
{
    const struct stuck_line *l = m->line;

    return !m->process->ended && l->calls && l->call[l->calls - 1].number == l->number &&
           l->call[l->calls - 1].form == ROLL_STARTED;
}

static int same(const struct stuck_call *a, const struct stuck_call *b)
{
    return a->what == b->what && a->form == b->form && a->root == b->root &&
           (a->bytes == b->bytes || a->bytes == ROLL_NO_BYTES || b->bytes == ROLL_NO_BYTES);
}

/* Calls of that number that are as this one. */
static int alike(const struct stuck_group *g, const struct stuck_call *c, uint64_t number)
{
    int n = 0;

    for (int i = 0; i < g->n; i++) {
        const struct stuck_call *other = stuck_call_at(g->member[i].line, number);

        n += other && same(c, other);
    }
    return n;
}

/* Do ranks disagree about the call of that number? Those that differ from most are blamed; of two
   equal camps, both. */
static int differs(struct stuck_group *g, uint64_t number)
{
    int most = 0, camps = 0, different = 0;

    for (int i = 0; i < g->n; i++) {
        const struct stuck_call *c = stuck_call_at(g->member[i].line, number);
        int n = c ? alike(g, c, number) : 0;

        camps = n > most ? 1 : n == most ? camps + 1 : camps;
        most = n > most ? n : most;
    }
    for (int i = 0; i < g->n; i++) {
        const struct stuck_call *c = stuck_call_at(g->member[i].line, number);
        int n = c ? alike(g, c, number) : 0;

        g->member[i].blamed = n && (n < most || camps > most);
        different |= g->member[i].blamed;
    }
    return different;
}

/* The number of the call that a rank waits in. Where no rank is in one, that which the last rank
   has not started, or that which all have; 0: there is none. */
static uint64_t awaited(const struct stuck_group *g)
{
    uint64_t inside = 0, started = 0, least = UINT64_MAX;

    for (int i = 0; i < g->n; i++) {
        const struct stuck_line *l = g->member[i].line;

        if (l->inside && (!inside || l->number < inside))
            inside = l->number;
        if (has_started(&g->member[i]) && l->number > started)
            started = l->number;
        least = l->number < least ? l->number : least;
    }
    return inside ? inside : started > least ? least + 1 : started;
}

static int waits_for(const struct stuck_member *m, uint64_t number)
{
    return m->line->inside || (has_started(m) && m->line->number >= number);
}

/* Processes that may have a part in the group, and no room for a line. */
static int without_line(const struct verdict *v, const struct stuck_group *g)
{
    int full = 0;

    for (int i = 0; i < v->n; i++)
        full += v->process[i].full;
    for (int i = 0; i < g->n; i++)
        full -= g->member[i].process->full;
    return full;
}

/* Ranks may have passed the call that they disagree about, so earlier ones are compared too. */
static void judge(const struct verdict *v, struct stuck_group *g)
{
    uint64_t number = g->number = awaited(g);
    int inside = 0;

    g->absent = g->member[0].line->size - g->n - without_line(v, g);
    g->absent = g->absent > 0 ? g->absent : 0;
    if (!number)
        return;
    for (int i = 0; i < g->n; i++) {
        const struct stuck_line *l = g->member[i].line;
        int waits = waits_for(&g->member[i], number);

        inside |= l->inside;
        g->waiting += waits;
        g->late += l->number < number;
        g->age = waits && l->age > g->age ? l->age : g->age;
    }
    for (uint64_t n = number < ROLL_CALLS ? 1 : number - ROLL_CALLS + 1; n <= number; n++)
        if (differs(g, n)) {
            g->why = STUCK_DIFFERENT;
            g->number = n;
            return;
        }
    /* A call that all have started may be long complete. */
    g->why = g->late || g->absent ? STUCK_LATE : inside ? STUCK_ALL_IN : STUCK_NOT;
    for (int i = 0; i < g->n; i++)
        g->member[i].blamed = g->late ? g->member[i].line->number < number
                                      : inside && stuck_is_stopped(g->member[i].process);
}

/* Note the processes that wait in a call that others have not made. */
static void find_waiting(struct verdict *v)
{
    for (int i = 0; i < v->groups; i++)
        for (int k = 0; v->group[i].why != STUCK_NOT && k < v->group[i].n; k++) {
            const struct stuck_member *m = &v->group[i].member[k];

            if (waits_for(m, v->group[i].number) && !stuck_is_stopped(m->process))
                v->waits[m->process - v->process] = 1;
        }
}

/* Late ranks that wait themselves are not to blame, if any rank is that does not. */
static void spare_waiting(struct verdict *v)
{
    int idle = v->absent;

    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < v->groups; i++)
            for (int k = 0; v->group[i].why == STUCK_LATE && k < v->group[i].n; k++) {
                struct stuck_member *m = &v->group[i].member[k];
                int waits = v->waits[m->process - v->process] != 0;

                if (!pass)
                    idle += m->blamed && !waits;
                else if (idle && waits)
                    m->blamed = 0;
            }
}

/* The worse the more certain: then with more that wait. */
static int by_worst(const void *a, const void *b)
{
    const struct stuck_group *x = a, *y = b;

    return x->why != y->why ? (int)y->why - (int)x->why : y->waiting - x->waiting;
}

static int by_line(const void *a, const void *b)
{
    const struct stuck_member *x = a, *y = b;

    if (x->line->id != y->line->id)
        return x->line->id < y->line->id ? -1 : 1;
    return x->line->rank - y->line->rank;
}

/* Seconds until the group has waited long enough, if nothing moves. */
static double time_left(const struct verdict *v, const struct stuck_group *g, double patience)
{
    double left = patience - g->age;
    int blamed = 0, stopped = 0;

    if (g->why == STUCK_NOT)
        return HUGE_VAL;
    if (g->why == STUCK_DIFFERENT)
        return left;
    for (int i = 0; i < g->n; i++) {
        const struct stuck_process *p = g->member[i].process;
        int busy = stuck_is_busy(p) && !v->waits[p - v->process];

        if (!g->member[i].blamed)
            continue;
        blamed++;
        stopped += stuck_is_stopped(p);
        left = fmax(left, patience * (busy ? BUSY_PATIENCE : 1) - age_of(p));
    }
    if (g->why == STUCK_ALL_IN ? !stopped : !blamed && !v->gone)
        left = fmax(left, patience * BUSY_PATIENCE - g->age);
    return left;
}

/* Ranks that are nowhere: of hosts that were asked, or of others? */
static void count_absent(struct verdict *v)
{
    int missing = 0, present = 0;

    for (int i = 0; i < v->n; i++) {
        v->size = v->process[i].size > v->size ? v->process[i].size : v->size;
        present += v->process[i].rank >= 0;
    }
    v->absent = v->size > present ? v->size - present : 0;
    for (int i = 0; i < v->n; i++) {
        int there = 0, first = 1;

        for (int k = 0; k < v->n; k++) {
            int same_host = !strcmp(v->process[k].host, v->process[i].host);

            there += same_host;
            first &= !(same_host && k < i);
        }
        if (first && v->process[i].here > there) {
            v->gone_host = missing ? NULL : v->process[i].host;
            missing += v->process[i].here - there;
        }
    }
    v->gone = v->absent && missing >= v->absent;
}

int verdict_of(struct verdict *v, const struct stuck_process *list, int n, double patience)
{
    int members = 0, k = 0;

    *v = (struct verdict){.process = list, .n = n};
    for (int i = 0; i < n; i++)
        members += list[i].lines;
    v->members = calloc((size_t)members + 1, sizeof *v->members);
    v->group = calloc((size_t)members + 1, sizeof *v->group);
    v->waits = calloc((size_t)n + 1, 1);
    if (!v->members || !v->group || !v->waits)
        return -1;
    for (int i = 0; i < n; i++)
        for (int l = 0; l < list[i].lines; l++)
            v->members[k++] = (struct stuck_member){&list[i], &list[i].line[l], 0};
    qsort(v->members, (size_t)members, sizeof *v->members, by_line);
    for (int i = 0; i < members; i++) {
        if (!i || v->members[i].line->id != v->members[i - 1].line->id)
            v->group[v->groups++].member = &v->members[i];
        v->group[v->groups - 1].n++;
    }
    count_absent(v);
    for (int i = 0; i < v->groups; i++)
        judge(v, &v->group[i]);
    find_waiting(v);
    spare_waiting(v);
    v->left = HUGE_VAL;
    for (int i = 0; i < v->groups; i++)
        v->left = fmin(v->left, time_left(v, &v->group[i], patience));
    v->stuck = v->left <= 0;
    if (v->groups)
        qsort(v->group, (size_t)v->groups, sizeof *v->group, by_worst);
    return 0;
}

void verdict_free(struct verdict *v)
{
    free(v->members);
    free(v->group);
    free(v->waits);
}
