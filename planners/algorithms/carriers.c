/* SPDX-License-Identifier: BSD-3-Clause */
#include "planners/algorithms/carriers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CLOSE = 32 }; /* a difference of a block's 1/CLOSE is not worth a relay */

void carriers_close(struct carriers *c)
{
    free(c->list);
    free(c->first);
    free(c->weight);
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

/* Memory for twice what is kept: the list in the order it is made, and the weights of a new node.
 */
static int make_room(struct carriers *c, int size)
{
    size_t ranks = (size_t)size + 1;

    if (size <= c->room)
        return 0;
    carriers_close(c);
    c->list = malloc(4 * ranks * sizeof *c->list);
    c->first = malloc((ranks + 1) * sizeof *c->first);
    c->weight = malloc(2 * ranks * sizeof *c->weight);
    if (!c->list || !c->first || !c->weight)
        return -ENOMEM;
    c->room = size;
    return 0;
}

static int add(struct carried *list, int n, int owner, int carrier, uint64_t from, uint64_t to)
{
    if (from < to)
        list[n++] = (struct carried){owner, carrier, {from, to}};
    return n;
}

/* By owner, then by bytes. Returns how many. */
static int divide(const struct carriers *c, struct carried *list)
{
    uint64_t block = c->block, used = 0;
    int spare = 0, n = 0, level = is_level(c->weight, c->size, block);

    for (int l = 0; l < c->size; l++) {
        uint64_t carries = level ? block
                                 : carried_below(c->weight, c->size, block, l + 1) -
                                       carried_below(c->weight, c->size, block, l);
        uint64_t from = carries < block ? carries : block;

        n = add(list, n, l, l, 0, from);
        /* The rest goes to the ranks that have room, which is as much in all. `spare` is the first
           of them, `used` the bytes it has taken. */
        while (from < block && spare < c->size) {
            uint64_t room = carried_below(c->weight, c->size, block, spare + 1) -
                            carried_below(c->weight, c->size, block, spare);

            room = room > block + used ? room - block - used : 0;
            if (!room) {
                spare++;
                used = 0;
                continue;
            }
            if (room > block - from)
                room = block - from;
            n = add(list, n, l, spare, from, from + room);
            from += room;
            used += room;
        }
    }
    return n;
}

/* Counting sort: first[l + 1] counts, then is where the next of carrier l goes. */
static void sort_by_carrier(struct carriers *c, const struct carried *made)
{
    memset(c->first, 0, ((size_t)c->size + 2) * sizeof *c->first);
    for (int i = 0; i < c->n; i++)
        c->first[made[i].carrier + 2]++;
    for (int l = 2; l <= c->size; l++)
        c->first[l] += c->first[l - 1];
    for (int i = 0; i < c->n; i++)
        c->list[c->first[made[i].carrier + 1]++] = made[i];
}

int carriers_open(struct carriers *c, const struct topo *t, int node, enum topo_way way,
                  uint64_t block)
{
    int size = topo_node_size(t, node);
    size_t bytes = ((size_t)size + 1) * sizeof *c->weight;

    if (make_room(c, size) < 0)
        return -ENOMEM;
    uint64_t *weight = c->weight + c->room + 1;
    shares_sum_weights(t, node, (enum share_way)way, weight);
    if (c->size == size && c->block == block && !memcmp(weight, c->weight, bytes))
        return 0;
    memcpy(c->weight, weight, bytes);
    c->size = size;
    c->block = block;
    struct carried *made = c->list + 2 * ((size_t)c->room + 1);
    c->n = divide(c, made);
    sort_by_carrier(c, made);
    return 0;
}
