/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collective calls of ints, of random functions, sizes, types and places. The test computes the
 * results itself. call_draw() draws a call, and call_fill() writes what this rank contributes. A
 * program makes the call (make_call.h). call_check() looks at the result, and at what lies between
 * its elements. call_free() ends it.
 */
#ifndef COLLSHIM_TEST_MPI_RANDOM_CALL_H
#define COLLSHIM_TEST_MPI_RANDOM_CALL_H

#include "test/mpi/collectives.h"
#include "test/mpi/harness.h"

enum { MOST_RANKS = 16, MOST_LARGE = 20000, ANY = -1, GAP = -7 };

/* A rank's bytes to send and receive: one block or one for each rank; of a root, or of all. A sum
   is of all ranks (1), of those up to this one (2), or of those before it (3). asks: the
   ranks have to tell each other sizes. A nonblocking call is then not rerouted under verify. */
static const struct {
    const char *name;
    int gives_each, gets_each, from_root, to_root, sums, vector, asks;
} kinds[COLLECTIVES] = {
    [ALLGATHER] = {"allgather", 0, 1, 0, 0, 0, 0, 0},
    [ALLGATHERV] = {"allgatherv", 0, 1, 0, 0, 0, 1, 0},
    [ALLREDUCE] = {"allreduce", 0, 0, 0, 0, 1, 0, 0},
    [REDUCE] = {"reduce", 0, 0, 0, 1, 1, 0, 0},
    [REDUCE_SCATTER] = {"reduce_scatter", 1, 0, 0, 0, 1, 1, 0},
    [REDUCE_SCATTER_BLOCK] = {"reduce_scatter_block", 1, 0, 0, 0, 1, 0, 0},
    [BCAST] = {"bcast", 0, 0, 1, 0, 0, 0, 0},
    [GATHER] = {"gather", 0, 1, 0, 1, 0, 0, 0},
    [GATHERV] = {"gatherv", 0, 1, 0, 1, 0, 1, 1},
    [SCATTER] = {"scatter", 1, 0, 1, 0, 0, 0, 0},
    [SCATTERV] = {"scatterv", 1, 0, 1, 0, 0, 1, 1},
    [ALLTOALL] = {"alltoall", 1, 1, 0, 0, 0, 0, 0},
    [ALLTOALLV] = {"alltoallv", 1, 1, 0, 0, 0, 1, 1},
    [ALLTOALLW] = {"alltoallw", 1, 1, 0, 0, 0, 1, 1},
    [SCAN] = {"scan", 0, 0, 0, 0, 2, 0, 0},
    [EXSCAN] = {"exscan", 0, 0, 0, 0, 3, 0, 0},
};

struct place {
    MPI_Comm comm;
    int rank, size;
};

/* Counts and displacements by one width of integers. */
struct narrow_blocks {
    int count[MOST_RANKS], displ[MOST_RANKS], byte_displ[2][MOST_RANKS];
};

struct wide_blocks {
    MPI_Count count[MOST_RANKS];
    MPI_Aint displ[MOST_RANKS], byte_displ[2][MOST_RANKS];
};

struct call {
    enum collective what;
    const struct place *at;
    uint64_t key; /* of the data */
    int n, root, in_place;
    int gap[2]; /* ints between elements of input and output, on this rank */
    MPI_Datatype type[2], types[2][MOST_RANKS];
    struct narrow_blocks narrow;
    struct wide_blocks wide;
    int *in, *out;
    size_t room; /* ints in each */
};

static void place_measure(struct place *p)
{
    MPI_Comm_rank(p->comm, &p->rank);
    MPI_Comm_size(p->comm, &p->size);
}

/* All ranks; all in reverse; those of even and of odd number; if there is a fourth, this one alone.
   The first call on each is a blocking one. */
