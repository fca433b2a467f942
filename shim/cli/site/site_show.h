/* SPDX-License-Identifier: BSD-3-Clause */
/* The output of `collshim site` for a sum. */
#ifndef COLLSHIM_SHIM_CLI_SITE_SHOW_H
#define COLLSHIM_SHIM_CLI_SITE_SHOW_H

#include "shim/cli/site/site_sum.h"

/* Files that were not added up, by why. */
enum site_skip {
    SKIP_CUT_OFF,
    SKIP_FOREIGN,
    SKIP_TOO_LARGE,
    SKIP_TOO_MANY,
    SKIP_AUTHOR,
    SKIP_UNREADABLE,
    SKIPS
};
struct site_skips {
    long long files[SKIPS];
    char name[SKIPS][3][SUM_TEXT]; /* the first */
};
extern const char *const site_skip_texts[SKIPS]; /* "cut off" */

void site_show_text(const struct sum *s, const struct site_skips *skips);
void site_show_advice(const struct sum *s); /* the last line of the text */
void site_show_json(const struct sum *s, const struct site_skips *skips);
void site_show_prometheus(const struct sum *s, const struct site_skips *skips);

#endif
