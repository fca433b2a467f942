/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "shim/record/report/reporter.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/decide/base/settings.h"
#include "shim/record/counts/live.h"

static struct {
    pthread_mutex_t lock;
    struct reporter largest;
    uint64_t key;
    pid_t process;
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER};

void reporter_rank(int rank, int nranks, uint64_t key, const char *library)
{
    struct reporter *l = &seen.largest;

    pthread_mutex_lock(&seen.lock);
    if (nranks > l->nranks || (nranks == l->nranks && key == seen.key && rank < l->rank)) {
        *l = (struct reporter){.nranks = nranks, .rank = rank, .library = library};
        seen.key = key;
        seen.process = getpid();
        live_rank(rank, nranks);
    }
    pthread_mutex_unlock(&seen.lock);
}

struct reporter reporter_largest(void)
{
    return seen.largest;
}

int reporter_is_launched_as_another(void)
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

enum reporter_scope reporter_writes(void)
{
    const struct reporter *l = &seen.largest;

    if (!settings_want_report() || !l->nranks || seen.process != getpid())
        return REPORT_NONE;
    if (!l->rank && !reporter_is_launched_as_another())
        return REPORT_OF_JOB;
    return strstr(settings.cfg.report, "%p") ? REPORT_OF_PROCESS : REPORT_NONE;
}
