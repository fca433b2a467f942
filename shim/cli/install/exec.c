/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `collshim exec`: sets the preload for one command alone. Behind a launcher it reaches every rank
 * without an option of the launcher's, and the launcher itself and the job script have none of it.
 *
 * It needs libc and config/ only, since `collshim-exec` is made of it too (shim/exec/main.c).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/base/nearest.h"
#include "config/base/preload_list.h"
#include "config/settings/settings.h"
#include "shim/cli/cli.h"
#include "shim/cli/install/preload_path.h"

enum { EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127 }; /* as env(1) */

static const char usage[] =
    "collshim exec [--SETTING VALUE]... [NAME=VALUE]... [--library FILE] [--] COMMAND "
    "[ARGUMENT...]\n"
    "\n"
    "Runs COMMAND with libcollshim.so preloaded, beside what is preloaded already. Put it behind "
    "the\n"
    "launcher. Then every rank has the preload, with any launcher, and no other process has it.\n"
    "\n"
    "  --SETTING VALUE  a setting, such as --mode verify or --min-bytes 1MiB; `collshim info` "
    "lists them\n"
    "  NAME=VALUE       a variable of the environment\n"
    "  --library FILE   the preload; without it the one that is installed with this command\n"
    "\n"
    "`collshim-exec` is the same command and needs libc alone. Use it in a container: it finds "
    "the\n"
    "preload beside itself at any mount point.\n"
    "\n"
    "Examples:\n"
    "  mpirun -np 16 collshim exec -- ./app\n"
    "  srun -n 16 collshim exec --mode ab --report run.json -- ./app\n"
    "  mpiexec -n 4 collshim exec COLLSHIM_LOG=info OMP_NUM_THREADS=8 -- python3 step.py\n"
    "  srun apptainer exec -B /opt/collshim app.sif /opt/collshim/bin/collshim-exec -- ./app\n"
    "\n"
    "Calls of libraries that are opened with RTLD_DEEPBIND are not seen. If only some ranks\n"
    "open one so, their collectives run natively while the others' are rerouted, and the job\n"
    "hangs: use --mode off.\n"
    "\n"
    "Where the preload is missing, COMMAND runs without it, and rank 0 says so. Exit status: "
    "COMMAND's;\n"
    "2 wrong usage, 126 COMMAND cannot be run, 127 it is not found.\n";

/* Ranks say one thing once: whether this is rank 0, or no rank at all. */
static int may_speak(void)
{
    static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                        "SLURM_PROCID"};

    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        const char *rank = getenv(ranks[i]);

        if (rank && *rank)
            return !strcmp(rank, "0");
    }
    return 1;
}

/* "NAME=VALUE" goes into the environment. Returns CLI_OK, or CLI_USAGE after saying what is wrong.
 */
static int take_variable(char *pair)
{
    static struct cfg c;

    if (cfg_load(&c, (char *[]){pair, NULL}) > 0)
        return cli_usage("exec", "%.*s", (int)strcspn(c.problem, "\n"), c.problem);
    if (putenv(pair) != 0)
        return cli_fail("exec: out of memory");
    return CLI_OK;
}

/* The setting that an option "--min-bytes" names, or -1. */
static int find_setting(const char *name, size_t size, struct nearest *n)
{
    for (int id = 0; id < CFG_ALL; id++) {
        const char *key = cfg_rows[id].name;
        size_t at = 0;

        while (at < size && key[at] && (name[at] == key[at] || (name[at] == '-' && key[at] == '_')))
            at++;
        if (at == size && !key[at])
            return id;
        if (cfg_is_for_users((enum cfg_id)id))
            nearest_offer(n, key);
    }
    return -1;
}

