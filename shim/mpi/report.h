/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef COLLSHIM_SHIM_MPI_REPORT_H
#define COLLSHIM_SHIM_MPI_REPORT_H

/*
 * Write the report that COLLSHIM_REPORT asks for, if any, before the library's own MPI_Finalize.
 * Collective over MPI_COMM_WORLD where all ranks agreed on the settings; else rank 0 writes its own
 * counts, and why all ran natively.
 */
void mpi_report(void);

#endif
