/* SPDX-License-Identifier: BSD-3-Clause */
/* A buffer is cut where operations begin and end, so that a piece is never touched in part. */
#include "planners/plan/tracked.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* An operation just added, and the last dependency it has named, so that it names none twice in a
   row. */
struct named {
    struct tracked *w;
    uint32_t op, last;
};

/* Room for n of them, each `bytes` long; NULL, and `list` is kept, if there is none. */
static void *grown(void *list, size_t *room, size_t n, size_t bytes)
{
    size_t larger = *room ? 2 * *room : 64;

    if (n <= *room)
        return list;
    list = realloc(list, larger * bytes);
    if (list)
        *room = larger;
    return list;
}

/* The index of the piece that holds a place. */
static size_t holding(const struct tracked_buffer *buffer, uint64_t at)
{
    size_t low = 0, high = buffer->n; /* low holds it or lies before, high lies behind */

    if (high && buffer->piece[high - 1].from <= at) /* most operations are added in order */
        return high - 1;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (buffer->piece[middle].from <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Cut there, unless it is cut already. Returns the index of the piece that begins there, or -1. */
static long cut(struct tracked *w, struct tracked_buffer *buffer, uint64_t at)
{
    struct tracked_piece *piece =
        grown(buffer->piece, &buffer->room, buffer->n + 2, sizeof *buffer->piece);

    if (!piece) {
        w->failed = 1;
        return -1;
    }
    buffer->piece = piece;
    if (!buffer->n)
        piece[buffer->n++] = (struct tracked_piece){.from = 0, .writer = PLAN_NO_OP};
    size_t i = holding(buffer, at);
    if (piece[i].from == at)
        return (long)i;
    memmove(&piece[i + 1], &piece[i], (buffer->n - i) * sizeof *piece);
    buffer->n++;
    piece[++i].from = at;
    return (long)i;
}

static void name(struct named *n, uint32_t op)
{
    if (op != n->op && op != n->last)
        plan_after(n->w->b, op);
    n->last = op;
}

static void note_reader(struct tracked *w, struct tracked_piece *piece, uint32_t op)
{
    struct tracked_reader *reader = grown(w->reader, &w->room, w->readers + 1, sizeof *w->reader);

    if (!reader) {
        w->failed = 1;
        return;
    }
    w->reader = reader;
    w->reader[w->readers++] = (struct tracked_reader){op, piece->readers};
    piece->readers = (uint32_t)w->readers;
}

/* The operation reads these bytes: it waits for the writer. */
static void reads(struct named *n, struct spot src, uint64_t length)
{
    struct tracked_buffer *buffer = &n->w->buffer[src.buffer];

    if (n->op == PLAN_NO_OP || src.buffer == PLAN_INPUT)
        return;
    long first = cut(n->w, buffer, src.at), end = cut(n->w, buffer, src.at + length);
    for (long i = first; i >= 0 && i < end; i++) {
        name(n, buffer->piece[i].writer);
        note_reader(n->w, &buffer->piece[i], n->op);
    }
}

/* It overwrites them: it waits for the readers; these have waited for the writer before. */
static void writes(struct named *n, struct spot dst, uint64_t length)
{
    struct tracked_buffer *buffer = &n->w->buffer[dst.buffer];

    if (n->op == PLAN_NO_OP)
        return;
    long first = cut(n->w, buffer, dst.at), end = cut(n->w, buffer, dst.at + length);
    if (first < 0 || end < 0)
        return;
    for (long i = first; i < end; i++) {
        if (!buffer->piece[i].readers)
            name(n, buffer->piece[i].writer);
        for (uint32_t r = buffer->piece[i].readers; r; r = n->w->reader[r - 1].next)
            name(n, n->w->reader[r - 1].op);
    }
    buffer->piece[first] = (struct tracked_piece){.from = dst.at, .writer = n->op};
    memmove(&buffer->piece[first + 1], &buffer->piece[end],
            (buffer->n - (size_t)end) * sizeof *buffer->piece);
    buffer->n -= (size_t)(end - first - 1);
}

static struct named named(struct tracked *w, uint32_t op)
{
    return (struct named){w, op, PLAN_NO_OP};
}

uint32_t tracked_send(struct tracked *w, int peer, int tag, struct spot src, uint64_t length)
{
    struct named n = named(w, plan_send(w->b, peer, tag, src.buffer, src.at, length));

    reads(&n, src, length);
    return n.op;
}

uint32_t tracked_recv(struct tracked *w, int peer, int tag, struct spot dst, uint64_t length)
{
    struct named n = named(w, plan_recv(w->b, peer, tag, dst.buffer, dst.at, length));

    writes(&n, dst, length);
    return n.op;
}

static int same(struct spot a, struct spot b)
{
    return a.buffer == b.buffer && a.at == b.at;
}

void tracked_copy(struct tracked *w, int tag, struct spot src, struct spot dst, uint64_t length)
{
    if (same(src, dst))
        return;
    struct named n = named(w, plan_copy(w->b, tag, src.buffer, src.at, dst.buffer, dst.at, length));

    reads(&n, src, length);
    writes(&n, dst, length);
}

void tracked_reduce(struct tracked *w, int tag, struct spot src, struct spot dst, uint64_t length)
{
    struct named n =
        named(w, plan_reduce(w->b, tag, src.buffer, src.at, dst.buffer, dst.at, length));

    reads(&n, src, length);
    writes(&n, dst, length);
}

uint32_t tracked_recv_reduce(struct tracked *w, int peer, int tag, struct spot src, struct spot dst,
                             uint64_t length)
{
    struct named n =
        named(w, plan_recv_reduce(w->b, peer, tag, src.buffer, src.at, dst.buffer, dst.at, length));

    if (!same(src, dst)) /* else the writing covers it */
        reads(&n, src, length);
    writes(&n, dst, length);
    return n.op;
}

void tracked_wait(struct tracked *w, struct spot src, uint64_t length)
{
    const struct tracked_buffer *buffer = &w->buffer[src.buffer];

    for (size_t i = holding(buffer, src.at);
         i < buffer->n && buffer->piece[i].from < src.at + length; i++)
        plan_after(w->b, buffer->piece[i].writer);
}

int tracked_close(struct tracked *w)
{
    for (int i = 0; i < PLAN_NONE; i++)
        free(w->buffer[i].piece);
    free(w->reader);
    return w->failed ? -ENOMEM : 0;
}
