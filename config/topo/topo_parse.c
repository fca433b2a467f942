/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the synthetic form, word by word from a table: `name:value`. A reader by
 * hand, not hwloc's synthetic parser: that one knows neither rails nor ranks nor
 * placement, and this file is linked into other people's processes.
 *
 * A comma followed by a digit continues a list, one followed by a letter ends the
 * word, so that node:4,rail:4 and rail:2@100Mbit,50Mbit both read as meant. That
 * is why no list item may begin with a letter.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config/base/nearest.h"
#include "config/base/read_file.h"
#include "config/base/text.h"
#include "config/topo/topo_private.h"
#include "config/topo/topo_rate.h"

#define FILE_LIMIT (64 << 20)

struct reader {
    const char *begin; /* the whole text */
    const char *at;
    const char *word; /* where the current word begins, for messages */
    const char *file; /* path the text came from, or NULL */
    char *why;
    size_t why_size;
};

__attribute__((format(printf, 2, 3))) static int fail(struct reader *r, const char *format, ...)
{
    char shown[48], message[256];
    size_t n = 0;
    int line = 1;
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    while (r->word[n] && !text_is_blank(r->word[n]))
        n++;
    text_show(shown, sizeof shown, r->word, n);
    for (const char *c = r->begin; c < r->word; c++)
        line += *c == '\n';
    if (r->file)
        snprintf(r->why, r->why_size, "%s:%d: %s: %s", r->file, line, shown, message);
    else
        snprintf(r->why, r->why_size, "%s: %s", shown, message);
    return -EINVAL;
}

static const char *skip_blanks(const char *at)
{
    for (;; at++) {
        if (*at == '#')
            at += strcspn(at, "\n");
        if (!text_is_blank(*at))
            return at;
    }
}

/* A whole number of at most 2^31 - 1, perhaps negative. On error the reader has not moved. */
static int read_integer(const char **at, double *value)
{
    const char *digit = *at + (**at == '-');
    double sum = 0;

    if (!text_is_digit(*digit))
        return -EINVAL;
    for (const char *c = digit; text_is_digit(*c); c++, digit++)
        if ((sum = 10 * sum + (*c - '0')) > INT32_MAX)
            return -EINVAL;
    *value = **at == '-' ? -sum : sum;
    *at = digit;
    return 0;
}

static int push(struct reader *r, struct topo_list *list, double value, double count)
{
    if (count < 1 || list->n + count > TOPO_MAX)
        return fail(r, "a list has 1 to %d values", TOPO_MAX);
    if (list->n + (int)count > list->room) {
        int room = 2 * (list->n + (int)count);
        double *bigger = realloc(list->value, (size_t)room * sizeof *bigger);

        if (!bigger)
            return -ENOMEM;
        list->value = bigger;
        list->room = room;
    }
    while (count-- > 0)
        list->value[list->n++] = value;
    return 0;
}

/* Values with commas between them; COUNTxVALUE stands for COUNT equal ones. */
static int read_list(struct reader *r, struct topo_list *list,
                     int (*read)(const char **at, double *value), const char *expected)
{
    for (;;) {
        double count = 1, value;
        const char *ahead = r->at;
        int code;

        if (read_integer(&ahead, &count) == 0 && *ahead == 'x') {
            r->at = ahead + 1;
            list->is_list = 1;
        } else {
            count = 1;
        }
        if (read(&r->at, &value) < 0)
            return fail(r, "expected %s", expected);
        code = push(r, list, value, count);
        if (code)
            return code;
        ahead = skip_blanks(r->at);
        if (*ahead != ',')
            return 0;
        ahead = skip_blanks(ahead + 1);
        if (!text_is_digit(*ahead) && *ahead != '-')
            return 0;
        r->at = ahead;
        list->is_list = 1;
    }
}

