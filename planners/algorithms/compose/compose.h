/* SPDX-License-Identifier: BSD-3-Clause */
/* HiCCL's composition as a row of the registry; see compose.c. */
#ifndef COLLSHIM_PLANNERS_COMPOSE_H
#define COLLSHIM_PLANNERS_COMPOSE_H

#include "planners/plan/algorithm.h"

extern const struct plan_algorithm plan_compose;

#endif
