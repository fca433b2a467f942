/* SPDX-License-Identifier: BSD-3-Clause */
/* `collshim top`: the running jobs of this node. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shim/cli/cli.h"
#include "shim/cli/top/top_show.h"

static const char help[] =
    "collshim top [JOB | PID] [--once] [--interval SECONDS] [--json]\n"
    "\n"
    "Shows the running jobs of this node that have the preload: a line for each collective, and "
    "one\n"
    "for each rail. Reading the counters does not disturb a job. A job's user and root see them.\n"
    "\n"
    "  JOB | PID           a scheduler's job, a process, or its launcher; without one, all\n"
    "  --once              print once and end; else again after each interval, until they end\n"
    "  --interval SECONDS  between two readings, 0.1 to 3600; 2 without it\n"
    "  --json              a JSON object; without --once one on a line after each interval\n"
    "\n"
    "How to read the table\n"
    "  rerouted/s, native/s  calls in the last interval, the mean of the processes here\n"
    "  MB/s                  of rerouted calls: a call's total size, as in COLLSHIM_MIN_BYTES\n"
    "  calls                 since the start, of all processes here together\n"
    "  algorithm             the algorithm of most rerouted calls\n"
    "  why natively          the reason of most native calls\n"
    "The bytes of native calls are not known.\n"
    "\n"
    "How to read the rails, of a job that spans nodes\n"
    "  sent, got MB/s        in the last interval, between nodes, by schedules of collshim; the "
    "bytes\n"
    "                        of the library's own calls and algorithms are not known\n"
    "  share                 the rail's part of the node's bytes\n"
    "  Mbit/s                the same bytes over the time of these calls\n"
    "  can                   the rail's rate, measured or from COLLSHIM_TOPOLOGY\n"
    "  rail                  the number in COLLSHIM_TOPOLOGY, else the place of the process on "
    "its\n"
    "                        node; NCCL's rails only with COLLSHIM_TOPOLOGY\n"
    "\n"
    "Without a scheduler, a job is named by its launcher's process.\n"
    "With COLLSHIM_MODE=off, and from MPI_Finalize on, a process has no counters.\n"
    "\n"
    "Exit status: 0 printed, 1 there is no such job, 2 wrong usage.\n"
    "\n"
    "Examples:\n"
    "  collshim top\n"
    "  collshim top 4711 --interval 5\n"
    "  collshim top --once --json | jq '.jobs[].collectives[]'\n";

static int nothing(const struct top_reading *r, const char *wanted)
{
    unsigned uid = 0;
    enum top_access access = wanted ? top_may_see(wanted, &uid) : TOP_ABSENT;
    char closed[80] = "";

    if (access == TOP_CLOSED)
        return cli_fail("process %s: not readable: it is of user %u; root sees it", wanted, uid);
    if (access == TOP_OPEN)
        return cli_fail("process %s shares no counters: no program under the preload that has "
                        "opened MPI or NCCL, or none of this build",
                        wanted);
    if (r->closed)
        snprintf(closed, sizeof closed, "; %d process%s of other users: not readable", r->closed,
                 r->closed == 1 ? "" : "es");
    if (wanted)
        return cli_fail("no job or process %.64s with the preload runs on this node%s", wanted,
                        closed);
    return cli_fail("no job with the preload runs on this node%s", closed);
}

static void pause_for(double seconds)
{
    struct timespec t = {.tv_sec = (time_t)seconds};

    t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
    while (nanosleep(&t, &t) && errno == EINTR)
        ;
}

/* For a person at a terminal, each reading takes the place of the one before. */
static void show(const struct top_reading *now, const struct top_reading *before, int json,
                 int once)
{
    static int shown;

    if (json) {
        top_show_json(now, before, !once);
    } else {
        if (!once && isatty(STDOUT_FILENO))
            fputs("\033[H\033[2J", stdout);
        else if (shown++)
            putchar('\n');
        top_show_text(now, before);
    }
    fflush(stdout);
}

/* Is there anything to show? */
static int is_something(const struct top_reading *r, const char *wanted)
{
    return r->n || (!wanted && (r->skipped[TOP_FOREIGN].n || r->skipped[TOP_GARBAGE].n));
}

static int watch(const char *wanted, double interval, int json, int once)
{
    struct top_reading before, now;
    int shown = 0, rc = top_read(&before, wanted, 0), code = CLI_OK;

    if (!rc && !is_something(&before, wanted))
        code = nothing(&before, wanted);
    while (!rc && !code) {
        pause_for(interval);
        rc = top_read(&now, wanted, 0);
        if (rc || (shown && !is_something(&now, wanted)) || ferror(stdout)) {
            top_free(&now);
            break;
        }
        if (!is_something(&now, wanted))
            code = nothing(&now, wanted);
        else
            show(&now, &before, json, once);
        shown = 1;
        top_free(&before);
        before = now;
        if (once)
            break;
    }
    top_free(&before);
    return rc ? cli_fail("/proc: %s", strerror(errno)) : code;
}

int cli_top(int argc, char **argv)
{
    const char *interval = NULL;
    int json = 0, once = 0;
    double seconds = 2;
    const struct cli_option options[] = {{"--json", &json, NULL},
                                         {"--once", &once, NULL},
                                         {"--interval", NULL, &interval},
                                         {NULL, NULL, NULL}};
    int n = cli_options(argc, argv, options, help);
    char *end;

    if (n < 0)
        return -1 - n;
    if (n > 1)
        return cli_usage("top", "one job or process at a time");
    if (interval) {
        seconds = strtod(interval, &end);
        if (*end || !(seconds >= 0.1 && seconds <= 3600))
            return cli_usage("top", "--interval: '%s' is not 0.1 to 3600 seconds", interval);
    }
    return watch(n ? argv[1] : NULL, seconds, json, once);
}
