/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "shim/record/sites/call_site_table.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "config/base/hash.h"

struct site_table *site_table;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void site_table_lock(void)
{
    pthread_mutex_lock(&lock);
}

void site_table_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

/* The table has 5 MB; pages that no row needs are never allocated. */
int site_table_open(void)
{
    if (site_table)
        return 0;
    struct site_table *t = mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (t == MAP_FAILED)
        return -1;
    t->sites = t->rows = 1; /* the others */
    t->row[SITE_OTHERS].key.collective = UINT8_MAX;
    site_table = t;
    return 0;
}

int site_table_object(const char *path, const uint8_t *id, int id_bytes)
{
    struct site_table *t = site_table;

    for (uint32_t i = 0; i < t->objects; i++) {
        const struct site_object *o = &t->object[i];

        if (id_bytes && o->id_bytes
                ? o->id_bytes == id_bytes && !memcmp(o->id, id, (size_t)id_bytes)
                : !id_bytes && !o->id_bytes && !strcmp(o->path, path))
            return (int)i;
    }
    if (t->objects == SITE_OBJECTS || id_bytes > SITE_ID_BYTES)
        return -1;
    struct site_object *o = &t->object[t->objects];
    o->path = strdup(path);
    if (!o->path)
        return -1;
    if (id_bytes)
        memcpy(o->id, id, (size_t)id_bytes);
    o->id_bytes = (uint8_t)id_bytes;
    return (int)t->objects++;
}

static size_t site_slot(const struct site_frame *f)
{
    uint64_t h = hash_bytes(hash_bytes(HASH_SEED, &f->offset, sizeof f->offset), &f->object,
                            sizeof f->object);

    return (size_t)(h ^ h >> 32) % (2 * SITES);
}

unsigned site_table_site(const struct site_frame *frame, int frames)
{
    struct site_table *t = site_table;
    size_t at = site_slot(frame);

    for (; t->site_index[at]; at = (at + 1) % (2 * SITES)) {
        const struct site_frame *f = t->site[t->site_index[at]].frame;

        if (f->offset == frame->offset && f->object == frame->object)
            return t->site_index[at];
    }
    if (t->sites == SITES)
        return SITE_OTHERS;
    struct site *s = &t->site[t->sites];
    s->frames = (uint8_t)(frames < SITE_FRAMES ? frames : SITE_FRAMES);
    memcpy(s->frame, frame, s->frames * sizeof *frame);
    t->site_index[at] = (uint16_t)t->sites;
    return t->sites++;
}

const char *site_collective_name(unsigned collective)
{
    return collective < COLL_COUNT      ? plan_collective_name((enum plan_collective)collective)
           : collective == SITE_BARRIER ? "barrier"
                                        : "others";
}

static int same(const struct site_key *a, const struct site_key *b)
{
    return a->site == b->site && a->collective == b->collective && a->size_class == b->size_class &&
           a->ranks == b->ranks && a->nodes == b->nodes;
}

static size_t row_slot(const struct site_key *k)
{
    uint64_t h = (uint64_t)k->site << 16 | (uint64_t)k->collective << 8 | k->size_class;

    h = (h ^ (uint64_t)k->ranks << 32 ^ (uint64_t)k->nodes << 44) * 0x9e3779b97f4a7c15ull;
    return (size_t)(h >> 40) % (2 * SITE_ROWS);
}

/* The row that has the key, or the free place in the index. */
static struct site_row *find_row(const struct site_key *key, size_t *at)
{
    for (*at = row_slot(key);; *at = (*at + 1) % (2 * SITE_ROWS)) {
        uint16_t i = __atomic_load_n(&site_table->row_index[*at], __ATOMIC_ACQUIRE);

        if (!i)
            return NULL;
        if (same(&site_table->row[i].key, key))
            return &site_table->row[i];
    }
}

struct site_row *site_table_row(const struct site_key *key)
{
    struct site_table *t = site_table;
    size_t at;
    struct site_row *r = find_row(key, &at);

    if (r)
        return r;
    site_table_lock();
    r = find_row(key, &at);
    if (!r && t->rows < SITE_ROWS) {
        r = &t->row[t->rows];
        r->key = *key;
        __atomic_store_n(&t->row_index[at], (uint16_t)t->rows++, __ATOMIC_RELEASE);
    }
    site_table_unlock();
    return r ? r : &t->row[SITE_OTHERS];
}

/* Two threads may spoil each other's vote; it is a hint, and stays one of the values. */
void site_vote(struct site_vote *v, uint8_t what, uint32_t weight)
{
    if (v->what == what)
        v->lead += weight;
    else if (v->lead > weight)
        v->lead -= weight;
    else
        *v = (struct site_vote){weight - v->lead, what};
}

void site_add_late(struct site_waits *w, const struct site_late *l)
{
    struct site_late *at = &w->late[0];

    for (int i = 0; i < SITE_LATE; i++) {
        struct site_late *o = &w->late[i];

        if (o->rank == l->rank && (o->times || o->ns)) {
            o->times += l->times;
            o->ns += l->ns;
            o->work += l->work;
            o->others += l->others;
            return;
        }
        if (o->ns < at->ns || (!o->ns && !o->times))
            at = o;
    }
    if ((!at->ns && !at->times) || at->ns < l->ns)
        *at = *l;
}

void site_add_last(struct site_waits *w, const struct site_last *l)
{
    struct site_last *at = &w->last[0];

    for (int i = 0; i < SITE_LATE; i++) {
        struct site_last *o = &w->last[i];

        if (o->times && o->rank == l->rank) {
            o->times += l->times;
            return;
        }
        if (o->times < at->times)
            at = o;
    }
    if (at->times < l->times)
        *at = *l;
}