/* argv[*at] is "--NAME" or "--NAME=VALUE". Advances *at to the last word it took. */
static int take_option(char **argv, int *at, const char **library)
{
    const char *name = argv[*at] + 2;
    size_t size = strcspn(name, "=");
    const char *value = name[size] ? name + size + 1 : argv[*at + 1];
    char shown[64];
    struct nearest n;
    char *pair;
    int id;

    snprintf(shown, sizeof shown, "%.*s", (int)size, name);
    n = nearest_to(shown);
    nearest_offer(&n, "library");
    nearest_offer(&n, "help");
    id = find_setting(name, size, &n);
    if (id < 0 && strcmp(shown, "library") != 0)
        return cli_usage("exec", "no option --%s%s%s", shown, n.best ? ", the nearest is --" : "",
                         n.best ? n.best : "");
    if (!value)
        return cli_usage("exec", "--%s needs a value", shown);
    *at += !name[size];
    if (id < 0) {
        *library = value;
        return CLI_OK;
    }
    if (asprintf(&pair, "%s=%s", cfg_rows[id].variable, value) < 0)
        return cli_fail("exec: out of memory");
    return take_variable(pair);
}

/* Put the preload into the environment; without one the command runs all the same. */
static int set_preload(const char *library)
{
    static char found[PATH_MAX];
    const char *why = NULL;
    char *list;

    if (library && access(library, R_OK) != 0)
        return cli_usage("exec", "--library: %s: %s", library, strerror(errno));
    if (library && !realpath(library, found))
        snprintf(found, sizeof found, "%s", library);
    if (!library && !preload_path(found))
        why = "is neither beside this command nor in ../lib; --library FILE names it";
    else if (!preload_list_can_hold(found))
        why = "has a blank or a colon in its path, which LD_PRELOAD cannot hold";
    if (why) {
        if (may_speak())
            cli_fail("exec: %s %s (the command runs natively)", PRELOAD_NAME, why);
        return CLI_OK;
    }
    list = preload_list_with(getenv("LD_PRELOAD"), found);
    if (!list || setenv("LD_PRELOAD", list, 1) != 0)
        return cli_fail("exec: out of memory");
    free(list);
    return CLI_OK;
}

/*
 * The runtime of -fsanitize=address refuses to start behind another library, as the preload is one.
 * It wants its malloc to be the first, and libcollshim.so has none, so the check may go. Rejected:
 * its runtime in LD_PRELOAD, because the command's children would load it too.
 */
static int allow_address_sanitizer(void)
{
    static const char variable[] = "ASAN_OPTIONS", option[] = "verify_asan_link_order";
    const char *before = getenv(variable);
    char *options;

    if (before && strstr(before, option))
        return CLI_OK;
    if (asprintf(&options, "%s%s%s=0", before ? before : "", before && *before ? ":" : "", option) <
            0 ||
        setenv(variable, options, 1) != 0)
        return cli_fail("exec: out of memory");
    free(options);
    return CLI_OK;
}

int cli_exec(int argc, char **argv)
{
    const char *library = NULL;
    int at, code = CLI_OK;

    for (at = 1; at < argc && code == CLI_OK; at++) {
        if (!strcmp(argv[at], "--") || (argv[at][0] != '-' && !strchr(argv[at], '=')))
            break;
        if (!strcmp(argv[at], "--help") || !strcmp(argv[at], "-h")) {
            fputs(usage, stdout);
            return CLI_OK;
        }
        if (argv[at][0] != '-')
            code = argv[at][0] == '=' ? cli_usage("exec", "%s: a name is missing", argv[at])
                                      : take_variable(argv[at]);
        else if (argv[at][1] == '-')
            code = take_option(argv, &at, &library);
        else
            code = cli_usage("exec", "no option %s; the command goes behind --", argv[at]);
    }
    if (code != CLI_OK)
        return code;
    at += at < argc && !strcmp(argv[at], "--");
    if (at >= argc)
        return cli_usage("exec", "a command is missing");
    code = set_preload(library);
    if (code == CLI_OK)
        code = allow_address_sanitizer();
    if (code != CLI_OK)
        return code;
    execvp(argv[at], argv + at);
    code = errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
    cli_fail("exec: %s: %s", argv[at], strerror(errno));
    return code;
}
