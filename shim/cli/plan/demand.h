/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `collshim plan alltoallv --demand TEXT`: a matrix of sizes, from a file or invented, and its
 * split by balancing.
 */
#ifndef COLLSHIM_SHIM_CLI_DEMAND_H
#define COLLSHIM_SHIM_CLI_DEMAND_H

#include "config/base/json.h"
#include "planners/choose/registry.h"
#include "shim/cli/cli.h"

/* For --help. */
#define CLI_DEMAND_HELP                                                                            \
    "  --demand TEXT     of alltoallv: a file with a row of sizes (4MiB) per sender, # for\n"      \
    "                    comments; or KIND:hot=0.7,peer=0,every=4,bytes=4MiB,seed=1, where\n"      \
    "                    KIND is uniform, skew, two, few, stencil, moe, local or random\n"

/*
 * Read it for that topology. CLI_OK and *demand_p, [nranks * nranks], which the caller frees;
 * another enum cli_exit has been explained on stderr. command: for messages.
 */
int cli_demand_read(const char *command, const char *text, const struct topo *t,
                    uint64_t **demand_p);

/* Print how q->demand is split, the load of each link, and the results of direct paths, even
   striping and the exact optimum. Returns an enum cli_exit. */
int cli_demand_show(const struct plan_request *q);

/* The congestion of each way as a member "balancing" of the open object: seconds, or bytes of one
   rail, as its "unit" says. Returns an enum cli_exit. */
int cli_demand_json(const struct plan_request *q, struct json *j);

/* Print q->demand, a row per sender, as --demand FILE reads it. */
void cli_demand_rows(const struct plan_request *q);

#endif
