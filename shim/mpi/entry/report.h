/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef COLLSHIM_SHIM_MPI_REPORT_H
#define COLLSHIM_SHIM_MPI_REPORT_H

#include <stdint.h>

/* At the end of MPI_Init: from now on there may be a report. */
void mpi_report_open(void);

/*
 * Write the report that COLLSHIM_REPORT asks for, if any, before the library's own MPI_Finalize.
 * Collective over MPI_COMM_WORLD where all ranks agreed on the settings; else rank 0 writes its own
 * counts, and why all ran natively.
 */
void mpi_report(void);

/*
 * A job may be killed, so rank 0 writes its own counts so far, as "partial", into the same file. It
 * writes 1 s after MPI_Init, then whenever the job is twice as old, at least once a minute. Writing
 * takes at most 0.5 % of the time. The report in MPI_Finalize takes its place. Due: nanoseconds of
 * site_count's clock; UINT64_MAX: never on this rank. Any thread may call.
 */
extern uint64_t mpi_report_due;
void mpi_report_so_far(uint64_t now);

#endif
