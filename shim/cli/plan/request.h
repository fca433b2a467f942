/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A collective as the command line describes it, and the plans of all its ranks; for `collshim
 * plan` and `collshim sim`. The preload never builds the plans of all ranks; load, proof and
 * prediction need them. Functions that return an enum cli_exit have said what is wrong.
 */
#ifndef COLLSHIM_SHIM_CLI_REQUEST_H
#define COLLSHIM_SHIM_CLI_REQUEST_H

#include "planners/choose/registry.h"
#include "planners/links/load.h"
#include "planners/model/model.h"
#include "shim/cli/cli.h"
#include "shim/cli/plan/demand.h"
#include "shim/cli/plan/limit.h"

/* The user's text, or NULL; borrowed from argv. */
struct request_options {
    const char *topology, *bytes, *counts, *algorithm, *text, *chunk, *root, *demand, *limit;
    int in_place;
};

/* Their rows for cli_options, and their lines for --help. (clang-format takes rows for blocks.) */
/* clang-format off */
#define REQUEST_OPTIONS(o)                                                                         \
    {"--topology", NULL, &(o)->topology}, {"--bytes", NULL, &(o)->bytes},                          \
    {"--counts", NULL, &(o)->counts}, {"--algorithm", NULL, &(o)->algorithm},                      \
    {"--text", NULL, &(o)->text}, {"--chunk", NULL, &(o)->chunk},                                  \
    {"--root", NULL, &(o)->root},                                                                  \
    {"--demand", NULL, &(o)->demand}, {"--limit", NULL, &(o)->limit},                              \
    {"--in-place", &(o)->in_place, NULL}
/* clang-format on */
#define REQUEST_HELP                                                                               \
    "  --topology TEXT   synthetic form or file (default: COLLSHIM_TOPOLOGY, else\n"               \
    "                    'node:4 gpu:4 rail:4'); `collshim topo TEXT` explains one\n"              \
    "  --bytes SIZE      payload of each rank (alltoall: for each rank), 1MiB by default\n"        \
    "  --counts A,B,...  payload of rank 0, 1, ... instead; the last one for all that "            \
    "follow\n" CLI_DEMAND_HELP                                                                     \
    "  --algorithm NAME  instead of what the preload would try first; `collshim info` lists\n"     \
    "                    them. NAME(RECIPE) where one is taken, as in COLLSHIM_ALGORITHM\n"        \
    "  --text FILE       as --algorithm text:FILE: a composition of multicasts, reductions and\n"  \
    "                    fences, which is proved first (docs/papers/hiccl.md)\n"                   \
    "  --chunk SIZE      pipeline chunk (default: what the preload would take)\n"                  \
    "  --root R          the root of a bcast, reduce, gather or scatter (default: 0)\n"            \
    "  --in-place        as with MPI_IN_PLACE\n" CLI_LIMIT_HELP

struct request {
    const char *command;   /* borrowed: "plan", for messages */
    struct topo *topo;     /* owned */
    size_t *counts;        /* owned */
    uint64_t *demand;      /* owned */
    char recipe[512];      /* memory of q.recipe */
    struct plan_request q; /* rank is 0 */
    const struct plan_algorithm *algorithm;
};

/* Fill *r from the options. Free with request_free, in every case. */
int request_read(const char *command, const struct request_options *o, const char *collective,
                 struct request *r);
void request_free(struct request *r);

/* The plans of all ranks by one algorithm, and their load on the rails. */
struct request_plans {
    struct plan **plan; /* [nranks] owned */
    int nranks;
    int built;       /* of them, before an error */
    double build_us; /* of the slowest rank */
    size_t largest;  /* bytes of the largest plan */
    struct load load;
};

/* Returns 0, or -ENOTSUP (it cannot serve the shape), -ENOMEM, or -E2BIG (the plans of all ranks
   would take more than REQUEST_MOST_BYTES). Free with request_plans_free, in every case. */
#define REQUEST_MOST_BYTES ((size_t)1 << 29)
int request_build(const struct request *r, const struct plan_algorithm *a, struct request_plans *p);
void request_plans_free(struct request_plans *p);

/* Why building or predicting failed, for people; written to text. */
const char *request_error(int code, const struct request_plans *p, char *text, size_t size);

/* The bound in seconds, with the assumed rate where rails have none; 0 on one node. */
double request_bound_s(const struct request *r);

#endif
