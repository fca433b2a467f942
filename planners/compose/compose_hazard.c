/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffers are cut at every border of every operation once, so that a piece is never touched in
 * part. The input is only read and needs no account.
 */
#include "planners/compose/compose_hazard.h"

#include <errno.h>
#include <stdlib.h>

static int by_start(const void *a, const void *b)
{
    const struct compose_piece *x = a, *y = b;

    return x->from < y->from ? -1 : x->from > y->from;
}

static size_t note_borders(struct compose_piece *piece, size_t n, uint64_t at, uint64_t length)
{
    piece[n++] = (struct compose_piece){.from = at, .writer = PLAN_NO_OP};
    piece[n++] = (struct compose_piece){.from = at + length, .writer = PLAN_NO_OP};
    return n;
}

static int cut_buffer(struct compose_hazards *h, int buffer, const struct compose_move *move,
                      size_t moves)
{
    struct compose_piece *piece = malloc((4 * moves + 1) * sizeof *piece);
    size_t n = 0, kept = 0;

    if (!piece)
        return -ENOMEM;
    for (size_t i = 0; i < moves; i++) {
        if (move[i].src == buffer)
            n = note_borders(piece, n, move[i].src_at, move[i].length);
        if (move[i].dst == buffer)
            n = note_borders(piece, n, move[i].dst_at, move[i].length);
    }
    qsort(piece, n, sizeof *piece, by_start);
    for (size_t i = 0; i < n; i++)
        if (!kept || piece[i].from != piece[kept - 1].from)
            piece[kept++] = piece[i];
    h->piece[buffer] = piece;
    h->pieces[buffer] = kept;
    return 0;
}

int compose_hazards_open(struct compose_hazards *h, const struct compose_move *move, size_t moves)
{
    int rc;

    *h = (struct compose_hazards){.readers = 0};
    rc = cut_buffer(h, PLAN_OUTPUT, move, moves);
    return rc ? rc : cut_buffer(h, PLAN_SCRATCH, move, moves);
}

void compose_hazards_close(struct compose_hazards *h)
{
    for (int b = 0; b < PLAN_NONE; b++)
        free(h->piece[b]);
    free(h->reader);
}

/* The piece that starts at a border. */
static struct compose_piece *piece_at(const struct compose_hazards *h, int buffer, uint64_t at)
{
    struct compose_piece key = {.from = at};

    return bsearch(&key, h->piece[buffer], h->pieces[buffer], sizeof key, by_start);
}

static int note_reader(struct compose_hazards *h, struct compose_piece *piece, uint32_t op)
{
    if (h->readers == h->room) {
        size_t room = h->room ? 2 * h->room : 256;
        struct compose_reader *larger = realloc(h->reader, room * sizeof *larger);

        if (!larger)
            return -ENOMEM;
        h->reader = larger;
        h->room = room;
    }
    h->reader[h->readers++] = (struct compose_reader){op, piece->readers};
    piece->readers = (uint32_t)h->readers;
    return 0;
}

/* Those an operation waits for already, so that it names none twice in a row. */
struct named {
    struct plan_builder *b;
    uint32_t op, last;
};

static void name(struct named *n, uint32_t op)
{
    if (op != n->op && op != n->last)
        plan_after(n->b, op);
    n->last = op;
}

/* A reader waits for the writer; a writer for the readers, who have waited for the one before. */
static int read_pieces(struct compose_hazards *h, struct named *n, uint8_t buffer, uint64_t at,
                       uint64_t length)
{
    int rc = 0;

    for (struct compose_piece *p = piece_at(h, buffer, at); !rc && p->from < at + length; p++) {
        name(n, p->writer);
        rc = note_reader(h, p, n->op);
    }
    return rc;
}

static void write_pieces(struct compose_hazards *h, struct named *n, uint8_t buffer, uint64_t at,
                         uint64_t length)
{
    for (struct compose_piece *p = piece_at(h, buffer, at); p->from < at + length; p++) {
        if (!p->readers)
            name(n, p->writer);
        for (uint32_t r = p->readers; r; r = h->reader[r - 1].next)
            name(n, h->reader[r - 1].op);
        p->readers = 0;
        p->writer = n->op;
    }
}

int compose_hazards_wait(struct compose_hazards *h, struct plan_builder *b,
                         const struct compose_move *m, uint32_t op)
{
    struct named n = {b, op, PLAN_NO_OP};
    int rc = 0;

    if (op == PLAN_NO_OP) /* the builder has failed and says so at the end */
        return 0;
    if (m->src == PLAN_OUTPUT || m->src == PLAN_SCRATCH)
        rc = read_pieces(h, &n, m->src, m->src_at, m->length);
    if (!rc && m->dst != PLAN_NONE)
        write_pieces(h, &n, m->dst, m->dst_at, m->length);
    return rc;
}
