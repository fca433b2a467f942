/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Carriers: the ranks of a node through whose rails one rank's bytes pass. Where a node's ranks
 * have equal rails, each carries its own. Otherwise a rank with a slow rail, or with a shared one,
 * keeps only as much as its rail can carry. It leaves the rest of every block to local ranks that
 * have room. So all rails of the node end at the same time.
 *
 * Thread rule: none; it depends on topology and size only, so all ranks divide alike.
 */
#ifndef COLLSHIM_PLANNERS_CARRIERS_H
#define COLLSHIM_PLANNERS_CARRIERS_H

#include "config/topo/topo.h"
#include "planners/links/shares.h"

/* Bytes `at` of every block of `owner` travel through the rail of `carrier`. Local indexes. */
struct carried {
    int owner, carrier;
    struct share at;
};

struct carriers {
    int size; /* ranks of the node; 0: not opened yet */
    int n;
    uint64_t block;
    struct carried *list; /* [2 * size] owned: by carrier, then by owner; they cover every block */
    int *first;           /* [size + 1] owned: carrier l's are list[first[l] .. first[l + 1]) */
    uint64_t *weight;     /* [size + 1] owned: sums of the ranks' rail weights */
    int room;             /* ranks for which there is memory */
};

/*
 * For a node whose ranks all exchange blocks of so many bytes, one way. 0 or -ENOMEM; close in
 * either case. c: all zero, or from an earlier call. Its memory is used again where it suffices,
 * and its list where the ranks' rails are as before.
 */
int carriers_open(struct carriers *c, const struct topo *t, int node, enum topo_way way,
                  uint64_t block);
void carriers_close(struct carriers *c);

#endif
