/* SPDX-License-Identifier: BSD-3-Clause */
#include "planners/algorithms/lane/lanes_pieces.h"

#include <errno.h>
#include <stdlib.h>

static const double sliver = 1e-6; /* of the vector: not worth a piece */

/* From here on, a node's data is that local rank's. */
struct held {
    double from;
    int local;
};

/* A division under way. Tables are by slice, then by node. The vector is 1, and a rail carries in
   the time of the call so much of it. */
struct lanes_division {
    const struct topo *t;
    int nodes, slices; /* slices: ranks of the largest node */
    double *part;      /* [nodes]: what each node combines */
    double *can;       /* the bytes that the local rank of that slice can carry */
    double *own;       /* the bytes it combines */
    double *wide;      /* [slices] */
    double *begin;     /* [slices + 1]: where each slice begins */
    double *parts;     /* [slices * (nodes + 1)]: where nodes' parts of each slice begin, of 1 */
    struct held *held; /* [slices * (slices + 1)] owned: one node's */
    int nheld;
};

/*
 * In time T a node of rate R moves 1 + (n - 2) u of the vector, each way: u = (T R - 1) / (n - 2),
 * and the parts make 1 if T is 2 (n - 1) / the sum of all R. A node too slow for that has none, and
 * the others share the vector without it.
 */
static void find_parts(double *part, int n)
{
    int sharing = n + 1, still = n;

    while (still < sharing) {
        double all = 0, time;

        sharing = still;
        for (int i = 0; i < n; i++)
            all += part[i] > 0 ? part[i] : 0;
        time = (sharing + n - 2) / all;
        still = 0;
        for (int i = 0; i < n; i++) {
            part[i] = time * part[i] > 1 ? part[i] : 0;
            still += part[i] > 0;
        }
        for (int i = 0; i < n && still == sharing; i++)
            part[i] = part[i] > 0 ? (time * part[i] - 1) / (n - 2) : 0;
    }
}

static double weight_of(const struct topo *t, int node, int local)
{
    return local < topo_node_size(t, node)
               ? (double)shares_rail_weight(t, node, local, SHARE_THROUGH)
               : 0;
}

static void divide_nodes(struct lanes_division *d)
{
    int n = d->nodes, more = n > 2 ? n - 2 : 0;
    double all = 0;

    for (int i = 0; i < n; i++) {
        d->part[i] = 0;
        for (int l = 0; l < d->slices; l++)
            d->part[i] += d->can[l * n + i] = weight_of(d->t, i, l);
        for (int l = 0; l < d->slices; l++)
            d->can[l * n + i] /= d->part[i];
    }
    if (n > 2)
        find_parts(d->part, n);
    for (int i = 0; i < n; i++)
        all += d->part[i];
    for (int i = 0; i < n; i++) {
        d->part[i] /= all;
        for (int l = 0; l < d->slices; l++)
            d->can[l * n + i] *= 1 + more * d->part[i];
    }
}

/* A node's part in slices: where its ranks can carry more than the slice is wide. */
static void divide_node(struct lanes_division *d, int node)
{
    double sum = 0;

    for (int l = 0; l < d->slices; l++) {
        double *own = &d->own[l * d->nodes + node];

        *own = d->can[l * d->nodes + node] - (d->nodes > 2 ? d->wide[l] : 0);
        *own = *own > 0 ? *own : 0;
        sum += *own;
    }
    for (int l = 0; l < d->slices; l++)
        d->own[l * d->nodes + node] *= sum > 0 ? d->part[node] / sum : 0;
}

/* A slice is as wide as what all nodes combine of it, which hangs on how wide it is. */
static void divide_slices(struct lanes_division *d)
{
    enum { ROUNDS = 60 };

    for (int l = 0; l < d->slices; l++)
        d->wide[l] = 1. / d->slices;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < d->nodes; i++)
            divide_node(d, i);
        for (int l = 0; l < d->slices; l++) {
            double sum = 0;

            for (int i = 0; i < d->nodes; i++)
                sum += d->own[l * d->nodes + i];
            d->wide[l] = (3 * d->wide[l] + sum) / 4; /* half way would be to and fro */
        }
    }
}

/* Values become where each begins, of their sum. Returns the sum. from: [n + 1]. */
static double lay_out(const double *value, int n, double *from)
{
    double sum = 0;

    for (int i = 0; i < n; i++) {
        from[i] = sum;
        sum += value[i];
    }
    for (int i = 0; i < n && sum > 0; i++)
        from[i] /= sum;
    from[n] = 1;
    return sum;
}

static void divide(struct lanes_division *d)
{
    divide_nodes(d);
    divide_slices(d);
    lay_out(d->wide, d->slices, d->begin);
    for (int l = 0; l < d->slices; l++)
        lay_out(d->own + l * d->nodes, d->nodes, d->parts + l * (d->nodes + 1));
}

/* The bytes of its own slice that the local rank carries; *more: those of others. */
static double carries(const struct lanes_division *d, int node, int l, double *more)
{
    double wide = d->begin[l + 1] - d->begin[l], can = d->can[l * d->nodes + node];
    double used = wide + (d->nodes > 2 ? d->nodes - 2 : 0) * d->own[l * d->nodes + node];

    *more = can > used + sliver ? can - used : 0;
    return can < wide - sliver ? can : wide;
}