static int read_count(struct reader *r, void *field)
{
    double value;

    if (read_integer(&r->at, &value) < 0 || value < 1 || value > TOPO_MAX)
        return fail(r, "expected a whole number from 1 to %d", TOPO_MAX);
    *(int *)field = (int)value;
    return 0;
}

static int read_integers(struct reader *r, void *field)
{
    return read_list(r, field, read_integer, "whole numbers such as 0,0,1,1 or 2x0,2x1");
}

static int read_ranks(struct reader *r, void *field)
{
    return read_list(r, field, read_integer,
                     "ranks per GPU, socket or node (rank:4), or those of each node (rank:4,3,4)");
}

/* Consume word if it stands here as a whole. */
static int skip_word(struct reader *r, const char *word)
{
    size_t n = strlen(word);

    if (strncmp(r->at, word, n) || text_is_letter(r->at[n]))
        return 0;
    r->at += n;
    return 1;
}

static int read_place(struct reader *r, void *field)
{
    struct topo_words *w = field;

    if (skip_word(r, "block"))
        return 0;
    if (skip_word(r, "cyclic")) {
        w->place = TOPO_PLACE_CYCLIC;
        return 0;
    }
    w->place = TOPO_PLACE_LIST;
    return read_list(r, &w->place_list, read_integer,
                     "block, cyclic, or the node of each rank such as 0,1,0,1");
}

static int read_rail(struct reader *r, void *field)
{
    struct topo_words *w = field;
    int code = read_count(r, &w->rail);

    if (code || *r->at != '@')
        return code;
    r->at++;
    return read_list(r, &w->rail_bw, topo_read_rate, TOPO_RATE_EXPECTED);
}

/* RAIL, with `out` or `in` behind it where the rate is of one way. */
static int read_rail_of_node(struct reader *r, struct topo_exception *e)
{
    double rail;

    if (read_integer(&r->at, &rail) < 0)
        return -EINVAL;
    e->of = (int)rail;
    e->ways = skip_word(r, "out")  ? 1 << TOPO_OUT
              : skip_word(r, "in") ? 1 << TOPO_IN
                                   : 1 << TOPO_OUT | 1 << TOPO_IN;
    return 0;
}

/* The name of a class of links inside a node: no connections over rails. */
static int read_class_of_node(struct reader *r, struct topo_exception *e)
{
    for (int c = 0; c < TOPO_LINK_CLASSES; c++) {
        const char *name = topo_link_name((enum topo_link_class)c);
        size_t n = strlen(name);

        if (c == TOPO_LINK_FLOW || strncmp(r->at, name, n) != 0 || r->at[n] != '@')
            continue;
        e->of = c;
        r->at += n;
        return 0;
    }
    return -EINVAL;
}

/* A list of NODE.WHAT@RATE. */
static int read_exceptions(struct reader *r, struct topo_exceptions *x,
                           int (*read_what)(struct reader *r, struct topo_exception *e),
                           const char *expected)
{
    double node;

    for (;;) {
        const char *ahead;

        if (x->n == TOPO_MAX)
            return fail(r, "a list has 1 to %d values", TOPO_MAX);
        if (x->n == x->room) {
            size_t room = x->room ? 2 * x->room : 8;
            struct topo_exception *larger = realloc(x->list, room * sizeof *larger);

            if (!larger)
                return -ENOMEM;
            x->list = larger;
            x->room = room;
        }
        struct topo_exception *e = &x->list[x->n++];
        if (read_integer(&r->at, &node) < 0 || *r->at++ != '.' || read_what(r, e) < 0 ||
            *r->at++ != '@' || topo_read_rate(&r->at, &e->rate) < 0)
            return fail(r, "expected rates such as %s", expected);
        e->node = (int)node;
        ahead = skip_blanks(r->at);
        if (*ahead != ',' || (ahead = skip_blanks(ahead + 1), !text_is_digit(*ahead)))
            return 0;
        r->at = ahead;
    }
}

static int read_rail_rate(struct reader *r, void *field)
{
    return read_exceptions(r, field, read_rail_of_node,
                           "1.2@50Mbit (node 1, rail 2) or 1.2out@50Mbit");
}

