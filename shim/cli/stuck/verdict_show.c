/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The verdict in words: a line for what is wrong, one for each rank or set of ranks to blame, then
 * the roll-call of each communicator in which a rank waits. Ranks that say the same share a line.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "shim/cli/cli.h"
#include "shim/cli/stuck/verdict.h"

enum { RANKS_TEXT = 256, GROUPS_SHOWN = 8 };

/* MPI's ranks are those of MPI_COMM_WORLD, NCCL's those of the communicator. */
static int rank_of(const struct stuck_member *m)
{
    return m->line->nccl ? m->line->rank : m->process->rank;
}

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* "rank 3", "ranks 0, 2-7". rank: is sorted. */
static void name_ranks(char *text, size_t size, int *rank, int n)
{
    size_t at = (size_t)snprintf(text, size, "rank%s ", cli_s(n));

    qsort(rank, (size_t)n, sizeof *rank, by_number);
    for (int i = 0, end; i < n && at < size - 32; i = end + 1) {
        for (end = i; end + 1 < n && rank[end + 1] <= rank[end] + 1;)
            end++;
        at += (size_t)snprintf(text + at, size - at,
                               end > i + 1 ? "%s%d-%d"
                               : end > i   ? "%s%d, %d"
                                           : "%s%d",
                               i ? ", " : "", rank[i], rank[end]);
        if (end + 1 < n && at >= size - 32)
            snprintf(text + at, size - at, " ...");
    }
}

/* The call that a member's line of the roll-call is about: where it is. */
static const struct stuck_call *last_of(const struct stuck_member *m)
{
    return stuck_call_at(m->line, m->line->number);
}

static int says_same(const struct stuck_member *a, const struct stuck_member *b)
{
    const struct stuck_call *x = last_of(a), *y = last_of(b);

    if (a->blamed != b->blamed || a->line->number != b->line->number ||
        a->line->inside != b->line->inside || !x != !y)
        return 0;
    return !x || (x->what == y->what && x->form == y->form && x->bytes == y->bytes &&
                  x->root == y->root && !strcmp(x->where, y->where));
}

/* The ranks of the group that say what that member says; *age: of the one that does so longest. */
static void name_alike(char *text, const struct stuck_group *g, const struct stuck_member *as,
                       double *age)
{
    int *rank = calloc((size_t)g->n, sizeof *rank), n = 0;

    *age = 0;
    for (int i = 0; rank && i < g->n; i++)
        if (says_same(&g->member[i], as)) {
            rank[n++] = rank_of(&g->member[i]);
            *age = g->member[i].line->age > *age ? g->member[i].line->age : *age;
        }
    if (n)
        name_ranks(text, RANKS_TEXT, rank, n);
    if (n == 1 && as->blamed)
        snprintf(text + strlen(text), RANKS_TEXT - strlen(text), " (%s)", as->process->host);
    free(rank);
}

/* "Allreduce 812 of 8192 bytes from rank 0 at a.c:44". */
static void put_call(FILE *f, const struct stuck_line *l, const struct stuck_call *c)
{
    static const char *const forms[] = {
        [ROLL_BLOCKING] = "", [ROLL_STARTED] = " (started)", [ROLL_MADE] = " (persistent, made)"};

    fprintf(f, "%s%s%s %llu", l->nccl ? "NCCL's " : "", roll_names[c->what], forms[c->form],
            (unsigned long long)c->number);
    if (c->bytes != ROLL_NO_BYTES)
        fprintf(f, " of %llu byte%s", (unsigned long long)c->bytes, cli_s((long long)c->bytes));
    if (c->root >= 0)
        fprintf(f, ", root %d,", c->root);
    if (c->where[0])
        fprintf(f, " at %s", c->where);
}

/* The state of a process that is in no call of that communicator. */
static const char *idleness(const struct verdict *v, const struct stuck_process *p)
{
    return stuck_is_stopped(p)        ? "is stopped by a signal"
           : v->waits[p - v->process] ? "waits in another collective"
           : p->ended                 ? "has called MPI_Finalize"
           : stuck_is_busy(p)         ? "computes, or waits for a message"
                                      : "sleeps";
}

static void put_member(FILE *f, const struct verdict *v, const struct stuck_group *g,
                       const struct stuck_member *m)
{
    const struct stuck_call *c = last_of(m);
    int waits = m->line->inside || (c && c->form == ROLL_STARTED && c->number >= g->number);
    char ranks[RANKS_TEXT] = "";
    double age;

    name_alike(ranks, g, m, &age);
    fprintf(f, "  %s: %s", ranks, waits ? "in " : idleness(v, m->process));
    if (c && !waits)
        fputs("; the last call was ", f);
    if (c)
        put_call(f, m->line, c);
    else
        fputs("; has called none", f);
    fprintf(f, ", since %.0f s", age);
    if (waits && stuck_is_stopped(m->process))
        fputs("; it is stopped by a signal", f);
    putc('\n', f);
}

