/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `collshim` explains the preload's actions, before and after a run. It never takes part in a run:
 * no MPI is linked and none is started, so the command works on a login node without one.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config/base/nearest.h"
#include "shim/cli/cli.h"

static const struct command {
    const char *name;
    const char *summary;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"exec", "run a command with the preload; behind any launcher", cli_exec},
    {"info", "show the installed parts, the algorithms, and every setting with its value",
     cli_info},
    {"topo", "detect this machine, or explain a topology", cli_topo},
    {"rates", "measure how fast this machine's processors and GPUs copy and combine", cli_rates},
    {"plan", "show the schedule of a collective on a topology: load, bound, proof", cli_plan},
    {"sim", "predict how long a collective takes on a topology, and on which links", cli_sim},
    {"search", "find the fastest schedule and recipe for a collective, by the model", cli_search},
    {"report", "show the rerouted calls of a run, their times, and why others ran natively",
     cli_report},
    {"gate", "compare runs with earlier ones; exit status 3 if they are slower", cli_gate},
    {"site", "add up the reports of many jobs: which gained, and why others did not", cli_site},
    {"top", "watch the running jobs of this node", cli_top},
    {"stuck", "say which ranks of a job that hangs are where, and which they wait for", cli_stuck},
};
#define NCOMMANDS (sizeof commands / sizeof *commands)

static void help(void)
{
    puts("collshim COMMAND [ARGUMENT...]\n"
         "\n"
         "Large MPI collectives on all the rails of a cluster, without rebuilding anything:\n"
         "\n"
         "    LD_PRELOAD=/path/to/libcollshim.so mpirun ./app\n"
         "\n"
         "This command explains what the preload finds and what it would do.\n");
    for (size_t i = 0; i < NCOMMANDS; i++)
        printf("  %-8s %s\n", commands[i].name, commands[i].summary);
    puts("\n"
         "`collshim COMMAND --help` explains one of them; --version prints the version.\n"
         "\n"
         "To begin with:\n"
         "  mpirun -np 16 collshim exec -- ./app            the preload for every rank\n"
         "  collshim info                                   is everything found and set as meant?\n"
         "  collshim topo                                   what this machine has\n"
         "  collshim topo 'node:4 socket:2 gpu:2 rail:4'    what a text describes\n"
         "\n"
         "Exit status: 0 success, 1 failure, 2 wrong usage, 3 a loss (gate). Complaints go to "
         "stderr.");
}

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < NCOMMANDS; i++)
        if (!strcmp(commands[i].name, name))
            return &commands[i];
    return NULL;
}

static int unknown_command(const char *name)
{
    struct nearest n = nearest_to(name);

    for (size_t i = 0; i < NCOMMANDS; i++)
        nearest_offer(&n, commands[i].name);
    if (n.best)
        return cli_usage("", "no command %s, the nearest is %s", name, n.best);
    return cli_usage("", "no command %s", name);
}

static int is(const char *arg, const char *word, const char *option, const char *letter)
{
    return !strcmp(arg, word) || !strcmp(arg, option) || !strcmp(arg, letter);
}

static int run(int argc, char **argv)
{
    const struct command *c;

    if (argc < 2)
        return cli_usage("", "a command is missing");
    if (is(argv[1], "version", "--version", "-V")) {
        puts("collshim " COLLSHIM_VERSION);
        return CLI_OK;
    }
    if (is(argv[1], "help", "--help", "-h")) {
        char *ask[] = {argc > 2 ? argv[2] : NULL, "--help", NULL};

        if (argc < 3) {
            help();
            return CLI_OK;
        }
        c = find_command(argv[2]);
        return c ? c->run(2, ask) : unknown_command(argv[2]);
    }
    if (argv[1][0] == '-')
        return cli_usage("", "no option %s before a command", argv[1]);
    c = find_command(argv[1]);
    return c ? c->run(argc - 1, argv + 1) : unknown_command(argv[1]);
}

int main(int argc, char **argv)
{
    int code = run(argc, argv);

    errno = 0;
    if (ferror(stdout) || fflush(stdout) != 0)
        return cli_fail("stdout cannot be written: %s", errno ? strerror(errno) : "earlier error");
    return code;
}
