/* SPDX-License-Identifier: BSD-3-Clause */
/* Which loaded object an address of code lies in. */
#ifndef COLLSHIM_SHIM_RECORD_OBJECT_H
#define COLLSHIM_SHIM_RECORD_OBJECT_H

#include <stdint.h>

/* Its number in site_table, which gets it with its range; -1: none, or no room. Under the table's
   lock. */
int object_of(uintptr_t address);

/* Is it in the program itself, which is never unloaded? Any thread. */
int object_is_program(uintptr_t address);

/* Forget the ranges of objects that were unloaded, as other code may lie there by now. Under the
   table's lock. */
void object_forget_gone(void);

/* Is it in the range of an object of the table? Under the table's lock. */
int object_is_known(uintptr_t address);

#endif
