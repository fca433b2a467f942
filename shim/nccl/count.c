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

#include "config/json.h"
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

static void write_int(struct json *j, const char *key, uint64_t n)
{
    json_int(j, key, (long long)n);
}

static void write_texts(struct json *j, int c)
{
    char processes[16];

    json_open(j, "native", '{');
    for (int r = 0; r < REASON_COUNT; r++)
        if (counts.native[c][r])
            write_int(j, reason_texts[r], counts.native[c][r]);
    json_close(j, '}');
    json_open(j, "algorithms", '{');
    for (int i = 0; i < NAMES; i++)
        if (counts.by_name[c][i])
            write_int(j, counts.name[i], counts.by_name[c][i]);
    json_close(j, '}');
    json_open(j, "processes", '{');
    for (int k = 1; k <= CREW_MAX + 1; k++)
        if (counts.by_processes[c][k]) {
            snprintf(processes, sizeof processes, "%d", k);
            write_int(j, processes, counts.by_processes[c][k]);
        }
    json_close(j, '}');
}

/* Nothing of a collective without calls. */
static void write_collective(struct json *j, int c)
{
    uint64_t native = 0;

    for (int r = 0; r < REASON_COUNT; r++)
        native += counts.native[c][r];
    if (!native && !counts.rerouted[c])
        return;
    json_open(j, NULL, '{');
    json_string(j, "collective", plan_collective_name((enum plan_collective)c));
    write_int(j, "calls", native + counts.rerouted[c]);
    write_int(j, "rerouted", counts.rerouted[c]);
    write_int(j, "rerouted_bytes", counts.bytes[c]);
    json_string(j, "algorithm", main_algorithm(c));
    write_int(j, "verified_equal", counts.verified[c][1]);
    write_int(j, "verified_different", counts.verified[c][0]);
    write_texts(j, c);
    json_open(j, "sizes", '['); /* as in the MPI report; NCCL's calls have no times here */
    json_close(j, ']');
    json_close(j, '}');
}

static void write_report(FILE *f)
{
    struct json j = json_begin(f);
    char whose[64];

    json_open(&j, NULL, '{');
    json_string(&j, "collshim", COLLSHIM_VERSION);
    json_string(&j, "library", counts.largest.version);
    json_int(&j, "ranks", counts.largest.nranks);
    snprintf(whose, sizeof whose, "of the process of rank %d", counts.largest.rank);
    json_string(&j, "counts_are", whose);
    json_open(&j, "nccl", '{');
    write_int(&j, "sends", counts.sends);
    write_int(&j, "recvs", counts.recvs);
    json_int(&j, "processes_per_rank", counts.processes ? counts.processes : 1);
    if (counts.processes)
        json_bool(&j, "mps", counts.mps);
    else
        json_null(&j, "mps");
    json_open(&j, "collectives", '[');
    for (int c = 0; c < COLL_COUNT; c++)
        write_collective(&j, c);
    json_close(&j, ']');
    json_close(&j, '}');
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
