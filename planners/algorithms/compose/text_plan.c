/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One rank's plan of a composition that is a text. Each rank has its input and a vector of two
 * blocks per rank. A primitive reads the vector where an earlier step wrote it, and the input
 * elsewhere. A block of the vector that is the collective's output lies there, others in scratch.
 *
 * Primitives of one step do not depend on each other: a rank must not write what another primitive
 * of the step writes or reads there. So no step has a cycle, and what lies between two steps is the
 * fence. Every rank finds its own faults; text.c asks all of them before any may run.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planners/algorithms/compose/text_parts.h"
#include "planners/links/shares.h"
#include "planners/plan/chunks.h"

enum { NOBODY = -1, SEVERAL = -2 };

/* A block on this rank. Steps: plus 1, 0 is never. */
struct block {
    int wrote, reads, takes;   /* the last step that wrote it, read it, took it from the input */
    int writer, reader, taker; /* the primitives */
    int before;                /* it was written before the step `wrote` */
};

struct plan_work {
    const struct text_work *w;
    const struct plan_request *q;
    struct block *block;   /* [2 * nranks] owned */
    uint8_t *reads_vector; /* [primitives] owned: not the input */
    struct {
        uint32_t from, to;
    } output, input, kept;      /* blocks */
    int in_place, saves, apart; /* input in the output; it is copied; the output is apart */
    char *why;
    size_t why_size;
};

static struct compose_primitive primitive_of(const struct text_work *w,
                                             const struct text_primitive *p);

static uint64_t place(const struct text_work *w, uint32_t block)
{
    uint32_t n = (uint32_t)w->shape.t->nranks;

    return block < n       ? w->from[block]
           : block < 2 * n ? w->total + w->from[block - n]
                           : 2 * w->total;
}

/* May the rank have a part in it? */
static int has_part(const struct text_primitive *p, int rank)
{
    return (p->ranks >> rank % 64 & 1) != 0;
}

static int among(const struct text_work *w, const struct text_primitive *p, int rank)
{
    struct compose_primitive asked;

    if (p->alone || rank == p->root)
        return rank == p->root && p->root_inside;
    if (p->leaf != COMPOSE_EVERYONE)
        return rank == p->leaf;
    asked = primitive_of(w, p);
    return compose_has(&w->shape, &asked, rank);
}

/* Which blocks of a side of the collective this rank has. */
static void cover(const struct plan_request *q, uint8_t side, uint32_t *from, uint32_t *to)
{
    int own = side == PLAN_BLOCK, all = side == PLAN_VECTOR || side == PLAN_BLOCKS;

    if (side == PLAN_ROOT_VECTOR || side == PLAN_ROOT_BLOCKS)
        all = q->rank == q->root;
    *from = own ? (uint32_t)q->rank : 0;
    *to = own ? *from + 1 : all ? (uint32_t)q->topo->nranks : 0;
}

static int is_output(const struct plan_work *w, uint32_t from, uint32_t blocks)
{
    return !w->apart && from >= w->output.from && from + blocks <= w->output.to;
}

static int wrong(const struct plan_work *w, int primitive, const char *what, uint32_t block,
                 int other)
{
    char where[64] = "";

    if (other >= 0) {
        uint32_t at = w->w->t->token[w->w->list.primitive[other].token].at, line = 1;

        for (uint32_t i = 0; i < at; i++)
            line += w->w->t->content[i] == '\n';
        snprintf(where, sizeof where, " (line %u); a fence goes between them", line);
    }
    return text_wrong(w->w->t, w->w->list.primitive[primitive].token, w->why, w->why_size,
                      "rank %d %s block %u%s", w->q->rank, what, block, where);
}

static void note(int *step, int *who, int now, int primitive)
{
    *who = *step == now && *who != primitive ? SEVERAL : primitive;
    *step = now;
}

/* Has an earlier step written it? */
static int is_written(const struct block *b, int now)
{
    return b->wrote == now ? b->before : b->wrote > 0;
}

