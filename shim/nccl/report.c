/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The report: NCCL programs end without telling NCCL, so a process writes it when the library is
 * unloaded at its exit. Counts are this process's own; rank 0 takes part in every collective.
 *
 * One process writes: rank 0 of the largest communicator it was in, unless its launcher calls it
 * another rank. The parts of a split have a rank 0 each, but belong to a larger one; those of a
 * mesh do not, there the launcher tells. Where neither does, the last to end has its report there,
 * whole. With %p in its name every process has its own.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/write_file.h"
#include "shim/decide/count.h"
#include "shim/decide/rail_report.h"
#include "shim/decide/report.h"
#include "shim/nccl/process.h"
#include "shim/nccl/stored.h"
#include "shim/nccl/verify.h"

static struct {
    uint64_t sends, recvs;
    struct largest { /* communicator so far */
        pthread_mutex_t lock;
        int nranks, rank; /* rank: the lowest of this process's; nranks 0: none yet */
        uint64_t key;
        const char *version;
        pid_t process; /* not that of a child that it has forked */
    } largest;
    int processes, mps; /* per rank, of the last communicator that has several; 0: none */
} seen = {.largest.lock = PTHREAD_MUTEX_INITIALIZER};

void report_rank(int rank, int nranks, uint64_t key, const char *version)
{
    struct largest *l = &seen.largest;

    pthread_mutex_lock(&l->lock);
    if (nranks > l->nranks || (nranks == l->nranks && key == l->key && rank < l->rank)) {
        l->nranks = nranks;
        l->rank = rank;
        l->key = key;
        l->version = version;
        l->process = getpid();
        live_rank(rank, nranks);
    }
    pthread_mutex_unlock(&l->lock);
}

void report_message(int sent)
{
    __atomic_fetch_add(sent ? &seen.sends : &seen.recvs, 1, __ATOMIC_RELAXED);
}

void report_helpers(int processes, int mps)
{
    seen.processes = processes;
    seen.mps = mps;
}

/* This process's own row. */
static void print_rails(struct json *j)
{
    struct rail_row own = {.rank = seen.largest.rank, .rail = counters.live.rail};

    gethostname(own.host, sizeof own.host - 1);
    rail_report(j, &own, rail_rows_merge(&own, 1));
}

static void print_report(FILE *f)
{
    char whose[64];

    snprintf(whose, sizeof whose, "of the process of rank %d", seen.largest.rank);
    struct json j = report_begin(f, seen.largest.version, seen.largest.nranks, whose);

    json_open(&j, "nccl", '{');
    json_int(&j, "sends", (long long)seen.sends);
    json_int(&j, "recvs", (long long)seen.recvs);
    json_int(&j, "processes_per_rank", seen.processes ? seen.processes : 1);
    if (seen.processes)
        json_bool(&j, "mps", seen.mps);
    else
        json_null(&j, "mps");
    report_collectives(&j, 0); /* calls on streams have no times here */
    json_close(&j, '}');
    print_rails(&j);
    json_close(&j, '}');
}

/* Does whoever has started this process say that it is another rank than 0? */
static int launched_as_another(void)
{
    static const char *const variables[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                            "SLURM_PROCID"};

    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *rank = secure_getenv(variables[i]);

        if (rank && *rank)
            return strcmp(rank, "0") != 0;
    }
    return 0;
}

/* Is it this process that writes one? With %p in its name every process has its own. */
static int writes_report(void)
{
    const struct largest *l = &seen.largest;

    return settings.cfg.report[0] && l->nranks && l->process == getpid() &&
           (strstr(settings.cfg.report, "%p") || !(l->rank || launched_as_another()));
}

/* MPI's own report may be in the file of that name. */
__attribute__((destructor)) static void write_at_exit(void)
{
    if (settings.cfg.mode == CFG_MODE_VERIFY)
        verify_sweep();
    nccl_stored_close();
    if (writes_report())
        report_write(config_write_is_device(settings.cfg.report) ? "" : ".nccl", print_report);
}
