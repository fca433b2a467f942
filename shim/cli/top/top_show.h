/* SPDX-License-Identifier: BSD-3-Clause */
/* The output of `collshim top` for two readings. */
#ifndef COLLSHIM_SHIM_CLI_TOP_SHOW_H
#define COLLSHIM_SHIM_CLI_TOP_SHOW_H

#include "shim/cli/top/top_read.h"

/* Rates are those between the two. A process that was not there before began in between. */
void top_show_text(const struct top_reading *now, const struct top_reading *before);
/* A JSON object; on one line, if that. */
void top_show_json(const struct top_reading *now, const struct top_reading *before, int line);

#endif
