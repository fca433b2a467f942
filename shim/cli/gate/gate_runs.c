/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "shim/cli/gate/gate_runs.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/base/text.h"
#include "config/settings/settings.h"
#include "shim/cli/cli.h"
#include "shim/cli/report/call_sites.h"
#include "shim/cli/report/foreign.h"

enum { LARGEST = 64 << 20, MOST_ROWS = 1024 };

const char *const gate_fact_names[FACTS] = {"program", "ranks", "collshim",
                                            "library", "hosts", "settings"};
const char *const gate_skip_texts[GATE_SKIPS] = {"no report", "partial",
                                                 "of another program or shape"};
static const char *const total_names[GATE_TOTALS] = {"the whole job", "all collectives, all ranks",
                                                     "call sites below 1 % of that"};

static const char *text_at(json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static long long whole(json_t *object, const char *key)
{
    return (long long)json_integer_value(json_object_get(object, key));
}

/* Any JSON on one line. */
static void flat(json_t *value, char text[GATE_TEXT])
{
    char *all = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS) : NULL;

    text_show(text, GATE_TEXT, all ? all : "", all ? strlen(all) : 0);
    free(all);
}

static void read_facts(json_t *root, char fact[FACTS][GATE_TEXT])
{
    json_t *job = json_object_get(root, "job");
    const char *program = text_at(job, "program"), *script = text_at(job, "script");
    long long ranks = whole(root, "ranks"), nodes = whole(job, "nodes");

    memset(fact, 0, FACTS * sizeof *fact);
    snprintf(fact[FACT_PROGRAM], GATE_TEXT, "%.100s%s%.100s%s",
             *program ? basename(program) : "(unknown)", *script ? " " : "", basename(script),
             json_object_get(root, "nccl") ? " (NCCL)" : "");
    snprintf(fact[FACT_SHAPE], GATE_TEXT, "%lld rank%s of %lld node%s", ranks, cli_s(ranks), nodes,
             cli_s(nodes));
    snprintf(fact[FACT_VERSION], GATE_TEXT, "%s", text_at(root, "collshim"));
    snprintf(fact[FACT_LIBRARY], GATE_TEXT, "%s", text_at(root, "library"));
    flat(json_object_get(job, "hosts"), fact[FACT_HOSTS]);
    json_object_del(json_object_get(root, "changed"), "report"); /* where it went */
    flat(json_object_get(root, "changed"), fact[FACT_SETTINGS]);
    for (int i = 0; i < FACTS; i++)
        text_clean(fact[i]); /* it may be cut inside a character */
}

/* Returns NULL with *why: constant, or e->text. */
static json_t *load(const char *path, json_error_t *e, const char **why)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat st;
    json_t *root = NULL;

    *why = NULL;
    if (fd < 0 || fstat(fd, &st))
        *why = strerror(errno);
    else if (!S_ISREG(st.st_mode) || st.st_size > LARGEST)
        *why = "no regular file of at most 64 MiB";
    else if (!(root = json_loadfd(fd, JSON_REJECT_DUPLICATES, e)))
        *why = st.st_size ? "not JSON, or cut off" : "empty";
    if (fd >= 0)
        close(fd);
    if (!root)
        return NULL;
    foreign_clean(root);
    if (json_is_string(json_object_get(root, "collshim")) &&
        json_is_integer(json_object_get(root, "ranks")) &&
        sites_are_valid(json_object_get(root, "sites")))
        return root;
    json_decref(root);
    *why = "JSON, but no report; COLLSHIM_REPORT=FILE writes one in MPI_Finalize";
    return NULL;
}

static struct gate_row *new_row(struct gate *g)
{
    void *more =
        g->rows < MOST_ROWS ? realloc(g->row, (size_t)(g->rows + 1) * sizeof *g->row) : NULL;

    if (!more)
        return NULL;
    g->row = more;
    g->row[g->rows] = (struct gate_row){0};
    return &g->row[g->rows++];
}

