/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/entry/report.h"

#include <stdlib.h>
#include <string.h>

#include "shim/decide/base/floats.h"
#include "shim/mpi/api/process.h"
#include "shim/mpi/api/quiet.h"
#include "shim/mpi/entry/call_site_gather.h"
#include "shim/mpi/entry/waits.h"
#include "shim/mpi/rails/rail_rows.h"
#include "shim/record/counts/count.h"
#include "shim/record/report/call_site_merge.h"
#include "shim/record/report/call_site_report.h"
#include "shim/record/report/job.h"
#include "shim/record/report/report.h"
#include "shim/record/report/spool.h"
#include "shim/record/report/waits_report.h"
#include "shim/record/sites/call_site.h"

/* Do all ranks know of each other's reports? Then the settings are the same on all. */
static int ranks_report_together(void)
{
    return mpi_process.verdict == REASON_NONE || mpi_process.verdict == REASON_TOPOLOGY;
}

static int gathers(void)
{
    return mpi_process.world_size > 1 && ranks_report_together();
}

enum { FIRST_S = 1, LONGEST_S = 60, SHARE = 200 /* of the time is spent on writing, at most */ };

uint64_t mpi_report_due = UINT64_MAX;
static uint64_t opened;
static int is_partial;

/* Rails of all hosts, gathered at the end; until then a report has this process's own. */
static struct rail_row *rails; /* merged; NULL: not gathered */
static int nrails;

static void print_rails(struct json *j)
{
    struct rail_row own = rail_row_own();

    if (rails)
        rail_report(j, rails, nrails);
    else
        rail_report(j, &own, rail_rows_merge(&own, 1));
}

static void print_report(FILE *f)
{
    struct json j = report_begin(f, mpi_process.library_version, mpi_process.world_size,
                                 is_partial                ? "those of rank 0 so far"
                                 : ranks_report_together() ? "sums over all ranks"
                                                           : "those of rank 0");

    if (is_partial)
        json_bool(&j, "partial", 1);
    if (mpi_process.verdict)
        json_string(&j, "all_native", reason_texts[mpi_process.verdict]);
    report_settings(&j);
    report_collectives(&j, 1);
    if (!spool_is_printing)
        print_rails(&j);
    site_report(&j, SITE_ALL_RANKS, mpi_process.world_size);
    waits_report(&j);
    json_close(&j, '}');
}

void mpi_report_open(void)
{
    int level;

    if (!settings_want_report() || settings.cfg.mode == CFG_MODE_OFF)
        return;
    job_open();
    site_open(mpi.Query_thread(&level) != MPI_SUCCESS || level == MPI_THREAD_MULTIPLE);
    opened = site_clock();
    if (gathers())
        waits_open(opened);
    if (!mpi_process.world_rank)
        mpi_report_due = opened + FIRST_S * 1000000000ull;
}

void mpi_report_so_far(uint64_t now)
{
    FLOATS_OURS;
    if (__atomic_exchange_n(&mpi_report_due, UINT64_MAX, __ATOMIC_ACQUIRE) == UINT64_MAX)
        return; /* another thread is at it */
    is_partial = 1;
    int rc = report_write_quietly(print_report);
    is_partial = 0;
    uint64_t end = site_clock(), age = end - opened, pause = (end - now) * SHARE;
    uint64_t next = age < LONGEST_S * 1000000000ull ? age : LONGEST_S * 1000000000ull;
    if (!rc) /* else the one in MPI_Finalize will say what is wrong */
        __atomic_store_n(&mpi_report_due, end + (next > pause ? next : pause), __ATOMIC_RELEASE);
}

/* Rank 0's counters become the sums of all ranks'. Most are 0 on all ranks: only those blocks
   travel in which some rank has counted. */
static void add_up_counters(void)
{
    enum { BLOCKS = 64, COUNTERS = sizeof counters / sizeof(uint64_t) };
    enum { BLOCK = (COUNTERS + BLOCKS - 1) / BLOCKS };
    uint64_t *all = (uint64_t *)(void *)&counters, used = 0;

    for (int i = 0; i < COUNTERS; i++)
        used |= all[i] ? 1ull << i / BLOCK : 0;
    if (mpi.Allreduce(MPI_IN_PLACE, &used, 1, MPI_UINT64_T, MPI_BOR, MPI_COMM_WORLD) != MPI_SUCCESS)
        return;
    for (int from = 0, to; from < BLOCKS; from = to + 1) {
        for (to = from; to < BLOCKS && used >> to & 1;)
            to++;
        int end = to * BLOCK < COUNTERS ? to * BLOCK : COUNTERS, n = end - from * BLOCK;
        uint64_t *at = all + (ptrdiff_t)from * BLOCK;
        if (to > from)
            mpi.Reduce(mpi_process.world_rank ? at : MPI_IN_PLACE, at, n, MPI_UINT64_T, MPI_SUM, 0,
                       MPI_COMM_WORLD);
    }
}

/* Keep hosts and numbers of the rails' rows, before they are merged. */
static void keep_places(void)
{
    int n = mpi_process.world_size;

    if (!rails || !(waits_found.places = calloc((size_t)n, sizeof *waits_found.places)))
        return;
    rail_rows_number(rails, n);
    for (int i = 0; i < n; i++) {
        struct waits_place *p = &waits_found.places[rails[i].rank];

        memcpy(p->host, rails[i].host, sizeof p->host - 1);
        p->rail = (int)rails[i].number;
    }
}

void mpi_report(void)
{
    __atomic_store_n(&mpi_report_due, UINT64_MAX, __ATOMIC_RELAXED); /* the library's own calls */
    if (!settings_want_report())
        return;
    if (gathers()) {
        struct quiet quiet;
        MPI_Comm comm;

        quiet_begin(&quiet, MPI_COMM_WORLD);
        if (gather_open(&comm)) {
            waits_gather(comm);
            gather_up(comm, site_pack, site_unpack);
            gather_close(&comm);
        }
        rail_rows_gather(&rails);
        keep_places();
        nrails = rails ? rail_rows_merge(rails, mpi_process.world_size) : 0;
        add_up_counters();
        quiet_end(&quiet);
    }
    site_fold();
    if (!mpi_process.world_rank)
        report_write("", REPORT_OF_JOB, print_report);
}