/* Primitive i reads its source on this rank. */
static int read_source(struct plan_work *w, int i)
{
    const struct text_primitive *p = &w->w->list.primitive[i];
    int now = p->step + 1;
    uint32_t written = 0;

    for (uint32_t k = p->from; k < p->from + p->blocks; k++)
        written += (uint32_t)is_written(&w->block[k], now);
    if (written && written < p->blocks)
        return wrong(w, i, "has written some, not all, of the blocks it reads from", p->from,
                     NOBODY);
    w->reads_vector[i] = written > 0;
    for (uint32_t k = p->from; k < p->from + p->blocks; k++) {
        struct block *b = &w->block[k];

        if (!written && (k < w->input.from || k >= w->input.to))
            return wrong(w, i, "sends what it does not have:", k, NOBODY);
        if (written && b->wrote == now && b->writer != i)
            return wrong(w, i, "reads, and in the same step gets,", k, b->writer);
        if (written)
            note(&b->reads, &b->reader, now, i);
        else
            note(&b->takes, &b->taker, now, i);
        w->saves |= !written && w->in_place && b->wrote == now && b->writer != i;
    }
    return 0;
}

/* Primitive i writes its destination on this rank. */
static int write_destination(struct plan_work *w, int i)
{
    const struct text_primitive *p = &w->w->list.primitive[i];
    int now = p->step + 1, reads = p->from == p->to ? i : NOBODY;

    for (uint32_t k = p->to; k < p->to + p->blocks; k++) {
        struct block *b = &w->block[k];

        if (b->wrote == now)
            return wrong(w, i, "gets twice in one step", k, b->writer);
        if (b->reads == now && b->reader != reads)
            return wrong(w, i, "gets, and in the same step reads,", k, b->reader);
        w->saves |= w->in_place && b->takes == now && b->taker != reads;
        b->before = b->wrote > 0;
        b->wrote = now;
        b->writer = i;
    }
    int inside = is_output(w, p->to, p->blocks);
    w->apart |= !inside && p->to < w->output.to && p->to + p->blocks > w->output.from;
    if (inside)
        return 0;
    if (p->to < w->kept.from)
        w->kept.from = p->to;
    if (p->to + p->blocks > w->kept.to)
        w->kept.to = p->to + p->blocks;
    return 0;
}

/* Follow what this rank reads and writes in all primitives. */
static int follow(struct plan_work *w)
{
    const struct text_list *l = &w->w->list;
    int me = w->q->rank, rc = 0;

    if (w->q->collective == COLL_BCAST && me == w->q->root)
        for (uint32_t k = 0; k < w->output.to; k++)
            w->block[k].wrote = 1;
    for (size_t i = 0; !rc && i < l->n; i++) {
        const struct text_primitive *p = &l->primitive[i];
        int leaf, root = p->root == me;

        if (!has_part(p, me))
            continue;
        leaf = among(w->w, p, me);
        if (p->kind == COMPOSE_MULTICAST ? root : leaf)
            rc = read_source(w, (int)i);
        if (!rc && (p->kind == COMPOSE_MULTICAST ? leaf : root))
            rc = write_destination(w, (int)i);
    }
    if (w->apart && !rc) { /* the output is filled in at the end */
        w->kept.from = w->output.from < w->kept.from ? w->output.from : w->kept.from;
        w->kept.to = w->output.to > w->kept.to ? w->output.to : w->kept.to;
    }
    return rc;
}

/* The places of this rank's buffers; returns the bytes of scratch. */
static uint64_t lay_ground(const struct plan_work *w, struct compose_ground ground[COMPOSE_FRESH])
{
    const struct text_work *all = w->w;
    uint64_t start = place(all, w->kept.from), kept = 0;

    if (w->kept.to)
        kept = place(all, w->kept.to) - start;
    ground[COMPOSE_OUTPUT] = (struct compose_ground){PLAN_OUTPUT, place(all, w->output.from), 0};
    ground[COMPOSE_KEPT] = (struct compose_ground){PLAN_SCRATCH, start, 0};
    ground[COMPOSE_INPUT] = (struct compose_ground){PLAN_INPUT, place(all, w->input.from), 0};
    if (w->in_place)
        ground[COMPOSE_INPUT] = ground[COMPOSE_OUTPUT];
    if (!w->saves)
        return kept;
    ground[COMPOSE_INPUT] = (struct compose_ground){PLAN_SCRATCH, place(all, w->input.from), kept};
    return kept + place(all, w->input.to) - place(all, w->input.from);
}

