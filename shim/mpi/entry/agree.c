/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All ranks find out whether all are here and have the same settings. A hash of the settings tells
 * that. If they differ, rank 0's travel to all as text, so that a rank which differs can say in
 * which setting. A process with mode off takes part too: it may be the only one that is off.
 */
#include "shim/mpi/entry/agree.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config/base/hash.h"
#include "shim/mpi/api/process.h"
#include "shim/mpi/api/progress.h"
#include "shim/mpi/call/refused.h"
#include "shim/mpi/comm/comm.h"
#include "shim/mpi/comm/stored.h"
#include "shim/mpi/entry/launcher.h"
#include "shim/mpi/run/variants.h"

enum { TEXT_MAX = 8192 };

/* The version, one line per agreed setting, "name value", then what the files hold and the problems
 * found. */
static void agree_describe(char *text)
{
    size_t used = (size_t)snprintf(text, TEXT_MAX, "collshim %s\n", settings_version);
    char value[CFG_TEXT_MAX];

    for (int id = 0; id < CFG_COUNT; id++) {
        if (!cfg_rows[id].agreed)
            continue;
        cfg_value_text(&settings.cfg, (enum cfg_id)id, value, sizeof value);
        used += (size_t)snprintf(text + used, TEXT_MAX - used, "%s %s\n", cfg_rows[id].name, value);
    }
    snprintf(text + used, TEXT_MAX - used,
             "topology of COLLSHIM_TOPOLOGY %016llx\nrows of COLLSHIM_PROFILE %016llx\n"
             "recipes and texts of COLLSHIM_ALGORITHM %016llx\n%s",
             mpi_process.topo ? (unsigned long long)topo_hash(mpi_process.topo) : 0ull,
             (unsigned long long)tuning_hash(&settings.tuning),
             (unsigned long long)wanted_hash(settings.choice), settings.cfg.problem);
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
                     (int)m, mine, mpi_process.world_rank, (int)r, root);
            return;
        }
        mine += m + (mine[m] == '\n');
        root += r + (root[r] == '\n');
    }
    say_here(CFG_LEVEL_WARN,
             "rank %d and rank 0 found different problems in their settings; set them alike on "
             "every rank (all run natively)",
             mpi_process.world_rank);
}

/* The ranks' findings about each other. */
struct outcome {
    int absent;                  /* a rank that has not loaded this collshim, or -1 */
    int other_version;           /* it has loaded another version */
    int left_out;                /* the lowest rank that the site leaves out, or -1 */
    int differ;                  /* ranks have different settings */
    int problems;                /* the most that any rank found in its settings */
    uint64_t settings;           /* of this rank, hashed: equal for equal texts */
    struct variant_set variants; /* that all ranks can use */
    int progresses;              /* all ranks' libraries progress calls of ours */
    int unready;                 /* a rank lacks what communicators need */
};

static void worse(void *value, const void *child)
{
    struct outcome *mine = value;
    const struct outcome *theirs = child;

    if (mine->absent < 0) {
        mine->absent = theirs->absent;
        mine->other_version = theirs->other_version;
    }
    if (theirs->problems > mine->problems)
        mine->problems = theirs->problems;
    if (theirs->left_out >= 0 && (mine->left_out < 0 || theirs->left_out < mine->left_out))
        mine->left_out = theirs->left_out;
    for (int i = 0; i < VARIANT_WORDS; i++)
        mine->variants.word[i] &= theirs->variants.word[i];
    mine->progresses &= theirs->progresses;
    mine->unready |= theirs->unready;
    mine->differ |= theirs->differ || theirs->settings != mine->settings;
}

/* All ranks have set COLLSHIM_STRICT=1, and one found a problem. */
static int must_fail(const struct outcome *o)
{
    return settings.cfg.strict && o->problems && !o->differ && o->absent < 0 && o->left_out < 0;
}

static const struct launcher *launcher;
static int other_version = -1; /* the last rank that was found to have one */

/* Versions need not understand each other's messages. */
static int understands(int rank)
{
    enum launcher_peer peer = launcher->find(rank);

    if (peer == PEER_OTHER_VERSION)
        other_version = rank;
    return peer == PEER_HERE;
}

static void say_absent(const struct outcome *o)
{
    if (o->other_version)
        say_here(CFG_LEVEL_WARN,
                 "rank %d has loaded another version of collshim than %s, all run natively; one "
                 "module must reach every rank",
                 o->absent, settings_version);
    else
        say_here(CFG_LEVEL_WARN,
                 "rank %d has not loaded collshim, all run natively; LD_PRELOAD must reach every "
                 "rank (Open MPI: mpirun -x LD_PRELOAD)",
                 o->absent);
}

/* The user wants no job rather than one with other settings. Only rank 0 knows yet, and the
   others wait for it. */
static void end_job(void)
{
    say(CFG_LEVEL_ERROR, "COLLSHIM_STRICT=1: the job ends because of the settings above");
    nanosleep(&(struct timespec){.tv_nsec = 200000000},
              NULL); /* launchers have read the line then */
    mpi.Abort(MPI_COMM_WORLD, 1);
}

/*
 * Once up the tree and once down, since all ranks wait for it in MPI_Init. Returns an MPI code. A
 * rank that could not announce itself sends nothing: to the others it is absent.
 */
