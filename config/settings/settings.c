/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of settings.def, expanded three times: into the rows that users see (cfg_rows), into
 * the readers of fields (fields), and into struct cfg itself (settings.h). An old name has a row
 * and a field too, and take_renamed carries its value over. All settings are read by the same code,
 * so that a new row needs no code. Rejected: a library such as libcyaml, because it needs the
 * schema a second time and stops at the first wrong value. Here every other value still counts.
 *
 * Nothing is printed and nothing is kept allocated. Problems are lines in the struct, because it is
 * known later which processes print (rank 0 only, or every process).
 */
#include "config/settings/settings.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "config/base/nearest.h"
#include "config/base/text.h"
#include "config/settings/settings_private.h"

extern char **environ;

#define PREFIX "COLLSHIM_"

/* The text of a message that a value stays as it is. */
static const char *const origin_text[] = {"default", "site", "file", "environment"};

/* Names that belong to the project's own tools, not to this table. */
static const char *const tool_prefixes[] = {"COLLSHIM_FABRIC", "COLLSHIM_BENCH"};

const char *const cfg_origin_texts[] = {
    [CFG_FROM_DEFAULT] = "default",
    [CFG_FROM_SITE] = "site",
    [CFG_FROM_FILE] = "file",
    [CFG_FROM_ENVIRONMENT] = "environment",
};