static int read_link_rate(struct reader *r, void *field)
{
    return read_exceptions(r, field, read_class_of_node,
                           "1.nvlink@25GB/s (node 1; or shm, pcie, socket, reduce, reduce_gpu)");
}

static int read_rail_of(struct reader *r, void *field)
{
    struct topo_words *w = field;

    if (skip_word(r, "all")) {
        w->rail_of_all = 1;
        return 0;
    }
    return read_list(r, &w->rail_of, read_integer,
                     "all, or the rail of each rank such as 0,1,2,3 (-1: all rails)");
}

static int read_rate(struct reader *r, void *field)
{
    return topo_read_rate(&r->at, field) < 0 ? fail(r, "expected %s", TOPO_RATE_EXPECTED) : 0;
}

static int read_time(struct reader *r, void *field)
{
    return topo_read_time(&r->at, field) < 0 ? fail(r, "expected %s", TOPO_TIME_EXPECTED) : 0;
}

static int read_times(struct reader *r, void *field)
{
    return read_list(r, field, topo_read_time, TOPO_TIME_EXPECTED);
}

#define AT(field) offsetof(struct topo_words, field)

static const struct word {
    const char *name;
    int (*read)(struct reader *r, void *field);
    size_t offset; /* of the field in struct topo_words; 0: the whole struct */
} words[] = {
    {"node", read_count, AT(node)},
    {"socket", read_count, AT(socket)},
    {"gpu", read_count, AT(gpu)},
    {"rank", read_ranks, AT(rank)},
    {"rail", read_rail, 0},
    {"rail_rate", read_rail_rate, AT(rail_rate)},
    {"link_rate", read_link_rate, AT(link_rate)},
    {"place", read_place, 0},
    {"socket_of", read_integers, AT(socket_of)},
    {"gpu_of", read_integers, AT(gpu_of)},
    {"rail_of", read_rail_of, 0},
    {"link_shm", read_rate, AT(link[TOPO_LINK_SHM].bw_bytes_per_s)},
    {"link_nvlink", read_rate, AT(link[TOPO_LINK_NVLINK].bw_bytes_per_s)},
    {"link_pcie", read_rate, AT(link[TOPO_LINK_PCIE].bw_bytes_per_s)},
    {"link_socket", read_rate, AT(link[TOPO_LINK_SOCKET].bw_bytes_per_s)},
    {"link_reduce", read_rate, AT(link[TOPO_LINK_REDUCE].bw_bytes_per_s)},
    {"link_reduce_gpu", read_rate, AT(link[TOPO_LINK_REDUCE_GPU].bw_bytes_per_s)},
    {"link_flow", read_rate, AT(link[TOPO_LINK_FLOW].bw_bytes_per_s)},
    {"latency_rail", read_times, AT(rail_latency)},
    {"latency_shm", read_time, AT(link[TOPO_LINK_SHM].latency_ns)},
    {"latency_nvlink", read_time, AT(link[TOPO_LINK_NVLINK].latency_ns)},
    {"latency_pcie", read_time, AT(link[TOPO_LINK_PCIE].latency_ns)},
    {"latency_socket", read_time, AT(link[TOPO_LINK_SOCKET].latency_ns)},
    {"latency_reduce", read_time, AT(link[TOPO_LINK_REDUCE].latency_ns)},
    {"latency_flow", read_time, AT(link[TOPO_LINK_FLOW].latency_ns)},
    {"latency_reduce_gpu", read_time, AT(link[TOPO_LINK_REDUCE_GPU].latency_ns)},
};
#define NWORDS (sizeof words / sizeof *words)

static int unknown_word(struct reader *r, const char *name)
{
    struct nearest n = nearest_to(name);

    for (size_t i = 0; i < NWORDS; i++)
        nearest_offer(&n, words[i].name);
    if (n.best)
        return fail(r, "no such word; the nearest is %s", n.best);
    return fail(r, "no such word; expected node, socket, gpu, rank, rail, place ...");
}

