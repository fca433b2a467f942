/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/process.h"

#include "shim/decide/live.h"
#include "shim/helper/crew.h"

struct mpi_process mpi_process = {.verdict = REASON_NOT_SEEN, .keyval = MPI_KEYVAL_INVALID};

void mpi_process_open(const char *library_version)
{
    mpi_process.library_version = library_version;
    settings_open("");
    live_open("MPI");
    crew_init(MAILBOX_FOR_MPI);
}