const struct cfg_row cfg_rows[CFG_ALL] = {
#define SETTING(field_, type_, variable_, default_, least_, most_, agreed_, meaning_)              \
    {.name = #field_,                                                                              \
     .variable = variable_,                                                                        \
     .default_text = default_,                                                                     \
     .meaning = meaning_,                                                                          \
     .agreed = agreed_},
#include "config/settings/settings.def"
#define RENAMED(field_, type_, variable_, default_, ...)                                           \
    {.name = #field_, .variable = variable_, .default_text = default_},
#include "config/settings/settings.def"
};

static const struct field {
    const struct cfg_kind *kind;
    size_t offset; /* in struct cfg */
    long long least, most;
} fields[CFG_ALL] = {
#define SETTING(field_, type_, variable_, default_, least_, most_, agreed_, meaning_)              \
    {&cfg_kind_##type_, offsetof(struct cfg, field_), least_, most_},
#include "config/settings/settings.def"
#define RENAMED(field_, type_, variable_, default_, least_, most_, ...)                            \
    {&cfg_kind_##type_, offsetof(struct cfg, old_##field_), least_, most_},
#include "config/settings/settings.def"
};

/* The meaning of the old names' values now, in the order of their rows. */
static const struct renamed {
    enum cfg_id now;
    const char *text[2]; /* for the values 0 and 1; both NULL: the value as it is */
} renamed[] = {
#define RENAMED(field_, type_, variable_, default_, least_, most_, now_, text_0_, text_1_)         \
    {CFG_##now_, {text_0_, text_1_}},
#include "config/settings/settings.def"
    {0}};

/* Texts that have a form of their own. */
static int (*const checks[CFG_ALL])(const char *text, char *why, size_t why_size) = {
    [CFG_algorithm] = cfg_check_algorithm,
};

const char *cfg_type(enum cfg_id id)
{
    return fields[id].kind->name;
}

int cfg_is_for_users(enum cfg_id id)
{
    return id < CFG_COUNT && strncmp(cfg_rows[id].name, "test_", 5) != 0;
}

enum cfg_id cfg_now(enum cfg_id id)
{
    return id < CFG_COUNT ? id : renamed[id - CFG_COUNT].now;
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
    memcpy(lines + strlen(lines), "\n", 2);
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

void cfg_note(struct cfg *c, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    add_line(c->rules.note, sizeof c->rules.note, format, args);
    va_end(args);
}

int cfg_find_key(const char *key, const char **nearest)
{
    struct nearest n = nearest_to(key);

    for (int id = 0; id < CFG_ALL; id++) {
        if (!strcmp(key, cfg_rows[id].name))
            return id;
        if (id < CFG_COUNT)
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
        cfg_note(c, "%s%s: %s/collshim.yaml locks %s, which stays %s", where,
                 text_show(shown, sizeof shown, text, size), c->rules.directory, cfg_rows[id].name,
                 kept[0] ? kept : "empty");
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
    if (code == 0 && id < CFG_COUNT && c->locked[id] && origin > CFG_FROM_SITE) {
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
    for (int id = 0; id < CFG_ALL; id++)
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
    enum cfg_id now = cfg_now((enum cfg_id)id);

    return now == CFG_test_site ? STAGE_SITE : now == CFG_config ? STAGE_CONFIG : STAGE_REST;
}

/* Read the variables of a stage; the first of a name counts. */
static void read_environment(struct cfg *c, char **environment, enum stage stage)
{
    char seen[CFG_ALL] = {0};

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

/* The new setting's text for the old name's value. kept: room for the text that the new one has. */
static const char *meaning_now(struct cfg *c, enum cfg_id old, const char *value, char *kept)
{
    const char *const *text = renamed[old - CFG_COUNT].text;
    enum cfg_id now = cfg_now(old);

    if (!text[0] && !text[1])
        return value;
    int one = *(const int *)field_of(c, old);
    if (text[one])
        return text[one];
    cfg_value_text(c, now, kept, CFG_TEXT_MAX);
    return strcmp(kept, text[!one]) ? kept : cfg_rows[now].default_text;
}

/* Carry over the value of an old name, with a line. The new name wins, unless a lower source has
   it: `own`, the source of its value. */
static void take_renamed(struct cfg *c, enum cfg_id old, enum cfg_origin own)
{
    const enum cfg_id now = cfg_now(old);
    const enum cfg_origin from = c->origin[old];
    const int variable = from == CFG_FROM_ENVIRONMENT;
    char where[CFG_TEXT_MAX + 64], value[CFG_TEXT_MAX], kept[CFG_TEXT_MAX], write[64];

    cfg_value_text(c, old, value, sizeof value);
    if (variable)
        snprintf(where, sizeof where, "%s=", cfg_rows[old].variable);
    else
        snprintf(where, sizeof where,
                 "%s%s: %s: ", from == CFG_FROM_FILE ? c->config : c->rules.directory,
                 from == CFG_FROM_FILE ? "" : "/collshim.yaml", cfg_rows[old].name);
    if (own >= from) {
        cfg_note(c, "%s%s: not used, because %s is set", where, value,
                 own == CFG_FROM_ENVIRONMENT ? cfg_rows[now].variable : cfg_rows[now].name);
        return;
    }
    const char *meant = meaning_now(c, old, value, kept);
    snprintf(write, sizeof write, "%s%s", variable ? cfg_rows[now].variable : cfg_rows[now].name,
             variable ? "=" : ": ");
    cfg_note(c, "%s%s: write %s%s%s", where, value, write, meant,
             cfg_is_for_users(now) ? "" : ", which is for tests");
    cfg_take(c, now, write, meant, strlen(meant), from);
}

/* Those that were read since the last call. */
static void take_all_renamed(struct cfg *c)
{
    enum cfg_origin own[CFG_ALL];

    memcpy(own, c->origin, sizeof own);
    for (int id = CFG_COUNT; id < CFG_ALL; id++)
        if (own[id] != CFG_FROM_DEFAULT) {
            take_renamed(c, (enum cfg_id)id, own[cfg_now((enum cfg_id)id)]);
            c->origin[id] = CFG_FROM_DEFAULT;
        }
}

int cfg_load(struct cfg *c, char **environment)
{
    static char *nothing[] = {NULL};

    if (!environment)
        environment = getauxval(AT_SECURE) || !environ ? nothing : environ;
    memset(c, 0, sizeof *c);
    for (int id = 0; id < CFG_ALL; id++)
        fields[id].kind->read(fields[id].kind, cfg_rows[id].default_text,
                              strlen(cfg_rows[id].default_text), fields[id].least, fields[id].most,
                              field_of(c, (enum cfg_id)id));
    read_environment(c, environment, STAGE_SITE);
    take_all_renamed(c);
    cfg_site_read(c, c->test_site);
    take_all_renamed(c);
    read_environment(c, environment, STAGE_CONFIG);
    if (c->config[0])
        cfg_read_yaml(c, c->config, CFG_FROM_FILE);
    read_environment(c, environment, STAGE_REST);
    take_all_renamed(c);
    cfg_site_decide(c, environment);
    return c->problems;
}

int cfg_value_text(const struct cfg *c, enum cfg_id id, char *text, size_t size)
{
    return fields[id].kind->print(fields[id].kind, (const char *)c + fields[id].offset, text, size);
}
