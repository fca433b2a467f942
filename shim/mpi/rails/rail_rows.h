/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rails of the job's hosts, for the report: what this process tells of its own, and all ranks' rows
 * together (shim/record/report/rail_report.h).
 */
#ifndef COLLSHIM_SHIM_MPI_RAIL_ROWS_H
#define COLLSHIM_SHIM_MPI_RAIL_ROWS_H

#include "shim/record/report/rail_report.h"

/* At the end of MPI_Init: the rail that COLLSHIM_TOPOLOGY gives this rank. */
void rail_open(void);

/* This process's row. */
struct rail_row rail_row_own(void);

/* Every rank's row at rank 0: *rows (owned, [ranks]), else NULL; NULL everywhere without memory.
   Collective over MPI_COMM_WORLD. */
void rail_rows_gather(struct rail_row **rows);

#endif