static struct compose_primitive primitive_of(const struct text_work *w,
                                             const struct text_primitive *p)
{
    return (struct compose_primitive){.kind = p->kind,
                                      .root = p->root,
                                      .leaf = p->leaf,
                                      .only = p->nonly ? w->list.leaf + p->only : NULL,
                                      .nonly = p->nonly,
                                      .root_apart = !p->root_inside,
                                      .from_at = place(w, p->from),
                                      .to_at = place(w, p->to),
                                      .bytes = place(w, p->from + p->blocks) - place(w, p->from)};
}

static void emit(const struct plan_work *w, struct compose_emit *e, int i)
{
    const struct text_primitive *p = &w->w->list.primitive[i];
    const struct compose_primitive c = primitive_of(w->w, p);
    int stripes = compose_stripes(&w->w->shape, c.root, c.leaf);
    const struct compose_step step = {
        .from = w->reads_vector[i]
                    ? is_output(w, p->from, p->blocks) ? COMPOSE_OUTPUT : COMPOSE_KEPT
                    : COMPOSE_INPUT,
        .via = COMPOSE_FRESH,
        .to = is_output(w, p->to, p->blocks) ? COMPOSE_OUTPUT : COMPOSE_KEPT};

    compose_emit_step(e, p->step, &step);
    if (c.root == w->q->rank && p->root_inside && (p->alone || p->kind == COMPOSE_MULTICAST))
        compose_emit_copy(e, step.from, c.from_at, step.to, c.to_at, c.bytes);
    for (int j = 0; !p->alone && j < stripes; j++)
        compose_emit_stripe(e, &c, j);
}

static void emit_all(const struct plan_work *w, struct compose_emit *e)
{
    const struct text_work *all = w->w;

    if (w->saves) {
        uint64_t at = place(all, w->input.from);

        compose_emit_step(e, 0, NULL);
        compose_emit_copy(e, COMPOSE_OUTPUT, at, COMPOSE_INPUT, at, place(all, w->input.to) - at);
    }
    for (size_t i = 0; i < all->list.n; i++)
        if (has_part(&all->list.primitive[i], w->q->rank))
            emit(w, e, (int)i);
    compose_emit_step(e, all->list.steps + 1, NULL);
    for (uint32_t k = w->output.from; w->apart && k < w->output.to; k++)
        if (w->block[k].wrote > 1)
            compose_emit_copy(e, COMPOSE_KEPT, place(all, k), COMPOSE_OUTPUT, place(all, k),
                              place(all, k + 1) - place(all, k));
}

int text_plan(const struct text_work *all, const struct plan_request *q, struct plan **plan_p,
              char *why, size_t why_size)
{
    struct plan_work w = {.w = all, .q = q, .why = why, .why_size = why_size};
    struct compose_ground ground[COMPOSE_FRESH];
    size_t blocks = 2 * (size_t)q->topo->nranks;
    int rc = -ENOMEM;

    w.in_place = plan_in_place(q, q->rank) && !plan_scatters(q->collective);
    cover(q, plan_collectives[q->collective].input, &w.input.from, &w.input.to);
    cover(q, plan_collectives[q->collective].output, &w.output.from, &w.output.to);
    if (plan_in_place(q, q->rank) && plan_scatters(q->collective))
        w.output.to = w.output.from;
    w.kept.from = (uint32_t)blocks;
    w.block = calloc(blocks, sizeof *w.block);
    w.reads_vector = calloc(all->list.n + 1, 1);
    if (w.block && w.reads_vector)
        rc = follow(&w);
    if (!rc) {
        struct compose_emit *e = compose_emit_open(q, &all->shape, ground, lay_ground(&w, ground));

        rc = e ? 0 : -ENOMEM;
        if (e) {
            emit_all(&w, e);
            rc = compose_emit_finish(e, all->chunk_bytes, "text", plan_p);
        }
        compose_emit_close(e);
    }
    free(w.block);
    free(w.reads_vector);
    return rc;
}

