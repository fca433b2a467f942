/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This process's traffic with other hosts, for the report and `collshim top`: bytes either way, the
 * calls' time, and the assumed rate of its rail (live_layout.h).
 *
 * The bytes of a call are those of its plan, known when the plan is made. So a call costs four
 * additions, and no message is looked at. Calls of the library's own are not known.
 *
 * Any thread may count.
 */
#ifndef COLLSHIM_SHIM_RECORD_RAIL_COUNT_H
#define COLLSHIM_SHIM_RECORD_RAIL_COUNT_H

#include "config/topo/topo.h"
#include "planners/links/load.h"

/* A call moved so many bytes to and from other hosts in so many seconds; 0: not timed. One that
   moved none is not counted. */
void rail_count_call(const struct load_link *crossing, double seconds);

/* Which rail this process's traffic leaves through; -1: it spreads over all. */
void rail_count_number(int rail);

/* This process's own measurement of its rail, in bytes/s; 0: not known. It counts until plans have
   a known rate: then ranks have put their measurements together. */
void rail_count_measured(double out, double in);

/*
 * From here on plans assume this rate, in bytes/s, for this process's rail; 0: not known, which
 * changes nothing. A rate that differs from that of earlier plans by over a tenth is a change. The
 * report tells both rates, and the number of calls before the change.
 */
void rail_count_can(double out, double in);

/* The same for plans of that rank of t. */
void rail_count_planned(const struct topo *t, int rank);

#endif
