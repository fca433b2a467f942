/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines on stderr, "collshim: ...", if COLLSHIM_LOG wants them. A line is one write, so that ranks
 * do not cut each other's. Thread rule: any thread.
 */
#ifndef COLLSHIM_SHIM_DECIDE_SAY_H
#define COLLSHIM_SHIM_DECIDE_SAY_H

#include "config/settings.h"

/* This process's rank among those that see alike what say() tells; 0 until then. */
extern int say_rank;

/* Other ranks than 0 keep quiet about what all ranks see alike: they say it at level debug. */
__attribute__((format(printf, 2, 3))) void say(enum cfg_level level, const char *format, ...);

/* The same from whichever rank it is, for what only this rank sees. */
__attribute__((format(printf, 2, 3))) void say_here(enum cfg_level level, const char *format, ...);

#endif