static void put_group(FILE *f, const struct verdict *v, const struct stuck_group *g)
{
    const struct stuck_line *l = g->member[0].line;

    fprintf(f, "%s of %d ranks\n",
            l->is_world     ? "MPI_COMM_WORLD"
            : l->is_request ? "A persistent request"
            : l->nccl       ? "A communicator of NCCL"
                            : "A communicator",
            l->size);
    for (int i = 0; i < g->n; i++) {
        int first = 1;

        for (int k = 0; k < i; k++)
            first &= !says_same(&g->member[k], &g->member[i]);
        if (first)
            put_member(f, v, g, &g->member[i]);
    }
}

/* Ranks that no process was found for. */
static void put_absent(FILE *f, const struct verdict *v)
{
    char ranks[RANKS_TEXT];
    int *rank = calloc((size_t)v->absent, sizeof *rank), n = 0;
    char *there = calloc((size_t)v->size + 1, 1);

    for (int i = 0; there && i < v->n; i++)
        if (v->process[i].rank >= 0 && v->process[i].rank < v->size)
            there[v->process[i].rank] = 1;
    for (int i = 0; rank && there && i < v->size && n < v->absent; i++)
        if (!there[i])
            rank[n++] = i;
    if (n) {
        name_ranks(ranks, sizeof ranks, rank, n);
        if (v->gone)
            fprintf(f, "  %s%s%s%s: ended, or without collshim\n", ranks, v->gone_host ? " (" : "",
                    v->gone_host ? v->gone_host : "", v->gone_host ? ")" : "");
        else
            fprintf(f, "  %s: not found: ended, or on a node that was not asked\n", ranks);
    }
    free(rank);
    free(there);
}

/* A member of the group that is not blamed, and has that call. */
static const struct stuck_call *others_call(const struct stuck_group *g, uint64_t number)
{
    for (int i = 0; i < g->n; i++) {
        const struct stuck_call *c = stuck_call_at(g->member[i].line, number);

        if (c && !g->member[i].blamed)
            return c;
    }
    return NULL;
}

/* The blamed of a group, each kind once. */
static void put_blame(FILE *f, const struct verdict *v, const struct stuck_group *g)
{
    for (int i = 0; i < g->n; i++) {
        const struct stuck_member *m = &g->member[i];
        const struct stuck_call *c = stuck_call_at(m->line, g->number);
        char ranks[RANKS_TEXT] = "";
        double age;
        int first = m->blamed;

        for (int k = 0; k < i; k++)
            first &= !says_same(&g->member[k], m);
        if (!first)
            continue;
        name_alike(ranks, g, m, &age);
        fprintf(f, "  %s ", ranks);
        if (g->why == STUCK_DIFFERENT && c) {
            fputs("called ", f);
            put_call(f, m->line, c);
        } else {
            c = last_of(m);
            fputs(idleness(v, m->process), f);
            if (c)
                fputs("; the last call was ", f);
            if (c)
                put_call(f, m->line, c);
        }
        putc('\n', f);
    }
}

void verdict_print(FILE *f, const struct verdict *v)
{
    const struct stuck_group *worst = v->groups ? &v->group[0] : NULL;
    const char *scheduler = v->process[0].scheduler;
    int shown = 0;

    fprintf(f, "collshim stuck: job %s%s%s%s, %d of %d rank%s found\n", v->process[0].job,
            scheduler[0] ? " (" : "", scheduler, scheduler[0] ? ")" : "", v->n,
            v->size > v->n ? v->size : v->n, cli_s(v->size > v->n ? v->size : v->n));
    if (!worst || worst->why == STUCK_NOT) {
        fputs("No rank waits in a collective.\n", f);
    } else {
        const struct stuck_call *c = others_call(worst, worst->number);

        fprintf(f, "%s: %d rank%s wait%s since %.0f s", v->stuck ? "Stuck" : "Waiting",
                worst->waiting, cli_s(worst->waiting), worst->waiting == 1 ? "s" : "", worst->age);
        if (c) {
            fputs(" in ", f);
            put_call(f, worst->member[0].line, c);
        }
        fputs(worst->why == STUCK_ALL_IN ? ", which all ranks have called\n"
              : worst->why == STUCK_LATE ? ", which others have not called\n"
                                         : ", or behind it; ranks do not agree\n",
              f);
        for (int i = 0; i < v->groups; i++)
            if (v->group[i].why == worst->why ||
                (v->group[i].why == STUCK_ALL_IN && worst->why == STUCK_LATE))
                put_blame(f, v, &v->group[i]);
    }
    if (v->absent)
        put_absent(f, v);
    for (int i = 0; i < v->groups && shown < GROUPS_SHOWN; i++)
        if (v->group[i].why != STUCK_NOT) {
            put_group(f, v, &v->group[i]);
            shown++;
        }
}