static UNUSED void places_make(struct place *p, int n)
{
    MPI_Comm_dup(MPI_COMM_WORLD, &p[0].comm);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &p[1].comm);
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &p[2].comm);
    if (n > 3)
        MPI_Comm_dup(MPI_COMM_SELF, &p[3].comm);
    for (int i = 0; i < n; i++) {
        int one = 1, sum = 0;

        place_measure(&p[i]);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, p[i].comm);
    }
}

/* Small enough to be summed over all ranks. */
static int call_value(const struct call *c, int from, int to, size_t i)
{
    return (int)(mix(c->key + ((uint64_t)(from + 1) * 64 + (uint64_t)(to + 1)) * MOST_LARGE + i) %
                 1000000);
}

/* Where block b begins, in elements. Blocks of a vector that is reduced have no displacements. */
static size_t call_begin_of(const struct call *c, int b)
{
    size_t at = 0;

    if (!kinds[c->what].vector)
        return (size_t)b * (size_t)c->n;
    if (!kinds[c->what].sums)
        return (size_t)c->narrow.displ[b];
    for (int i = 0; i < b; i++)
        at += (size_t)c->narrow.count[i];
    return at;
}

static int call_length_of(const struct call *c, int b)
{
    return kinds[c->what].vector ? c->narrow.count[b] : c->n;
}

/* An int, and behind it as many ints that belong to no element. */
static MPI_Datatype call_make_type(int gap)
{
    MPI_Datatype type;

    if (!gap)
        return MPI_INT;
    MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)(sizeof(int) * (size_t)(1 + gap)), &type);
    MPI_Type_commit(&type);
    return type;
}

static void call_free_types(struct call *c)
{
    for (int i = 0; i < 2; i++)
        if (c->gap[i])
            MPI_Type_free(&c->type[i]);
}

/* Is the own contribution where the result will be? */
static int call_is_in_place(const struct call *c)
{
    if (c->what == BCAST)
        return 1;
    if (kinds[c->what].from_root || kinds[c->what].to_root)
        return c->in_place && c->at->rank == c->root;
    return c->in_place;
}

static int call_scatters(const struct call *c)
{
    return c->what == SCATTER || c->what == SCATTERV;
}

/* Draws that all ranks of the communicator make alike, from d, and then some of this rank's own.
   most: elements of a block. */
static void call_draw(struct call *c, const struct place *places, int nplaces, int most,
                      struct draw *d)
{
    struct draw own = draw_from(d->state, (uint64_t)world_rank + 100);
    int turn;
    size_t at = 0;

    memset(c, 0, sizeof *c);
    c->what = (enum collective)draw_below(d, COLLECTIVES);
    c->at = &places[draw_below(d, nplaces)];
    c->n = draw_below(d, 15) ? 1 + draw_below(d, most) : 0;
    c->root = (int)((uint64_t)draw_below(d, 1 << 20) % (uint64_t)c->at->size);
    c->in_place = !draw_below(d, 3) && c->what != BCAST;
    turn = draw_below(d, 100);
    int pairs = c->what == ALLTOALLV || c->what == ALLTOALLW;
    for (int i = 0; i < 2; i++) {
        c->gap[i] = kinds[c->what].sums ? 0 : draw_below(&own, 3) % 2;
        c->type[i] = call_make_type(c->gap[i]);
    }
    for (int r = 0; r < c->at->size; r++) {
        struct narrow_blocks *b = &c->narrow;

        int row = pairs ? r + c->at->rank : r; /* two ranks send each other as much */

        b->count[r] = c->n ? c->n - (row * 7 + turn) % (c->n < 9 ? c->n : 9) : 0;
        b->displ[r] = (int)at;
        at += (size_t)b->count[r] + (kinds[c->what].sums ? 0 : 2);
        c->wide.count[r] = b->count[r];
        c->wide.displ[r] = b->displ[r];
        for (int i = 0; i < 2; i++) {
            c->types[i][r] = c->type[i];
            b->byte_displ[i][r] = b->displ[r] * (int)sizeof(int) * (1 + c->gap[i]);
            c->wide.byte_displ[i][r] = b->byte_displ[i][r];
        }
    }
    c->room = 2 * (size_t)(c->n + 2) * (size_t)c->at->size;
    c->in = malloc(c->room * sizeof *c->in);
    c->out = malloc(c->room * sizeof *c->out);
    if (!c->in || !c->out)
        abort();
}

