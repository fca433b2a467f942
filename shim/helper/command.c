/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "shim/helper/command.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/decide/base/say.h"
#include "shim/helper/spawn.h"
#include "shim/record/roll/roll_watch.h"

/* Taken when the backend is opened: the program may change its own in another thread. */
static char libraries[PATH_MAX];
static char *environment[] = {libraries, NULL};

/* Returns 0, or -1: it is in none of these places. */
static int find_command(char *path, size_t size)
{
    static const char *const places[] = {"collshim", "../bin/collshim", "../../bin/collshim"};
    Dl_info self;

    if (!dladdr((void *)(uintptr_t)command_open, &self) || !self.dli_fname)
        return -1;
    const char *slash = strrchr(self.dli_fname, '/');
    int length = slash ? (int)(slash - self.dli_fname + 1) : 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (snprintf(path, size, "%.*s%s", length, self.dli_fname, places[i]) < (int)size &&
            access(path, X_OK) == 0)
            return 0;
    return -1;
}

/* The watcher's thread runs it. */
static void run_stuck(int within)
{
    char path[PATH_MAX], seconds[32], pid[32];
    char *const arguments[] = {"collshim", "stuck", "--alarm", seconds, pid, NULL};

    snprintf(seconds, sizeof seconds, "%d", within);
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    if (find_command(path, sizeof path))
        say(CFG_LEVEL_WARN, "nothing moves for %d s: `collshim stuck %s` on this node tells more",
            within, pid);
    else
        spawn_apart(path, arguments, environment, NULL, 0);
}

void command_open(void)
{
    const char *path = getenv("LD_LIBRARY_PATH");

    snprintf(libraries, sizeof libraries, "LD_LIBRARY_PATH=%s", path ? path : "");
    roll_watch_start = run_stuck;
}
