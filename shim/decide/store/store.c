/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/decide/store/store.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config/base/hash.h"
#include "config/base/text.h"
#include "planners/links/cost.h"
#include "shim/decide/base/settings.h"
#include "shim/decide/guard/guard.h"
#include "shim/decide/store/store_folder.h"

/* Rows of the file; for the file; and of this process, for its later communicators. */
static struct store_rows given, found, here;
static unsigned oldest;                                  /* of here, once it is full */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of found and here */

int store_is_kept(void)
{
    const struct cfg *cfg = &settings.cfg;

    return cfg->choose == CFG_CHOOSE_MEASURE && cfg->mode == CFG_MODE_ON;
}

int store_is_wanted(void)
{
    return settings.cfg.store[0] && store_is_kept();
}

/* Letters, digits and dots of a name, up to the first other character behind a digit. */
static size_t short_name(const char *library, char *name, size_t size)
{
    size_t n = 0;

    for (int digits = 0; *library && n + 1 < size; library++) {
        int plain = text_is_letter(*library) || text_is_digit(*library) || *library == '.';

        if (!plain && digits)
            break;
        digits |= text_is_digit(*library);
        if (plain)
            name[n++] = *library;
    }
    name[n] = 0;
    return n;
}

/* The common start of all places of one library. */
static void prefix_of(const char *library, char *prefix, size_t size)
{
    char name[48];

    short_name(library, name, sizeof name);
    snprintf(prefix, size, "%s/%s/", name, COLLSHIM_VERSION);
}

void store_where(const char *library, const struct topo *topo, char where[STORE_WHERE])
{
    char prefix[64];
    uint64_t hash = hash_bytes(HASH_SEED, &topo->nrails, sizeof topo->nrails);

    prefix_of(library, prefix, sizeof prefix);
    hash = hash_bytes(hash, topo->rank, (size_t)topo->nranks * sizeof *topo->rank);
    snprintf(where, STORE_WHERE, "%s%dx%d/%08x", prefix, topo->nnodes, cost_largest_node(topo),
             (unsigned)(hash ^ hash >> 32));
}

char *store_read(const char *path, const char *library)
{
    struct store_rows all;
    char prefix[64], *text = NULL;
    size_t size = 0;
    FILE *f;

    if (store_folder_read(path, &all) < 0)
        return NULL;
    prefix_of(library, prefix, sizeof prefix);
    f = open_memstream(&text, &size);
    for (int i = 0; f && i < all.n; i++)
        if (!strncmp(all.row[i].where, prefix, strlen(prefix)) && fflush(f) == 0 &&
            size < STORE_GIVEN - STORE_LINE)
            store_row_print(f, &all.row[i]);
    store_rows_free(&all);
    if (f && fclose(f) == 0 && size)
        return text;
    free(text);
    return NULL;
}

int store_open(const char *text, const char *library)
{
    char prefix[64];
    int rc;

    store_close();
    rc = store_rows_parse(text, &given);
    prefix_of(library, prefix, sizeof prefix);
    for (int i = 0; !rc && i < given.n; i++)
        if (strncmp(given.row[i].where, prefix, strlen(prefix)))
            rc = -EINVAL;
    if (rc)
        store_close();
    return rc;
}

void store_close(void)
{
    store_rows_free(&given);
    store_rows_free(&found);
    store_rows_free(&here);
    oldest = 0;
}

/* The key of an entry's contender; 0: there is none, or its name does not fit in a row. */
static int key_of(const char *where, enum plan_collective c, unsigned kind,
                  const struct guard_entry *e, int contender, struct store_row *r)
{
    const struct plan_candidate *way = guard_way(e, contender);
    if (!way)
        return 0;
    const char *recipe = way->recipe ? way->recipe : "", *name;
    int n;

    name = way->algorithm ? way->algorithm->name : STORE_LIBRARY;
    *r = (struct store_row){.collective = c,
                            .kind = kind,
                            .bytes = 1ull << (63 - __builtin_clzll(e->sizes.total | 1)),
                            .ppg = way->ppg < 1 ? 1 : way->ppg};
    snprintf(r->where, sizeof r->where, "%s", where);
    n = snprintf(r->algorithm, sizeof r->algorithm, "%s%s%s%s", name, *recipe ? "(" : "", recipe,
                 *recipe ? ")" : "");
    return n > 0 && (size_t)n < sizeof r->algorithm && !strpbrk(r->algorithm, " \t\n");
}

