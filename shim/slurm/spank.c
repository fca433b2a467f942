/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `srun --collshim=on|off|ab|verify`, as a plugin of Slurm (SPANK). Tasks alone get the preload and
 * the mode; srun, the job's script and interactive shells stay as they are. sbatch and salloc take
 * the option for all steps of the job.
 *
 * A line of plugstack.conf loads it:
 *     optional /usr/local/lib/collshim-spank.so [library=FILE] [default=MODE]
 * library: the preload; without it libcollshim.so beside this file. default: the mode of steps
 * without the option; if it is missing, these steps stay as they are.
 *
 * A node without the preload costs a line; the task runs natively.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/base/preload_list.h"
#include "config/base/text.h"

#pragma GCC visibility push(default) /* Slurm looks these up */
#include <slurm/spank.h>
SPANK_PLUGIN(collshim, 1)
#pragma GCC visibility pop

/* Steps that are a shell of the user's, not a launch: the batch script, `extern`, an interactive
 * one. */
#define FIRST_SPECIAL_STEP 0xfffffff0u

enum { LIST_MOST = 1 << 16 };

static const char *const modes[] = {"on", "off", "ab", "verify"};
static char mode[16]; /* "": nothing is done */
static char library[PATH_MAX];

static int take_mode(const char *text)
{
    char shown[64]; /* the user's text comes into the node's log, too */

    for (size_t i = 0; text && i < sizeof modes / sizeof *modes; i++)
        if (!strcmp(text, modes[i])) {
            snprintf(mode, sizeof mode, "%s", text);
            return 0;
        }
    text = text ? text : "";
    slurm_error("collshim: --collshim=%s: expected on, off, ab or verify",
                text_show(shown, sizeof shown, text, strlen(text)));
    return -1;
}

static int take_option(int value, const char *text, int remote)
{
    (void)value, (void)remote;
    return take_mode(text);
}

static struct spank_option option = {
    .name = "collshim",
    .arginfo = "on|off|ab|verify",
    .usage = "run large MPI and NCCL collectives by collshim (on), natively (off), both ways in "
             "turn (ab) "
             "or both compared (verify)",
    .has_arg = 1,
    .cb = take_option,
};

/* libcollshim.so beside this plugin, through links. */
static void find_library(void)
{
    char self[PATH_MAX];
    Dl_info info;

    if (!dladdr(&option, &info) || !realpath(info.dli_fname, self))
        return;
    *strrchr(self, '/') = 0;
    snprintf(library, sizeof library, "%.*s/%s", (int)(sizeof library - sizeof PRELOAD_NAME - 2),
             self, PRELOAD_NAME);
}

int slurm_spank_init(spank_t spank, int argc, char **argv)
{
    find_library();
    for (int i = 0; i < argc; i++)
        if (!strncmp(argv[i], "library=", 8))
            snprintf(library, sizeof library, "%s", argv[i] + 8);
        else if (strncmp(argv[i], "default=", 8) != 0 || take_mode(argv[i] + 8) < 0)
            slurm_error("collshim: plugstack.conf: %s: expected library=FILE or default=MODE",
                        argv[i]);
    return spank_option_register(spank, &option) == ESPANK_SUCCESS ? 0 : -1;
}

static int is_first(spank_t spank)
{
    uint32_t rank;

    return spank_get_item(spank, S_TASK_GLOBAL_ID, &rank) != ESPANK_SUCCESS || rank == 0;
}

/* Change the task's LD_PRELOAD. with: the library, or NULL to take it out. */
static void set_preload(spank_t spank, const char *with)
{
    static char list[LIST_MOST];
    spank_err_t code = spank_getenv(spank, "LD_PRELOAD", list, sizeof list);
    char *changed;

    if (code == ESPANK_ENV_NOEXIST)
        list[0] = 0;
    else if (code != ESPANK_SUCCESS)
        return;
    changed = preload_list_with(list, with);
    if (changed && *changed)
        spank_setenv(spank, "LD_PRELOAD", changed, 1);
    else if (changed)
        spank_unsetenv(spank, "LD_PRELOAD");
    free(changed);
}

/* In the task, before TaskProlog and the program. Never fails: the task runs, if need be natively.
 */
int slurm_spank_task_init(spank_t spank, int argc, char **argv)
{
    uint32_t step;

    (void)argc, (void)argv;
    if (!mode[0] || spank_get_item(spank, S_JOB_STEPID, &step) != ESPANK_SUCCESS ||
        step >= FIRST_SPECIAL_STEP)
        return 0;
    spank_setenv(spank, "COLLSHIM_MODE", mode, 1);
    if (!strcmp(mode, "off"))
        set_preload(spank, NULL);
    else if (preload_list_can_hold(library) && access(library, R_OK) == 0)
        set_preload(spank, library);
    else if (is_first(spank))
        slurm_error("collshim: %s: %s (the task runs natively)", library,
                    preload_list_can_hold(library) ? strerror(errno)
                                                   : "LD_PRELOAD cannot hold this path");
    return 0;
}
