/* SPDX-License-Identifier: BSD-3-Clause */
#include "planners/carriers.h"

#include <errno.h>
#include <stdlib.h>

enum { CLOSE = 32 }; /* a difference of a block's 1/CLOSE is not worth a relay */

void carriers_close(struct carriers *c)
{
    free(c->list);
    *c = (struct carriers){0};
}

/* Bytes that the rails of local ranks below l carry together, of size blocks in all. */
static uint64_t carried_below(const uint64_t *weight, int size, uint64_t block, int l)
{
    return (uint64_t)((unsigned __int128)block * (unsigned)size * weight[l] / weight[size]);
}

static int is_level(const uint64_t *weight, int size, uint64_t block)
{
    for (int l = 0; l < size; l++) {
        uint64_t carries =
            carried_below(weight, size, block, l + 1) - carried_below(weight, size, block, l);

        if (carries + block / CLOSE < block || carries > block + block / CLOSE)
            return 0;
    }
    return 1;
}

static void carry(struct carriers *c, int owner, int carrier, uint64_t from, uint64_t to)
{
    if (from < to)
        c->list[c->n++] = (struct carried){owner, carrier, {from, to}};
}

int carriers_open(struct carriers *c, const struct topo *t, int node, enum topo_way way,
                  uint64_t block)
{
    int size = topo_node_size(t, node), spare = 0;
    uint64_t *weight = malloc((size_t)(size + 1) * sizeof *weight), used = 0;
    struct carried *list = c->list;

    if (c->size < size)
        list = realloc(c->list, 2 * (size_t)size * sizeof *list);
    if (list)
        c->list = list;
    if (!weight || !list) {
        free(weight);
        return -ENOMEM;
    }
    c->size = size;
    c->n = 0;
    weight[0] = 0;
    for (int l = 0; l < size; l++)
        weight[l + 1] = weight[l] + shares_rail_weight(t, node, l, (enum share_way)way);
    int level = is_level(weight, size, block);
    for (int l = 0; l < size; l++) {
        uint64_t carries = level ? block
                                 : carried_below(weight, size, block, l + 1) -
                                       carried_below(weight, size, block, l);
        uint64_t from = carries < block ? carries : block;

        carry(c, l, l, 0, from);
        /* The rest goes to the ranks that have room, which is as much in all. `spare` is the first
           of them, `used` the bytes it has taken. */
        while (from < block && spare < size) {
            uint64_t room = carried_below(weight, size, block, spare + 1) -
                            carried_below(weight, size, block, spare);

            room = room > block + used ? room - block - used : 0;
            if (!room) {
                spare++;
                used = 0;
                continue;
            }
            if (room > block - from)
                room = block - from;
            carry(c, l, spare, from, from + room);
            from += room;
            used += room;
        }
    }
    free(weight);
    return 0;
}
