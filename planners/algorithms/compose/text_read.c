/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The language of compositions. One descent over a text's words is both the check of the form, when
 * a text is read, and its run on a topology: a loop's body is read again for each turn. Only loops
 * over ranges exist, so every text ends.
 *
 *     text       = { "machine" "(" recipe ")" | "fence" | loop | primitive | ";" }
 *     loop       = "for" NAME "in" ( "all" | value ".." value ) "{" text "}"
 *     primitive  = "multicast" "(" value ";" ranks [ ";" bytes ] ")"
 *                | "reduction" "(" ranks ";" value ";" [ bytes ";" ] "op" ")"
 *     ranks      = item { "," item }     item = "all" | "others" | "on" "(" value ")" | span
 *     bytes      = blocks [ "->" blocks ]     blocks = "whole" | "block" span
 *     span       = value [ ".." value ]
 *
 * A value has + - * / % and parentheses over numbers, names of loops, p, nodes, root, node(r),
 * local(r), size(n) and rank(n,l).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/text.h"
#include "planners/algorithms/compose/text_parts.h"

struct reader {
    const struct text *t;
    const struct compose_shape *s; /* NULL: the form alone counts */
    int root;
    struct text_list *list;
    uint32_t at;   /* token */
    int skips;     /* likewise, in a loop without turns */
    int depth;     /* parentheses and loops that are open */
    uint64_t work; /* tokens and turns so far */
    struct {
        uint32_t token;
        int64_t value;
    } variable[TEXT_NESTING];
    int nvariables;
    char *why;
    size_t why_size;
    int rc;
};

/* The first thing that is wrong is told. */
#define WRONG(r, token, ...)                                                                       \
    ((r)->rc = (r)->rc ? (r)->rc : text_wrong((r)->t, token, (r)->why, (r)->why_size, __VA_ARGS__))

static const struct text_token *now(const struct reader *r)
{
    return &r->t->token[r->at];
}

/* Does the form alone count? */
static int is_dry(const struct reader *r)
{
    return !r->s || r->skips || r->rc;
}

static int is_word(const struct reader *r, uint32_t token, const char *word)
{
    const struct text_token *k = &r->t->token[token];

    return k->kind == 'a' && k->length == strlen(word) &&
           !memcmp(r->t->content + k->at, word, k->length);
}

/* A token as the user wrote it. */
static const char *shown(const struct reader *r, uint32_t token, char text[32])
{
    const struct text_token *k = &r->t->token[token];
    size_t n = k->kind == 'a' ? k->length : k->kind == '.' || k->kind == '>' ? 2 : 1;
    char word[24];

    if (!k->kind)
        return "the end";
    while (k->kind == 'n' && text_is_digit(r->t->content[k->at + n]))
        n++;
    snprintf(text, 32, "'%s'", text_show(word, sizeof word, r->t->content + k->at, n));
    return text;
}

static int take(struct reader *r, char kind)
{
    return !r->rc && now(r)->kind == kind ? (r->at++, 1) : 0;
}

static int take_word(struct reader *r, const char *word)
{
    return !r->rc && is_word(r, r->at, word) ? (r->at++, 1) : 0;
}

static void expect(struct reader *r, char kind, const char *right)
{
    char text[32];

    if (!take(r, kind))
        WRONG(r, r->at, "%s; expected %s", shown(r, r->at, text), right);
}

static int64_t value(struct reader *r);

/* Enter a part that may hold others of its kind. */
static int enter(struct reader *r)
{
    if (++r->depth > TEXT_NESTING)
        WRONG(r, r->at, "more than %d open parentheses and loops", TEXT_NESTING);
    return !r->rc;
}

/* A value that must be 0 ... end - 1. */
static int64_t within(struct reader *r, uint32_t token, int64_t v, int64_t end, const char *what)
{
    if (is_dry(r))
        return 0;
    if (v < 0 || v >= end)
        WRONG(r, token, "%s %lld; there are 0 to %lld", what, (long long)v, (long long)end - 1);
    return r->rc ? 0 : v;
}

static int64_t rank_value(struct reader *r)
{
    uint32_t token = r->at;
    int64_t v = value(r);

    return within(r, token, v, r->s ? r->s->t->nranks : 1, "rank");
}

static int64_t node_value(struct reader *r)
{
    uint32_t token = r->at;
    int64_t v = value(r);

    return within(r, token, v, r->s ? r->s->t->nnodes : 1, "node");
}

