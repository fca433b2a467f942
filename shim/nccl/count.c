/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What has been done so far, and the report: NCCL programs end without telling NCCL, so a process
 * writes it when the library is unloaded at its exit. Counts are this process's own; rank 0 takes
 * part in every collective. Any thread may count.
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
#include "shim/helper/crew.h"
#include "shim/nccl/process.h"
#include "shim/nccl/verify.h"

enum { NAMES = 16 }; /* algorithms told apart */

static struct {
    uint64_t native[COLL_COUNT][REASON_COUNT];
    uint64_t rerouted[COLL_COUNT], bytes[COLL_COUNT];
    const char *name[NAMES];
    uint64_t by_name[COLL_COUNT][NAMES];
    uint64_t by_processes[COLL_COUNT][CREW_MAX + 2]; /* per rank */
    uint64_t verified[COLL_COUNT][2];                /* different, equal */
    uint64_t sends, recvs;
    struct largest { /* communicator so far */
        pthread_mutex_t lock;
        int nranks, rank; /* rank: the lowest of this process's; nranks 0: none yet */
        uint64_t key;
        const char *version;
        pid_t process; /* not that of a child that it has forked */
    } largest;
    int processes, mps; /* per rank, of the last communicator that has several; 0: none */
} counts = {.largest.lock = PTHREAD_MUTEX_INITIALIZER};

static const char *const reason_texts[] = {
#define REASON(id, text) text,
#include "shim/nccl/reasons.def"
#undef REASON
};

