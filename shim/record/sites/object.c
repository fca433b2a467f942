/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "shim/record/sites/object.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "config/base/object_span.h"
#include "shim/record/sites/call_site_table.h"

struct found {
    uintptr_t address, from, to, base;
    char path[1024];
    uint8_t id[SITE_ID_BYTES];
    int id_bytes, is_program;
};

/* The build id among the notes that are loaded. */
static void find_id(struct found *f, const char *notes, size_t size)
{
    while (size >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *n = (const void *)notes;
        size_t name = (n->n_namesz + 3u) & ~3u, all = sizeof *n + name + ((n->n_descsz + 3u) & ~3u);

        if (all > size)
            return;
        if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 &&
            !memcmp(notes + sizeof *n, "GNU", 4)) {
            f->id_bytes = (int)(n->n_descsz < SITE_ID_BYTES ? n->n_descsz : SITE_ID_BYTES);
            memcpy(f->id, notes + sizeof *n + name, (size_t)f->id_bytes);
            return;
        }
        notes += all;
        size -= all;
    }
}

static int look_at(struct dl_phdr_info *info, size_t size, void *data)
{
    struct found *f = data;

    (void)size;
    if (!object_span(info, f->address, &f->from, &f->to))
        return 0;
    f->base = info->dlpi_addr;
    f->is_program = !info->dlpi_name || !info->dlpi_name[0];
    if (f->is_program) {
        ssize_t n = readlink("/proc/self/exe", f->path, sizeof f->path - 1);
        f->path[n > 0 ? n : 0] = 0;
    } else {
        strncpy(f->path, info->dlpi_name, sizeof f->path - 1);
    }
    for (int i = 0; i < info->dlpi_phnum && !f->id_bytes; i++)
        if (info->dlpi_phdr[i].p_type == PT_NOTE)
            find_id(f, (const char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
                    info->dlpi_phdr[i].p_memsz);
    return 1;
}

/* A program may define MPI_Init itself, linked with a tool; it is where the user's calls are. */
static int is_mpi(const struct found *f)
{
    static const char *const names[] = {"MPI_Init", "mpi_init_", "mpi_init_f08_", "_ZN3MPI4InitEv"};
    uintptr_t own = (uintptr_t)(void *)object_of;
    void *handle;
    int yes = 0;

    if (f->is_program)
        return 0;
    if (own >= f->from && own < f->to)
        return 1;
    handle = dlopen(f->path, RTLD_NOLOAD | RTLD_LAZY);
    for (size_t i = 0; handle && i < sizeof names / sizeof *names; i++) {
        uintptr_t at = (uintptr_t)dlsym(handle, names[i]);

        yes |= at >= f->from && at < f->to;
    }
    if (handle)
        dlclose(handle);
    return yes;
}

static int find(uintptr_t address)
{
    const struct site_table *t = site_table;

    for (uint32_t i = 0; i < t->objects; i++)
        if (address >= t->object[i].from && address < t->object[i].to)
            return (int)i;
    return -1;
}

int object_is_known(uintptr_t address)
{
    return find(address) >= 0;
}

/* The first of the loader's list. */
static int note_program(struct dl_phdr_info *info, size_t size, void *found)
{
    struct found *f = found;

    (void)size;
    object_span(info, 0, &f->from, &f->to);
    return 1;
}

int object_is_program(uintptr_t address)
{
    static uintptr_t from, to;
    uintptr_t end = __atomic_load_n(&to, __ATOMIC_ACQUIRE);

    if (!end) {
        struct found f = {.to = 1};

        dl_iterate_phdr(note_program, &f);
        __atomic_store_n(&from, f.from, __ATOMIC_RELAXED);
        __atomic_store_n(&to, f.to, __ATOMIC_RELEASE);
        end = f.to;
    }
    return address >= __atomic_load_n(&from, __ATOMIC_RELAXED) && address < end;
}

static int is_same(const struct site_object *o, const struct found *f)
{
    return o->base == f->base && o->from == f->from && o->to == f->to &&
           o->id_bytes == f->id_bytes &&
           (o->id_bytes ? !memcmp(o->id, f->id, o->id_bytes) : !strcmp(o->path, f->path));
}

void object_forget_gone(void)
{
    for (uint32_t i = 0; i < site_table->objects; i++) {
        struct site_object *o = &site_table->object[i];
        struct found f = {.address = o->from};

        if (o->from && !(dl_iterate_phdr(look_at, &f) && is_same(o, &f)))
            o->from = o->to = 0;
    }
}

int object_of(uintptr_t address)
{
    struct site_table *t = site_table;
    struct found f = {.address = address};
    int known = find(address);

    if (known >= 0)
        return known;
    if (!dl_iterate_phdr(look_at, &f))
        return -1;
    int i = site_table_object(f.path, f.id, f.id_bytes);
    if (i >= 0) {
        struct site_object *o = &t->object[i];

        o->from = f.from;
        o->to = f.to;
        o->base = f.base;
        o->is_mpi = (uint8_t)is_mpi(&f);
    }
    return i;
}
