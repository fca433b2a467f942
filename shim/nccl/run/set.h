/* SPDX-License-Identifier: BSD-3-Clause */
/* A set of messages that is one exchange of all ranks: how long each is, and where it lies. */
#ifndef COLLSHIM_SHIM_NCCL_SET_H
#define COLLSHIM_SHIM_NCCL_SET_H

#include <stdint.h>

#include "transports/net/nccl_run.h"

/* The bytes that all ranks send together. */
struct nccl_set {
    uint64_t *demand;    /* [nranks * nranks] owned */
    uint64_t *offset[2]; /* [nranks + 1] each, owned: of the input's and the output's parts */
    char **at[2];        /* [nranks] each, owned: where they lie */
    struct nccl_pieces in, out; /* made of these */
};

/* Room for the messages of so many ranks. Returns whether there is; nccl_set_close() it anyhow. */
int nccl_set_open(struct nccl_set *set, int nranks);
void nccl_set_close(struct nccl_set *set);

/* Do every two ranks have a message in one direction at least? Then each rank's group ends only
   after all have begun theirs anyhow, and a schedule may let any rank wait for any other. */
int nccl_set_ties_all(const struct nccl_set *set, int nranks);

#endif
