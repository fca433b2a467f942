/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/cli/plan/plan_export.h"

#include <errno.h>
#include <stdlib.h>

static void dot_place(FILE *f, uint8_t buffer, uint64_t off, uint64_t length)
{
    if (buffer != PLAN_NONE)
        fprintf(f, " %s[%llu..%llu)", plan_buffer_name(buffer), (unsigned long long)off,
                (unsigned long long)(off + length));
}

void plan_export_dot(FILE *f, const struct plan *p)
{
    fprintf(f, "digraph rank%d {\n  rankdir=LR; node [shape=box, fontname=\"sans\"];\n", p->rank);
    if (p->host_bytes)
        fprintf(f, "  label=\"filled: through the host, %llu bytes\";\n",
                (unsigned long long)p->host_bytes);
    for (uint32_t q = 0; q < p->nqueues; q++) {
        const struct plan_queue *queue = &p->queues[q];

        fprintf(f, "  subgraph cluster_%u { label=\"%s", q, plan_kind_name(queue->kind));
        if (queue->peer >= 0)
            fprintf(f, " %s rank %d", queue->kind == PLAN_SEND ? "to" : "from", queue->peer);
        fprintf(f, ", tag %d\";\n", queue->tag);
        for (uint32_t i = queue->first_op; i < queue->first_op + queue->nops; i++) {
            const struct plan_op *op = &p->ops[i];

            fprintf(f, "    op%u [label=\"%s", i, plan_kind_name(queue->kind));
            dot_place(f, op->src, op->src_off, op->length);
            dot_place(f, op->dst, op->dst_off, op->length);
            fprintf(f, "\"%s];\n",
                    plan_uses_host(op) ? ", style=filled, fillcolor=lightyellow" : "");
            if (i > queue->first_op) /* a queue's own order, drawn faintly */
                fprintf(f, "    op%u -> op%u [style=dotted, arrowhead=none];\n", i - 1, i);
        }
        fprintf(f, "  }\n");
    }
    for (uint32_t i = 0; i < p->nops; i++)
        for (uint32_t d = 0; d < p->ops[i].ndeps; d++)
            fprintf(f, "  op%u -> op%u;\n", p->deps[p->ops[i].first_dep + d], i);
    fprintf(f, "}\n");
}

void plan_export_goal(FILE *f, const struct plan *const *plan, int nranks)
{
    fprintf(f, "num_ranks %d\n", nranks);
    for (int r = 0; r < nranks; r++) {
        const struct plan *p = plan[r];

        fprintf(f, "\nrank %d {\n", r);
        for (uint32_t i = 0; i < p->nops; i++) {
            const struct plan_queue *queue = &p->queues[p->ops[i].queue];
            unsigned long long bytes = p->ops[i].length;

            if (queue->kind == PLAN_SEND)
                fprintf(f, "l%u: send %llub to %d tag %d\n", i, bytes, queue->peer, queue->tag);
            else if (plan_receives(queue->kind)) /* combining is counted with the receive */
                fprintf(f, "l%u: recv %llub from %d tag %d\n", i, bytes, queue->peer, queue->tag);
            else
                fprintf(f, "l%u: calc %llu\n", i, bytes);
        }
        for (uint32_t i = 0; i < p->nops; i++)
            for (uint32_t d = 0; d < p->ops[i].ndeps; d++)
                fprintf(f, "l%u requires l%u\n", i, p->deps[p->ops[i].first_dep + d]);
        fprintf(f, "}\n");
    }
}

enum { MATRIX_SIDE = 64 };

static int matrix_place(const struct topo *t, int rank, int side)
{
    return t->nranks <= MATRIX_SIDE ? rank : (int)((int64_t)t->rank[rank].node * side / t->nnodes);
}

int plan_export_matrix(FILE *f, const struct plan *const *plan, const struct topo *t)
{
    int by_rank = t->nranks <= MATRIX_SIDE, n = by_rank ? t->nranks : t->nnodes;
    int side = n < MATRIX_SIDE ? n : MATRIX_SIDE;
    double *sent = calloc((size_t)side * (size_t)side, sizeof *sent), most = 0;

    if (!sent)
        return -ENOMEM;
    for (int r = 0; r < t->nranks; r++)
        for (uint32_t i = 0; i < plan[r]->nops; i++) {
            const struct plan_queue *queue = &plan[r]->queues[plan[r]->ops[i].queue];

            if (queue->kind != PLAN_SEND)
                continue;
            double *cell =
                &sent[matrix_place(t, r, side) * side + matrix_place(t, queue->peer, side)];
            *cell += (double)plan[r]->ops[i].length;
            most = *cell > most ? *cell : most;
        }
    fprintf(f, "\n%s > %s, # is %.0f bytes\n",
            by_rank    ? "RANK"
            : n > side ? "NODES"
                       : "NODE",
            by_rank    ? "RANK"
            : n > side ? "NODES"
                       : "NODE",
            most);
    for (int from = 0; from < side; from++) {
        fprintf(f, "%6d ", (int)((int64_t)from * n / side));
        for (int to = 0; to < side; to++) {
            double share = most > 0 ? sent[from * side + to] / most : 0;
            int tenth = (int)(10 * share);

            fputc(share <= 0 ? '.' : tenth >= 10 ? '#' : tenth < 1 ? '1' : '0' + tenth, f);
        }
        fputc('\n', f);
    }
    free(sent);
    return 0;
}
