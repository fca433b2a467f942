/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The report: NCCL programs end without telling NCCL, so a process writes it when the library is
 * unloaded at its exit. Counts are this process's own; rank 0 takes part in every collective.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <unistd.h>

#include "config/base/write_file.h"
#include "shim/nccl/call/process.h"
#include "shim/nccl/comm/sited.h"
#include "shim/nccl/comm/stored.h"
#include "shim/nccl/run/verify.h"
#include "shim/record/counts/count.h"
#include "shim/record/report/call_site_merge.h"
#include "shim/record/report/call_site_report.h"
#include "shim/record/report/rail_report.h"
#include "shim/record/report/report.h"
#include "shim/record/report/reporter.h"
#include "shim/record/report/spool.h"

/* This process's own row. */
static void print_rails(struct json *j)
{
    struct rail_row own = {.rank = reporter_largest().rank, .rail = counters.live.rail};

    gethostname(own.host, sizeof own.host - 1);
    rail_report(j, &own, rail_rows_merge(&own, 1));
}

static void print_report(FILE *f)
{
    const struct reporter who = reporter_largest();
    char whose[64];

    snprintf(whose, sizeof whose, "of the process of rank %d", who.rank);
    nccl_sites_complete();
    struct json j = report_begin(f, who.library, who.nranks, whose);

    json_open(&j, "nccl", '{');
    json_int(&j, "sends", (long long)nccl_process.sends);
    json_int(&j, "recvs", (long long)nccl_process.recvs);
    json_int(&j, "processes_per_rank", nccl_process.processes ? nccl_process.processes : 1);
    if (nccl_process.processes)
        json_bool(&j, "mps", nccl_process.mps);
    else
        json_null(&j, "mps");
    report_collectives(&j, 0); /* calls on streams have no times here */
    json_close(&j, '}');
    if (nccl_process.serves_mpi && *nccl_process.serves_mpi)
        json_bool(&j, "beside_mpi", 1);
    if (!spool_is_printing)
        print_rails(&j);
    site_report(&j, SITE_ONE_RANK, who.nranks);
    json_close(&j, '}');
}

/* MPI's own report may be in the file of that name. */
__attribute__((destructor)) static void write_at_exit(void)
{
    enum reporter_scope scope;

    if (settings.cfg.mode == CFG_MODE_VERIFY)
        verify_sweep();
    nccl_stored_close();
    scope = reporter_writes();
    if (!scope)
        return;
    site_fold();
    report_write(config_write_is_device(settings.cfg.report) ? "" : ".nccl", scope, print_report);
}
