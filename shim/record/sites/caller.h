/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a return address to the call site: the innermost frame outside collshim, the MPI library,
 * its language bindings and tools that wrap MPI (an object that defines MPI_Init or mpi_init_ is
 * one of those).
 *
 * An address that came before is found in a table. A binding has one return address for all its
 * callers. The first walk learns the place on the stack of the binding's own caller, so later calls
 * cost one more lookup. A new site is walked once, by libunwind. Without libunwind, or if it finds
 * nothing, the site is the return address itself. Code in no object (made at run time) is one site.
 *
 * Thread rule: any thread. No call here allocates but for a new object.
 */
#ifndef COLLSHIM_SHIM_RECORD_CALLER_H
#define COLLSHIM_SHIM_RECORD_CALLER_H

/* Load libunwind if it is there, and let it start. After site_table_open. */
void caller_open(void);

/* The site (site_table.h) of a function that returns to `from`, with its stack pointer at `cfa`
   then. To be called while that function runs, by it or by what it calls. */
unsigned caller_site(const void *from, const char *cfa);

#endif
