/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The settings file: one flat mapping, key: value. The whole file is parsed before any value is
 * taken from it. So a file with a syntax error changes nothing. Rejected: libcyaml above libyaml,
 * because its schema would repeat settings.def, and its errors end the reading.
 */
#include <string.h>
#include <yaml.h>

#include "config/base/read_file.h"
#include "config/base/text.h"
#include "config/settings/settings_private.h"

#define FILE_LIMIT (1 << 20)
#define MOST_NESTED 16 /* any nesting is wrong, but a little gets a better message */

struct reading {
    struct cfg *c;
    const char *path;
    char *text; /* owned: the whole file */
    size_t size;
    enum cfg_origin origin;
    yaml_document_t *document; /* while it is taken */
    int first_line[CFG_ALL];   /* where a key was given first; 0: not yet */
};

static int line_of(const yaml_node_t *node)
{
    return (int)node->start_mark.line + 1;
}

/* The reader's own errors (bad UTF-8) carry an offset but no line. */
static int error_line(const struct reading *r, const yaml_parser_t *parser)
{
    int line = 1;

    if (parser->error != YAML_READER_ERROR)
        return (int)parser->problem_mark.line + 1;
    for (size_t i = 0; i < r->size && i < parser->problem_offset; i++)
        line += r->text[i] == '\n';
    return line;
}

static void note_syntax(struct reading *r, const yaml_parser_t *parser)
{
    if (parser->error == YAML_MEMORY_ERROR) {
        cfg_problem(r->c, "%s: out of memory; nothing is taken from this file", r->path);
        return;
    }
    cfg_problem(r->c, "%s:%d: not YAML: %s%s%s; nothing is taken from this file", r->path,
                error_line(r, parser), parser->problem ? parser->problem : "unreadable",
                parser->context ? " " : "", parser->context ? parser->context : "");
}

static const char *shape_of(const yaml_node_t *node)
{
    return node->type == YAML_SEQUENCE_NODE  ? "a list"
           : node->type == YAML_MAPPING_NODE ? "a mapping"
                                             : "a single value";
}

