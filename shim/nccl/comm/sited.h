/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which line of the program calls, while a report is wanted. A collective is counted at its place
 * when it is decided. Calls are enqueued, so the only times are those that the guard measures on
 * the stream; a place's other calls are taken to last as long.
 *
 * Thread rule: any thread, each for its own calls.
 */
#ifndef COLLSHIM_SHIM_NCCL_SITED_H
#define COLLSHIM_SHIM_NCCL_SITED_H

#include "shim/nccl/call/call.h"
#include "shim/nccl/comm/comm.h"
#include "shim/record/sites/call_site_table.h"

/* The program calls: an entry's own __builtin_return_address(0) and __builtin_dwarf_cfa(). */
void nccl_site_enter(const void *from, const char *cfa);

/* The site of that call; SITE_OTHERS where no report is wanted. While the entry runs. */
unsigned nccl_site_here(void);

/* As count_native and count_rerouted, at the call's place too. c NULL: not known. */
void nccl_count_native(const struct nccl_comm *c, const struct nccl_call *call, enum reason why);
void nccl_count_rerouted(const struct nccl_comm *c, const struct nccl_call *call,
                         const struct plan_algorithm *a, int processes);

/* The place for one call's time; NULL: no report is wanted. */
struct site_row *nccl_site_row(const struct nccl_comm *c, const struct nccl_call *call);

/* Before the report: calls without a time get the median of those that have one. */
void nccl_sites_complete(void);

#endif