/* NAME(...): a fact of the topology. */
static int64_t function(struct reader *r, uint32_t name)
{
    const struct topo *t = is_dry(r) ? NULL : r->s->t;
    int64_t v = 0;

    if (is_word(r, name, "node") || is_word(r, name, "local")) {
        v = rank_value(r);
        if (t && !r->rc)
            v = is_word(r, name, "node") ? t->rank[v].node : t->rank[v].local;
    } else if (is_word(r, name, "size")) {
        v = node_value(r);
        v = t && !r->rc ? topo_node_size(t, (int)v) : 0;
    } else if (is_word(r, name, "rank")) {
        int node = (int)node_value(r);

        expect(r, ',', "',' and a place in the node");
        uint32_t token = r->at;
        int64_t local = value(r);
        local = within(r, token, local, t ? topo_node_size(t, node) : 1, "place");
        v = t && !r->rc ? topo_node_rank(t, node, (int)local) : 0;
    } else
        WRONG(r, name, "no such function; there is node, local, size, rank");
    expect(r, ')', "')'");
    return v;
}

static int64_t named(struct reader *r, uint32_t name)
{
    const struct text_token *k = &r->t->token[name];
    char text[32];

    for (int i = r->nvariables; i-- > 0;) {
        const struct text_token *v = &r->t->token[r->variable[i].token];
        if (v->length == k->length &&
            !memcmp(r->t->content + v->at, r->t->content + k->at, k->length))
            return r->variable[i].value;
    }
    if (is_word(r, name, "p"))
        return r->s ? r->s->t->nranks : 1;
    if (is_word(r, name, "nodes"))
        return r->s ? r->s->t->nnodes : 1;
    if (is_word(r, name, "root"))
        return r->root;
    WRONG(r, name, "no value %s; there is p, nodes, root and the names of loops around",
          shown(r, name, text));
    return 0;
}

static int64_t factor(struct reader *r)
{
    uint32_t token = r->at;
    char text[32];
    int64_t v = 0;

    if (take(r, 'n'))
        return r->t->token[token].length;
    if (take(r, '(')) {
        if (enter(r))
            v = value(r);
        r->depth--;
        expect(r, ')', "')'");
    } else if (take(r, 'a')) {
        if (!take(r, '('))
            return named(r, token);
        if (enter(r))
            v = function(r, token);
        r->depth--;
    } else
        WRONG(r, token, "%s; expected a number or a name", shown(r, token, text));
    return v;
}

static int64_t apply(struct reader *r, uint32_t sign, int64_t a, int64_t b)
{
    char kind = r->t->token[sign].kind;
    int64_t v = 0;

    if (kind == '/' || kind == '%') {
        if (b && b != -1) /* the processor traps at INT64_MIN / -1 */
            return kind == '/' ? a / b : a % b;
        if (!b && !is_dry(r))
            WRONG(r, sign, "division by 0");
        if (b && kind == '/' && __builtin_sub_overflow(0, a, &v))
            WRONG(r, sign, "the value is too large");
        return v;
    }
    if (kind == '+'   ? __builtin_add_overflow(a, b, &v)
        : kind == '-' ? __builtin_sub_overflow(a, b, &v)
                      : __builtin_mul_overflow(a, b, &v))
        WRONG(r, sign, "the value is too large");
    return v;
}

static int64_t term(struct reader *r)
{
    int64_t v = factor(r);

    for (uint32_t sign = r->at; take(r, '*') || take(r, '/') || take(r, '%'); sign = r->at)
        v = apply(r, sign, v, factor(r));
    return v;
}

static int64_t value(struct reader *r)
{
    int64_t v = term(r);

    for (uint32_t sign = r->at; take(r, '+') || take(r, '-'); sign = r->at)
        v = apply(r, sign, v, term(r));
    return v;
}

/* Returns the memory, or NULL. */
static void *room_for(struct reader *r, void *list, size_t n, size_t *room, size_t size)
{
    if (n < *room)
        return list;
    size_t more = *room ? 2 * *room : 64;
    void *larger = realloc(list, more * size);
    if (!larger)
        r->rc = r->rc ? r->rc : -ENOMEM;
    else
        *room = more;
    return larger;
}

static void add_rank(struct reader *r, int64_t rank)
{
    struct text_list *l = r->list;

    if (is_dry(r))
        return;
    if (l->leaves >= TEXT_MOST_LEAVES) {
        WRONG(r, r->at, "more than %d ranks are named", TEXT_MOST_LEAVES);
        return;
    }
    uint64_t *leaf = room_for(r, l->leaf, l->leaves, &l->leaf_room, sizeof *leaf);
    if (!leaf)
        return;
    l->leaf = leaf;
    leaf[l->leaves++] = compose_address(r->s, (int)rank);
}

/* The ranks of a primitive. Explicit ones are appended to the list's leaves. */
struct named_ranks {
    uint32_t token;
    int all, others;
};

