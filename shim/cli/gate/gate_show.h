/* SPDX-License-Identifier: BSD-3-Clause */
/* The result of `collshim gate`: as text, as Markdown for a merge request, as JSON. On stdout. */
#ifndef COLLSHIM_SHIM_CLI_GATE_SHOW_H
#define COLLSHIM_SHIM_CLI_GATE_SHOW_H

#include "shim/cli/gate/gate_runs.h"

/* The verdict on all rows that are compared: SLOWER if one is, else UNSURE if one is, else SAME. */
enum gate_verdict gate_verdict(const struct gate *g);

void gate_show_text(const struct gate *g, int markdown);
void gate_show_json(const struct gate *g);

#endif