/* Overwrites the arrays that a call has started with. MPI forbids it before the call is complete.
   Open MPI reads them at the start alone, and programs rely on that. */
static UNUSED void call_spoil_blocks(struct call *c)
{
#ifdef OPEN_MPI
    memset(&c->narrow, 0x55, sizeof c->narrow);
    memset(&c->wide, 0x55, sizeof c->wide);
#else
    (void)c;
#endif
}

/* The types are freed apart, by call_free_types(). */
static void call_free(struct call *c)
{
    free(c->in);
    free(c->out);
}

/* Write what this rank contributes: into the input, or, in place, where MPI wants it. */
static void call_fill(struct call *c)
{
    int each = kinds[c->what].gives_each, rank = c->at->rank;
    int in_place = call_is_in_place(c), to_out = in_place && !call_scatters(c);
    int *to = to_out ? c->out : c->in;
    size_t step = 1 + (size_t)c->gap[to_out];

    for (size_t i = 0; i < c->room; i++)
        c->in[i] = c->out[i] = GAP;
    if (kinds[c->what].from_root && rank != c->root)
        return;
    for (int b = 0; b < (each ? c->at->size : 1); b++) {
        int own_block = in_place && kinds[c->what].gets_each && !each;
        size_t from = each ? call_begin_of(c, b) : own_block ? call_begin_of(c, rank) : 0;

        for (int i = 0; i < call_length_of(c, each ? b : rank); i++)
            to[(from + (size_t)i) * step] = call_value(c, rank, each ? b : ANY, (size_t)i);
    }
}

/* So many ranks, the first. */
static int call_summed(const struct call *c)
{
    return kinds[c->what].sums == 1 ? c->at->size : c->at->rank + (kinds[c->what].sums == 2);
}

static int call_wanted(const struct call *c, int block, int i)
{
    int to = kinds[c->what].gives_each ? c->at->rank : ANY, sum = 0;

    if (kinds[c->what].from_root)
        return call_value(c, c->root, to, (size_t)i);
    if (!kinds[c->what].sums)
        return call_value(c, block, to, (size_t)i);
    for (int r = 0; r < call_summed(c); r++)
        sum += call_value(c, r, to, (size_t)i);
    return sum;
}

/* how: words about the call, for the message. In place a reduction to blocks leaves more than its
   block undefined. */
static void call_check(const struct call *c, const char *how)
{
    int each = kinds[c->what].gets_each;
    size_t step = 1 + (size_t)c->gap[1];

    if ((kinds[c->what].to_root && c->at->rank != c->root) ||
        (call_scatters(c) && call_is_in_place(c)) || (kinds[c->what].sums && !call_summed(c)))
        return;
    for (int b = 0; b < (each ? c->at->size : 1); b++) {
        size_t from = each ? call_begin_of(c, b) : 0;

        for (int i = 0; i < call_length_of(c, each ? b : c->at->rank); i++) {
            const int *got = c->out + (from + (size_t)i) * step;

            if (*got != call_wanted(c, b, i) || (step > 1 && got[1] != GAP)) {
                fail("%s of %d on %d ranks, root %d%s, %s: element %d of block %d is %d, expected "
                     "%d, %s behind it",
                     kinds[c->what].name, c->n, c->at->size, c->root,
                     c->in_place ? ", in place" : "", how, i, b, *got, call_wanted(c, b, i),
                     step > 1 && got[1] != GAP ? "overwritten" : "nothing");
                return;
            }
        }
    }
}

#endif