static void read_item(struct reader *r, struct named_ranks *ranks)
{
    if (take_word(r, "all"))
        ranks->all = 1;
    else if (take_word(r, "others"))
        ranks->others = 1;
    else if (is_word(r, r->at, "on") && r->t->token[r->at + 1].kind == '(') {
        r->at += 2;
        int node = (int)node_value(r);

        expect(r, ')', "')'");
        for (int i = 0; !is_dry(r) && i < topo_node_size(r->s->t, node); i++)
            add_rank(r, topo_node_rank(r->s->t, node, i));
    } else {
        int64_t from = rank_value(r), to = take(r, '.') ? rank_value(r) : from;

        for (; !r->rc && from <= to; from++)
            add_rank(r, from);
    }
}

static struct named_ranks read_ranks(struct reader *r)
{
    struct named_ranks ranks = {.token = r->at};

    do
        read_item(r, &ranks);
    while (take(r, ','));
    if (ranks.all + ranks.others && (ranks.all + ranks.others > 1 || r->at > ranks.token + 1))
        WRONG(r, ranks.token, "all and others stand alone");
    return ranks;
}

static int by_address(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* Sort the leaves from p->only on; the root is told apart. */
static void settle_leaves(struct reader *r, struct text_primitive *p, struct named_ranks named)
{
    struct text_list *l = r->list;
    uint64_t *leaf = l->leaf + p->only, root = compose_address(r->s, p->root);
    size_t n = l->leaves - p->only, kept = 0, others = (size_t)r->s->t->nranks - 1;

    if (n)
        qsort(leaf, n, sizeof *leaf, by_address);
    for (size_t i = 0; i < n; i++) {
        if (i && leaf[i] == leaf[i - 1])
            WRONG(r, named.token, "rank %d stands there twice", compose_rank_at(r->s, leaf[i]));
        p->root_inside |= leaf[i] == root;
    }
    for (size_t i = 0; i < n; i++)
        if (leaf[i] != root)
            leaf[kept++] = leaf[i];
    p->root_inside |= (uint8_t)named.all;
    if (named.all || named.others)
        kept = others;
    else if (!n)
        WRONG(r, named.token, "no rank is named");
    p->alone = !kept;
    l->reached += kept + 1;
    p->leaf = COMPOSE_EVERYONE;
    if (kept == 1 && others > 1 && (p->kind == COMPOSE_MULTICAST || !p->root_inside))
        p->leaf = compose_rank_at(r->s, leaf[0]);
    p->nonly = kept < others && p->leaf == COMPOSE_EVERYONE ? (uint32_t)kept : 0;
    l->leaves = p->only + p->nonly;
    p->ranks = p->leaf == COMPOSE_EVERYONE ? ~0ull : compose_passes(r->s, p->root, p->leaf);
}

/* blocks. Returns how many. */
static uint32_t read_blocks(struct reader *r, uint32_t *first)
{
    uint32_t token = r->at;
    char text[32];
    int64_t from = 0, to = 0, end = r->s ? 2 * (int64_t)r->s->t->nranks : 1;

    if (take_word(r, "whole")) {
        *first = 0;
        return r->s ? (uint32_t)r->s->t->nranks : 1;
    }
    if (!take_word(r, "block"))
        WRONG(r, token, "%s; expected whole, or block and a number", shown(r, token, text));
    else {
        from = value(r);
        to = take(r, '.') ? value(r) : from;
    }
    from = within(r, token, from, end, "block");
    to = within(r, token, to, end, "block");
    if (!is_dry(r) && to < from)
        WRONG(r, token, "blocks %lld to %lld are none", (long long)from, (long long)to);
    *first = (uint32_t)from;
    return (uint32_t)(to - from + 1);
}

static void read_bytes(struct reader *r, struct text_primitive *p)
{
    uint32_t token = r->at, n;

    p->blocks = read_blocks(r, &p->from);
    p->to = p->from;
    if (!take(r, '>'))
        return;
    n = read_blocks(r, &p->to);
    if (!is_dry(r) && n != p->blocks)
        WRONG(r, token, "%u block%s to %u; as many are right", p->blocks, p->blocks == 1 ? "" : "s",
              n);
}

static void add_primitive(struct reader *r, struct text_primitive *p, struct named_ranks named)
{
    struct text_list *l = r->list;

    if (is_dry(r))
        return;
    settle_leaves(r, p, named);
    if (l->n == TEXT_MOST_PRIMITIVES || l->reached > TEXT_MOST_LEAVES) {
        WRONG(r, p->token, "more than %d primitives, or %d leaves of them, on %d ranks",
              TEXT_MOST_PRIMITIVES, TEXT_MOST_LEAVES, r->s->t->nranks);
        return;
    }
    struct text_primitive *all = room_for(r, l->primitive, l->n, &l->room, sizeof *all);
    if (!all)
        return;
    l->primitive = all;
    p->step = l->steps;
    all[l->n++] = *p;
}

static void read_primitive(struct reader *r, enum compose_kind kind)
{
    struct text_primitive p = {.kind = (uint8_t)kind,
                               .token = r->at - 1,
                               .only = r->list ? (uint32_t)r->list->leaves : 0,
                               .blocks = r->s ? (uint32_t)r->s->t->nranks : 1};
    struct named_ranks named;

    expect(r, '(', "'('");
    if (kind == COMPOSE_MULTICAST) {
        p.root = (int)rank_value(r);
        expect(r, ';', "';' and the ranks that get it");
        named = read_ranks(r);
        if (take(r, ';'))
            read_bytes(r, &p);
    } else {
        named = read_ranks(r);
        expect(r, ';', "';' and the rank that gets it");
        p.root = (int)rank_value(r);
        expect(r, ';', "';' and op, or bytes and then op");
        if (is_word(r, r->at, "whole") || is_word(r, r->at, "block")) {
            read_bytes(r, &p);
            expect(r, ';', "';' and op");
        }
        if (!take_word(r, "op"))
            WRONG(r, r->at, "the program's call says the operation; op stands for it");
    }
    expect(r, ')', "')'");
    add_primitive(r, &p, named);
}

static void statements(struct reader *r, char end);

/* Loops inside loops end, but they may take long. */
static void count_work(struct reader *r, uint32_t start)
{
    r->work += r->at - start + 1;
    if (r->work > TEXT_MOST_WORK)
        WRONG(r, start, "the loops take too long: more than %d words are read", TEXT_MOST_WORK);
}

/* "for" is read. */
static void read_loop(struct reader *r)
{
    uint32_t name = r->at;
    int64_t from = 0, to = r->s ? r->s->t->nranks - 1 : 0;

    expect(r, 'a', "a name");
    if (!take_word(r, "in"))
        WRONG(r, r->at, "expected in, then all or a range such as 0..p-1");
    if (!take_word(r, "all")) {
        from = value(r);
        expect(r, '.', "'..'");
        to = value(r);
    }
    expect(r, '{', "'{'");
    if (!enter(r))
        return;
    if (r->nvariables == TEXT_NESTING)
        WRONG(r, name, "more than %d loops inside each other", TEXT_NESTING);
    else
        r->variable[r->nvariables++].token = name;
    int skips = is_dry(r) || from > to;
    uint32_t body = r->at;
    for (r->skips += skips; !r->rc && (skips || from <= to); from++) {
        r->at = body;
        r->variable[r->nvariables - 1].value = from;
        statements(r, '}');
        count_work(r, body);
        if (skips)
            break;
    }
    r->skips -= skips;
    r->nvariables--;
    r->depth--;
    expect(r, '}', "'}'");
}

static void statements(struct reader *r, char end)
{
    char text[32];

    while (!r->rc && now(r)->kind != end) {
        if (take(r, ';'))
            continue;
        if (take_word(r, "multicast"))
            read_primitive(r, COMPOSE_MULTICAST);
        else if (take_word(r, "reduction"))
            read_primitive(r, COMPOSE_REDUCTION);
        else if (take_word(r, "for"))
            read_loop(r);
        else if (!take_word(r, "fence"))
            WRONG(r, r->at, "%s; expected machine, for, multicast, reduction or fence%s",
                  shown(r, r->at, text), end ? ", or '}'" : "");
        else if (!is_dry(r) && ++r->list->steps > TEXT_MOST_STEPS)
            WRONG(r, r->at - 1, "more than %d fences", TEXT_MOST_STEPS);
    }
}

int text_list_open(struct text_list *l, const struct text *t, const struct compose_shape *s,
                   int root, char *why, size_t why_size)
{
    struct reader r = {.t = t, .s = s, .root = root, .list = l, .why = why, .why_size = why_size};

    *l = (struct text_list){.steps = 1};
    statements(&r, 0);
    return r.rc;
}

void text_list_close(struct text_list *l)
{
    free(l->primitive);
    free(l->leaf);
    *l = (struct text_list){0};
}

int text_read(const char *name, char *content, size_t size, struct text **t_p, char *why,
              size_t why_size)
{
    struct text *t = calloc(1, sizeof *t);

    if (!t) {
        free(content);
        return -ENOMEM;
    }
    t->content = content;
    t->size = size;
    t->name = strdup(name);
    int rc = t->name ? text_read_words(t, why, why_size) : -ENOMEM;
    if (!rc) {
        struct reader r = {.t = t, .why = why, .why_size = why_size};

        statements(&r, 0);
        rc = r.rc;
    }
    if (rc)
        text_free(t);
    else
        *t_p = t;
    return rc;
}

void text_free(struct text *t)
{
    if (!t)
        return;
    free(t->name);
    free(t->content);
    free(t->token);
    free(t);
}
