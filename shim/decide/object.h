/* SPDX-License-Identifier: BSD-3-Clause */
/* Which loaded object an address of code lies in. */
#ifndef COLLSHIM_SHIM_DECIDE_OBJECT_H
#define COLLSHIM_SHIM_DECIDE_OBJECT_H

#include <stdint.h>

/* Its number in site_table, which gets it with its range; -1: none, or no room. Under the table's
   lock. */
int object_of(uintptr_t address);

#endif