int store_recall(const char *where, enum plan_collective c, unsigned kind,
                 const struct guard_entry *e, const struct store_rows *own, int in_file,
                 struct estimate known[GUARD_CONTENDERS])
{
    static const struct store_rows none;
    const struct store_rows *file = in_file ? &given : &none;
    int any = 0;

    memset(known, 0, GUARD_CONTENDERS * sizeof *known);
    for (int i = 1; file->n + own->n && i < GUARD_CONTENDERS; i++) {
        const struct store_row *r;
        struct store_row key;

        if (!key_of(where, c, kind, e, i, &key) ||
            (!(r = store_rows_find(own, &key)) && !(r = store_rows_find(file, &key))))
            continue;
        known[i] = (struct estimate){evidence_ln(r->ratio), r->spread};
        any = 1;
    }
    return any;
}

/* In its old place, in a new one, or in that of the oldest. */
static void keep_here(const struct store_row *r)
{
    if (here.n < STORE_ROWS || store_rows_find(&here, r))
        store_rows_set(&here, r);
    else
        here.row[oldest++ % STORE_ROWS] = *r;
}

void store_learn(const char *where, enum plan_collective c, unsigned kind,
                 const struct guard_entry *e, int in_file)
{
    pthread_mutex_lock(&lock);
    for (int i = 1; i < e->n; i++) {
        struct store_row r;

        if (!(e->found[i].spread > 0) || !key_of(where, c, kind, e, i, &r))
            continue;
        r.ratio = evidence_exp(e->found[i].mean);
        r.spread = e->found[i].spread;
        r.jobs = 1;
        r.day = (unsigned)(time(NULL) / 86400);
        keep_here(&r);
        if (in_file)
            store_rows_set(&found, &r);
    }
    pthread_mutex_unlock(&lock);
}

/* All but the day, which may end between two ranks. */
static uint64_t hash_row(const struct store_row *r)
{
    uint64_t hash = hash_text(hash_text(HASH_SEED, r->where), r->algorithm);

    hash = hash_bytes(hash, &r->collective, sizeof r->collective);
    hash = hash_bytes(hash, &r->kind, sizeof r->kind);
    hash = hash_bytes(hash, &r->bytes, sizeof r->bytes);
    hash = hash_bytes(hash, &r->ppg, sizeof r->ppg);
    hash = hash_bytes(hash, &r->ratio, sizeof r->ratio);
    return hash_bytes(hash, &r->spread, sizeof r->spread);
}

uint64_t store_found(const char *where, struct store_rows *rows)
{
    uint64_t hash = 0;

    *rows = (struct store_rows){0};
    pthread_mutex_lock(&lock);
    for (int i = 0; i < here.n; i++) {
        const struct store_row *r = &here.row[i];

        if (where && strcmp(r->where, where) != 0)
            continue;
        hash += hash_row(r);
        if (store_rows_set(rows, r)) {
            store_rows_free(rows);
            hash = 0;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    return hash;
}

void store_forget(const char *where)
{
    pthread_mutex_lock(&lock);
    for (int i = here.n - 1; i >= 0; i--)
        if (!strcmp(here.row[i].where, where))
            here.row[i] = here.row[--here.n];
    pthread_mutex_unlock(&lock);
}

void store_merge(const char *path)
{
    char own[STORE_PATH];

    if (found.n)
        store_rows_merge(store_folder_own(path, own), &found);
}