static struct site_line *copy_site(const struct site_line *s)
{
    struct site_line *copy = malloc(sizeof *copy);

    if (copy) {
        *copy = (struct site_line){.offset = s->offset,
                                   .ranks = s->ranks,
                                   .nodes = s->nodes,
                                   .from = s->from,
                                   .object = strdup(s->object),
                                   .collective = strdup(s->collective),
                                   .build_id = s->build_id ? strdup(s->build_id) : NULL};
    }
    return copy;
}

static void free_site(struct site_line *s)
{
    if (!s)
        return;
    free((char *)s->object);
    free((char *)s->collective);
    free((char *)s->build_id);
    free(s);
}

/* The row of a site that the run has not met yet, or NULL: there is no room for one. */
static struct gate_row *row_of(struct gate *g, const struct site_line *s, int side, int run)
{
    char function[SITES_FUNCTION], from[32];
    struct gate_row *r;

    sites_function(s, function);
    for (int i = GATE_TOTALS; i < g->rows; i++) {
        r = &g->row[i];
        if (!(r->calls[side][run] > 0) && sites_same(r->site, r->function, s, function))
            return r;
    }
    r = new_row(g);
    if (!r || !(r->site = copy_site(s)) || !r->site->object || !r->site->collective) {
        g->rows -= r != NULL;
        return NULL;
    }
    memcpy(r->function, function, sizeof r->function);
    sites_place(s->object, s->build_id, s->offset, r->place, sizeof r->place);
    cfg_print_bytes((unsigned long long)s->from, from, sizeof from);
    snprintf(r->what, sizeof r->what, "%s%s%s on %lld rank%s", s->collective, s->from ? " of " : "",
             s->from ? from : "", s->ranks, cli_s(s->ranks));
    return r;
}

static int add_run(struct gate *g, int side, json_t *root)
{
    int run = g->side[side].runs++;
    size_t n;
    struct site_line *line = sites_lines(root, &n);
    double seconds = json_number_value(json_object_get(json_object_get(root, "job"), "seconds"));

    while (g->rows < GATE_TOTALS && new_row(g))
        snprintf(g->row[g->rows - 1].place, GATE_TEXT, "%s", total_names[g->rows - 1]);
    if (!line || g->rows < GATE_TOTALS) {
        free(line);
        return cli_fail("out of memory");
    }
    g->row[GATE_JOB].seconds[side][run] = seconds > 0 ? seconds : 0;
    g->row[GATE_JOB].calls[side][run] = seconds > 0;
    g->row[GATE_ALL].calls[side][run] = n > 0;
    for (size_t i = 0; i < n; i++) {
        double took = line[i].rerouted_s + line[i].native_s;
        struct gate_row *r = line[i].calls > 0 ? row_of(g, &line[i], side, run) : NULL;

        g->row[GATE_ALL].seconds[side][run] += took;
        if (r) {
            r->seconds[side][run] = took;
            r->calls[side][run] = (double)line[i].calls;
        }
    }
    free(line);
    return CLI_OK;
}

static int is_in(const struct gate_side *s, const struct stat *st)
{
    for (int i = 0; i < s->runs; i++)
        if (s->file[i].device == st->st_dev && s->file[i].inode == st->st_ino)
            return 1;
    return 0;
}

/* May the run be compared with those before it? It leaves its facts. */
static int fits(struct gate *g, int side, char fact[FACTS][GATE_TEXT])
{
    struct gate_side *s = &g->side[side], *first = g->side[1].runs ? &g->side[1] : s;

    for (int i = 0; i <= FACT_SHAPE && first->runs; i++)
        if (strcmp(first->fact[i], fact[i]) != 0)
            return 0;
    for (int i = 0; i < FACTS; i++)
        if (!s->runs)
            memcpy(s->fact[i], fact[i], GATE_TEXT);
        else if (strcmp(s->fact[i], fact[i]) != 0)
            strcpy(s->fact[i], "several");
    return 1;
}

