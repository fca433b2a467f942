/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "transports/base/host_memory.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
    ALIGNED = 64,
    LEAST = 1 << 20,     /* smaller ones are malloc's */
    ROUNDED = 1 << 16,   /* sizes that differ by less share a block */
    HUGE_PAGE = 2 << 20, /* x86-64, and aarch64 with pages of 4 KiB */
    STALE = 64           /* blocks that others took since it served */
};

/* In front of every block. */
struct block {
    struct block *next; /* idle ones */
    void *mapped;       /* NULL: the header begins what malloc gave */
    size_t mapped_bytes;
    size_t room;            /* bytes behind the header */
    unsigned long given_at; /* by `taken` */
};
_Static_assert(sizeof(struct block) <= ALIGNED, "a header fits before its block");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *idle; /* the one given back last comes first */
static size_t idle_bytes, most_idle;
static unsigned long taken;

static void *start_of(struct block *b)
{
    return (char *)b + ALIGNED;
}

static struct block *block_of(void *start)
{
    return (struct block *)(void *)((char *)start - ALIGNED);
}

/* Map a block whose huge pages begin where its header does. */
static struct block *map(size_t bytes)
{
    size_t room = (bytes + ROUNDED - 1) / ROUNDED * ROUNDED, whole = ALIGNED + room + HUGE_PAGE;

    if (whole < bytes)
        return NULL;
    char *at = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    size_t skipped = -(uintptr_t)at % HUGE_PAGE;
    madvise(at + skipped, ALIGNED + room, MADV_HUGEPAGE);
    struct block *b = (struct block *)(void *)(at + skipped);
    *b = (struct block){.mapped = at, .mapped_bytes = whole, .room = room};
    return b;
}

static struct block *allocate(size_t bytes)
{
    struct block *b = bytes >= LEAST ? map(bytes) : NULL;

    if (!b && ALIGNED + bytes > bytes) {
        b = malloc(ALIGNED + bytes);
        if (b)
            *b = (struct block){.room = bytes};
    }
    return b;
}

static void release(struct block *b)
{
    if (b->mapped)
        munmap(b->mapped, b->mapped_bytes);
    else
        free(b);
}

/* Take the block at *from out of the idle ones. */
static struct block *unlink_at(struct block **from)
{
    struct block *b = *from;

    *from = b->next;
    idle_bytes -= b->room;
    return b;
}

/* The smallest idle block that fits. One that is more than twice as large may wait for larger
   calls, so that it grows stale without them. */
static struct block *find(size_t bytes)
{
    struct block **best = NULL;

    for (struct block **at = &idle; *at; at = &(*at)->next)
        if ((*at)->room >= bytes && (*at)->room / 2 <= bytes + HUGE_PAGE &&
            (!best || (*at)->room < (*best)->room))
            best = at;
    return best ? unlink_at(best) : NULL;
}

/* Let go of the lock, and of idle blocks that are stale or too many: without it, since that takes a
 * while. */
static void unlock_and_cut(void)
{
    struct block *gone = NULL, **at = &idle;
    size_t kept = 0;

    while (*at) {
        if (kept + (*at)->room > most_idle || taken - (*at)->given_at > STALE) {
            struct block *b = unlink_at(at);

            b->next = gone;
            gone = b;
        } else {
            kept += (*at)->room;
            at = &(*at)->next;
        }
    }
    pthread_mutex_unlock(&lock);
    while (gone) {
        struct block *next = gone->next;

        release(gone);
        gone = next;
    }
}

void host_memory_keep(size_t bytes)
{
    pthread_mutex_lock(&lock);
    most_idle = bytes;
    unlock_and_cut();
}

size_t host_memory_kept(void)
{
    pthread_mutex_lock(&lock);
    size_t bytes = most_idle;
    pthread_mutex_unlock(&lock);
    return bytes;
}

void *host_memory_take(size_t bytes)
{
    struct block *b = NULL;

    if (bytes >= LEAST) {
        pthread_mutex_lock(&lock);
        taken++;
        b = find(bytes);
        unlock_and_cut();
    }
    b = b ? b : allocate(bytes);
    return b ? start_of(b) : NULL;
}

void host_memory_give(void *start)
{
    if (!start)
        return;

    struct block *b = block_of(start);
    if (!b->mapped) {
        release(b);
        return;
    }
    pthread_mutex_lock(&lock);
    b->given_at = taken;
    b->next = idle;
    idle = b;
    idle_bytes += b->room;
    unlock_and_cut();
}

size_t host_memory_idle(void)
{
    pthread_mutex_lock(&lock);
    size_t bytes = idle_bytes;
    pthread_mutex_unlock(&lock);
    return bytes;
}
