/* SPDX-License-Identifier: BSD-3-Clause */
/* Files and options of the command. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/settings/settings.h"
#include "config/topo/topo.h"
#include "shim/cli/cli.h"
#include "shim/cli/plan/demand.h"
#include "test/fuzz/fuzz.h"

static void report(const uint8_t *data, size_t size, char *first, char *second, int is_json)
{
    char path[64], name[] = "report";

    snprintf(path, sizeof path, "%s", fuzz_file(data, size));
    char *argv[] = {name, first, path, second ? path : NULL, NULL};
    fuzz_command(cli_report, argv, is_json);
}

void fuzz_report(const uint8_t *data, size_t size)
{
    char all[] = "--all", json[] = "--json";

    report(data, size, all, NULL, 0);
    report(data, size, json, NULL, 1);
}

/* The two are divided by a line of one "-"; without it a report is compared with itself. */
void fuzz_sites(const uint8_t *data, size_t size)
{
    static const char divider[] = "\n-\n";
    const uint8_t *middle = memmem(data, size, divider, 3);
    char name[] = "report", diff[] = "--diff", old[64], new[128];

    snprintf(new, sizeof new, "%s/new.json", fuzz_folder());
    size_t first = middle ? (size_t)(middle - data) : size;
    snprintf(old, sizeof old, "%s", fuzz_file(data, first));
    fuzz_put("new.json", middle ? middle + 3 : data, middle ? size - first - 3 : size);
    fuzz_command(cli_report, (char *[]){name, diff, old, new, NULL}, 0);
}

void fuzz_spool(const uint8_t *data, size_t size)
{
    static char *const forms[] = {"--json", "--prometheus"};
    char name[] = "site", path[64];

    fuzz_put("1.json", data, size);
    snprintf(path, sizeof path, "%s", fuzz_folder());
    fuzz_command(cli_site, (char *[]){name, path, NULL}, 0);
    for (int i = 0; i < 2; i++)
        fuzz_command(cli_site, (char *[]){name, path, forms[i], NULL}, i == 0);
}

/* A demand that is taken has a size for each pair of ranks. */
void fuzz_demand(const uint8_t *data, size_t size)
{
    char why[128];
    struct topo *t;
    uint64_t *demand, sum = 0;

    FUZZ_MUST(!topo_parse("node:2 rank:2", 0, &t, why, sizeof why));
    if (cli_demand_read("plan", fuzz_file(data, size), t, &demand) == CLI_OK) {
        for (int i = 0; i < t->nranks * t->nranks; i++)
            sum += demand[i];
        free(demand);
    }
    topo_free(t);
    FUZZ_MUST(sum + 1);
}

/* So small that it is tried quickly. */
static int is_small(const char *option, const char *value)
{
    char why[128];
    struct topo *t;
    size_t bytes;
    int small = 1;

    if (!strcmp(option, "--topology")) {
        if (topo_parse(value, 0, &t, why, sizeof why))
            return 1;
        small = t->nranks <= 12 && t->nrails <= 12;
        topo_free(t);
    } else if (!strcmp(option, "--bytes")) {
        small = cfg_parse_bytes(value, &bytes) || bytes <= 1 << 16;
    } else if (!strcmp(option, "--chunk")) {
        small = cfg_parse_bytes(value, &bytes) || bytes >= 1 << 12;
    }
    return small;
}

/* A line each: the collective, then values of these options. An empty line is no option. */
void fuzz_plan(const uint8_t *data, size_t size)
{
    static const char *const options[] = {"--topology", "--bytes", "--counts", "--algorithm",
                                          "--chunk",    "--root",  "--demand", "--limit"};
    enum { OPTIONS = sizeof options / sizeof *options };
    char *text = fuzz_text(data, size), *rest = text, *value, *argv[4 + OPTIONS];
    char line[OPTIONS][256], plan[] = "plan", check[] = "--check", json[] = "--json";
    int n = 0, small = 1;

    argv[n++] = plan;
    argv[n++] = strsep(&rest, "\n");
    for (int i = 0; i < OPTIONS && (value = strsep(&rest, "\n")); i++)
        if (*value) {
            small &= is_small(options[i], value) && !strchr(value, '/');
            snprintf(line[i], sizeof line[i], "%s=%s", options[i], value);
            argv[n++] = line[i];
        }
    if (small && argv[1][0] != '-') {
        argv[n + 1] = NULL;
        argv[n] = check;
        fuzz_command(cli_plan, argv, 0);
        argv[n] = json;
        fuzz_command(cli_plan, argv, 1);
        fuzz_command(cli_sim, argv, 1);
    }
    free(text);
}
