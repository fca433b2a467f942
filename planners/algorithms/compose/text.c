/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The texts of this process and the checker's verdicts on them. Both stay until it ends: a text is
 * named by settings, and a verdict is asked for with every call.
 */
#include "planners/algorithms/compose/text.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/hash.h"
#include "planners/algorithms/compose/text_parts.h"
#include "planners/check/check.h"

enum {
    MOST_TEXTS = 64,
    MOST_VERDICTS = 1 << 12, /* then the oldest one goes */
    MOST_PROOF = 1 << 26     /* primitives, and ranks, of all ranks */
};

/* The checker's answer. */
struct text_verdict {
    const struct text *t;
    uint64_t topology;
    int collective, root, memory;
    char *why; /* owned; NULL: it serves */
};

static struct {
    pthread_mutex_t lock;
    struct text *first;
    struct text_verdict *verdict; /* [MOST_VERDICTS] owned */
    size_t n;                     /* of all so far */
} texts = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The text of a recipe, or NULL. texts.lock is held; a text never changes. */
static const struct text *find(const char *recipe)
{
    const struct text *t = texts.first;

    while (t && strcmp(t->recipe, recipe) != 0)
        t = t->next;
    return t;
}

static int keep(const char *recipe, const char *name, const char *content, size_t size, char *why,
                size_t why_size)
{
    char *copy = malloc(size + 1);
    struct text *t;
    int n = 0, rc;

    for (t = texts.first; t; t = t->next)
        n++;
    if (n == MOST_TEXTS) {
        snprintf(why, why_size, "%s: more than %d texts", name, MOST_TEXTS);
        free(copy);
        return -EINVAL;
    }
    if (!copy)
        return -ENOMEM;
    memcpy(copy, content, size);
    copy[size] = 0;
    rc = text_read(name, copy, size, &t, why, why_size);
    if (rc)
        return rc;
    snprintf(t->recipe, sizeof t->recipe, "%s", recipe);
    t->next = texts.first;
    texts.first = t;
    return 0;
}

int text_keep(const char *name, const char *content, size_t size, const char *wanted, char *recipe,
              size_t recipe_size, char *why, size_t why_size)
{
    uint64_t hash = hash_bytes(HASH_SEED, content, size);
    char digits[17];
    int rc = 0;

    snprintf(digits, sizeof digits, "%016llx", (unsigned long long)hash);
    if (wanted && strcmp(wanted, digits) != 0) {
        snprintf(why, why_size, "%s: its hash is %s, not %s: it has changed; name it again without",
                 name, digits, wanted);
        return -EINVAL;
    }
    int n = snprintf(recipe, recipe_size, "%s@%s", name, digits);
    if (n < 0 || (size_t)n >= recipe_size || (size_t)n >= sizeof texts.first->recipe) {
        snprintf(why, why_size, "the name of the text is too long");
        return -EINVAL;
    }
    pthread_mutex_lock(&texts.lock);
    if (!find(recipe))
        rc = keep(recipe, name, content, size, why, why_size);
    pthread_mutex_unlock(&texts.lock);
    if (rc == -ENOMEM)
        snprintf(why, why_size, "%s: out of memory", name);
    return rc;
}

/* All ranks' plans, checked together. */
static int prove_plans(const struct text_work *w, int in_place, char *why, size_t why_size)
{
    struct plan_request q = *w->q;
    int nranks = q.topo->nranks, rc = 0;
    struct plan **plan = calloc((size_t)nranks, sizeof(struct plan *));
    char wrong[192];

    if (!plan)
        return -ENOMEM;
    q.in_place = in_place;
    for (q.rank = 0; !rc && q.rank < nranks; q.rank++)
        rc = text_plan(w, &q, &plan[q.rank], why, why_size);
    if (!rc && (rc = plan_check(&q, (const struct plan *const *)plan, wrong, sizeof wrong)))
        snprintf(why, why_size, "%s: it is no %s%s: %s", w->t->name,
                 plan_collective_name(q.collective), in_place ? " in place" : "", wrong);
    for (int r = 0; r < nranks; r++)
        plan_free(plan[r]);
    free(plan);
    return rc;
}

