/* SPDX-License-Identifier: BSD-3-Clause */
#include "planners/model/model_flows.h"

#include <errno.h>
#include <stdlib.h>

struct model_flow {
    int from, to; /* equal: free */
    uint32_t number;
};

int model_flows_open(struct model_flows *f, uint32_t n)
{
    f->room = 2;
    while (f->room < 2 * n)
        f->room *= 2;
    f->slot = calloc(f->room, sizeof *f->slot);
    return f->slot ? 0 : -ENOMEM;
}

void model_flows_close(struct model_flows *f)
{
    free(f->slot);
}

uint32_t model_flows_number(struct model_flows *f, int from, int to, uint32_t new)
{
    uint32_t at = (uint32_t)from * 0x9e3779b1u ^ (uint32_t)to * 0x85ebca77u;

    for (at = (at ^ at >> 15) & (f->room - 1);; at = (at + 1) & (f->room - 1)) {
        struct model_flow *s = &f->slot[at];

        if (s->from == s->to)
            *s = (struct model_flow){from, to, new};
        if (s->from == from && s->to == to)
            return s->number;
    }
}
