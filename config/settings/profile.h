/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tuning profile: the best algorithm for each collective, shape and size on a machine, measured
 * by `scripts/tune` or written by a person. One row per line, the first that matches wins:
 *
 *     # collective  nodes x ranks   bytes      algorithm           options
 *     allgather     4x4             64K-1M     parallel_rings      chunk=32K
 *     allreduce     4x1             4M-*       parallel_rings      ppg=4
 *     allreduce     8x8             64M-*      native              ppg=2
 *     allgather     2-8x*           1M-*       parallel_rings
 *     bcast         *               *          native
 *     allreduce     4x8             1M-64M     native:ring/ll128   channels=16
 *
 * Ranks are of the largest node. Bytes are of the whole collective, as in COLLSHIM_MIN_BYTES; both
 * ends of a range belong to it, and * is anything. Blanks inside the parentheses of a recipe belong
 * to it. Native in slices is the library's own call on each, if helpers have the library (NCCL).
 * native:ALGORITHM/PROTOCOL is one of NCCL's own, on that many of its channels at most. This file
 * does not check the names; planners/choose/tuning.h does.
 *
 * A line may also hold rates of the machine, in the words of a topology (`collshim rates` prints
 * them): they stand in where no topology says more.
 *
 *     link_nvlink:392GB/s link_pcie:55GB/s link_reduce:9.1GB/s latency_pcie:2us
 *
 * A line that begins with node: holds rates by node, and is for jobs of so many nodes and rails.
 * Its other words are rail:, rail_rate:, link_rate:, link_CLASS: and their latencies.
 * COLLSHIM_LOG=info prints such a line where a job has measured unequal rails.
 *
 *     node:4 rail:4@100Mbit rail_rate:1.2@50Mbit,3.0out@25Mbit link_rate:2.socket@5GB/s
 *
 * Thread rule: reading is single-threaded; a profile is const from then on.
 */
#ifndef COLLSHIM_CONFIG_PROFILE_H
#define COLLSHIM_CONFIG_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "config/settings/settings.h"
#include "config/topo/topo.h"

#define PROFILE_NATIVE "native"

/* Both ends belong to it. */
struct profile_range {
    uint64_t from, to;
};

struct profile_row {
    int line; /* of the file, from 1 */
    char collective[32];
    struct profile_range nodes, ranks, bytes;
    char algorithm[256]; /* NAME, NAME(RECIPE), native or native:NAME */
    size_t chunk_bytes;  /* 0: not said */
    int ppg;             /* processes per rank; 0: not said */
    int channels;        /* of NCCL; 0: not said */
};

struct profile {
    int nrows;
    struct profile_row *row; /* [nrows] owned */
    struct topo_link link[TOPO_LINK_CLASSES];
    struct topo *nodes; /* owned: rates by node, one rank each; NULL: none */
};

/*
 * Read the file at path. A row that cannot be read is left out, with one line in c (cfg_problem):
 * the line's number and the right form. A file that cannot be read costs one line and gives an
 * empty profile. Returns 0 or -ENOMEM; *p can be freed either way.
 */
int profile_read(const char *path, struct cfg *c, struct profile *p);

/* Read it from memory; name stands for the path in messages. text: as of config_read_file. */
int profile_parse(const char *name, const char *text, struct cfg *c, struct profile *p);

void profile_free(struct profile *p);

#endif
