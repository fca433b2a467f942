/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rank 0's settings travel to all as text, and each rank compares. Text and not a hash,
 * so that the rank which differs can say in which setting. A process with mode off takes
 * part too: it may be the only one that is off.
 */
#include "shim/mpi/agree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/mpi/comm.h"
#include "shim/mpi/presence.h"
#include "shim/mpi/process.h"

enum { TEXT_MAX = 8192 };

/* One line per agreed setting, "name value", then what the files hold and the problems found. */
static void describe(char *text)
{
    size_t used = 0;
    char value[CFG_TEXT_MAX];

    for (int id = 0; id < CFG_COUNT; id++) {
        if (!cfg_rows[id].agreed)
            continue;
        cfg_value_text(&process.cfg, (enum cfg_id)id, value, sizeof value);
        used += (size_t)snprintf(text + used, TEXT_MAX - used, "%s %s\n", cfg_rows[id].name, value);
    }
    snprintf(text + used, TEXT_MAX - used,
             "what COLLSHIM_TOPOLOGY describes %016llx\nrows of COLLSHIM_PROFILE %016llx\n%s",
             process.topo ? (unsigned long long)topo_hash(process.topo) : 0ull,
             (unsigned long long)tuning_hash(&process.tuning), process.cfg.problem);
}

/* Tell the first line in which two texts differ. */
static void say_difference(const char *mine, const char *root)
{
    while (*mine && *root) {
        size_t m = strcspn(mine, "\n"), r = strcspn(root, "\n");
        if (m != r || strncmp(mine, root, m)) {
            say_here(CFG_LEVEL_WARN,
                     "settings differ between ranks: '%.*s' on rank %d, '%.*s' on rank 0; set them "
                     "alike on every rank (all run natively)",
                     (int)m, mine, process.world_rank, (int)r, root);
            return;
        }
        mine += m + (mine[m] == '\n');
        root += r + (root[r] == '\n');
    }
    say_here(CFG_LEVEL_WARN,
             "rank %d and rank 0 found different problems in their settings; set them alike on "
             "every rank (all run natively)",
             process.world_rank);
}

/* The lowest rank whose settings differ from rank 0's, or the size if none does. */
static int first_to_differ(void)
{
    char mine[TEXT_MAX] = "", root[TEXT_MAX];
    int differs = process.world_size, first = differs;

    describe(mine);
    memcpy(root, mine, sizeof root);
    if (process.world_size > 1) {
        mpi.Bcast(root, TEXT_MAX, MPI_CHAR, 0, MPI_COMM_WORLD);
        if (memcmp(mine, root, TEXT_MAX) != 0)
            differs = process.world_rank;
        mpi.Allreduce(&differs, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    }
    if (first == process.world_rank)
        say_difference(mine, root);
    return first;
}

static void say_problems(void)
{
    for (const char *line = process.cfg.problem; *line;) {
        size_t length = strcspn(line, "\n");
        say(CFG_LEVEL_WARN, "%.*s", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

static enum reason parse_topology(void)
{
    struct topo *topo = NULL;
    char why[256];

    if (!process.cfg.topology[0] || process.cfg.mode == CFG_MODE_OFF)
        return REASON_NONE;
    if (topo_parse(process.cfg.topology, process.world_size, &topo, why, sizeof why) < 0) {
        say(CFG_LEVEL_WARN, "COLLSHIM_TOPOLOGY: %s (all ranks run natively)", why);
        return REASON_TOPOLOGY;
    }
    process.topo = topo;
    return REASON_NONE;
}

int agree_at_init(void)
{
    int missing;

    mpi.Comm_rank(MPI_COMM_WORLD, &process.world_rank);
    mpi.Comm_size(MPI_COMM_WORLD, &process.world_size);
    if (!presence_everywhere(process.world_rank, process.world_size, &missing)) {
        process.verdict = REASON_NOT_EVERYWHERE;
        if (missing >= 0)
            say_here(
                CFG_LEVEL_WARN,
                "rank %d has not loaded collshim, all run natively; LD_PRELOAD must reach every "
                "rank (Open MPI: mpirun -x LD_PRELOAD)",
                missing);
        return MPI_SUCCESS;
    }
    enum reason topology = parse_topology();
    say_problems();
    int problems = process.cfg.problems + (topology != REASON_NONE), most = problems;
    if (process.world_size > 1)
        mpi.Allreduce(&problems, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (process.cfg.strict && most)
        say(CFG_LEVEL_ERROR, "COLLSHIM_STRICT=1: MPI_Init fails because of the settings above");
    if (first_to_differ() < process.world_size)
        process.verdict = REASON_DISAGREED;
    else if (process.cfg.strict && most)
        return MPI_ERR_OTHER;
    else
        process.verdict = topology;
    if (process.verdict == REASON_NONE && comm_open() != MPI_SUCCESS)
        process.verdict = REASON_MEMORY;
    return MPI_SUCCESS;
}
