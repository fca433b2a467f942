/* SPDX-License-Identifier: BSD-3-Clause */
/* `collshim stuck`: the roll-call of a job that does not move. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/cli/cli.h"
#include "shim/cli/stuck/verdict.h"

enum { FOUND = 3, PAUSE_S = 5 };

static const char help[] =
    "collshim stuck [JOB | PID] [--within SECONDS] [--by LAUNCHER | --from FILE...] [--json]\n"
    "\n"
    "Says which ranks of a running job are in which collective, since when, at which line, and "
    "which\n"
    "ranks they wait for. The job must run with COLLSHIM_STUCK, which also makes it say so by "
    "itself.\n"
    "Asking does not disturb a job, and needs no MPI.\n"
    "\n"
    "  JOB | PID          a scheduler's job, a process of it, or its launcher; without one, all\n"
    "  --within SECONDS   a rank that waits for longer is stuck; 10 without it\n"
    "  --by LAUNCHER      asks on all nodes: runs `LAUNCHER collshim stuck JOB --json`, which "
    "must\n"
    "                     start one process on each node\n"
    "  --from FILE...     what --json wrote on each node; - is stdin\n"
    "  --json             a JSON object for each process, on a line of its own\n"
    "\n"
    "How to read it\n"
    "  Allreduce 812      the 812th collective of that communicator; its numbers agree on all "
    "ranks\n"
    "  (started)          a nonblocking or persistent call; MPI_Wait is not seen\n"
    "  computes, or waits for a message\n"
    "                     the process takes processor time outside of all collectives; it gets "
    "ten\n"
    "                     times the SECONDS\n"
    "Calls on intercommunicators are not seen, nor those on more than 512 communicators at once.\n"
    "\n"
    "Exit status: 0 nothing is stuck, 1 there is no such job, 2 wrong usage, 3 something is "
    "stuck.\n"
    "\n"
    "Examples:\n"
    "  collshim stuck 4711\n"
    "  collshim stuck 4711 --by 'srun --jobid=4711 --overlap --ntasks-per-node=1'\n"
    "  ssh node2 collshim stuck 4711 --json >node2; collshim stuck 4711 --json >node1\n"
    "  collshim stuck --from node1 node2\n";

static int nothing(const struct stuck_roll *r, const char *wanted)
{
    if (r->without)
        return cli_fail("%d process%s with the preload keep%s no roll: the job runs without "
                        "COLLSHIM_STUCK, or with another build",
                        r->without, r->without == 1 ? "" : "es", r->without == 1 ? "s" : "");
    if (wanted)
        return cli_fail("no job or process %.64s with the preload runs on this node", wanted);
    return cli_fail("no job with the preload runs on this node");
}

/* A verdict for each job. *left: seconds until a job may be stuck. Returns an exit status. */
static int judge(const struct stuck_roll *r, double within, int only_if_stuck, double *left)
{
    int code = CLI_OK;

    *left = HUGE_VAL;

    for (int from = 0, to; from < r->n; from = to) {
        struct verdict v;

        for (to = from + 1; to < r->n && !strcmp(r->process[to].job, r->process[from].job);)
            to++;
        if (verdict_of(&v, &r->process[from], to - from, within) < 0)
            code = cli_fail("out of memory");
        else if (v.stuck || !only_if_stuck)
            verdict_print(stdout, &v);
        code = v.stuck ? FOUND : code;
        *left = fmin(*left, v.left);
        verdict_free(&v);
    }
    return code;
}

static int read_files(struct stuck_roll *r, int n, char **names)
{
    for (int i = 0; i < n; i++) {
        FILE *f = strcmp(names[i], "-") != 0 ? fopen(names[i], "re") : stdin;

        if (!f)
            return cli_fail("%.256s: %s", names[i], strerror(errno));
        if (!stuck_get(r, f))
            cli_fail("%.256s: no line of `collshim stuck --json`", names[i]);
        if (f != stdin)
            fclose(f);
    }
    return CLI_OK;
}

/* The shell takes the launcher apart; the job's name has nothing that it would. */
static int ask_by(struct stuck_roll *r, const char *launcher, const char *job)
{
    static const char plain[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-";
    char own[4096], *line = NULL;
    ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);

    if (!job || !*job || job[strspn(job, plain)])
        return cli_usage("stuck", "--by needs a JOB of letters and digits");
    own[n > 0 ? n : 0] = 0;
    if (asprintf(&line, "%s '%s' stuck %s --json", launcher, own, job) < 0)
        return cli_fail("out of memory");
    FILE *f = popen(line, "re");
    int found = f ? stuck_get(r, f) : 0;
    free(line);
    if (f)
        pclose(f);
    return found ? CLI_OK
                 : cli_fail("%.200s: no node answered; it must run the command behind it on each "
                            "node of job %s",
                            launcher, job);
}

/* The watcher of a process (roll_watch.h) runs this. It has the job's stderr, and no file else. */
static int alarm_of(const char *seconds, const char *wanted)
{
    struct stuck_roll r;
    int within = atoi(seconds), code = CLI_OK;
    double most = within / 2.0 + PAUSE_S, left = most;

#ifdef SYS_close_range
    syscall(SYS_close_range, 3, ~0u, 0);
#endif
    dup2(STDERR_FILENO, STDOUT_FILENO);
    static char buffer[1 << 16]; /* one write, as other ranks print too */
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    if (stuck_read(&r, wanted, most) == 0 && r.n)
        code = judge(&r, within ? within : 1, within != 0, &left);
    if (within && code == FOUND)
        stuck_told(&r);
    else
        stuck_again(&r, within ? fmin(left, most) : 0);
    stuck_free(&r);
    return CLI_OK;
}

int cli_stuck(int argc, char **argv)
{
    const char *within = NULL, *by = NULL, *alarm = NULL;
    int json = 0, from = 0, code = CLI_OK;
    double seconds = 10, left;
    struct stuck_roll r = {0};
    const struct cli_option options[] = {{"--json", &json, NULL},     {"--from", &from, NULL},
                                         {"--within", NULL, &within}, {"--by", NULL, &by},
                                         {"--alarm", NULL, &alarm},   {NULL, NULL, NULL}};
    int n = cli_options(argc, argv, options, help);
    char *end;

    if (n < 0)
        return -1 - n;
    if (alarm)
        return alarm_of(alarm, n ? argv[1] : NULL);
    if (within) {
        seconds = strtod(within, &end);
        if (*end || !(seconds >= 0.1 && seconds <= 604800))
            return cli_usage("stuck", "--within: '%s' is not 0.1 to 604800 seconds", within);
    }
    if (from ? !n || by : n > 1)
        return cli_usage("stuck",
                         from ? "--from needs files, and no --by" : "one job or process at a time");
    if (from)
        code = read_files(&r, n, argv + 1);
    else if (by)
        code = ask_by(&r, by, n ? argv[1] : NULL);
    else if (stuck_read(&r, n ? argv[1] : NULL, 0) < 0)
        code = cli_fail("/proc: %s", strerror(errno));
    stuck_sort(&r);
    if (!code && r.n <= r.without)
        code = nothing(&r, n && !from ? argv[1] : NULL);
    for (int i = 0; !code && json && i < r.n; i++)
        stuck_put(stdout, &r.process[i]);
    if (!code && !json)
        code = judge(&r, seconds, 0, &left);
    stuck_free(&r);
    return code;
}
