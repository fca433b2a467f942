/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reserve is a row of blocks, each behind a header. A search takes the first that fits, and
 * joins free neighbours on its way. It is slow, and almost never made.
 */
#define _GNU_SOURCE
#include "shim/preload/reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* LITTLE: blocks up to that size have a quarter of the reserve to themselves. */
enum { EDGE = 64, SMALL = 1 << 20, LARGE = 64 << 20, LITTLE = 4096 };

/* Its block follows at the next edge. */
struct header {
    size_t bytes; /* with the header; 0: nothing behind it was ever used */
    int taken;
} __attribute__((aligned(EDGE)));

static char small[SMALL] __attribute__((aligned(EDGE)));
static char *reserve = small; /* the one in use, and where it ends */
static char *reserve_end = small + SMALL;
static int used;
static char lock;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__real_aligned_alloc(size_t edge, size_t bytes);
void __real_free(void *memory);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void *__wrap_aligned_alloc(size_t edge, size_t bytes);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t most);
void __wrap_free(void *memory);

static struct header *behind(const struct header *h)
{
    return (struct header *)(void *)((char *)(uintptr_t)h + h->bytes);
}

static int is_there(const struct header *h)
{
    return (const char *)h < reserve_end && h->bytes;
}

static int is_ours(const void *memory)
{
    const char *at = memory;

    return (at >= small && at < small + SMALL) || (at >= reserve && at < reserve_end);
}

/* The first free block, or the end of the used part, with room for that much. */
static struct header *find(size_t bytes)
{
    struct header *h = (struct header *)(void *)reserve;
    const char *end = bytes > LITTLE ? reserve_end - (reserve_end - reserve) / 4 : reserve_end;

    for (; is_there(h); h = behind(h)) {
        while (!h->taken && is_there(behind(h)) && !behind(h)->taken)
            h->bytes += behind(h)->bytes;
        if (!h->taken && h->bytes >= bytes && (const char *)h + bytes <= end)
            return h;
    }
    if ((const char *)h + bytes > end)
        return NULL;
    h->bytes = bytes;
    return h;
}

/* Blocks begin at an edge, so alignments of up to 64 bytes are served. */
static void *take(size_t bytes)
{
    size_t whole = sizeof(struct header) + (bytes + EDGE - 1) / EDGE * EDGE;

    if (whole < bytes || whole > LARGE)
        return NULL;
    while (__atomic_test_and_set(&lock, __ATOMIC_ACQUIRE))
        sched_yield();
    struct header *h = find(whole);
    if (h && h->bytes > whole) { /* the rest is a block of its own */
        size_t rest = h->bytes - whole;

        h->bytes = whole;
        *behind(h) = (struct header){.bytes = rest};
    }
    if (h)
        h->taken = 1;
    __atomic_clear(&lock, __ATOMIC_RELEASE);
    __atomic_store_n(&used, 1, __ATOMIC_RELAXED);
    if (!h)
        errno = ENOMEM;
    return h ? h + 1 : NULL;
}

static size_t room_of(void *memory)
{
    return is_ours(memory) ? ((struct header *)memory)[-1].bytes - sizeof(struct header)
                           : malloc_usable_size(memory);
}

void *__wrap_malloc(size_t bytes)
{
    void *memory = __real_malloc(bytes);

    return memory ? memory : take(bytes);
}

void *__wrap_calloc(size_t n, size_t bytes)
{
    void *memory = __real_calloc(n, bytes);

    if (!memory && !__builtin_mul_overflow(n, bytes, &bytes) && (memory = take(bytes)))
        memset(memory, 0, bytes);
    return memory;
}

void *__wrap_aligned_alloc(size_t edge, size_t bytes)
{
    void *memory = __real_aligned_alloc(edge, bytes);

    return memory || edge > EDGE ? memory : take(bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
    void *memory = is_ours(old) ? __real_malloc(bytes) : __real_realloc(old, bytes);

    if (!memory) {
        memory = take(bytes);
    } else if (!is_ours(old)) {
        return memory;
    }
    if (memory && old) {
        size_t had = room_of(old);

        memcpy(memory, old, had < bytes ? had : bytes);
        __wrap_free(old);
    }
    return memory;
}

char *__wrap_strndup(const char *text, size_t most)
{
    size_t n = strnlen(text, most);
    char *copy = __wrap_malloc(n + 1);

    if (copy) {
        memcpy(copy, text, n);
        copy[n] = '\0';
    }
    return copy;
}

char *__wrap_strdup(const char *text)
{
    return __wrap_strndup(text, SIZE_MAX);
}

void __wrap_free(void *memory)
{
    if (is_ours(memory))
        __atomic_store_n(&((struct header *)memory)[-1].taken, 0, __ATOMIC_RELEASE);
    else
        __real_free(memory);
}

/* Does the system grant no more than it has? That is policy 2. Read once: any thread, and each
   finds the same. */
static int is_counted(void)
{
    static char policy;
    char read_now = '0';

    if (!__atomic_load_n(&policy, __ATOMIC_RELAXED)) {
        int file = open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC);

        if (file >= 0 && read(file, &read_now, 1) != 1)
            read_now = '0';
        if (file >= 0)
            close(file);
        __atomic_store_n(&policy, read_now, __ATOMIC_RELAXED);
    }
    return __atomic_load_n(&policy, __ATOMIC_RELAXED) == '2';
}

int reserve_is_limited(void)
{
    static const int kinds[] = {RLIMIT_AS, RLIMIT_DATA};
    struct rlimit limit;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (getrlimit(kinds[i], &limit) != 0 || limit.rlim_cur != RLIM_INFINITY)
            return 1;
    return is_counted() || __atomic_load_n(&used, __ATOMIC_RELAXED);
}

void reserve_open(void)
{
    if (reserve != small || reserve_is_limited())
        return;
    char *more = mmap(NULL, LARGE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (more != MAP_FAILED) {
        reserve_end = more + LARGE;
        reserve = more;
    }
}
