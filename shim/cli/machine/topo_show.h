/* SPDX-License-Identifier: BSD-3-Clause */
/* Showing a topology or a machine: as aligned tables, or as the members of an open JSON object. */
#ifndef COLLSHIM_SHIM_CLI_TOPO_SHOW_H
#define COLLSHIM_SHIM_CLI_TOPO_SHOW_H

#include "config/base/json.h"
#include "config/topo/topo.h"
#include "shim/cli/machine/machine.h"

/* rows: how many nodes and ranks are shown at most. */
void topo_show(const struct topo *t, int rows);
void topo_show_json(const struct topo *t, struct json *j);

void machine_show(const struct machine *m);
void machine_show_json(const struct machine *m, struct json *j);

/* The synthetic form (caller frees), NULL without memory. */
char *topo_text(const struct topo *t);

#endif
