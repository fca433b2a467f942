/* SPDX-License-Identifier: BSD-3-Clause */
/* Let every pair of ranks exchange one byte, once, before anything is timed. */
#ifndef BENCH_CONNECT_H
#define BENCH_CONNECT_H

#include "mpi_table.h"

/* Collective over comm. Returns 0, or -ENOMEM on the ranks where that is so. */
int bench_connect(const struct bench_mpi *mpi, MPI_Comm comm);

#endif
