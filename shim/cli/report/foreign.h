/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON of a file that may come from anywhere. */
#ifndef COLLSHIM_SHIM_CLI_FOREIGN_H
#define COLLSHIM_SHIM_CLI_FOREIGN_H

#include <jansson.h>

/* Make every string and every key in it fit to be printed (text_clean), at once and for all that
   show it. Where memory is out, the string or the object becomes empty. */
void foreign_clean(json_t *value);

#endif
