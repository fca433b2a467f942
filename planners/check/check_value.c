/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets of ranks and spans of bytes for the checker; see check_value.h. */
#include "planners/check/check_value.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/hash.h"

static int room_for(void **array, uint32_t *room, uint32_t wanted, size_t element)
{
    if (wanted <= *room)
        return 0;
    uint32_t larger = *room * 2 > wanted ? *room * 2 : wanted + 8;
    void *moved = realloc(*array, larger * element);
    if (!moved)
        return -ENOMEM;
    *array = moved;
    *room = larger;
    return 0;
}

static uint64_t *set_at(const struct check_sets *s, uint32_t id)
{
    return s->bits + (size_t)id * (size_t)(s->words + 1);
}

static size_t set_size(const struct check_sets *s)
{
    return (size_t)(s->words + 1) * sizeof *s->bits;
}

/* An empty set at the end of the table; NULL if out of memory. */
static uint64_t *new_set(struct check_sets *s)
{
    void *bits = s->bits;

    if (room_for(&bits, &s->room, s->count + 1, set_size(s)) < 0)
        return NULL;
    s->bits = bits;
    return memset(set_at(s, s->count), 0, set_size(s));
}

/* The place of a set like that one, or a free one. */
static uint32_t *slot_of(const struct check_sets *s, uint32_t id)
{
    uint64_t hash = 0;

    for (int w = 0; w <= s->words; w++)
        hash = (hash ^ set_at(s, id)[w]) * 0x9e3779b97f4a7c15ull;
    for (uint64_t at = hash >> 32;; at++) {
        uint32_t *slot = &s->slot[at & (s->nslots - 1)];
        if (!*slot || !memcmp(set_at(s, *slot - 1), set_at(s, id), set_size(s)))
            return slot;
    }
}

/* Room for one set more: at least half of the slots stay free. */
static int grow_slots(struct check_sets *s)
{
    struct check_sets larger = *s;

    if (2 * (s->filled + 1) <= s->nslots)
        return 0;
    larger.nslots = s->nslots ? 2 * s->nslots : 64;
    larger.slot = calloc(larger.nslots, sizeof *larger.slot);
    if (!larger.slot)
        return -ENOMEM;
    for (uint32_t i = 0; i < s->nslots; i++)
        if (s->slot[i])
            *slot_of(&larger, s->slot[i] - 1) = s->slot[i];
    free(s->slot);
    s->slot = larger.slot;
    s->nslots = larger.nslots;
    return 0;
}

/* The id of the set at the end of the table: of one like it, or its own from now on. */
static int64_t intern(struct check_sets *s)
{
    if (grow_slots(s) < 0)
        return -ENOMEM;
    uint32_t *slot = slot_of(s, s->count);
    if (!*slot) {
        *slot = ++s->count;
        s->filled++;
    }
    return *slot - 1;
}

/* Equal for sums of the same parts, in either order. */
static uint64_t way_of(uint64_t parts)
{
    return hash_bytes(HASH_SEED, &parts, sizeof parts);
}

int check_sets_init(struct check_sets *s, int nranks)
{
    *s = (struct check_sets){.nranks = nranks, .words = (nranks + 63) / 64};
    for (int r = 0; r < nranks; r++) {
        uint64_t *set = new_set(s);
        if (!set) {
            check_sets_free(s);
            return -ENOMEM;
        }
        set[r / 64] |= 1ull << r % 64;
        set[s->words] = way_of((uint64_t)r);
        if (intern(s) < 0) {
            check_sets_free(s);
            return -ENOMEM;
        }
    }
    return 0;
}

void check_sets_free(struct check_sets *s)
{
    free(s->bits);
    free(s->slot);
    s->bits = NULL;
    s->slot = NULL;
}

int check_sets_shared(const struct check_sets *s, uint32_t a, uint32_t b)
{
    const uint64_t *x = set_at(s, a), *y = set_at(s, b);

    for (int w = 0; w < s->words; w++)
        if (x[w] & y[w])
            return w * 64 + __builtin_ctzll(x[w] & y[w]);
    return -1;
}

int64_t check_sets_join(struct check_sets *s, uint32_t a, uint32_t b)
{
    if (check_sets_shared(s, a, b) >= 0)
        return -EEXIST;
    uint64_t *joined = new_set(s);
    if (!joined)
        return -ENOMEM;
    const uint64_t *x = set_at(s, a), *y = set_at(s, b);
    for (int w = 0; w < s->words; w++)
        joined[w] = x[w] | y[w];
    joined[s->words] = way_of(x[s->words] + y[s->words]);
    return intern(s);
}

int check_sets_equal(const struct check_sets *s, uint32_t a, uint32_t b)
{
    return a == b || !memcmp(set_at(s, a), set_at(s, b), (size_t)s->words * sizeof *s->bits);
}

/* The first span that ends after `at`. */
static uint32_t first_after(const struct check_buffer *b, uint64_t at)
{
    uint32_t low = 0, high = b->count;

    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (b->span[middle].to > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static int append(struct check_buffer *b, struct check_span s)
{
    void *span = b->span;

    if (s.from >= s.to)
        return 0;
    struct check_span *last = b->count ? &b->span[b->count - 1] : NULL;
    if (last && last->to == s.from && last->set == s.set && last->shift == s.shift) {
        last->to = s.to;
        return 0;
    }
    if (room_for(&span, &b->room, b->count + 1, sizeof *b->span) < 0)
        return -ENOMEM;
    b->span = span;
    b->span[b->count++] = s;
    return 0;
}

int check_buffer_write(struct check_buffer *b, uint64_t from, uint64_t to,
                       const struct check_span *span, uint32_t n)
{
    struct check_buffer fresh = {0};
    int rc = 0;

    for (uint32_t i = 0; !rc && i < b->count && b->span[i].from < from; i++) {
        struct check_span before = b->span[i];
        if (before.to > from)
            before.to = from;
        rc = append(&fresh, before);
    }
    for (uint32_t i = 0; !rc && i < n; i++)
        rc = append(&fresh, span[i]);
    for (uint32_t i = first_after(b, to); !rc && i < b->count; i++) {
        struct check_span after = b->span[i];
        if (after.from < to)
            after.from = to;
        rc = append(&fresh, after);
    }
    if (rc) {
        check_buffer_free(&fresh);
        return rc;
    }
    check_buffer_free(b);
    *b = fresh;
    return 0;
}

int check_buffer_read(const struct check_buffer *b, uint64_t from, uint64_t to,
                      struct check_buffer *out, uint64_t *hole)
{
    uint64_t at = from;

    out->count = 0;
    for (uint32_t i = first_after(b, from); i < b->count && at < to; i++) {
        struct check_span s = b->span[i];
        if (s.from > at)
            break;
        s.from = at;
        if (s.to > to)
            s.to = to;
        at = s.to;
        if (append(out, s) < 0)
            return -ENOMEM;
    }
    if (at < to) {
        *hole = at;
        return -ENODATA;
    }
    return 0;
}

void check_buffer_free(struct check_buffer *b)
{
    free(b->span);
    *b = (struct check_buffer){0};
}
