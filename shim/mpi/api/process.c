/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/api/process.h"

#include <stdio.h>

#include "shim/helper/command.h"
#include "shim/helper/helpers.h"
#include "shim/record/counts/live.h"

struct mpi_process mpi_process = {.verdict = REASON_NOT_SEEN, .keyval = MPI_KEYVAL_INVALID};

#ifdef MPI_ABI_VERSION
/*
 * Intel MPI's libmpi_abi.so.1 up to 2021.18 claims version 1.0 of the ABI, but has an earlier
 * draft's numbers. MPI_ERRORS_RETURN and MPI_ERRORS_ABORT are exchanged, and so are the numbers for
 * how Fortran's kinds were made.
 */
#define DRAFT_ERRORS_RETURN MPI_ERRORS_ABORT
static int is_draft(const char *library_version)
{
    int year, release;

    return sscanf(library_version, "Intel(R) MPI Library %d.%d", &year, &release) == 2 &&
           (year < 2021 || (year == 2021 && release <= 18));
}
#else
#define DRAFT_ERRORS_RETURN MPI_ERRORS_RETURN
static int is_draft(const char *library_version)
{
    (void)library_version;
    return 0;
}
#endif

void mpi_process_open(const char *library_version)
{
    mpi_process.library_version = library_version;
    mpi_process.draft = is_draft(library_version);
    mpi_process.errors_return = mpi_process.draft ? DRAFT_ERRORS_RETURN : MPI_ERRORS_RETURN;
    settings_open("");
    live_open("MPI");
    command_open();
    helpers_init(MAILBOX_FOR_MPI);
}