/* The vector's blocks: the caller's, or parts of the one vector. */
static int divide(struct text_work *w)
{
    const struct plan_request *q = w->q;
    size_t n = (size_t)q->topo->nranks;

    w->total = plan_total_bytes(q);
    w->sizes = malloc(n * sizeof *w->sizes);
    w->from = malloc(n * sizeof *w->from);
    if (!w->sizes || !w->from)
        return -ENOMEM;
    if (plan_is_vector(q->collective))
        return shares_divide(q->topo, q->nbytes, q->grain, w->sizes, w->from);
    for (size_t r = 0, next = 0; r < n; next += w->sizes[r++]) {
        w->sizes[r] = plan_block_bytes(q, (int)r);
        w->from[r] = next;
    }
    return 0;
}

static size_t size_there(const struct text_work *w, uint32_t block)
{
    return w->sizes[block % (uint32_t)w->shape.t->nranks];
}

/* The first of p's blocks that goes to one of another size; p->blocks: none does. The proof, whose
   blocks are all of one size, holds for no such move, not even if the sums are equal. */
static uint32_t unequal_block(const struct text_work *w, const struct text_primitive *p)
{
    uint32_t k = 0;

    if (p->from % (uint32_t)w->shape.t->nranks == p->to % (uint32_t)w->shape.t->nranks)
        return p->blocks;
    while (k < p->blocks && size_there(w, p->from + k) == size_there(w, p->to + k))
        k++;
    return k;
}

/* Pipeline depth m (IV-E), and blocks that go to others of the same length. */
static int measure(struct text_work *w, char *why, size_t why_size)
{
    uint64_t most = 0, parts = (uint64_t)w->shape.pipeline * (uint64_t)w->shape.stripe;

    for (size_t i = 0; i < w->list.n; i++) {
        const struct text_primitive *p = &w->list.primitive[i];
        uint64_t bytes = place(w, p->from + p->blocks) - place(w, p->from);
        uint32_t k = unequal_block(w, p);

        if (k < p->blocks)
            return text_wrong(w->t, p->token, why, why_size,
                              "block %u of %zu bytes goes to block %u of %zu; blocks of one size "
                              "are right",
                              p->from + k, size_there(w, p->from + k), p->to + k,
                              size_there(w, p->to + k));
        most = bytes > most ? bytes : most;
    }
    w->chunk_bytes = w->q->chunk_bytes;
    if (parts)
        w->chunk_bytes = plan_chunk(w->q, (most / w->q->grain + parts - 1) / parts * w->q->grain);
    return 0;
}

int text_work_open(struct text_work *w, const struct plan_request *q, const struct text *t,
                   char *why, size_t why_size)
{
    static const uint8_t natures[COMPOSE_CHOICES];
    struct plan_request asked = *q;
    char wrong_machine[192] = "";

    asked.recipe = t->machine;
    *w = (struct text_work){.q = q, .t = t};
    int rc = compose_shape_open(&w->shape, &asked, COMPOSE_SINGLE, natures, wrong_machine,
                                sizeof wrong_machine);
    if (rc == -EINVAL || (!rc && w->shape.steps != COMPOSE_SINGLE))
        return text_wrong(t, t->machine_token, why, why_size, "machine(%s): %s", t->machine,
                          rc ? wrong_machine : "the text itself says the steps; leave steps= out");
    if (!rc)
        rc = text_list_open(&w->list, t, &w->shape, q->root, why, why_size);
    if (!rc)
        rc = divide(w);
    return rc ? rc : measure(w, why, why_size);
}

void text_work_close(struct text_work *w)
{
    compose_shape_close(&w->shape);
    text_list_close(&w->list);
    free(w->sizes);
    free(w->from);
    w->sizes = NULL;
    w->from = NULL;
}
