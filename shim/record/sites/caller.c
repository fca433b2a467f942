/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rejected: unwinding at every call, even with libunwind's cache, costs more than the call's own
 * bookkeeping. Rejected: the frame pointer, which optimised code does not keep.
 */
#define _GNU_SOURCE
#include "shim/record/sites/caller.h"

#include "config/base/loaded.h"
#include "shim/record/sites/call_site_table.h"
#include "shim/record/sites/object.h"
#include "shim/record/sites/walk.h"

enum {
    KNOWN = 16384,      /* return addresses, a power of two */
    KNOWN_MOST = 12288, /* then new ones belong to "others", unwalked */
    MOST_BINDINGS = 4,  /* between a site and us */
    MOST_WALKED = 24,   /* frames */
    FARTHEST = 16384,   /* bytes from a binding's frame to where it keeps its return address */
    MOST_MISSES = 16    /* of a binding whose frame is not the same each time */
};

/* A return address that came before. */
struct known {
    uintptr_t address;
    uint16_t site;
    uint8_t misses;
    uint8_t gone; /* the code there was unloaded; the rest is written before this is cleared */
    uint32_t next_at, frame; /* of a binding: where its return address is, and its caller's stack
                                pointer, from its own; frame 0: this is the site's own address */
};

/* In the order in which they came, so that a program's few places share their pages; 0 is none. The
   index is written last, under the table's lock. */
static struct known known[KNOWN_MOST + 1];
static uint16_t known_index[KNOWN];
static int known_count;

static const char run_time_code[] = "(code made at run time)";

void caller_open(void)
{
    walk_open();
}

/* NULL: it did not; *slot is then its place in the index. */
static struct known *find_known(uintptr_t address, size_t *slot)
{
    size_t at = (size_t)((address * 0x9e3779b97f4a7c15ull) >> 40) % KNOWN;

    for (;; at = (at + 1) % KNOWN) {
        uint16_t i = __atomic_load_n(&known_index[at], __ATOMIC_ACQUIRE);

        *slot = at;
        if (!i || known[i].address == address)
            return i ? &known[i] : NULL;
    }
}

/* The same, of code that is there. */
static struct known *find_present(uintptr_t address)
{
    size_t slot;
    struct known *k = find_known(address, &slot);

    return k && !__atomic_load_n(&k->gone, __ATOMIC_ACQUIRE) ? k : NULL;
}

/* From here on under the lock. */
static void remember(struct known k)
{
    size_t slot;
    struct known *before = find_known(k.address, &slot);

    if (before && before->gone) {
        k.gone = 1;
        *before = k;
        __atomic_store_n(&before->gone, 0, __ATOMIC_RELEASE);
    }
    if (before || known_count == KNOWN_MOST)
        return;
    int i = __atomic_add_fetch(&known_count, 1, __ATOMIC_RELAXED);
    known[i] = k;
    __atomic_store_n(&known_index[slot], (uint16_t)i, __ATOMIC_RELEASE);
}

/* Frames as their objects' files have them. Returns how many. */
static int describe(const struct walk_frame *walked, int n, struct site_frame *frame)
{
    int k = 0;

    for (; k < n && k < SITE_FRAMES; k++) {
        int o = object_of(walked[k].ip - 1);

        if (o < 0)
            o = site_table_object(run_time_code, NULL, 0);
        if (o < 0)
            break;
        const struct site_object *object = &site_table->object[o];
        frame[k] = (struct site_frame){object->from ? walked[k].ip - object->base : 0, (uint16_t)o};
    }
    return k;
}

static int is_binding(uintptr_t ip)
{
    int o = object_of(ip - 1);

    return o >= 0 && site_table->object[o].is_mpi;
}

/* The key by which a later call finds the binding's caller. Returns 0, or -1: there is none. */
static int learn(const struct walk_frame *binding, const struct walk_frame *caller)
{
    uintptr_t next_at = caller->ip_at - binding->cfa, frame = caller->cfa - binding->cfa;

    if (caller->ip_at < binding->cfa || next_at > FARTHEST || !frame || frame > FARTHEST ||
        *(const uintptr_t *)caller->ip_at != caller->ip)
        return -1;
    remember((struct known){
        .address = binding->ip, .next_at = (uint32_t)next_at, .frame = (uint32_t)frame});
    return 0;
}

/* A site that has not come before. */
static unsigned new_site(uintptr_t from, uintptr_t cfa)
{
    struct walk_frame walked[MOST_WALKED];
    struct site_frame frame[SITE_FRAMES];
    int n = walk_frames(from, cfa, walked, MOST_WALKED), out = 0;

    if (n < 1) {
        walked[0] = (struct walk_frame){.ip = from, .cfa = cfa};
        n = 1;
    }
    while (out < n && is_binding(walked[out].ip))
        out++;
    if (out == n)
        out = 0; /* MPI all the way: its innermost frame is all there is */
    for (int i = 0; i < out; i++)
        if (learn(&walked[i], &walked[i + 1]) < 0)
            out = i; /* no later call finds who called that one */
    int frames = describe(walked + out, n - out, frame);
    unsigned site = frames ? site_table_site(frame, frames) : SITE_OTHERS;
    remember((struct known){.address = walked[out].ip, .site = (uint16_t)site});
    return site;
}

/* The table's answer, or -1. *binding: the last that was passed, if any. */
static int look_up(uintptr_t address, const char *cfa, struct known **binding)
{
    *binding = NULL;
    for (int i = 0; i <= MOST_BINDINGS; i++) {
        struct known *k = find_present(address);

        if (!k)
            return -1;
        if (!k->frame)
            return k->site;
        *binding = k;
        address = *(const uintptr_t *)(const void *)(cfa + k->next_at);
        cfa += k->frame;
        if (!address)
            return -1;
    }
    return -1;
}

/* A library may be unloaded, and another one lie there. */
static void forget_gone(void)
{
    static unsigned long long seen;
    unsigned long long changes = loaded_changes();

    if (changes == __atomic_load_n(&seen, __ATOMIC_ACQUIRE))
        return;
    site_table_lock();
    object_forget_gone();
    for (int i = 1; i <= known_count; i++)
        if (!object_is_known(known[i].address - 1))
            __atomic_store_n(&known[i].gone, 1, __ATOMIC_RELEASE);
    __atomic_store_n(&seen, changes, __ATOMIC_RELEASE);
    site_table_unlock();
}

unsigned caller_site(const void *from, const char *cfa)
{
    struct known *binding, *passed;

    if (!object_is_program((uintptr_t)from))
        forget_gone();
    int site = look_up((uintptr_t)from, cfa, &binding);

    if (site >= 0)
        return (unsigned)site;
    if (__atomic_load_n(&known_count, __ATOMIC_RELAXED) == KNOWN_MOST)
        return SITE_OTHERS;
    site_table_lock();
    if (binding && __atomic_load_n(&binding->misses, __ATOMIC_RELAXED) == MOST_MISSES)
        site = SITE_OTHERS;
    else
        site = (int)new_site((uintptr_t)from, (uintptr_t)cfa);
    if (binding && look_up((uintptr_t)from, cfa, &passed) != site)
        __atomic_add_fetch(&binding->misses, 1, __ATOMIC_RELAXED);
    site_table_unlock();
    return (unsigned)site;
}
