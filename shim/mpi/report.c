/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/report.h"

#include "shim/decide/count.h"
#include "shim/decide/report.h"
#include "shim/decide/site_merge.h"
#include "shim/decide/site_report.h"
#include "shim/mpi/process.h"
#include "shim/mpi/site_gather.h"

/* Do all ranks know of each other's reports? Then the settings are the same on all. */
static int ranks_report_together(void)
{
    return mpi_process.verdict == REASON_NONE || mpi_process.verdict == REASON_TOPOLOGY;
}

static void print_report(FILE *f)
{
    struct json j =
        report_begin(f, mpi_process.library_version, mpi_process.world_size,
                     ranks_report_together() ? "sums over all ranks" : "those of rank 0");

    if (mpi_process.verdict)
        json_string(&j, "all_native", reason_texts[mpi_process.verdict]);
    report_settings(&j);
    report_collectives(&j, 1);
    site_report(&j, mpi_process.world_size);
    json_close(&j, '}');
}

void mpi_report(void)
{
    if (!settings_want_report())
        return;
    if (mpi_process.world_size > 1 && ranks_report_together()) {
        site_gather();
        mpi.Reduce(mpi_process.world_rank ? &counters : MPI_IN_PLACE, &counters,
                   (int)(sizeof counters / sizeof(uint64_t)), MPI_UINT64_T, MPI_SUM, 0,
                   MPI_COMM_WORLD);
    }
    site_fold();
    if (!mpi_process.world_rank)
        report_write("", print_report);
}
