/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/process.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct process process = {.verdict = REASON_NOT_SEEN, .keyval = MPI_KEYVAL_INVALID};

/* The row that COLLSHIM_ALGORITHM names, or the default one. */
static struct choice choose(enum plan_collective c)
{
    struct choice choice = {.algorithm = plan_algorithm_default(c)};
    const char *collective = plan_collective_name(c);
    char wanted[CFG_TEXT_MAX];

    if (!cfg_algorithm_for(&process.cfg, collective, wanted, sizeof wanted))
        return choice;
    if (!strcmp(wanted, "native")) {
        choice.native = 1;
        return choice;
    }
    const struct plan_algorithm *named = plan_algorithm_find(c, wanted);
    if (named)
        return (struct choice){.algorithm = named, .forced = 1};
    cfg_problem(&process.cfg,
                "COLLSHIM_ALGORITHM: no algorithm '%s' for %s; `collshim info` lists them", wanted,
                collective);
    return choice;
}

/* A collective that nobody knows is a slip of the pen. */
static void check_collectives(void)
{
    char collective[64], value[CFG_TEXT_MAX];

    for (int i = 0;
         cfg_algorithm_pair(&process.cfg, i, collective, sizeof collective, value, sizeof value);
         i++)
        if (plan_collective_find(collective) < 0)
            cfg_problem(&process.cfg,
                        "COLLSHIM_ALGORITHM: no collective '%s'; `collshim info` lists them",
                        collective);
}

void process_open(const char *library_version)
{
    process.library_version = library_version;
    cfg_load(&process.cfg, NULL);
    for (int c = 0; c < COLL_COUNT; c++)
        process.choice[c] = choose((enum plan_collective)c);
    check_collectives();
}

static void print_line(const char *format, va_list args)
{
    char line[1024];
    int n = snprintf(line, sizeof line, "collshim: ");

    vsnprintf(line + n, sizeof line - (size_t)n - 1, format, args);
    strcat(line, "\n");
    fputs(line, stderr); /* one write, so that ranks do not cut each other's lines */
}

void say(enum cfg_level level, const char *format, ...)
{
    va_list args;

    if ((int)level > process.cfg.log ||
        (process.world_rank > 0 && process.cfg.log < CFG_LEVEL_DEBUG))
        return;
    va_start(args, format);
    print_line(format, args);
    va_end(args);
}

void say_here(enum cfg_level level, const char *format, ...)
{
    va_list args;

    if ((int)level > process.cfg.log)
        return;
    va_start(args, format);
    print_line(format, args);
    va_end(args);
}
