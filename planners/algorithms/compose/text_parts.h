/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of a composition as text, each in a file of its own:
 *
 *   text_words.c  from characters to words
 *   text_read.c   the language: from words to the primitives of a topology
 *   text_plan.c   one rank's plan of them
 *   text.c        the row: which texts there are, and what the checker said of them
 */
#ifndef COLLSHIM_PLANNERS_TEXT_PARTS_H
#define COLLSHIM_PLANNERS_TEXT_PARTS_H

#include "planners/algorithms/compose/compose_parts.h"

enum {
    TEXT_NESTING = 16,      /* of parentheses, and of loops */
    TEXT_MOST_STEPS = 4096, /* each has two tags */
    TEXT_MOST_PRIMITIVES = 1 << 18,
    TEXT_MOST_WORK = 1 << 26,  /* words read, with the turns of loops */
    TEXT_MOST_LEAVES = 1 << 22 /* of all primitives together */
};

/* A word or a sign. */
struct text_token {
    uint32_t at;     /* in the content */
    uint32_t length; /* of a word; the value of a number */
    char kind;       /* 'n' number, 'a' word, '.' "..", '>' "->", 0 the end, else the sign itself */
};

struct text {
    char *name;    /* owned: the file, for messages */
    char *content; /* [size] owned */
    size_t size;
    struct text_token *token; /* [ntokens] owned; the last one is the end */
    uint32_t ntokens;
    uint32_t machine_token;
    char machine[256]; /* the recipe for compose_shape_open */
    char recipe[576];  /* of requests: NAME@HASH */
    struct text *next; /* owned */
};

/* Takes content, which ends with a 0. Returns 0 and *t (text_free), or -EINVAL or -ENOMEM with one
   line in why; content is freed then. */
int text_read(const char *name, char *content, size_t size, struct text **t, char *why,
              size_t why_size);
void text_free(struct text *t); /* NULL is fine */

/* Fill t->token and t->machine from t->content. Returns 0, or -EINVAL or -ENOMEM with one line in
   why. */
int text_read_words(struct text *t, char *why, size_t why_size);

/* A line for people: "FILE:LINE:COLUMN: ...". Returns -EINVAL. */
int text_wrong(const struct text *t, uint32_t token, char *why, size_t why_size, const char *format,
               ...) __attribute__((format(printf, 5, 6)));

/* A primitive of the text. Blocks: a rank's vector has one for each rank, and as many again, which
   are scratch. */
struct text_primitive {
    uint8_t kind;         /* enum compose_kind */
    uint8_t root_inside;  /* the root is named among the leaves */
    uint8_t alone;        /* no other rank is */
    int step;             /* from 1 */
    int root, leaf;       /* as in struct compose_primitive */
    uint32_t only, nonly; /* list.leaf[only ... only + nonly): addresses; none: all */
    uint32_t from, to, blocks;
    uint32_t token; /* where it stands */
    uint64_t ranks; /* bits number rank % 64 of those that may have a part in it */
};

struct text_list {
    struct text_primitive *primitive; /* [n] owned */
    uint64_t *leaf;                   /* [leaves] owned */
    size_t n, room, leaves, leaf_room;
    uint64_t reached; /* leaves of all primitives */
    int steps;
};

/* The primitives of a topology and a root. 0, or -EINVAL with one line in why, or -ENOMEM. Close it
   in every case. */
int text_list_open(struct text_list *l, const struct text *t, const struct compose_shape *s,
                   int root, char *why, size_t why_size);
void text_list_close(struct text_list *l);

/* A text for a request: what is the same on all ranks. */
struct text_work {
    const struct plan_request *q; /* borrowed; rank and in_place count nothing here */
    const struct text *t;         /* borrowed */
    struct compose_shape shape;
    struct text_list list;
    size_t *sizes;  /* [nranks] owned: the blocks */
    uint64_t *from; /* [nranks] owned: their places */
    uint64_t total;
    size_t chunk_bytes;
};

/* 0, or -EINVAL with one line in why, or -ENOMEM. Close it in every case. */
int text_work_open(struct text_work *w, const struct plan_request *q, const struct text *t,
                   char *why, size_t why_size);
void text_work_close(struct text_work *w);

/* The plan of q->rank, where q differs from w->q in rank and in_place alone. 0 and *plan_p, or
   -EINVAL with one line in why (a rank reads what it has not, or two primitives clash), or -ENOMEM
   or -EOVERFLOW. */
int text_plan(const struct text_work *w, const struct plan_request *q, struct plan **plan_p,
              char *why, size_t why_size);

#endif
