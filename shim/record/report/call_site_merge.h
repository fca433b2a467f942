/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The call sites of several processes in one table. Objects are the same by build id, else by path;
 * sites by object and offset.
 *
 * Thread rule: one thread, when calls are over.
 */
#ifndef COLLSHIM_SHIM_RECORD_CALL_SITE_MERGE_H
#define COLLSHIM_SHIM_RECORD_CALL_SITE_MERGE_H

#include <stddef.h>

/* This process's sites and hosts as bytes, for processes of the same build on machines of the same
   kind. Returns their number and *data (the caller frees it), or 0 without memory. */
size_t site_pack(char **data);

/* Add those of another process. Bytes that are cut off add what there is of them. */
void site_unpack(const char *data, size_t size);

/* Some rows have no node count, because the ranks had not met yet. Each joins the row that differs
   in nothing else, if there is exactly one. */
void site_fold(void);

#endif
