/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/process.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "shim/helper/crew.h"

struct mpi_process mpi_process = {.verdict = REASON_NOT_SEEN, .keyval = MPI_KEYVAL_INVALID};

void mpi_process_open(const char *library_version)
{
    mpi_process.library_version = library_version;
    cfg_load(&mpi_process.cfg, NULL);
    crew_init(MAILBOX_FOR_MPI);
    wanted_open(&mpi_process.cfg, mpi_process.choice);
    if (mpi_process.cfg.mode != CFG_MODE_OFF)
        tuning_load(&mpi_process.cfg, &mpi_process.tuning);
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

    if ((int)level > mpi_process.cfg.log ||
        (mpi_process.world_rank > 0 && mpi_process.cfg.log < CFG_LEVEL_DEBUG))
        return;
    va_start(args, format);
    print_line(format, args);
    va_end(args);
}

void say_here(enum cfg_level level, const char *format, ...)
{
    va_list args;

    if ((int)level > mpi_process.cfg.log)
        return;
    va_start(args, format);
    print_line(format, args);
    va_end(args);
}
