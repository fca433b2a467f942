/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `collshim topo`: what a synthetic text means, before a job is started with it;
 * or, without one, a first draft of such a text for this machine.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/write_file.h"
#include "config/topo/topo.h"
#include "shim/cli/cli.h"
#include "shim/cli/machine/machine_detect.h"
#include "shim/cli/machine/topo_show.h"

#define MOST_ROWS 16

static const char usage[] =
    "collshim topo [--json] [--all] [--output FILE] [TEXT | FILE]\n"
    "\n"
    "Without an argument: shows what this machine has, and a topology text for one such node.\n"
    "With one: shows what a topology text, or the file that holds it, describes.\n"
    "\n"
    "  --json          for a script\n"
    "  --all           every node and rank, not only the first 16\n"
    "  --output FILE   write the text to FILE, for COLLSHIM_TOPOLOGY=FILE\n"
    "\n"
    "A text is made of words, in any order; # begins a comment:\n"
    "  node:4 socket:2 gpu:2 rail:4    4 nodes of 2 sockets of 2 GPUs (one rank each), 4 rails\n"
    "  rank:4                          ranks per GPU, socket or node, whichever is innermost\n"
    "  rank:4,3,4                      ranks of each node\n"
    "  rail:4@100Gbit                  rate of each rail; rail:2@100Gbit,50Gbit if they differ\n"
    "  rail_rate:1.2@50Gbit            rail 2 of node 1 alone; 1.2out@ or 1.2in@: that way alone\n"
    "  place:cyclic                    ranks dealt out in turn (place:block is the default);\n"
    "                                  place:0,1,1,0 gives the node of each rank\n"
    "  link_nvlink:200GB/s             rate of a link class: shm, nvlink, pcie, socket,\n"
    "                                  reduce and reduce_gpu (combining, by a rank and on its "
    "GPU),\n"
    "                                  flow (the most that one connection over a rail carries)\n"
    "  latency_rail:1500ns             latency of the rails, latency_shm: of a link class ...\n"
    "  socket_of:, gpu_of:, rail_of:   one value per rank where no rule fits; 4x0 is 0,0,0,0\n"
    "\n"
    "Examples:\n"
    "  collshim topo\n"
    "  collshim topo 'node:4 rank:4 rail:4@3x100Mbit,50Mbit'\n"
    "  collshim topo --output cluster.topo 'node:16 socket:2 gpu:4 rail:8@400Gbit'\n";

struct asked {
    int json, all;
    const char *output;
};

/* The file to write, for a function that is given no more than a stream. */
static struct {
    const char *path, *origin, *text; /* borrowed */
} output;

/* The file explains itself, so that its reader knows which program uses it. */
static void print_output(FILE *f)
{
    fprintf(f, "# Topology for COLLSHIM_TOPOLOGY=%s; %s. `collshim topo %s` explains it.\n%s\n",
            output.path, output.origin, output.path, output.text);
}

static int write_output(const char *path, const struct topo *t, const char *origin)
{
    char *text = topo_text(t);
    const char *why;

    if (!text)
        return cli_fail("out of memory");
    output.path = path;
    output.origin = origin;
    output.text = text;
    int rc = config_write_file(path, print_output, &why);
    free(text);
    return rc ? cli_fail("%s: cannot be written: %s", path, why) : CLI_OK;
}

static int show_text(const char *text, const struct asked *asked)
{
    struct topo *t = NULL;
    char why[256];
    int code = topo_parse(text, 0, &t, why, sizeof why);

    if (code == -EINVAL)
        return cli_fail("topology: %s", why);
    if (code)
        return cli_fail("topology: out of memory");
    if (asked->json) {
        struct json j = json_begin(stdout);

        json_open(&j, NULL, '{');
        topo_show_json(t, &j);
        json_close(&j, '}');
    } else {
        topo_show(t, asked->all ? INT_MAX : MOST_ROWS);
    }
    code = asked->output ? write_output(asked->output, t, "written by collshim topo") : CLI_OK;
    topo_free(t);
    return code;
}

static int show_machine(const struct asked *asked)
{
    static struct machine m;
    struct topo *t = NULL;
    char why[256], *text;
    int code;

    if (machine_detect(&m, why, sizeof why) < 0)
        return cli_fail("%s", why);
    if (machine_topo(&m, &t) < 0)
        return cli_fail("out of memory");
    if (asked->json) {
        struct json j = json_begin(stdout);

        json_open(&j, NULL, '{');
        json_open(&j, "machine", '{');
        machine_show_json(&m, &j);
        json_close(&j, '}');
        topo_show_json(t, &j);
        json_close(&j, '}');
    } else {
        machine_show(&m);
        text = topo_text(t);
        printf("\nOne such node with a rank per %s:\n  %s\nFor four of them write node:4.\n",
               m.ngpus ? "GPU" : "core", text ? text : "out of memory");
        free(text);
    }
    code = asked->output
               ? write_output(asked->output, t, "detected on one node, set node: to yours")
               : CLI_OK;
    topo_free(t);
    return code;
}

int cli_topo(int argc, char **argv)
{
    struct asked asked = {0};
    const struct cli_option options[] = {{"--json", &asked.json, NULL},
                                         {"--all", &asked.all, NULL},
                                         {"--output", NULL, &asked.output},
                                         {NULL, NULL, NULL}};
    int left = cli_options(argc, argv, options, usage);

    if (left < 0)
        return -1 - left;
    if (left > 1)
        return cli_usage(argv[0], "one text or file, got %d; quote a text with blanks", left);
    return left ? show_text(argv[1], &asked) : show_machine(&asked);
}
