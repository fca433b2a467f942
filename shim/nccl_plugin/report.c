/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NCCL may close a plugin with its last communicator, and open it again for the next one. The
 * library stays in the process (-z nodelete), so that counts are of the whole process, and the
 * destructor runs at its exit.
 */
#include "shim/nccl_plugin/report.h"

#include <stdint.h>
#include <stdio.h>

#include "config/base/write_file.h"
#include "shim/decide/base/settings.h"
#include "shim/nccl_plugin/plugin.h"
#include "shim/nccl_plugin/tally.h"
#include "shim/record/report/report.h"
#include "shim/record/report/reporter.h"

static struct {
    int tuner, profiler;
    uint64_t sends, recvs;
} seen;

void plugin_report_tuner(int version)
{
    __atomic_store_n(&seen.tuner, version, __ATOMIC_RELAXED);
}

void plugin_report_profiler(int version)
{
    __atomic_store_n(&seen.profiler, version, __ATOMIC_RELAXED);
}

int plugin_report_is_tuned(void)
{
    return __atomic_load_n(&seen.tuner, __ATOMIC_RELAXED) != 0;
}

void plugin_report_message(int sent)
{
    __atomic_fetch_add(sent ? &seen.sends : &seen.recvs, 1, __ATOMIC_RELAXED);
}

static void print_report(FILE *f)
{
    const struct reporter who = reporter_largest();
    char whose[64];

    snprintf(whose, sizeof whose, "of the process of rank %d", who.rank);
    struct json j = report_begin(f, who.library, who.nranks, whose);

    json_open(&j, "nccl", '{');
    json_int(&j, "sends", (long long)seen.sends);
    json_int(&j, "recvs", (long long)seen.recvs);
    json_int(&j, "processes_per_rank", 1);
    json_null(&j, "mps");
    json_open(&j, "plugin", '{');
    json_index(&j, "tuner", seen.tuner ? seen.tuner : -1);
    json_index(&j, "profiler", seen.profiler);
    json_close(&j, '}');
    report_collectives(&j, 0);
    tally_report(&j);
    json_close(&j, '}');
    json_close(&j, '}');
}

/* The names of MPI's report and of the preload's for NCCL are taken. */
static const char *ending(void)
{
    if (config_write_is_device(settings.cfg.report))
        return "";
    return plugin_has_preload() ? ".nccl_plugin" : ".nccl";
}

__attribute__((destructor)) static void write_at_exit(void)
{
    enum reporter_scope scope = seen.profiler ? reporter_writes() : REPORT_NONE;

    if (scope)
        report_write(ending(), scope, print_report);
}
