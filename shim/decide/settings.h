/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the user wants of this process: the settings, and the files that they name. A backend has
 * one of it, which all that decides reads.
 *
 * Thread rule: opening is single-threaded; then const.
 */
#ifndef COLLSHIM_SHIM_DECIDE_SETTINGS_H
#define COLLSHIM_SHIM_DECIDE_SETTINGS_H

#include <stdint.h>

#include "config/settings.h"
#include "planners/tuning.h"
#include "planners/wanted.h"

struct settings {
    const char *calls; /* what stands before a collective's name in lines: "", "NCCL " */
    struct cfg cfg;
    struct choice choice[COLL_COUNT]; /* from COLLSHIM_ALGORITHM */
    struct tuning tuning;             /* from COLLSHIM_PROFILE */
};

extern struct settings settings;

/* Of collshim, as ranks tell each other: one text in the file, so that it is another in a copy with
   another number. */
extern const char settings_version[];

/* Read them; bad ones are noted in settings.cfg.problem. */
void settings_open(const char *calls);

/* Will there be a report? */
static inline int settings_want_report(void)
{
    return settings.cfg.report[0] || settings.cfg.spool[0];
}

/* Say what was wrong with them, a line for each; the first time. Any thread. */
void settings_complain(void);

/* Of all that ranks must agree on, and of collshim's version. */
uint64_t settings_hash(void);

#endif
