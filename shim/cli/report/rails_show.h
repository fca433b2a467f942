/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rails of a report's hosts, as `collshim report` shows them. There is a table, and a sentence
 * for each rail that changed or that carries less than the others of its host.
 */
#ifndef COLLSHIM_SHIM_CLI_RAILS_SHOW_H
#define COLLSHIM_SHIM_CLI_RAILS_SHOW_H

#include <jansson.h>
#include <stddef.h>

enum { RAILS_SHOWN = 32 };

/* Are all rows of the list, which may be NULL, rails? */
int rails_are_valid(json_t *list);

/* The first `most` rows. Nothing without rails. */
void rails_print(json_t *root, size_t most);

#endif
