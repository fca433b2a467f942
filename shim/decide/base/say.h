/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines on stderr, "collshim: ...", if COLLSHIM_LOG wants them. A line is one write, so that ranks
 * do not cut each other's. Thread rule: any thread.
 */
#ifndef COLLSHIM_SHIM_DECIDE_SAY_H
#define COLLSHIM_SHIM_DECIDE_SAY_H

#include "config/settings/settings.h"

/* This process's rank among those that see alike what say() tells; 0 until then. */
extern int say_rank;

/* For messages that all ranks see alike: ranks other than 0 say them at level debug. */
__attribute__((format(printf, 2, 3))) void say(enum cfg_level level, const char *format, ...);

/* The same from any rank, for messages that only this rank sees. */
__attribute__((format(printf, 2, 3))) void say_here(enum cfg_level level, const char *format, ...);

/* Say what was wrong with the settings, a line for each; the first time. */
void say_problems(void);

#endif
