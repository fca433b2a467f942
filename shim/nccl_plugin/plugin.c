/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ranks cannot compare what they have read: NCCL gives a plugin no way to talk, and none is
 * needed by NCCL_ALGO either. So nothing here may differ between ranks by itself. A store
 * (COLLSHIM_STORE) changes while a job starts, and is not read. A site's stop file appears while
 * one starts: it ends the report, not the tuner. A profile may be replaced while one starts, or
 * lack on one host: its name, which the ranks have in common, says by a hash what is in it. Without
 * a hash no rank uses its rows; a rank that reads anything else refuses to start.
 */
#define _GNU_SOURCE
#include "shim/nccl_plugin/plugin.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/text.h"
#include "config/settings/profile.h"
#include "shim/decide/base/say.h"
#include "shim/decide/base/settings.h"
#include "shim/record/report/job.h"
#include "shim/record/report/report.h"
#include "shim/record/report/reporter.h"

static struct {
    pthread_once_t once;
    const struct plan_variant *forced[COLL_COUNT]; /* by COLLSHIM_ALGORITHM */
    int nforced, rows;
    int unlike;  /* the profile is not what the hash in its name says */
    int unnamed; /* it has rows, and no hash in its name */
} plugin = {.once = PTHREAD_ONCE_INIT};

/* Names with a slash are NCCL's; others may be the MPI library's, which complains of them itself.
 */
static void look_up_forced(enum plan_collective c)
{
    const char *name = settings.choice[c].variant;

    if (!name[0])
        return;
    plugin.forced[c] = plan_variant_named(VARIANT_NCCL, c, name);
    plugin.nforced += plugin.forced[c] != NULL;
    if (!plugin.forced[c] && strchr(name, '/'))
        cfg_problem(&settings.cfg,
                    "COLLSHIM_ALGORITHM: %s=native:%s: NCCL has no such algorithm; expected one "
                    "like native:ring/ll128 (NCCL chooses)",
                    plan_collective_name(c), name);
}

/* Do 16 hexadecimal digits in the file's name, as a word, say what is in it? *hash: these. */
static int find_hash(const char *path, uint64_t *hash)
{
    const char *slash = strrchr(path, '/');
    size_t n;

    for (const char *at = slash ? slash + 1 : path; *at; at += n ? n : 1) {
        for (n = 0; text_is_letter(at[n]) || text_is_digit(at[n]);)
            n++;
        if (n == 16 && strspn(at, "0123456789abcdef") == n) {
            *hash = strtoull(at, NULL, 16);
            return 1;
        }
    }
    return 0;
}

static void look_up_rows(const struct cfg *cfg)
{
    uint64_t named = 0;
    int has_hash = find_hash(cfg->profile, &named);

    for (int i = 0; i < settings.tuning.nrows; i++)
        plugin.rows += settings.tuning.row[i].variant != NULL;
    plugin.unlike = has_hash && named != tuning_hash(&settings.tuning);
    plugin.unnamed = !has_hash && plugin.rows;
    if (plugin.unlike || plugin.unnamed)
        plugin.rows = 0;
}

/* Once, and only where NCCL looks for a tuner. */
static void complain_of_profile(void)
{
    const char *profile = settings.cfg.profile;
    uint64_t hash = tuning_hash(&settings.tuning);
    static int said;

    if (!(plugin.unlike || plugin.unnamed) || __atomic_exchange_n(&said, 1, __ATOMIC_RELAXED))
        return;
    if (plugin.unlike)
        say_here(CFG_LEVEL_ERROR,
                 "COLLSHIM_PROFILE: %s has the hash %016" PRIx64 " instead of the one in its name: "
                 "ranks may have read other rows, and NCCL does not start",
                 profile, hash);
    else
        say(CFG_LEVEL_WARN,
            "COLLSHIM_PROFILE: %s: rows for NCCL's own algorithms are left out, as the file might "
            "change while a job starts; a copy that has %016" PRIx64 " in its name does not",
            profile, hash);
}

static void open_once(void)
{
    struct cfg *cfg = &settings.cfg;

    settings_open("NCCL ");
    if (cfg->mode == CFG_MODE_OFF && cfg->rules.own_mode != CFG_MODE_OFF)
        tuning_load(cfg, &settings.tuning); /* for the tuner, see above */
    for (int c = 0; c < COLL_COUNT; c++)
        look_up_forced((enum plan_collective)c);
    look_up_rows(cfg);
    say_rank = reporter_is_launched_as_another();
    say_problems();
    job_open();
}

static const struct cfg *read_settings(void)
{
    pthread_once(&plugin.once, open_once);
    return &settings.cfg;
}

int plugin_rows(void)
{
    return plugin.rows;
}

int plugin_refuses(void)
{
    const struct cfg *cfg = read_settings();

    return plugin.unlike || (cfg->strict && cfg->problems > 0);
}

int plugin_wants_tuner(void)
{
    const struct cfg *cfg = read_settings();

    if (cfg->rules.own_mode == CFG_MODE_OFF)
        return 0;
    complain_of_profile();
    if (!plugin.rows && !plugin.nforced && cfg->mode != CFG_MODE_OFF)
        say(CFG_LEVEL_INFO, "NCCL's tuner plugin: no row names an algorithm of NCCL's own, so NCCL "
                            "does without it");
    return plugin.rows || plugin.nforced || plugin_refuses();
}

int plugin_wants_profiler(void)
{
    const struct cfg *cfg = read_settings();

    return cfg->mode != CFG_MODE_OFF && cfg->report[0] && !report_is_spooled();
}

static int is_backend(struct dl_phdr_info *info, size_t size, void *found)
{
    const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;

    (void)size;
    return *(int *)found = slash && !strcmp(slash, "/libcollshim-nccl.so");
}

int plugin_has_preload(void)
{
    int found = 0;

    dl_iterate_phdr(is_backend, &found);
    return found;
}

/* The preload's backend is opened when a program calls or looks up a function of NCCL, before NCCL
   looks for plugins. It serves the libraries that have twins of their functions. The program itself
   has no name: an NCCL in it is linked statically. */
int plugin_preload_sees(const void *in_nccl)
{
    struct link_map *map = NULL;
    Dl_info here, twin;
    void *library, *at;
    int sees;

    if (!in_nccl || !plugin_has_preload() ||
        !dladdr1(in_nccl, &here, (void **)&map, RTLD_DL_LINKMAP) || !map || !map->l_name[0])
        return 0;
    library = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
    if (!library)
        return 0;
    at = dlsym(library, "pncclAllReduce");
    sees = at && dladdr(at, &twin) && twin.dli_fbase == here.dli_fbase;
    dlclose(library);
    return sees;
}

/* Does the collective combine? Other algorithms then round differently. */
static int rounds(enum plan_collective c)
{
    return c == COLL_ALLREDUCE || c == COLL_REDUCE || c == COLL_REDUCE_SCATTER_BLOCK;
}

const struct plan_variant *plugin_choose(enum plan_collective c, int nranks, int nnodes,
                                         uint64_t bytes, int *channels)
{
    const struct choice *choice = &settings.choice[c];
    const struct tuning_row *row;

    *channels = 0;
    if (nranks < 1 || nnodes < 1 || (settings.cfg.exact && rounds(c)))
        return NULL;
    if (choice->native || choice->forced)
        return plugin.forced[c];
    if (!plugin.rows)
        return NULL;
    row = tuning_find_native(&settings.tuning, c, nnodes, (nranks + nnodes - 1) / nnodes, bytes);
    if (!row || !row->variant)
        return NULL;
    *channels = row->channels;
    return row->variant;
}
