/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/record/roll/roll.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "shim/decide/base/settings.h"
#include "shim/record/sites/call_site_table.h"
#include "shim/record/sites/caller.h"

/* A handle has one of the WAYS slots of its set. */
enum { SETS = 1024, WAYS = 4 };
struct roll_slot {
    uintptr_t handle; /* 0: free; written last */
    struct roll_line *line;
};

struct roll *roll;
uint64_t roll_seen[ROLL_SEEN];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what is written */
static struct roll_slot slots[SETS][WAYS];
static uint16_t shared_site[SITES]; /* by the table's number; 0: not yet */

int roll_is_wanted(void)
{
    return settings.cfg.mode != CFG_MODE_OFF && (settings.cfg.stuck || settings.cfg.stuck_signal);
}

void roll_place(struct roll *memory)
{
    roll = NULL;
    memset(slots, 0, sizeof slots);
    memset(shared_site, 0, sizeof shared_site);
    memset(roll_seen, 0, sizeof roll_seen);
    if (!memory || site_table_open() < 0)
        return;
    caller_open();
    memory->sites = 1;
    roll = memory;
}

/* NULL: it has none. */
static struct roll_slot *find_slot(uintptr_t handle, uintptr_t set_of)
{
    struct roll_slot *set = slots[(set_of * 0x9e3779b97f4a7c15ull) >> 54];

    for (int i = 0; i < WAYS; i++)
        if (__atomic_load_n(&set[i].handle, __ATOMIC_ACQUIRE) == handle)
            return &set[i];
    return NULL;
}

struct roll_line *roll_find(uintptr_t handle, int *known)
{
    const struct roll_slot *s = find_slot(handle, handle);

    *known = s || __atomic_load_n(&roll->full, __ATOMIC_RELAXED);
    return s ? s->line : NULL;
}

static struct roll_line *free_line(void)
{
    for (int i = 0; i < ROLL_LINES; i++)
        if (!roll->line[i].id)
            return &roll->line[i];
    return NULL;
}

struct roll_line *roll_add(uintptr_t handle, uint64_t id, int size, int rank)
{
    struct roll_line *l = NULL;

    pthread_mutex_lock(&lock);
    struct roll_slot *s = find_slot(0, handle);
    l = s && id ? free_line() : NULL;
    if (id && !l)
        __atomic_store_n(&roll->full, 1, __ATOMIC_RELAXED);
    if (s) {
        if (l) {
            memset(l, 0, sizeof *l);
            l->size = size;
            l->rank = rank;
            __atomic_store_n(&l->id, id, __ATOMIC_RELEASE);
        }
        s->line = l;
        __atomic_store_n(&s->handle, handle, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    return l;
}

void roll_drop(uintptr_t handle)
{
    pthread_mutex_lock(&lock);
    struct roll_slot *s = find_slot(handle, handle);
    if (s) {
        if (s->line)
            __atomic_store_n(&s->line->id, 0, __ATOMIC_RELEASE);
        __atomic_store_n(&s->handle, 0, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
}

/* Under the lock. Its number among the shared objects, which gets it; -1: no room. */
static int share_object(const struct site_object *o)
{
    struct roll_object *to;

    for (uint32_t i = 0; i < roll->objects; i++)
        if (!strncmp(roll->object[i].path, o->path, ROLL_PATH - 1))
            return (int)i;
    if (roll->objects == ROLL_OBJECTS)
        return -1;
    to = &roll->object[roll->objects];
    strncpy(to->path, o->path, ROLL_PATH - 1);
    for (int i = 0; i < o->id_bytes; i++)
        snprintf(to->build_id + 2 * (size_t)i, 3, "%02x", o->id[i]);
    return (int)roll->objects++;
}

/* Under the lock. 0: no room. */
static uint16_t share_site(unsigned site)
{
    const struct site *s = &site_table->site[site];
    int object;

    if (shared_site[site] || !s->frames || roll->sites == ROLL_SITES)
        return shared_site[site];
    object = share_object(&site_table->object[s->frame[0].object]);
    if (object < 0)
        return 0;
    roll->site[roll->sites] =
        (struct roll_site){.offset = s->frame[0].offset, .object = (uint32_t)object};
    return shared_site[site] = (uint16_t)roll->sites++;
}

uint16_t roll_new_site(const void *from, const char *cfa)
{
    unsigned site = caller_site(from, cfa);
    uintptr_t address = (uintptr_t)from;
    uint16_t shared;

    pthread_mutex_lock(&lock);
    shared = roll ? share_site(site) : 0;
    if (shared) {
        const struct site_frame *f = &site_table->site[site].frame[0];

        if (site_table->object[f->object].base + f->offset == address) /* no binding's */
            __atomic_store_n(&roll_seen[(address ^ address >> 8) % ROLL_SEEN],
                             (uint64_t)address << 16 | shared, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&lock);
    return shared;
}
