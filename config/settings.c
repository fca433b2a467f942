/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of settings.def, expanded three times: into the rows that users see (cfg_rows), into
 * the readers of fields (fields), and into struct cfg itself (settings.h). All settings are read by
 * the same code, so that a new row needs no code. Rejected: a library such as libcyaml, because it
 * needs the schema a second time and stops at the first wrong value. Here every other value still
 * counts.
 *
 * Nothing is printed and nothing is kept allocated. Problems are lines in the struct, because it is
 * known later which processes print (rank 0 only, or every process).
 */
#include "config/settings.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "config/nearest.h"
#include "config/settings_private.h"
#include "config/text.h"

extern char **environ;

#define PREFIX "COLLSHIM_"

/* The text of a message that a value stays as it is. */
static const char *const origin_text[] = {"default", "site", "file", "environment"};

/* Names that belong to the project's own tools, not to this table. */
static const char *const tool_prefixes[] = {"COLLSHIM_FABRIC", "COLLSHIM_BENCH"};

const struct cfg_row cfg_rows[CFG_COUNT] = {
#define SETTING(field_, type_, variable_, default_, least_, most_, agreed_, meaning_)              \
    {.name = #field_,                                                                              \
     .variable = variable_,                                                                        \
     .default_text = default_,                                                                     \
     .meaning = meaning_,                                                                          \
     .agreed = agreed_},
#include "config/settings.def"
};

