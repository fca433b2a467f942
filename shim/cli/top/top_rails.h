/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rails of one job's processes on this node, as `collshim top` shows them: what crossed between
 * hosts in rerouted calls, against what the rails can do.
 */
#ifndef COLLSHIM_SHIM_CLI_TOP_RAILS_H
#define COLLSHIM_SHIM_CLI_TOP_RAILS_H

#include "shim/cli/top/top_read.h"
#include "shim/record/report/rail_report.h"

struct top_rails {
    struct rail_row *total;  /* [n] owned: since the job began, merged by host and rail */
    struct rail_row *change; /* [n] owned: the same rows, between the readings */
    int n;                   /* 0: no traffic between hosts, or it is not known whose rails */
    double interval;         /* seconds */
};

/* The rails of the processes list[from] to list[to - 1], which are of one job and library. Without
   memory there are none. Free it with top_rails_free. */
struct top_rails top_rails_of(const struct top_reading *now, const struct top_reading *before,
                              int from, int to, double interval);
void top_rails_free(struct top_rails *r);

void top_rails_print(const struct top_rails *r);
void top_rails_put(struct json *j, const struct top_rails *r);

#endif
