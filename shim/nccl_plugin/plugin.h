/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plugin's work in this process, and the algorithm of NCCL's own that a call gets. Thread rule:
 * any thread.
 */
#ifndef COLLSHIM_SHIM_NCCL_PLUGIN_PLUGIN_H
#define COLLSHIM_SHIM_NCCL_PLUGIN_PLUGIN_H

#include <stdint.h>

#include "planners/choose/variants.h"

/* Is there something to tell NCCL, something to report? Each of them reads the settings, once. */
int plugin_wants_tuner(void);
int plugin_wants_profiler(void);

/* Does the preload serve an NCCL in this process? The one in which that address lies? */
int plugin_has_preload(void);
int plugin_preload_sees(const void *in_nccl);

/* A setting is wrong, and COLLSHIM_STRICT refuses that; or the profile is not the one that its name
   promises, and other ranks may have read another. */
int plugin_refuses(void);

/* The variant that COLLSHIM_ALGORITHM or the profile names for NCCL's own call of that many bytes
   in all; NULL: NCCL chooses. *channels: a maximum, or 0. A function of values that are equal on
   all ranks, if their settings and profiles are. */
const struct plan_variant *plugin_choose(enum plan_collective c, int nranks, int nnodes,
                                         uint64_t bytes, int *channels);

/* Rows of the profile that name a variant, and may be used. */
int plugin_rows(void);

#endif
