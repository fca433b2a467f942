/* SPDX-License-Identifier: BSD-3-Clause */
/* The alltoall row; alltoall.c says how it works. */
#ifndef COLLSHIM_PLANNERS_ALLTOALL_H
#define COLLSHIM_PLANNERS_ALLTOALL_H

#include "planners/registry.h"

extern const struct plan_algorithm plan_alltoall;

#endif