static int agree_share(struct tree *t, struct outcome *o)
{
    const char *lost = NULL;

    launcher = mpi_process.world_size > 1 ? launcher_of_job(&lost) : NULL;
    if (lost) {
        say_here(CFG_LEVEL_WARN,
                 "rank %d could not announce itself to the other ranks by %s; all run natively",
                 mpi_process.world_rank, lost);
        o->absent = mpi_process.world_rank;
        return MPI_SUCCESS;
    }
    o->absent =
        tree_open(t, mpi_process.world_rank, mpi_process.world_size, launcher ? understands : NULL);
    o->other_version = o->absent >= 0 && o->absent == other_version;
    int rc = tree_up(t, o, sizeof *o, worse);
    if (rc == MPI_SUCCESS && t->parent < 0 && must_fail(o))
        end_job();
    if (rc == MPI_SUCCESS)
        rc = tree_down(t, o, sizeof *o);
    /* Rank 0 tells all, or its neighbours do if it is the one that has no collshim. */
    if (rc == MPI_SUCCESS && o->absent >= 0 && t->parent < 0 &&
        (!mpi_process.world_rank || (!o->absent && !o->other_version)))
        say_absent(o);
    return rc;
}

static void lower(void *value, const void *child)
{
    int *mine = value, theirs = *(const int *)child;

    *mine = theirs < *mine ? theirs : *mine;
}

/* Ranks differ: the lowest that differs from rank 0 says in what. Returns an MPI code. */
static int explain(const struct tree *t, const char *mine)
{
    char root[TEXT_MAX];
    int differs = mpi_process.world_size;

    memcpy(root, mine, sizeof root);
    int rc = tree_down(t, root, sizeof root);
    if (rc == MPI_SUCCESS && strcmp(mine, root) != 0)
        differs = mpi_process.world_rank;
    if (rc == MPI_SUCCESS)
        rc = tree_up(t, &differs, sizeof differs, lower);
    if (rc == MPI_SUCCESS)
        rc = tree_down(t, &differs, sizeof differs);
    if (rc == MPI_SUCCESS && differs == mpi_process.world_rank)
        say_difference(mine, root);
    return rc;
}

static enum reason parse_topology(void)
{
    struct topo *topo = NULL;
    char why[256];

    if (!settings.cfg.topology[0] || settings.cfg.mode == CFG_MODE_OFF)
        return REASON_NONE;
    if (topo_parse(settings.cfg.topology, mpi_process.world_size, &topo, why, sizeof why) < 0) {
        say(CFG_LEVEL_WARN, "COLLSHIM_TOPOLOGY: %s (all ranks run natively)", why);
        return REASON_TOPOLOGY;
    }
    mpi_process.topo = topo;
    return REASON_NONE;
}

/* One rank is enough, since hosts may see the site's folder change at different times. Rank 0 has
   reported errors in its file already. */
static void say_left_out(const struct outcome *o)
{
    const struct cfg_site *rules = &settings.cfg.rules;

    if (o->left_out == mpi_process.world_rank)
        say_here(rules->broken && mpi_process.world_rank ? CFG_LEVEL_WARN : CFG_LEVEL_INFO,
                 "%s (rank %d; all ranks run natively)", rules->left_out, mpi_process.world_rank);
}

/* All have the same settings, with which MPI_Init goes on. May calls be rerouted? Returns an MPI
   code. */
static int agree_settle(const struct tree *t, enum reason topology, const struct outcome *o)
{
    mpi_process.verdict = topology ? topology : o->unready ? REASON_MEMORY : REASON_NONE;
    mpi_process.progresses = o->progresses;
    if (mpi_process.verdict == REASON_NONE) {
        links_init();
        refused_open();
        variants_agreed(&o->variants);
    }
    return stored_share(t);
}

/* Sets the verdict. Returns an MPI code. */
static int agree_together(void)
{
    char mine[TEXT_MAX] = "";
    struct tree tree = {.parent = -1};
    struct outcome o = {.absent = -1, .left_out = -1, .progresses = progress_exists()};

    mpi.Comm_rank(MPI_COMM_WORLD, &mpi_process.world_rank);
    mpi.Comm_size(MPI_COMM_WORLD, &mpi_process.world_size);
    say_rank = mpi_process.world_rank;
    enum reason topology = parse_topology();
    say_problems();
    agree_describe(mine);
    o.problems = settings.cfg.problems + (topology != REASON_NONE);
    o.settings = hash_text(HASH_SEED, mine);
    if (settings.cfg.rules.left_out[0])
        o.left_out = mpi_process.world_rank;
    if (settings.cfg.mode != CFG_MODE_OFF) {
        variants_offer(&o.variants);
        o.unready = mpi_comm_open() != MPI_SUCCESS;
    }
    if (agree_share(&tree, &o) != MPI_SUCCESS)
        return MPI_ERR_OTHER;
    if (o.absent >= 0) {
        mpi_process.verdict = REASON_NOT_EVERYWHERE;
        return MPI_SUCCESS;
    }
    if (o.left_out >= 0) {
        say_left_out(&o);
        mpi_process.verdict = REASON_LEFT_OUT;
        return MPI_SUCCESS;
    }
    if (o.differ) {
        mpi_process.verdict = REASON_DISAGREED;
        return explain(&tree, mine);
    }
    return agree_settle(&tree, topology, &o);
}

int agree_at_init(void)
{
    int rc = agree_together();

    if (rc != MPI_SUCCESS || mpi_process.verdict != REASON_NONE)
        mpi_comm_close();
    return rc;
}
