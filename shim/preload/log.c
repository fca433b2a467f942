/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The few lines the preload may print. It knows one setting, COLLSHIM_LOG. Without a backend no
 * other code reads the settings, and users need a way to silence the line about a missing backend.
 * An unknown word counts as the default; the backend reports it.
 *
 * Only rank 0 of a job prints. MPI does not tell the rank before MPI_Init, so the launchers'
 * variables do. If none is set, the process is alone, or its launcher is unknown, and a repeated
 * line is better than none.
 */
#define _GNU_SOURCE
#include "preload.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Innermost launcher first: an mpirun inside a Slurm step sets its own on top of Slurm's. */
static const char *const rank_variables[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                             "SLURM_PROCID"};

static const char *const level_names[] = {
    [LOG_ERROR] = "error", [LOG_WARN] = "warn", [LOG_INFO] = "info", [LOG_DEBUG] = "debug"};

static bool rank_speaks(void)
{
    for (size_t i = 0; i < sizeof(rank_variables) / sizeof(*rank_variables); i++) {
        const char *rank = secure_getenv(rank_variables[i]);
        if (rank && *rank)
            return strcmp(rank, "0") == 0;
    }
    return true;
}

static enum log_level level_allowed(void)
{
    const char *word = secure_getenv("COLLSHIM_LOG");
    for (size_t i = 0; word && i < sizeof(level_names) / sizeof(*level_names); i++)
        if (strcmp(word, level_names[i]) == 0)
            return (enum log_level)i;
    return LOG_WARN;
}

void log_line(enum log_level level, const char *format, ...)
{
    int saved = errno;
    if (level <= level_allowed() && rank_speaks()) {
        static const char prefix[] = "collshim: ";
        char line[2048];
        size_t used = sizeof(prefix) - 1;
        memcpy(line, prefix, used);
        va_list args;
        va_start(args, format);
        int n = vsnprintf(line + used, sizeof(line) - used - 1, format, args);
        va_end(args);
        used += n < 0 ? 0 : strlen(line + used);
        line[used++] = '\n';
        /* one write, so that lines of several processes do not mix; a failure has no remedy */
        ssize_t ignored = write(STDERR_FILENO, line, used);
        (void)ignored;
    }
    errno = saved;
}