/* The request that stands for those of all sizes: two chunks for each stripe of a block. */
static int prove(const struct plan_request *asked, const struct text *t, char *why, size_t why_size)
{
    enum { CHUNK = 4096 };
    struct plan_request q = {.collective = asked->collective,
                             .topo = asked->topo,
                             .root = asked->root,
                             .grain = 1,
                             .chunk_bytes = CHUNK,
                             .memory = asked->memory};
    enum plan_collective c = asked->collective;
    uint64_t nranks = (uint64_t)q.topo->nranks;
    struct text_work w;
    int places = c == COLL_ALLREDUCE || plan_gathers(c) || plan_scatters(c) ||
                 c == COLL_ALLGATHER || c == COLL_ALLGATHERV;
    int rc = text_work_open(&w, &q, t, why, why_size);

    if (!rc && nranks * (nranks + w.list.n) > MOST_PROOF) {
        snprintf(why, why_size, "%s: %zu primitives on %d ranks are too many to be proved", t->name,
                 w.list.n, q.topo->nranks);
        rc = -EINVAL;
    }
    if (!rc) {
        q.nbytes =
            (size_t)(2 * CHUNK * (uint64_t)w.shape.stripe * (plan_is_vector(c) ? nranks : 1));
        text_work_close(&w);
        rc = text_work_open(&w, &q, t, why, why_size);
        w.chunk_bytes = CHUNK;
    }
    for (int in_place = 0; !rc && in_place <= places; in_place++)
        rc = prove_plans(&w, in_place, why, why_size);
    text_work_close(&w);
    return rc;
}

static int is_of(const struct text_verdict *a, const struct text_verdict *b)
{
    return a->t == b->t && a->topology == b->topology && a->collective == b->collective &&
           a->root == b->root && a->memory == b->memory;
}

static int add_verdict(struct text_verdict v)
{
    if (!texts.verdict && !(texts.verdict = calloc(MOST_VERDICTS, sizeof *texts.verdict)))
        return -ENOMEM;
    struct text_verdict *place = &texts.verdict[texts.n++ % MOST_VERDICTS];
    free(place->why);
    *place = v;
    return 0;
}

/* texts.lock is held. 0: it may serve; -EINVAL with a line in why; -ENOMEM: not known. */
static int judge(const struct plan_request *q, const struct text *t, char *why, size_t why_size)
{
    struct text_verdict asked = {.t = t,
                                 .topology = topo_hash(q->topo),
                                 .collective = (int)q->collective,
                                 .root = plan_is(q->collective, PLAN_ROOTED) ? q->root : 0,
                                 .memory = (int)q->memory};
    size_t known = texts.n < MOST_VERDICTS ? texts.n : MOST_VERDICTS;
    char said[256] = "";

    for (size_t i = 0; i < known; i++)
        if (is_of(&texts.verdict[i], &asked)) {
            const char *because = texts.verdict[i].why;
            snprintf(why, why_size, "%s", because ? because : "");
            return because ? -EINVAL : 0;
        }
    int rc = prove(q, t, said, sizeof said);
    if (rc && rc != -EINVAL)
        return -ENOMEM;
    snprintf(why, why_size, "%s", said);
    if (rc && !(asked.why = strdup(said)))
        return rc;
    if (add_verdict(asked))
        free(asked.why);
    return rc;
}

/* The text that may serve q, or NULL. */
static int admit(const struct plan_request *q, const struct text **t, char *why, size_t why_size)
{
    int rc = -EINVAL;

    pthread_mutex_lock(&texts.lock);
    *t = find(q->recipe ? q->recipe : "");
    if (*t)
        rc = judge(q, *t, why, why_size);
    else
        snprintf(why, why_size, "text takes a file, as in text:FILE");
    pthread_mutex_unlock(&texts.lock);
    return rc;
}

static int text_build(const struct plan_request *q, struct plan **plan_p)
{
    const struct text *t;
    struct text_work w;
    char why[256];
    int rc = admit(q, &t, why, sizeof why);

    if (rc)
        return rc == -EINVAL ? -ENOTSUP : rc;
    rc = text_work_open(&w, q, t, why, sizeof why);
    if (!rc)
        rc = text_plan(&w, q, plan_p, why, sizeof why);
    text_work_close(&w);
    return rc == -EINVAL ? -ENOTSUP : rc;
}

/* Without memory nothing is known: the build finds that out, and its caller agrees with the other
   ranks. */
static int text_accepts(const struct plan_request *q, char *why, size_t why_size)
{
    const struct text *t;

    return admit(q, &t, why, why_size) == -EINVAL ? -EINVAL : 0;
}

const struct plan_algorithm plan_text = {
    .name = "text",
    .collectives = ((1u << COLL_COUNT) - 1) &
                   ~(1u << COLL_ALLTOALLV | 1u << COLL_NEIGHBOR_ALLGATHER |
                     1u << COLL_NEIGHBOR_ALLTOALL | 1u << COLL_SCAN | 1u << COLL_EXSCAN),
    .description = "a composition of multicasts, reductions and fences in a file",
    .source = "HiCCL, section III",
    .pays = plan_pays_by_name,
    .accepts = text_accepts,
    .build = text_build,
};
