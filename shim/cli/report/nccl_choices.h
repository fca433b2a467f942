/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NCCL's choices, in a report that its plugins wrote (shim/nccl_plugin): a row for each collective,
 * size, algorithm and protocol.
 */
#ifndef COLLSHIM_SHIM_CLI_NCCL_CHOICES_H
#define COLLSHIM_SHIM_CLI_NCCL_CHOICES_H

#include <jansson.h>

/* Is the object "nccl" of a report as it should be? Also without choices. */
int nccl_choices_are_valid(json_t *nccl);

/* A table; nothing without choices. */
void nccl_choices_print(json_t *nccl);

#endif
