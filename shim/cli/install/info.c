/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `collshim info`: the place to look first when something is not as expected.
 * Everything here is read from the same tables that the preload uses, so it
 * cannot say something else than what a job would do with this environment.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "config/base/json.h"
#include "config/base/nearest.h"
#include "config/base/text.h"
#include "config/settings/settings.h"
#include "config/topo/topo.h"
#include "planners/choose/registry.h"
#include "planners/choose/tuning.h"
#include "shim/cli/cli.h"
#include "shim/cli/install/libraries.h"
#include "transports/cuda/cuda_describe.h"

#define VALUE_WIDTH 14
#define SHORT 256

static const char usage[] =
    "collshim info [--json | --markdown | --man]\n"
    "\n"
    "Prints the version, the installed MPI backends, the GPUs that this build can use, and the "
    "table\n"
    "of algorithms. Prints every setting with its value, its origin and its meaning, as a job "
    "would\n"
    "have it with the present environment, the site's file and the file in COLLSHIM_CONFIG.\n"
    "\n"
    "  --json       the same for a script\n"
    "  --markdown   the settings only, as the table in the documentation\n"
    "  --man        the settings only, as in the manual page\n"
    "\n"
    "Examples:\n"
    "  collshim info\n"
    "  COLLSHIM_CONFIG=job.yaml collshim info      is the file all right?\n"
    "  collshim info --json | jq '.settings[] | select(.origin != \"default\")'\n"
    "\n"
    "Exit status 1 if a setting is wrong, with a line about it on stderr.\n";

static int serves(const struct plan_algorithm *a, int collective)
{
    return (a->collectives & 1u << collective) != 0;
}

static int is_default(const struct plan_algorithm *a, int collective)
{
    return plan_algorithm_default((enum plan_collective)collective) == a;
}

static void print_libraries(const struct libraries *l)
{
    char gpus[4096];

    puts("MPI backends");
    if (!l->directory[0])
        printf("  no library of the project in %s or in its ../lib\n", l->searched);
    else if (l->n == 0)
        printf("  none in %s; build where an mpi.h is found\n", l->directory);
    for (int i = 0; i < l->n; i++)
        printf("  %-10s %s/libcollshim-%s.so%s%s\n", l->backend[i].family, l->directory,
               l->backend[i].family, l->backend[i].built_for[0] ? ", built for " : "",
               l->backend[i].built_for);
    if (l->has_preload)
        printf("  use: LD_PRELOAD=%s/libcollshim.so mpirun ./app\n", l->directory);
    cuda_describe(gpus, sizeof gpus);
    puts("\nGPUs");
    for (char *line = gpus, *rest; (line = strtok_r(line, "\n", &rest)); line = NULL)
        printf("  %s\n", line);
    putchar('\n');
}

static void print_algorithms(int width)
{
    puts("Algorithms. Where COLLSHIM_ALGORITHM and COLLSHIM_PROFILE say nothing, a model of their "
         "cost\n"
         "orders those that may gain, and what it cannot tell is measured (COLLSHIM_CHOOSE).");
    for (int c = 0; c < COLL_COUNT; c++) {
        for (int i = 0; i < plan_row_count; i++) {
            const struct plan_algorithm *a = plan_algorithms[i];
            char text[SHORT * 2];

            if (!serves(a, c))
                continue;
            printf("  %-20s %-18s ", plan_collective_name((enum plan_collective)c), a->name);
            snprintf(text, sizeof text, "%s (%s)", a->description, a->source);
            cli_wrap(stdout, text, 42, width);
        }
    }
    putchar('\n');
}

/* A value as one line; an empty value must be visible, too. */
static const char *shown_value(const struct cfg *c, int id, char *shown, size_t size)
{
    char value[CFG_TEXT_MAX];

    cfg_value_text(c, (enum cfg_id)id, value, sizeof value);
    if (!value[0])
        return "(empty)";
    return text_show(shown, size, value, strlen(value));
}