static uint64_t add(uint64_t *counter, uint64_t n)
{
    return __atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

void count_native(enum plan_collective c, enum reason why)
{
    if (add(&counts.native[c][why], 1) == 0)
        say(CFG_LEVEL_INFO, "NCCL %s runs natively: %s", plan_collective_name(c),
            reason_texts[why]);
}

void count_rerouted(enum plan_collective c, const char *algorithm, int processes, uint64_t bytes)
{
    const char *none = NULL;
    int i = 0;

    if (add(&counts.rerouted[c], 1) == 0)
        say(CFG_LEVEL_INFO, "NCCL %s is rerouted by %s", plan_collective_name(c), algorithm);
    add(&counts.bytes[c], bytes);
    add(&counts.by_processes[c][processes], 1);
    while (i < NAMES - 1 && counts.name[i] != algorithm) {
        none = NULL;
        if (__atomic_compare_exchange_n(&counts.name[i], &none, algorithm, 0, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED) ||
            none == algorithm)
            break;
        i++;
    }
    add(&counts.by_name[c][i], 1);
}

void count_verified(enum plan_collective c, int equal)
{
    add(&counts.verified[c][equal], 1);
}

void count_rank(int rank, int nranks, uint64_t key, const char *version)
{
    struct largest *l = &counts.largest;

    pthread_mutex_lock(&l->lock);
    if (nranks > l->nranks || (nranks == l->nranks && key == l->key && rank < l->rank)) {
        l->nranks = nranks;
        l->rank = rank;
        l->key = key;
        l->version = version;
        l->process = getpid();
    }
    pthread_mutex_unlock(&l->lock);
}

void count_message(int sent)
{
    add(sent ? &counts.sends : &counts.recvs, 1);
}

void count_helpers(int processes, int mps)
{
    counts.processes = processes;
    counts.mps = mps;
}

/* What most of its calls were rerouted by. */
static const char *main_algorithm(int c)
{
    int most = 0;

    for (int i = 1; i < NAMES; i++)
        most = counts.by_name[c][i] > counts.by_name[c][most] ? i : most;
    return counts.by_name[c][most] ? counts.name[most] : "native";
}

static void write_texts(FILE *f, int c)
{
    const char *separator = "";

    fprintf(f, "\"native\": {");
    for (int r = 0; r < REASON_COUNT; r++)
        if (counts.native[c][r]) {
            fprintf(f, "%s\"%s\": %llu", separator, reason_texts[r],
                    (unsigned long long)counts.native[c][r]);
            separator = ", ";
        }
    separator = "";
    fprintf(f, "}, \"algorithms\": {");
    for (int i = 0; i < NAMES; i++)
        if (counts.by_name[c][i]) {
            fprintf(f, "%s\"%s\": %llu", separator, counts.name[i],
                    (unsigned long long)counts.by_name[c][i]);
            separator = ", ";
        }
    separator = "";
    fprintf(f, "}, \"processes\": {");
    for (int k = 1; k <= CREW_MAX + 1; k++)
        if (counts.by_processes[c][k]) {
            fprintf(f, "%s\"%d\": %llu", separator, k,
                    (unsigned long long)counts.by_processes[c][k]);
            separator = ", ";
        }
    fprintf(f, "}");
}

static void write_report(FILE *f)
{
    const char *separator = "";

    fprintf(f,
            "{\n  \"collshim\": \"%s\",\n  \"library\": \"%s\",\n  \"ranks\": %d,\n"
            "  \"counts_are\": \"of the process of rank %d\",\n  \"nccl\": {\n"
            "    \"sends\": %llu, \"recvs\": %llu,\n    \"processes_per_rank\": %d, \"mps\": %s,\n"
            "    \"collectives\": [",
            COLLSHIM_VERSION, counts.largest.version, counts.largest.nranks, counts.largest.rank,
            (unsigned long long)counts.sends, (unsigned long long)counts.recvs,
            counts.processes ? counts.processes : 1,
            !counts.processes ? "null"
            : counts.mps      ? "true"
                              : "false");
    for (int c = 0; c < COLL_COUNT; c++) {
        uint64_t native = 0;

        for (int r = 0; r < REASON_COUNT; r++)
            native += counts.native[c][r];
        if (!native && !counts.rerouted[c])
            continue;
        fprintf(f,
                "%s\n      {\"collective\": \"%s\", \"calls\": %llu, \"rerouted\": %llu, "
                "\"rerouted_bytes\": %llu, \"algorithm\": \"%s\", \"verified_equal\": %llu, "
                "\"verified_different\": %llu, ",
                separator, plan_collective_name((enum plan_collective)c),
                (unsigned long long)(native + counts.rerouted[c]),
                (unsigned long long)counts.rerouted[c], (unsigned long long)counts.bytes[c],
                main_algorithm(c), (unsigned long long)counts.verified[c][1],
                (unsigned long long)counts.verified[c][0]);
        write_texts(f, c);
        fprintf(f, ", \"sizes\": []}"); /* as in the MPI report; NCCL's calls have no times here */
        separator = ",";
    }
    fprintf(f, "]\n  }\n}\n");
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

/* The path with %p replaced by the process id, and .nccl behind it where MPI's own report may be.
 * Returns 0, or -1: this process is to write none. */
static int report_path(char *path, size_t size)
{
    const char *from = nccl_process.cfg.report, *mark = strstr(from, "%p");
    const char *behind = config_write_is_device(from) ? "" : ".nccl";
    const struct largest *l = &counts.largest;

    if (!*from || !l->nranks || l->process != getpid())
        return -1;
    if (mark)
        snprintf(path, size, "%.*s%d%s%s", (int)(mark - from), from, (int)getpid(), mark + 2,
                 behind);
    else if (l->rank || launched_as_another())
        return -1;
    else
        snprintf(path, size, "%s%s", from, behind);
    return 0;
}

__attribute__((destructor)) static void write_at_exit(void)
{
    char path[CFG_TEXT_MAX + 32];
    const char *why;

    if (nccl_process.cfg.mode == CFG_MODE_VERIFY)
        verify_sweep();
    if (report_path(path, sizeof path) == 0 && config_write_file(path, write_report, &why) < 0)
        say(CFG_LEVEL_WARN, "COLLSHIM_REPORT: cannot write %s: %s", path, why);
}