static void hold(struct lanes_division *d, double from, int local)
{
    if (!d->nheld || d->held[d->nheld - 1].local != local)
        d->held[d->nheld++] = (struct held){from, local};
}

/* The division of a node's data among its ranks: of each slice first its own rank, then those that
   can carry more, each in proportion. */
static void hold_all(struct lanes_division *d, int node)
{
    double spare = 0, more;

    d->nheld = 0;
    for (int l = 0; l < d->slices; l++) {
        carries(d, node, l, &more);
        spare += more;
    }
    for (int l = 0; l < d->slices; l++) {
        double own = carries(d, node, l, &more), at = d->begin[l] + own;
        double rest = d->begin[l + 1] - at;

        if (own > sliver)
            hold(d, d->begin[l], l);
        for (int k = 0; k < d->slices && rest > sliver; k++) {
            carries(d, node, k, &more);
            if (more > 0)
                hold(d, at, k);
            at += more > 0 ? rest * more / spare : 0;
        }
    }
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Where slices begin, and data of some node changes hands. cut: room for all. Returns how many. */
static int find_cuts(struct lanes_division *d, double *cut)
{
    int n = 0, kept = 1; /* the first slice begins at 0 */

    for (int l = 0; l < d->slices; l++)
        cut[n++] = d->begin[l];
    for (int i = 0; i < d->nodes; i++) {
        hold_all(d, i);
        for (int k = 1; k < d->nheld; k++)
            cut[n++] = d->held[k].from;
    }
    qsort(cut, (size_t)n, sizeof *cut, ascending);
    for (int i = 1; i < n; i++)
        if (cut[i] < 1 - sliver && cut[i] > cut[kept - 1] + sliver)
            cut[kept++] = cut[i];
    cut[kept] = 1;
    return kept;
}

static int make_pieces(struct lanes_division *d, const double *cut, struct lane_pieces *p)
{
    p->piece = malloc((size_t)p->n * sizeof *p->piece);
    p->locals = malloc((size_t)p->n * (size_t)d->nodes * sizeof *p->locals);
    if (!p->piece || !p->locals)
        return -ENOMEM;
    for (int k = 0, slice = 0; k < p->n; k++) {
        while (slice + 1 < d->slices && d->begin[slice + 1] < cut[k] + sliver)
            slice++;
        p->piece[k] = (struct lane_piece){cut[k], cut[k + 1], d->parts + slice * (d->nodes + 1),
                                          p->locals + k * d->nodes};
    }
    for (int i = 0; i < d->nodes; i++) {
        hold_all(d, i);
        for (int k = 0, at = 0; k < p->n; k++) {
            while (at + 1 < d->nheld && d->held[at + 1].from < cut[k] + sliver)
                at++;
            p->piece[k].local[i] = d->held[at].local;
        }
    }
    return 0;
}

static int most_ranks(const struct topo *t)
{
    int most = 1;

    for (int n = 0; n < t->nnodes; n++)
        most = topo_node_size(t, n) > most ? topo_node_size(t, n) : most;
    return most;
}

int lane_pieces_open(struct lane_pieces *p, const struct topo *t)
{
    int n = t->nnodes, g = most_ranks(t);
    size_t cells = (size_t)n * (size_t)g, most = (size_t)g * (size_t)(g + 1);
    struct lanes_division d = {
        .t = t, .nodes = n, .slices = g, .held = malloc(most * sizeof *d.held)};
    double *cut = malloc(((size_t)n * most + (size_t)g + 1) * sizeof *cut);
    int rc = -ENOMEM;

    *p = (struct lane_pieces){.t = t};
    p->numbers = calloc(3 * cells + (size_t)n + 3 * (size_t)g + 1, sizeof *p->numbers);
    if (p->numbers && d.held && cut) {
        d.parts = p->numbers;
        d.can = d.parts + cells + (size_t)g;
        d.own = d.can + cells;
        d.part = d.own + cells;
        d.wide = d.part + n;
        d.begin = d.wide + g;
        divide(&d);
        p->n = find_cuts(&d, cut);
        rc = make_pieces(&d, cut, p);
    }
    free(d.held);
    free(cut);
    return rc;
}

void lane_pieces_close(struct lane_pieces *p)
{
    free(p->piece);
    free(p->numbers);
    free(p->locals);
    *p = (struct lane_pieces){0};
}

static uint64_t place(double at, uint64_t elements)
{
    return at < 1 ? (uint64_t)(at * (double)elements) : elements;
}

struct share lane_piece_part(const struct lane_pieces *p, int k, int node, uint64_t elements)
{
    const struct lane_piece *piece = &p->piece[k];
    double wide = piece->to - piece->from, from = piece->from + wide * piece->part[node];
    double to = node + 1 < p->t->nnodes ? piece->from + wide * piece->part[node + 1] : piece->to;

    return (struct share){place(from, elements), place(to, elements)};
}

struct share lane_piece_run(const struct lane_pieces *p, int k, int end, uint64_t elements)
{
    return (struct share){place(p->piece[k].from, elements), place(p->piece[end - 1].to, elements)};
}
