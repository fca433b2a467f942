/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A tuning profile (config/settings/profile.h) with its names looked up: which row of it serves a
 * request.
 *
 * Thread rule: opening is single-threaded; then const.
 */
#ifndef COLLSHIM_PLANNERS_TUNING_H
#define COLLSHIM_PLANNERS_TUNING_H

#include "config/settings/profile.h"
#include "planners/choose/registry.h"
#include "planners/choose/variants.h"

struct tuning_row {
    enum plan_collective collective;
    const struct plan_algorithm *algorithm; /* NULL: native */
    const struct plan_variant *variant;     /* NCCL's own algorithm; NULL: none */
    int channels;                           /* of NCCL for the variant, at most; 0: its choice */
    char recipe[CFG_TEXT_MAX];              /* "" : none */
    struct profile_range nodes, ranks, bytes;
    size_t chunk_bytes; /* 0: chosen */
    int ppg;            /* processes per rank; 0: the rank alone */
};

struct tuning {
    int nrows;
    struct tuning_row *row;                   /* [nrows] owned, in the order of the file */
    struct topo_link link[TOPO_LINK_CLASSES]; /* of the machine, where the file says it */
    struct topo *nodes;                       /* owned: rates by node; NULL: none */
};

/*
 * Look the names of p up. A row whose collective or algorithm does not exist is left out. A line in
 * c tells the row's line number and the nearest name. path: for those lines. Takes p->nodes.
 * Returns 0 or -ENOMEM; *t can be freed either way.
 */
int tuning_open(const char *path, struct profile *p, struct cfg *c, struct tuning *t);

/*
 * The profile that c names, opened; no rows where it names none. Its errors become problems of c.
 * Without memory there are no rows either, and ranks then find that they differ.
 */
void tuning_load(struct cfg *c, struct tuning *t);

/* The first row for the request's collective and topology and that sum of bytes, or NULL. Rows of
   algorithms for device memory serve requests in such memory alone. Rows of NCCL's own algorithms
   serve no request: NCCL decides those. */
const struct tuning_row *tuning_find(const struct tuning *t, const struct plan_request *q,
                                     uint64_t bytes);

/* The profile's row for NCCL's own call of that many bytes in all: the first that matches and is
   native, with a variant or without. NULL: there is none. Rows of other algorithms are not asked.
   ranks: of the largest node. */
const struct tuning_row *tuning_find_native(const struct tuning *t, enum plan_collective c,
                                            int nodes, int ranks, uint64_t bytes);

/* Let t's links have the profile's rates where theirs are not known. */
void tuning_fill_in(const struct tuning *t, struct topo *topo);

/*
 * The same with rates by node, where the profile has them for so many nodes and rails. The
 * topology's nodes are all of the job's, in the order of its ranks. Returns 1 if rails have them
 * now, 0, or -ENOMEM.
 */
int tuning_fill_in_nodes(const struct tuning *t, struct topo *topo);

/* Equal profiles have equal hashes, with any comments: 0 without rows and rates. */
uint64_t tuning_hash(const struct tuning *t);

void tuning_free(struct tuning *t);

#endif