static const char *or_none(const char *text)
{
    return *text ? text : "none";
}

static void print_site(const struct cfg *c)
{
    const struct cfg_site *r = &c->rules;

    puts("Site");
    if (!r->directory[0]) {
        printf("  no folder %s\n\n", COLLSHIM_SITE_DIR);
        return;
    }
    printf("  %-14s %s/collshim.yaml%s\n", "settings", r->directory,
           r->broken      ? ", cannot be used"
           : !r->has_file ? ", absent"
                          : "");
    printf("  %-14s %s\n", "locked", or_none(r->lock));
    printf("  %-14s programs: %s; users: %s\n", "left out", or_none(r->programs),
           or_none(r->users));
    printf("  %-14s %g %% of the jobs\n", "takes part", r->share * 100.0 / CFG_SHARE_ALL);
    printf("  %-14s %s\n\n", "here", r->left_out[0] ? r->left_out : "nothing is left out");
}

/* Those for tests are shown where they are set. */
static int is_shown(const struct cfg *c, int id)
{
    return cfg_is_for_users((enum cfg_id)id) || c->origin[id] != CFG_FROM_DEFAULT;
}

static void print_settings(const struct cfg *c, int width)
{
    int names = 0, column;

    for (int id = 0; id < CFG_COUNT; id++)
        if (is_shown(c, id) && (int)strlen(cfg_rows[id].variable) > names)
            names = (int)strlen(cfg_rows[id].variable);
    column = 2 + names + 1 + VALUE_WIDTH + 1 + 11 + 2;
    puts("Settings, as a job started now would read them");
    printf("  %-*s %-*s %-11s  %s\n", names, "name", VALUE_WIDTH, "value", "from", "meaning");
    for (int id = 0; id < CFG_COUNT; id++) {
        char shown[CFG_TEXT_MAX];
        const char *value = shown_value(c, id, shown, sizeof shown);

        if (!is_shown(c, id))
            continue;
        printf("  %-*s %-*s", names, cfg_rows[id].variable, VALUE_WIDTH, value);
        if (strlen(value) > VALUE_WIDTH)
            printf("\n  %*s", names + 1 + VALUE_WIDTH, "");
        printf(" %-11s  ", c->locked[id] ? "site, lock" : cfg_origin_texts[c->origin[id]]);
        cli_wrap(stdout, cfg_rows[id].meaning, column, width);
    }
}

static void put_cell(const char *text)
{
    for (; *text; text++)
        printf(*text == '|' ? "\\|" : "%c", *text);
}

static int print_markdown(void)
{
    puts("| variable | key in the file | type | default | meaning |");
    puts("|---|---|---|---|---|");
    for (int id = 0; id < CFG_COUNT; id++) {
        const struct cfg_row *r = &cfg_rows[id];

        if (!cfg_is_for_users((enum cfg_id)id))
            continue;
        printf("| `%s` | `%s` | %s | ", r->variable, r->name, cfg_type((enum cfg_id)id));
        printf(r->default_text[0] ? "`%s` | " : "%s| ", r->default_text);
        put_cell(r->meaning);
        puts(" |");
    }
    return CLI_OK;
}

/* Text for troff: a backslash, and a dot or quote that begins a line, have a meaning there. */
static void put_troff(const char *text)
{
    for (; *text; text++)
        printf(*text == '\\' ? "\\e" : *text == '-' ? "\\-" : "%c", *text);
}

static int print_man(void)
{
    for (int id = 0; id < CFG_COUNT; id++) {
        const struct cfg_row *r = &cfg_rows[id];

        if (!cfg_is_for_users((enum cfg_id)id))
            continue;
        printf(".TP\n\\fB%s\\fR (\\fI%s\\fR", r->variable, cfg_type((enum cfg_id)id));
        if (r->default_text[0]) {
            fputs(", default ", stdout);
            put_troff(r->default_text);
        }
        fputs(")\n\\&", stdout);
        put_troff(r->meaning);
        putchar('\n');
    }
    return CLI_OK;
}