static void skip(struct gate_side *s, enum gate_skip why, const char *path)
{
    if (!s->skipped[why]++)
        text_show(s->first_skipped[why], GATE_TEXT, path, strlen(path));
}

/* named: the user named that file, so it must be a report. */
static int read_file(struct gate *g, int side, const FTSENT *e, int named)
{
    struct gate_side *s = &g->side[side];
    char fact[FACTS][GATE_TEXT];
    json_error_t error;
    const char *why;
    int code = CLI_OK;

    if (side == 0 && is_in(&g->side[1], e->fts_statp)) {
        s->shared++;
        return CLI_OK;
    }
    json_t *root = load(e->fts_accpath, &error, &why);
    if (!root && named)
        return cli_fail("%s: %s", e->fts_path, why);
    if (!root) {
        skip(s, GATE_FOREIGN, e->fts_path);
        return CLI_OK;
    }
    read_facts(root, fact);
    if (json_is_true(json_object_get(root, "partial"))) {
        skip(s, GATE_PARTIAL, e->fts_path);
    } else if (!fits(g, side, fact)) {
        skip(s, GATE_OTHER, e->fts_path);
    } else {
        s->file[s->runs].device = e->fts_statp->st_dev;
        s->file[s->runs].inode = e->fts_statp->st_ino;
        text_show(s->name[s->runs], GATE_TEXT, e->fts_path, e->fts_pathlen);
        code = add_run(g, side, root);
    }
    json_decref(root);
    return code;
}

/* Names of a spool begin with the time: the newest first. */
static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*b)->fts_name, (*a)->fts_name);
}

static int is_report(const FTSENT *e)
{
    return e->fts_name[0] != '.' && e->fts_namelen > 5 &&
           !strcmp(e->fts_name + e->fts_namelen - 5, ".json");
}

/* A file; or a folder of files, and of users' folders as a spool has them. */
static int read_side(struct gate *g, int side)
{
    char *paths[] = {(char *)g->side[side].path, NULL};
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name);
    int code = tree ? CLI_OK : cli_fail("%s: %s", paths[0], strerror(errno));
    FTSENT *e;

    while (!code && g->side[side].runs < GATE_RUNS && (e = fts_read(tree))) {
        if (e->fts_info == FTS_D && e->fts_level > 1)
            fts_set(tree, e, FTS_SKIP);
        else if (e->fts_level == 0 && (e->fts_info == FTS_NS || e->fts_info == FTS_DNR))
            code = cli_fail("%s: %s", e->fts_path, strerror(e->fts_errno));
        else if (e->fts_level == 0 && e->fts_info != FTS_D && e->fts_info != FTS_DP)
            code = read_file(g, side, e, 1);
        else if (e->fts_info == FTS_F && is_report(e))
            code = read_file(g, side, e, 0);
    }
    if (tree)
        fts_close(tree);
    return code;
}

/* A side without a run that can be compared. */
static int complain(const struct gate *g, int side)
{
    const struct gate_side *s = &g->side[side];

    for (int i = GATE_SKIPS - 1; i >= 0; i--)
        if (s->skipped[i])
            return cli_fail("%s: no run to compare; %d file%s %s, the first %s", s->path,
                            s->skipped[i], cli_s(s->skipped[i]), gate_skip_texts[i],
                            s->first_skipped[i]);
    return cli_fail("%s: no run to compare; %s", s->path,
                    s->shared ? "all its reports are new ones"
                              : "a folder of reports has files *.json");
}

int gate_read(struct gate *g)
{
    for (int side = 1; side >= 0; side--) {
        int code = read_side(g, side);

        code = code || g->side[side].runs ? code : complain(g, side);
        if (code)
            return code;
    }
    return CLI_OK;
}

void gate_free(struct gate *g)
{
    for (int i = 0; i < g->rows; i++)
        free_site(g->row[i].site);
    free(g->row);
}
