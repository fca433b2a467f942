/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A report, or a site's sums, as one HTML file. It needs no other file, no network and no server.
 * Its data stand in it as JSON, which the script of page.html draws.
 */
#ifndef COLLSHIM_SHIM_CLI_PAGE_H
#define COLLSHIM_SHIM_CLI_PAGE_H

#include <jansson.h>

/*
 * Write the page to path. kind: "report" or "site". next: what to do next, or NULL. The file stays
 * below 2 MB: of long lists it has the first rows, and says how many are left out.
 * Returns an enum cli_exit; a failure has been printed.
 */
int page_write(const char *path, const char *kind, json_t *data, const char *next);

#endif
