/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NCCL's names, by number or by name. Thread-safe.
 */
#ifndef COLLSHIM_SHIM_NCCL_PLUGIN_NAMES_H
#define COLLSHIM_SHIM_NCCL_PLUGIN_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "planners/choose/variants.h"

/* The collective with NCCL's number (a tuner's), or name (a profiler's), or -1: none of ours. */
int names_collective_number(int number);
int names_collective(const char *function);

/* Bytes of a whole collective: count elements are those of a rank's smaller buffer. */
uint64_t names_total(enum plan_collective c, size_t count, const char *datatype, int nranks);

/* The indices of a variant of NCCL's in a tuner's table of costs. */
void names_indices(const struct plan_variant *v, int *algorithm, int *protocol);

/* NCCL's name in lower case, as variants have it; "-" for NULL and "". */
void names_lower(const char *name, char *text, size_t size);

#endif
