/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * First all ranks find out whether all are here, then whether they agree. Rank 0's settings travel
 * to all as text, and each rank compares. Text and not a hash, so that the rank which differs can
 * say in which setting. A process with mode off takes part too: it may be the only one that is off.
 */
#include "shim/mpi/agree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/mpi/comm.h"
#include "shim/mpi/launcher.h"
#include "shim/mpi/process.h"
#include "shim/mpi/tree.h"

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

/* What ranks find out about each other. */
struct outcome {
    int absent;  /* a rank that has not loaded collshim, or -1 */
    int differs; /* the lowest rank whose settings differ from rank 0's, or MPI_COMM_WORLD's size */
    int problems; /* the most that any rank found in its settings */
};

static void worse(void *value, const void *child)
{
    struct outcome *mine = value;
    const struct outcome *theirs = child;

    if (mine->absent < 0)
        mine->absent = theirs->absent;
    if (theirs->differs < mine->differs)
        mine->differs = theirs->differs;
    if (theirs->problems > mine->problems)
        mine->problems = theirs->problems;
}

static int share(const struct tree *t, struct outcome *o)
{
    int rc = tree_up(t, o, sizeof *o, worse);

    return rc == MPI_SUCCESS ? tree_down(t, o, sizeof *o) : rc;
}

/* Are all ranks there? Else nobody reroutes, and rank 0 says why, or its neighbours if it is the
   one that is missing. */
static int all_are_here(struct tree *t, struct outcome *o)
{
    const char *lost = NULL;
    const struct launcher *launcher = launcher_of_job(&lost);

    if (lost) {
        say_here(CFG_LEVEL_WARN,
                 "rank %d could not announce itself to the other ranks by %s; all run natively",
                 process.world_rank, lost);
        return 0;
    }
    o->absent =
        tree_open(t, process.world_rank, process.world_size, launcher ? launcher->has : NULL);
    if (share(t, o) != MPI_SUCCESS)
        return 0;
    if (o->absent >= 0 && t->parent < 0 && (!process.world_rank || !o->absent))
        say_here(CFG_LEVEL_WARN,
                 "rank %d has not loaded collshim, all run natively; LD_PRELOAD must reach every "
                 "rank (Open MPI: mpirun -x LD_PRELOAD)",
                 o->absent);
    return o->absent < 0;
}

/* Compare this rank's settings with rank 0's. Returns an MPI code. */
static int compare(const struct tree *t, struct outcome *o)
{
    char mine[TEXT_MAX] = "", root[TEXT_MAX];

    describe(mine);
    memcpy(root, mine, sizeof root);
    int rc = tree_down(t, root, sizeof root);
    if (rc == MPI_SUCCESS && memcmp(mine, root, sizeof root) != 0)
        o->differs = process.world_rank;
    if (rc == MPI_SUCCESS)
        rc = share(t, o);
    if (rc == MPI_SUCCESS && o->differs == process.world_rank)
        say_difference(mine, root);
    return rc;
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
    struct tree tree = {.parent = -1};
    struct outcome o = {.absent = -1};

    mpi.Comm_rank(MPI_COMM_WORLD, &process.world_rank);
    mpi.Comm_size(MPI_COMM_WORLD, &process.world_size);
    o.differs = process.world_size;
    if (process.world_size > 1 && !all_are_here(&tree, &o)) {
        process.verdict = REASON_NOT_EVERYWHERE;
        return MPI_SUCCESS;
    }
    enum reason topology = parse_topology();
    say_problems();
    o.problems = process.cfg.problems + (topology != REASON_NONE);
    if (compare(&tree, &o) != MPI_SUCCESS)
        return MPI_ERR_OTHER;
    if (process.cfg.strict && o.problems)
        say(CFG_LEVEL_ERROR, "COLLSHIM_STRICT=1: MPI_Init fails because of the settings above");
    if (o.differs < process.world_size)
        process.verdict = REASON_DISAGREED;
    else if (process.cfg.strict && o.problems)
        return MPI_ERR_OTHER;
    else
        process.verdict = topology;
    if (process.verdict == REASON_NONE && comm_open() != MPI_SUCCESS)
        process.verdict = REASON_MEMORY;
    return MPI_SUCCESS;
}
