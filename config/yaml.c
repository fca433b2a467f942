/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The settings file: one flat mapping, key: value. The whole file is gone
 * through before anything is taken from it, so that one with a syntax error
 * changes nothing instead of half of what it says. libyaml is used as it is, not through
 * libcyaml: a schema would have to repeat settings.def, and its errors end the
 * reading.
 */
#include <string.h>
#include <yaml.h>

#include "config/read_file.h"
#include "config/settings_private.h"
#include "config/text.h"

#define FILE_LIMIT (1 << 20)
#define MOST_NESTED 16 /* any nesting is wrong, but a little gets a better message */

struct reading {
    struct cfg *c;
    const char *path;
    char *text; /* owned: the whole file */
    size_t size;
    int first_line[CFG_COUNT]; /* where a key was given first; 0: not yet */
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

static void take_pair(struct reading *r, const yaml_node_t *key, const yaml_node_t *value)
{
    const char *nearest, *name;
    char shown[80], where[CFG_TEXT_MAX + 64];
    int id, line = line_of(key);

    if (key->type != YAML_SCALAR_NODE) {
        cfg_problem(r->c, "%s:%d: expected the name of a setting, found %s", r->path, line,
                    shape_of(key));
        return;
    }
    name = text_show(shown, sizeof shown, (const char *)key->data.scalar.value,
                     key->data.scalar.length);
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
    if (id == CFG_config) {
        cfg_problem(r->c, "%s:%d: config: a settings file cannot name another; set COLLSHIM_CONFIG",
                    r->path, line);
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
             value->data.scalar.length, CFG_FROM_FILE);
}

static void take_document(struct reading *r, yaml_document_t *document)
{
    const yaml_node_t *root = yaml_document_get_root_node(document);

    if (!root || (root->type == YAML_SCALAR_NODE && is_null(root))) {
        cfg_problem(r->c, "%s:1: empty; expected lines such as `mode: on`", r->path);
        return;
    }
    if (root->type != YAML_MAPPING_NODE) {
        cfg_problem(r->c, "%s:%d: expected lines such as `mode: on`, found %s", r->path,
                    line_of(root), shape_of(root));
        return;
    }
    for (const yaml_node_pair_t *pair = root->data.mapping.pairs.start;
         pair < root->data.mapping.pairs.top; pair++)
        take_pair(r, yaml_document_get_node(document, pair->key),
                  yaml_document_get_node(document, pair->value));
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

static void take_file(struct reading *r)
{
    yaml_parser_t parser;
    yaml_document_t document;
    int second_line = 0;

    if (check_stream(r, &second_line) < 0 || begin_parser(r, &parser) < 0)
        return;
    if (yaml_parser_load(&parser, &document)) {
        take_document(r, &document);
        yaml_document_delete(&document);
        if (second_line)
            cfg_problem(r->c, "%s:%d: a second document; only the first is read", r->path,
                        second_line);
    } else {
        note_syntax(r, &parser); /* an alias to nothing */
    }
    yaml_parser_delete(&parser);
}

void cfg_read_yaml(struct cfg *c, const char *path)
{
    struct reading r = {.c = c, .path = path};
    const char *why;

    if (config_read_file(path, FILE_LIMIT, &r.text, &r.size, &why) < 0) {
        cfg_problem(c, "%s: %s; COLLSHIM_CONFIG must name a readable YAML file", path, why);
        return;
    }
    take_file(&r);
    free(r.text);
}