/* Read one `name:value`; given: a bit per word that was read before. */
static int read_word(struct reader *r, struct topo_words *w, unsigned *given)
{
    char name[32];
    size_t i, n = 0;
    int code;

    r->word = r->at;
    while (text_is_letter(r->at[n]) || r->at[n] == '_')
        n++;
    if (r->at[n] != ':')
        return fail(r, "expected words such as node:4%s",
                    r->file || r->word != r->begin ? "" : "; there is no such file either");
    text_show(name, sizeof name, r->at, n);
    for (i = 0; i < NWORDS && strcmp(name, words[i].name); i++)
        ;
    if (i == NWORDS)
        return unknown_word(r, name);
    if (*given & 1u << i)
        return fail(r, "%s: is given twice", name);
    *given |= 1u << i;
    r->at += n + 1;
    code = words[i].read(r, (char *)w + words[i].offset);
    if (code)
        return code;
    if (*r->at && !text_is_blank(*r->at) && *r->at != ',' && *r->at != '#')
        return fail(r, "`%c` cannot follow here; words are separated by blanks", *r->at);
    return 0;
}

static int read_words(struct reader *r, struct topo_words *w)
{
    unsigned given = 0;

    _Static_assert(NWORDS <= 32, "one bit per word");
    for (;;) {
        r->at = skip_blanks(r->at);
        if (*r->at == ',' && given) {
            r->at++;
            continue;
        }
        if (!*r->at)
            break;
        int code = read_word(r, w, &given);

        if (code)
            return code;
    }
    r->word = r->at;
    if (!given) {
        snprintf(r->why, r->why_size,
                 "%s%sempty; expected words such as node:4 socket:2 gpu:2 rail:4",
                 r->file ? r->file : "", r->file ? ": " : "");
        return -EINVAL;
    }
    return 0;
}

static int parse_text(struct reader *r, int nranks, struct topo **topo_p)
{
    struct topo_words w = {0};
    char why[256] = "";
    int code = read_words(r, &w);

    if (code == 0) {
        code = topo_shape(&w, nranks, topo_p, why, sizeof why);
        if (code == -EINVAL)
            snprintf(r->why, r->why_size, "%s%s%s", r->file ? r->file : "", r->file ? ": " : "",
                     why);
    }
    free(w.rank.value);
    free(w.place_list.value);
    free(w.socket_of.value);
    free(w.gpu_of.value);
    free(w.rail_of.value);
    free(w.rail_bw.value);
    free(w.rail_latency.value);
    free(w.rail_rate.list);
    free(w.link_rate.list);
    return code;
}

/* Rates hold a slash and paths may hold a colon, so neither alone decides. */
static int is_path(const char *text)
{
    struct stat st;

    if (!*text)
        return 0;
    return *text == '/' || *text == '.' || (strchr(text, '/') && !strchr(text, ':')) ||
           stat(text, &st) == 0;
}

int topo_parse(const char *text, int nranks, struct topo **topo_p, char *why, size_t why_size)
{
    struct reader r = {.begin = text, .at = text, .word = text, .why = why, .why_size = why_size};
    const char *reason;
    char *content;
    size_t size;
    int code;

    if (!is_path(text))
        return parse_text(&r, nranks, topo_p);
    code = config_read_file(text, FILE_LIMIT, &content, &size, &reason);
    if (code < 0) {
        snprintf(why, why_size, "%s: %s", text, reason);
        return code == -ENOMEM ? -ENOMEM : -EINVAL;
    }
    r.file = text;
    r.begin = r.at = r.word = content;
    if (strlen(content) != size) {
        r.word = content + strlen(content);
        code = fail(&r, "a NUL byte; expected a text file");
    } else {
        code = parse_text(&r, nranks, topo_p);
    }
    free(content);
    return code;
}
