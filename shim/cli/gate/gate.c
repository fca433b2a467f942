/* SPDX-License-Identifier: BSD-3-Clause */
/* `collshim gate BASELINE NEW`: is a program slower than it was? For people, and for CI. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shim/cli/cli.h"
#include "shim/cli/gate/gate_show.h"
#include "shim/cli/report/lines.h"

static const char help[] =
    "collshim gate BASELINE NEW [--loss PERCENT] [--markdown | --json]\n"
    "\n"
    "Compares runs of a program with earlier ones, by call site. Each side is a report, or a "
    "folder\n"
    "of reports that COLLSHIM_REPORT=DIR left, at most 100 of them. A report in both is a new "
    "one.\n"
    "Exit status: 3 a loss, 0 none or not sure, 1 failure, 2 wrong usage.\n"
    "\n"
    "  --loss PERCENT   a slow-down that matters; 5 without it, 0.1 to 100\n"
    "  --markdown       a table for a merge request\n"
    "  --json           one JSON object\n"
    "\n"
    "How to read the table\n"
    "  baseline, new    mean time of a call over all ranks and runs, and its spread (one standard\n"
    "                   deviation) from run to run\n"
    "  change           without each side's slowest quarter of runs, and two standard errors\n"
    "  p                how often chance alone makes one of the rows so much slower (or faster)\n"
    "  verdict          slower, faster: p is below 0.01, and the change at least half of --loss;\n"
    "                   same: --loss is ruled out; else not sure\n"
    "\n"
    "Chance makes a loss in less than 1 of 100 comparisons, of all rows together and with any\n"
    "noise. Fewer than 5 runs on each side are never sure. A slow-down of 5 % is found in 95 of\n"
    "100 comparisons by 10 runs on each side, if these spread by 2 % and there is one row. It\n"
    "takes 15 if there are 50, or if one run of ten is held up. Make both sides' runs on the same\n"
    "nodes, in turn.\n"
    "\n"
    "Examples:\n"
    "  mkdir base new\n"
    "  for i in $(seq 10); do COLLSHIM_REPORT=base mpirun -np 16 collshim exec -- ./app; done\n"
    "  for i in $(seq 10); do COLLSHIM_REPORT=new mpirun -np 16 collshim exec -- ./app; done\n"
    "  collshim gate base new --markdown >comment.md\n";

/* Is the row in all runs? A short one is added to the others. */
static void choose_row(struct gate *g, struct gate_row *r)
{
    struct gate_row *all = &g->row[GATE_ALL], *rest = &g->row[GATE_SHORT];
    double whole = 0, part = 0;

    r->compared = 1;
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < g->side[s].runs; i++) {
            r->compared &= r->calls[s][i] > 0 && r->seconds[s][i] > 0;
            part += r->seconds[s][i];
            whole += all->seconds[s][i];
        }
    if (!r->compared || !r->site || part >= whole / 100)
        return;
    r->compared = 0;
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < g->side[s].runs; i++) {
            rest->seconds[s][i] += r->seconds[s][i];
            rest->calls[s][i] = 1;
        }
}

/* The logarithms of a row's times, and what is shown of them. */
static void measure(const struct gate *g, struct gate_row *r, double *value)
{
    for (int s = 0; s < 2; s++) {
        int n = g->side[s].runs;
        double squares = 0;

        for (int i = 0; i < n; i++) {
            double x = r->seconds[s][i] / r->calls[s][i];

            r->mean[s] += x / n;
            *value++ = log(x);
        }
        for (int i = 0; i < n; i++)
            squares += pow(r->seconds[s][i] / r->calls[s][i] - r->mean[s], 2);
        r->spread[s] = n > 1 ? sqrt(squares / (n - 1)) / r->mean[s] : 0;
    }
}

static int compare(struct gate *g)
{
    int base = g->side[0].runs, new = g->side[1].runs, n = 0;
    double *value = calloc((size_t)g->rows * (size_t)(base + new), sizeof *value);
    struct gate_change *found = calloc((size_t)g->rows, sizeof *found);
    int rc = value && found ? 0 : -1;

    for (int i = 0; !rc && i <= g->rows; i++) { /* the total of short ones comes last */
        struct gate_row *r = &g->row[i < g->rows ? i : GATE_SHORT];

        if (i != GATE_SHORT)
            choose_row(g, r);
        if (i != GATE_SHORT && r->compared)
            measure(g, r, value + (size_t)n++ * (size_t)(base + new));
    }
    rc = rc ? rc : gate_compare(value, n, base, new, log1p(g->loss), found);
    for (int i = 0, k = 0; !rc && i <= g->rows; i++) {
        struct gate_row *r = &g->row[i < g->rows ? i : GATE_SHORT];

        if (i != GATE_SHORT && r->compared)
            r->found = found[k++];
    }
    free(found);
    free(value);
    if (rc)
        return cli_fail("out of memory");
    return g->row[GATE_ALL].compared
               ? CLI_OK
               : cli_fail("a run has no call site that was timed, as one of NCCL alone");
}

int cli_gate(int argc, char **argv)
{
    struct gate *g = calloc(1, sizeof *g);
    const char *loss = "5";
    int json = 0, markdown = 0;
    char *end;
    const struct cli_option options[] = {{"--json", &json, NULL},
                                         {"--markdown", &markdown, NULL},
                                         {"--loss", NULL, &loss},
                                         {NULL, NULL, NULL}};
    int n = cli_options(argc, argv, options, help), code;

    if (!g)
        return cli_fail("out of memory");
    g->loss = strtod(loss, &end) / 100;
    if (n < 0)
        code = -1 - n;
    else if (n != 2)
        code = cli_usage("gate", "two reports, or folders of reports: BASELINE NEW");
    else if (*end || !(g->loss >= .001 && g->loss <= 1))
        code = cli_usage("gate", "--loss: '%s' is no percentage from 0.1 to 100", loss);
    else if (json && markdown)
        code = cli_usage("gate", "one of --json and --markdown, not both");
    else {
        g->side[0].path = argv[1];
        g->side[1].path = argv[2];
        code = gate_read(g);
        code = code ? code : compare(g);
        if (!code && json)
            gate_show_json(g);
        else if (!code)
            gate_show_text(g, markdown);
        code = !code && gate_verdict(g) == GATE_SLOWER ? CLI_LOSS : code;
        gate_free(g);
        lines_close();
    }
    free(g);
    return code;
}