static void json_libraries(struct json *j, const struct libraries *l)
{
    char path[PATH_MAX + 64];

    snprintf(path, sizeof path, "%s/libcollshim.so", l->directory);
    json_string(j, "preload", l->has_preload ? path : NULL);
    json_open(j, "backends", '[');
    for (int i = 0; i < l->n; i++) {
        snprintf(path, sizeof path, "%s/libcollshim-%s.so", l->directory, l->backend[i].family);
        json_open(j, NULL, '{');
        json_string(j, "family", l->backend[i].family);
        json_string(j, "path", path);
        json_string(j, "built_for", l->backend[i].built_for[0] ? l->backend[i].built_for : NULL);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void json_algorithms(struct json *j)
{
    json_open(j, "algorithms", '[');
    for (int c = 0; c < COLL_COUNT; c++) {
        for (int i = 0; i < plan_row_count; i++) {
            const struct plan_algorithm *a = plan_algorithms[i];

            if (!serves(a, c))
                continue;
            json_open(j, NULL, '{');
            json_string(j, "collective", plan_collective_name((enum plan_collective)c));
            json_string(j, "name", a->name);
            json_bool(j, "default", is_default(a, c));
            json_string(j, "description", a->description);
            json_string(j, "source", a->source);
            json_close(j, '}');
        }
    }
    json_close(j, ']');
}

static void json_settings(struct json *j, const struct cfg *c)
{
    char value[CFG_TEXT_MAX];

    json_open(j, "settings", '[');
    for (int id = 0; id < CFG_COUNT; id++) {
        const struct cfg_row *r = &cfg_rows[id];

        if (!is_shown(c, id))
            continue;
        cfg_value_text(c, (enum cfg_id)id, value, sizeof value);
        json_open(j, NULL, '{');
        json_string(j, "name", r->name);
        json_string(j, "variable", r->variable);
        json_string(j, "type", cfg_type((enum cfg_id)id));
        json_string(j, "value", value);
        json_string(j, "default", r->default_text);
        json_string(j, "origin", cfg_origin_texts[c->origin[id]]);
        json_bool(j, "locked", c->locked[id]);
        json_bool(j, "same_on_all_ranks", r->agreed);
        json_string(j, "meaning", r->meaning);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_int(j, "problems", c->problems);
}

static void json_site(struct json *j, const struct cfg_site *r)
{
    json_open(j, "site", '{');
    json_string(j, "folder", r->directory[0] ? r->directory : NULL);
    json_bool(j, "has_file", r->has_file);
    json_string(j, "lock", r->lock);
    json_string(j, "skip_programs", r->programs);
    json_string(j, "skip_users", r->users);
    json_number(j, "share_percent", r->share * 100.0 / CFG_SHARE_ALL);
    json_string(j, "left_out", r->left_out[0] ? r->left_out : NULL);
    json_int(j, "problems", r->problems);
    json_close(j, '}');
}

static void print_json(const struct cfg *c, const struct libraries *l, const char *hash)
{
    struct json j = json_begin(stdout);
    char gpus[4096];

    json_open(&j, NULL, '{');
    json_string(&j, "version", COLLSHIM_VERSION);
    json_libraries(&j, l);
    json_open(&j, "gpus", '{');
    json_int(&j, "devices", cuda_describe(gpus, sizeof gpus));
    json_bool(&j, "cuda", strncmp(gpus, "built without", 13) != 0);
    json_string(&j, "found", gpus);
    json_close(&j, '}');
    json_algorithms(&j);
    json_site(&j, &c->rules);
    json_settings(&j, c);
    json_string(&j, "profile_hash", hash[0] ? hash : NULL);
    json_close(&j, '}');
}

static void check_pair(struct cfg *c, const char *collective, const char *algorithm)
{
    int id = plan_collective_find(collective);
    struct nearest n = nearest_to(id < 0 ? collective : algorithm);
    char recipe[CFG_TEXT_MAX], why[SHORT + 32];

    if (id < 0) {
        for (int i = 0; i < COLL_COUNT; i++)
            nearest_offer(&n, plan_collective_name((enum plan_collective)i));
        snprintf(why, sizeof why, "no collective `%s`", collective);
    } else if (!strcmp(algorithm, PROFILE_NATIVE) ||
               plan_algorithm_parse((enum plan_collective)id, algorithm, recipe, sizeof recipe, why,
                                    sizeof why)) {
        return;
    } else if (!strchr(algorithm, '(')) {
        nearest_offer(&n, PROFILE_NATIVE);
        for (int i = 0; i < plan_row_count; i++)
            if (serves(plan_algorithms[i], id))
                nearest_offer(&n, plan_algorithms[i]->name);
    }
    cfg_problem(c, "COLLSHIM_ALGORITHM: %s%s%s", why, n.best ? "; the nearest is " : "",
                n.best ? n.best : "");
}

/* The preload finds this out later than cfg_load: do the names exist, can the topology be? hash: of
   the profile's rows, or "". */
static void check_meaning(struct cfg *c, char *hash, size_t size)
{
    char collective[SHORT], algorithm[CFG_TEXT_MAX], why[SHORT];
    struct tuning profile;
    struct topo *t;

    for (int i = 0;
         cfg_algorithm_pair(c, i, collective, sizeof collective, algorithm, sizeof algorithm); i++)
        check_pair(c, collective, algorithm);
    tuning_load(c, &profile);
    *hash = 0;
    if (tuning_hash(&profile))
        snprintf(hash, size, "%016" PRIx64, tuning_hash(&profile));
    tuning_free(&profile);
    if (!c->topology[0])
        return;
    if (topo_parse(c->topology, 0, &t, why, sizeof why) < 0)
        cfg_problem(c, "COLLSHIM_TOPOLOGY: %s", why);
    else
        topo_free(t);
}

/* Returns how many lines there were. */
static int print_lines(const char *text)
{
    int lines = 0;

    for (; *text; lines++) {
        int n = (int)strcspn(text, "\n");

        cli_fail("%.*s", n, text);
        text += n + (text[n] == '\n');
    }
    return lines;
}

/* The collected problems, one line each, on stderr. Locks that hold and old names are none. */
static int report_problems(const struct cfg *c)
{
    int lines;

    fflush(stdout);
    print_lines(c->rules.note);
    lines = print_lines(c->problem);
    if (lines < c->problems)
        cli_fail("and %d more problem%s", c->problems - lines, cli_s(c->problems - lines));
    return c->problems || c->rules.problems ? CLI_FAILURE : CLI_OK;
}

int cli_info(int argc, char **argv)
{
    int json = 0, markdown = 0, man = 0, left, width = cli_width();
    const struct cli_option options[] = {{"--json", &json, NULL},
                                         {"--markdown", &markdown, NULL},
                                         {"--man", &man, NULL},
                                         {NULL, NULL, NULL}};
    static struct libraries libraries;
    static struct cfg cfg;
    char hash[24];

    left = cli_options(argc, argv, options, usage);
    if (left < 0)
        return -1 - left;
    if (left > 0)
        return cli_usage(argv[0], "it takes no argument, got %s", argv[1]);
    if (json + markdown + man > 1)
        return cli_usage(argv[0], "only one of --json, --markdown and --man");
    if (man)
        return print_man();
    if (markdown)
        return print_markdown();
    cfg_load(&cfg, NULL);
    check_meaning(&cfg, hash, sizeof hash);
    libraries_find(&libraries);
    if (json) {
        print_json(&cfg, &libraries, hash);
    } else {
        puts("collshim " COLLSHIM_VERSION "\n");
        print_libraries(&libraries);
        print_algorithms(width);
        print_site(&cfg);
        print_settings(&cfg, width);
        if (hash[0])
            printf("  the profile's rows have the hash %s\n", hash);
    }
    return report_problems(&cfg);
}
