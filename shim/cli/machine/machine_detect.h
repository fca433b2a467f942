/* SPDX-License-Identifier: BSD-3-Clause */
/* Detection: what hwloc, sysfs and the GPUs' drivers tell of this machine. */
#ifndef COLLSHIM_SHIM_CLI_MACHINE_DETECT_H
#define COLLSHIM_SHIM_CLI_MACHINE_DETECT_H

#include "shim/cli/machine/machine.h"

/* Fill *m. Returns 0, or a negative errno code with one line in why. */
int machine_detect(struct machine *m, char *why, size_t why_size);

#endif
