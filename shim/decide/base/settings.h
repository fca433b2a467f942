/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The settings of this process, and the files that they name. A backend has one of it; all deciding
 * code reads it. Thread rule: opening is single-threaded; then const.
 */
#ifndef COLLSHIM_SHIM_DECIDE_SETTINGS_H
#define COLLSHIM_SHIM_DECIDE_SETTINGS_H

#include <limits.h>
#include <stdint.h>

#include "config/settings/settings.h"
#include "planners/choose/tuning.h"
#include "planners/choose/wanted.h"

struct settings {
    const char *calls; /* the text before a collective's name in lines: "", "NCCL " */
    struct cfg cfg;
    struct choice choice[COLL_COUNT]; /* from COLLSHIM_ALGORITHM */
    struct tuning tuning;             /* from COLLSHIM_PROFILE */
    char start[PATH_MAX];             /* the directory then; "": unknown */
};

/* A file that a setting names. */
struct settings_path {
    char at[PATH_MAX + CFG_TEXT_MAX + 32];
};

extern struct settings settings;

/* collshim's version, as ranks tell each other. It stands once in the file, so that a copy with
   another version has another text. */
extern const char settings_version[];

/* Read them; bad ones are noted in settings.cfg.problem. */
void settings_open(const char *calls);

/* A relative path means the directory in which the settings were read: the program may change its
   own. The settings keep the text, since ranks compare it. Returns path->at. */
const char *settings_path(const char *text, struct settings_path *path);

/* COLLSHIM_TOPOLOGY: such a path if there is a file, else the text itself. */
const char *settings_topology(struct settings_path *path);

/* Will there be a report? */
static inline int settings_want_report(void)
{
    return settings.cfg.report[0] != 0;
}

/* A hash of all settings that ranks must agree on, and of collshim's version. */
uint64_t settings_hash(void);

#endif
