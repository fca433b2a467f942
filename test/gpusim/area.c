/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that the driver knows. A device allocation is a file mapped twice: at its device address
 * without any access, so that a host that touches device memory gets a SIGSEGV, and at the alias
 * that streams use. The file's first page is a header that importers share.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "test/gpusim/sim.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* hosts among themselves */
static struct area *areas;
static uint64_t made;

int area_is_host(const struct area *a)
{
    return a->kind == AREA_PINNED || a->kind == AREA_REGISTERED;
}

void area_add(struct area *a)
{
    sim_own(1);
    pthread_mutex_lock(&lock);
    a->id = ++made;
    a->refs = 1;
    a->next = areas;
    areas = a;
    pthread_mutex_unlock(&lock);
}

void area_remove(struct area *a)
{
    pthread_mutex_lock(&lock);
    for (struct area **at = &areas; *at; at = &(*at)->next) {
        if (*at == a) {
            *at = a->next;
            sim_own(-1);
            break;
        }
    }
    pthread_mutex_unlock(&lock);
}

static struct area *find_locked(uintptr_t p)
{
    for (struct area *a = areas; a; a = a->next)
        if (p >= a->base && p - a->base < a->bytes)
            return a;
    return NULL;
}

struct area *area_find(uintptr_t p)
{
    struct area *a;

    pthread_mutex_lock(&lock);
    a = find_locked(p);
    pthread_mutex_unlock(&lock);
    return a;
}

struct area *area_find_file(const void *key, int (*same)(const struct area *, const void *))
{
    struct area *a;

    pthread_mutex_lock(&lock);
    for (a = areas; a && !same(a, key); a = a->next)
        ;
    pthread_mutex_unlock(&lock);
    return a;
}

/* Mappings that follow each other in a reservation do so at their aliases, too. */
static int runs_over(const struct area *a, uintptr_t p, size_t bytes)
{
    size_t left = a->bytes - (p - a->base);

    while (bytes > left && a->kind == AREA_MAPPED) {
        const struct area *next = area_find(a->base + a->bytes);

        if (!next || next->kind != AREA_MAPPED || next->reserved != a->reserved ||
            next->users_allowed != a->users_allowed)
            break;
        left += next->bytes;
        a = next;
    }
    return bytes > left;
}

int area_allows(const struct area *a, const struct ctx *c)
{
    return !a || a->kind != AREA_MAPPED || a->users_allowed >> c->device & 1;
}

char *area_use(uintptr_t p, size_t bytes, struct area **area)
{
    struct area *a;

    pthread_mutex_lock(&lock);
    a = find_locked(p);
    if (a)
        __atomic_add_fetch(&a->users, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
    *area = a;
    if (!a)
        return (char *)p;
    if (runs_over(a, p, bytes)) {
        area_done(a);
        *area = NULL;
        return NULL;
    }
    return a->alias + (p - a->base);
}

int area_use_again(struct area *a, uint64_t id)
{
    struct area *known;

    pthread_mutex_lock(&lock);
    for (known = areas; known && (known != a || known->id != id); known = known->next)
        ;
    if (known)
        __atomic_add_fetch(&a->users, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
    return known ? 0 : -1;
}

void area_done(struct area *a)
{
    if (a)
        __atomic_sub_fetch(&a->users, 1, __ATOMIC_RELEASE); /* for settle() alone */
}

void area_lose_imports(void)
{
    pthread_mutex_lock(&lock);
    for (struct area *a = areas; a; a = a->next)
        if (a->kind == AREA_IMPORT)
            __atomic_sub_fetch(&a->header->imports, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
}

/* A device waits in cuMemFree, but nothing promises it: work under way is a fault of the program.
 */
void area_settle(struct area *a, const char *what)
{
    const struct timespec moment = {0, 100000};

    if (__atomic_load_n(&a->users, __ATOMIC_RELAXED) == 0)
        return;
    sim_violation("%s of memory that work under way still uses", what);
    while (__atomic_load_n(&a->users, __ATOMIC_ACQUIRE) > 0)
        nanosleep(&moment, NULL);
}

/* Never the zeroes of a file: the first MiB, and of a larger one's rest each eighth page. Every
   page costs a fault, and most are never used. */
void area_spoil(struct area *a)
{
    enum { SPOILT = 0xa5, WHOLE = 1 << 20, PAGE = 4096, STRIDE = 8 * PAGE };
    size_t first = a->bytes < WHOLE ? a->bytes : WHOLE;

    memset(a->alias, SPOILT, first);
    for (size_t at = first; at < a->bytes; at += STRIDE)
        memset((char *)a->alias + at, SPOILT, a->bytes - at < PAGE ? a->bytes - at : PAGE);
}

struct area *area_map(int fd, size_t bytes, int device, enum area_kind kind)
{
    struct area *a = calloc(1, sizeof *a);
    char *file, *base;

    if (!a)
        return NULL;
    base = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    file = mmap(NULL, SIM_PAGE + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED || file == MAP_FAILED) {
        free(a);
        return NULL;
    }
    a->base = (uintptr_t)base;
    a->bytes = bytes;
    a->header = (struct area_header *)(void *)file;
    a->alias = file + SIM_PAGE;
    a->fd = fd;
    a->device = device;
    a->kind = kind;
    area_add(a);
    return a;
}

void area_unmap(struct area *a)
{
    area_remove(a);
    munmap((void *)a->base, a->bytes);
    munmap(a->header, SIM_PAGE + a->bytes);
    close(a->fd);
    free(a);
}