/* `key:` with nothing behind it, or the YAML words for nothing. A quoted "" is an empty text. */
static int is_null(const yaml_node_t *value)
{
    static const char *const words[] = {"", "~", "null"};

    if (value->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        return 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (text_is_word((const char *)value->data.scalar.value, value->data.scalar.length,
                         words[i]))
            return 1;
    return 0;
}

/* Returns 0 if the node is no text or finds no room. */
static int append(char *words, size_t size, const yaml_node_t *node)
{
    size_t used = strlen(words);

    return node->type == YAML_SCALAR_NODE &&
           (size_t)snprintf(words + used, size - used, "%s%s", used ? ", " : "",
                            (const char *)node->data.scalar.value) < size - used;
}

/* A rule of the site's: one value, or a list. Returns 0 if the key is none. */
static int take_rule(struct reading *r, const char *name, int line, const yaml_node_t *value)
{
    char words[CFG_SITE_TEXT] = "", where[CFG_TEXT_MAX + 64];
    int whole = 1;

    if (r->origin != CFG_FROM_SITE)
        return 0;
    if (value->type == YAML_SEQUENCE_NODE)
        for (const yaml_node_item_t *item = value->data.sequence.items.start;
             item < value->data.sequence.items.top; item++)
            whole &= append(words, sizeof words, yaml_document_get_node(r->document, *item));
    else
        whole = append(words, sizeof words, value);
    snprintf(where, sizeof where, "%s:%d: %s: ", r->path, line, name);
    if (!cfg_site_take(r->c, where, name, words))
        return 0;
    if (!whole) {
        cfg_problem(r->c, "%sexpected words, %d bytes at most; all jobs run natively", where,
                    CFG_SITE_TEXT - 1);
        r->c->rules.broken = 1;
    }
    return 1;
}

static void take_pair(struct reading *r, const yaml_node_t *key, const yaml_node_t *value)
{
    const char *nearest, *name;
    char shown[80], where[CFG_TEXT_MAX + 64];
    int id, line = line_of(key);
    enum cfg_id now;

    if (key->type != YAML_SCALAR_NODE) {
        cfg_problem(r->c, "%s:%d: expected the name of a setting, found %s", r->path, line,
                    shape_of(key));
        return;
    }
    name = text_show(shown, sizeof shown, (const char *)key->data.scalar.value,
                     key->data.scalar.length);
    if (take_rule(r, name, line, value))
        return;
    id = cfg_find_key(name, &nearest);
    if (id < 0) {
        cfg_problem(r->c, "%s:%d: %s: no such setting; %s%s", r->path, line, name,
                    nearest ? "the nearest is " : "`collshim info` lists them",
                    nearest ? nearest : "");
        return;
    }
    if (r->first_line[id]) {
        cfg_problem(r->c, "%s:%d: %s: already given on line %d, which stays", r->path, line, name,
                    r->first_line[id]);
        return;
    }
    r->first_line[id] = line;
    now = cfg_now((enum cfg_id)id);
    if (now == CFG_config || now == CFG_test_site) {
        cfg_problem(r->c, "%s:%d: %s: a settings file cannot name another; set %s", r->path, line,
                    name, cfg_rows[now].variable);
        return;
    }
    if (value->type != YAML_SCALAR_NODE) {
        cfg_problem(r->c, "%s:%d: %s: expected one value, found %s", r->path, line, name,
                    shape_of(value));
        return;
    }
    if (is_null(value)) {
        cfg_problem(r->c, "%s:%d: %s: no value; write \"\" for an empty text", r->path, line, name);
        return;
    }
    snprintf(where, sizeof where, "%s:%d: %s: ", r->path, line, name);
    cfg_take(r->c, (enum cfg_id)id, where, (const char *)value->data.scalar.value,
             value->data.scalar.length, r->origin);
}

/* Returns -1 if it is no mapping. */
static int take_document(struct reading *r, yaml_document_t *document)
{
    const yaml_node_t *root = yaml_document_get_root_node(document);

    r->document = document;
    if (!root || (root->type == YAML_SCALAR_NODE && is_null(root))) {
        if (r->origin != CFG_FROM_SITE)
            cfg_problem(r->c, "%s:1: empty; expected lines such as `mode: on`", r->path);
        return 0;
    }
    if (root->type != YAML_MAPPING_NODE) {
        cfg_problem(r->c, "%s:%d: expected lines such as `mode: on`, found %s", r->path,
                    line_of(root), shape_of(root));
        return -1;
    }
    for (const yaml_node_pair_t *pair = root->data.mapping.pairs.start;
         pair < root->data.mapping.pairs.top; pair++)
        take_pair(r, yaml_document_get_node(document, pair->key),
                  yaml_document_get_node(document, pair->value));
    return 0;
}

static int begin_parser(struct reading *r, yaml_parser_t *parser)
{
    if (!yaml_parser_initialize(parser)) {
        cfg_problem(r->c, "%s: out of memory; nothing is taken from this file", r->path);
        return -1;
    }
    yaml_parser_set_input_string(parser, (const unsigned char *)r->text, r->size);
    return 0;
}

/*
 * Go through the whole file before anything is taken from it. Stops at deep nesting, on which
 * libyaml would spend quadratic time. Returns 0 and where a second document begins (0: nowhere),
 * or -1 when the file is refused.
 */
static int check_stream(struct reading *r, int *second_line)
{
    yaml_parser_t parser;
    yaml_event_t event;
    int depth = 0, documents = 0, code = -1;

    if (begin_parser(r, &parser) < 0)
        return -1;
    for (;;) {
        yaml_event_type_t type;
        int line;

        if (!yaml_parser_parse(&parser, &event)) {
            note_syntax(r, &parser);
            break;
        }
        type = event.type;
        line = (int)event.start_mark.line + 1;
        yaml_event_delete(&event);
        if (type == YAML_STREAM_END_EVENT) {
            code = 0;
            break;
        }
        if (type == YAML_DOCUMENT_START_EVENT && ++documents == 2)
            *second_line = line;
        depth += (type == YAML_SEQUENCE_START_EVENT) + (type == YAML_MAPPING_START_EVENT) -
                 (type == YAML_SEQUENCE_END_EVENT) - (type == YAML_MAPPING_END_EVENT);
        if (depth > MOST_NESTED) {
            cfg_problem(r->c, "%s:%d: nested too deep; expected lines such as `mode: on`", r->path,
                        line);
            break;
        }
    }
    yaml_parser_delete(&parser);
    return code;
}

/* Returns -1 if nothing is taken from it. */
static int take_file(struct reading *r)
{
    yaml_parser_t parser;
    yaml_document_t document;
    int second_line = 0, code = 0;

    if (check_stream(r, &second_line) < 0 || begin_parser(r, &parser) < 0)
        return -1;
    if (yaml_parser_load(&parser, &document)) {
        code = take_document(r, &document);
        yaml_document_delete(&document);
        r->document = NULL;
        if (second_line)
            cfg_problem(r->c, "%s:%d: a second document; only the first is read", r->path,
                        second_line);
    } else {
        note_syntax(r, &parser); /* an alias to nothing */
        code = -1;
    }
    yaml_parser_delete(&parser);
    return code;
}

int cfg_read_yaml(struct cfg *c, const char *path, enum cfg_origin origin)
{
    struct reading r = {.c = c, .path = path, .origin = origin};
    const char *why;
    int code;

    if (config_read_file(path, FILE_LIMIT, &r.text, &r.size, &why) < 0) {
        cfg_problem(c, "%s: %s; %s", path, why,
                    origin == CFG_FROM_SITE ? "the site's settings must be a readable YAML file"
                                            : "COLLSHIM_CONFIG must name a readable YAML file");
        return -1;
    }
    code = take_file(&r);
    free(r.text);
    return code;
}