static const struct field {
    const struct cfg_kind *kind;
    size_t offset; /* in struct cfg */
    long long least, most;
} fields[CFG_COUNT] = {
#define SETTING(field_, type_, variable_, default_, least_, most_, agreed_, meaning_)              \
    {&cfg_kind_##type_, offsetof(struct cfg, field_), least_, most_},
#include "config/settings.def"
};

/* Texts that have a form of their own. */
static int (*const checks[CFG_COUNT])(const char *text, char *why, size_t why_size) = {
    [CFG_algorithm] = cfg_check_algorithm,
};

const char *cfg_type(enum cfg_id id)
{
    return fields[id].kind->name;
}

static void *field_of(struct cfg *c, enum cfg_id id)
{
    return (char *)c + fields[id].offset;
}

/* One more line behind those in `lines`, if there is room. */
static void add_line(char *lines, size_t size, const char *format, va_list args)
{
    size_t used = strlen(lines), n;
    char line[1400];

    vsnprintf(line, sizeof line, format, args);
    n = strlen(line);
    if (used + n + 2 > size)
        return;
    text_show(lines + used, n + 1, line, n);
    strcat(lines, "\n");
}

void cfg_problem(struct cfg *c, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (c->reading_site) {
        c->rules.problems++;
        add_line(c->rules.note, sizeof c->rules.note, format, args);
    } else {
        c->problems++;
        add_line(c->problem, sizeof c->problem, format, args);
    }
    va_end(args);
}

void cfg_site_note(struct cfg *c, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    add_line(c->rules.note, sizeof c->rules.note, format, args);
    va_end(args);
}

int cfg_find_key(const char *key, const char **nearest)
{
    struct nearest n = nearest_to(key);

    for (int id = 0; id < CFG_COUNT; id++) {
        if (!strcmp(key, cfg_rows[id].name))
            return id;
        nearest_offer(&n, cfg_rows[id].name);
    }
    *nearest = n.best;
    return -1;
}

/* Word what is wrong with a value that read() or the field's own check refused. */
static void word_problem(const struct field *f, int code, size_t size, char *why, size_t why_size)
{
    char least[32], most[32], expected[128];

    switch (code) {
    case -ENAMETOOLONG:
        snprintf(why, why_size, "%zu bytes long, at most %d are read", size, CFG_TEXT_MAX - 1);
        return;
    case -ERANGE:
        if (f->kind == &cfg_kind_BYTES) {
            cfg_print_bytes((unsigned long long)f->least, least, sizeof least);
            cfg_print_bytes((unsigned long long)f->most, most, sizeof most);
        } else {
            snprintf(least, sizeof least, "%lld", f->least);
            snprintf(most, sizeof most, "%lld", f->most);
        }
        snprintf(why, why_size, "out of range, expected %s to %s", least, most);
        return;
    default:
        cfg_print_expected(f->kind, expected, sizeof expected);
        snprintf(why, why_size, "expected %s", expected);
    }
}

/* The site's value stays. Only a user who wants another one is told. */
static void keep_locked(struct cfg *c, enum cfg_id id, const char *where, const char *text,
                        size_t size, const void *value)
{
    char kept[CFG_TEXT_MAX], wanted[CFG_TEXT_MAX], shown[80];

    cfg_value_text(c, id, kept, sizeof kept);
    fields[id].kind->print(fields[id].kind, value, wanted, sizeof wanted);
    if (strcmp(kept, wanted) != 0)
        cfg_site_note(c, "%s%s: %s/collshim.yaml locks %s, which stays %s", where,
                      text_show(shown, sizeof shown, text, size), c->rules.directory,
                      cfg_rows[id].name, kept[0] ? kept : "empty");
}

void cfg_take(struct cfg *c, enum cfg_id id, const char *where, const char *text, size_t size,
              enum cfg_origin origin)
{
    const struct field *f = &fields[id];
    union {
        size_t bytes;
        int number;
        char text[CFG_TEXT_MAX];
    } value; /* read here first: a text that fails its check must not have replaced the old one */
    char why[256], kept[64], shown[80], all[CFG_TEXT_MAX];
    int code = f->kind->read(f->kind, text, size, f->least, f->most, &value);

    if (code == 0 && checks[id])
        code = checks[id](value.text, why, sizeof why);
    else if (code)
        word_problem(f, code, size, why, sizeof why);
    if (code == 0 && c->locked[id] && origin > CFG_FROM_SITE) {
        keep_locked(c, id, where, text, size, &value);
        return;
    }
    if (code == 0) {
        f->kind->read(f->kind, text, size, f->least, f->most, field_of(c, id));
        c->origin[id] = origin;
        return;
    }
    cfg_value_text(c, id, all, sizeof all);
    text_show(kept, sizeof kept, all, strlen(all));
    text_show(shown, sizeof shown, text, size);
    cfg_problem(c, "%s%s: %s; %s stays %s (%s)", where, shown, why, cfg_rows[id].name,
                kept[0] ? kept : "empty", origin_text[c->origin[id]]);
}

static int find_variable(const char *name, size_t size)
{
    for (int id = 0; id < CFG_COUNT; id++)
        if (strlen(cfg_rows[id].variable) == size && !memcmp(cfg_rows[id].variable, name, size))
            return id;
    return -1;
}

static int belongs_to_a_tool(const char *entry)
{
    for (size_t i = 0; i < sizeof tool_prefixes / sizeof *tool_prefixes; i++)
        if (!strncmp(entry, tool_prefixes[i], strlen(tool_prefixes[i])))
            return 1;
    return 0;
}

/* Compared without the prefix, which would make any two names look alike. */
static void warn_unknown(struct cfg *c, const char *name, size_t size)
{
    char shown[80];
    struct nearest n = nearest_to(text_show(shown, sizeof shown, name, size) + strlen(PREFIX));

    for (int id = 0; id < CFG_COUNT; id++)
        nearest_offer(&n, cfg_rows[id].variable + strlen(PREFIX));
    if (n.best)
        cfg_problem(c, "%s: no such setting; the nearest is " PREFIX "%s", shown, n.best);
    else
        cfg_problem(c, "%s: no such setting; `collshim info` lists them", shown);
}

/* An empty variable counts as not set, but for texts, where it empties what the file said. */
static void take_variable(struct cfg *c, enum cfg_id id, const char *value)
{
    char where[64];

    if (!*value && fields[id].kind != &cfg_kind_TEXT)
        return;
    snprintf(where, sizeof where, "%s=", cfg_rows[id].variable);
    cfg_take(c, id, where, value, strlen(value), CFG_FROM_ENVIRONMENT);
}

/* Which variables are read when: the files' names before the files. */
enum stage { STAGE_SITE, STAGE_CONFIG, STAGE_REST };

static enum stage stage_of(int id)
{
    return id == CFG_site ? STAGE_SITE : id == CFG_config ? STAGE_CONFIG : STAGE_REST;
}

/* Read the variables of a stage; the first of a name counts. */
static void read_environment(struct cfg *c, char **environment, enum stage stage)
{
    char seen[CFG_COUNT] = {0};

    for (; *environment; environment++) {
        const char *equal = strchr(*environment, '=');
        int id;

        if (!equal || strncmp(*environment, PREFIX, strlen(PREFIX)))
            continue;
        id = find_variable(*environment, (size_t)(equal - *environment));
        if (id >= 0 && !seen[id] && stage_of(id) == stage) {
            seen[id] = 1;
            take_variable(c, (enum cfg_id)id, equal + 1);
        } else if (id < 0 && stage == STAGE_REST && !belongs_to_a_tool(*environment)) {
            warn_unknown(c, *environment, (size_t)(equal - *environment));
        }
    }
}

int cfg_load(struct cfg *c, char **environment)
{
    static char *nothing[] = {NULL};

    if (!environment)
        environment = getauxval(AT_SECURE) || !environ ? nothing : environ;
    memset(c, 0, sizeof *c);
    for (int id = 0; id < CFG_COUNT; id++)
        fields[id].kind->read(fields[id].kind, cfg_rows[id].default_text,
                              strlen(cfg_rows[id].default_text), fields[id].least, fields[id].most,
                              field_of(c, (enum cfg_id)id));
    read_environment(c, environment, STAGE_SITE);
    cfg_site_read(c, c->site);
    read_environment(c, environment, STAGE_CONFIG);
    if (c->config[0])
        cfg_read_yaml(c, c->config, CFG_FROM_FILE);
    read_environment(c, environment, STAGE_REST);
    cfg_site_decide(c, environment);
    return c->problems;
}

int cfg_value_text(const struct cfg *c, enum cfg_id id, char *text, size_t size)
{
    return fields[id].kind->print(fields[id].kind, (const char *)c + fields[id].offset, text, size);
}
