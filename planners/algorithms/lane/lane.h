/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lanes: the registry row. Serves every shape; (inter=...) says what the lanes do between nodes.
 * Source: Multiple Processes per GPU, section 2 (lane-aware allreduce).
 */
#ifndef COLLSHIM_PLANNERS_LANE_H
#define COLLSHIM_PLANNERS_LANE_H

#include "planners/plan/algorithm.h"

extern const struct plan_algorithm plan_lane;

#endif
