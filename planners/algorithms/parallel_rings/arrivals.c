/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of operations by the bytes they are about. */
#include "planners/algorithms/parallel_rings/arrivals.h"

#include <stdlib.h>

void arrivals_close(struct arrivals *a)
{
    free(a->list);
    *a = (struct arrivals){0};
}

void arrivals_note(struct arrivals *a, struct share at, uint32_t op)
{
    if (op == PLAN_NO_OP)
        return;
    if (a->n == a->room) {
        size_t room = a->room ? 2 * a->room : 16;
        struct arrival *list = realloc(a->list, room * sizeof *list);

        if (!list) {
            a->failed = 1;
            return;
        }
        a->list = list;
        a->room = room;
    }
    a->list[a->n++] = (struct arrival){at, op};
}

void arrivals_wait(const struct arrivals *a, struct plan_builder *b, struct share at)
{
    for (size_t i = 0; a && i < a->n; i++)
        if (share_common(a->list[i].at, at).to)
            plan_after(b, a->list[i].op);
}

void arrivals_forget(struct arrivals *a, uint64_t upto)
{
    size_t kept = 0;

    for (size_t i = 0; i < a->n; i++) {
        struct arrival one = a->list[i];

        if (one.at.from < upto)
            one.at.from = upto;
        if (one.at.from < one.at.to)
            a->list[kept++] = one;
    }
    a->n = kept;
}
