/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "shim/cli/report/lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#ifdef COLLSHIM_LIBDW
#include <dlfcn.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <unistd.h>

#include "config/base/text.h"

enum { MOST_OPEN = 64 };

static struct opened {
    char *path, *build_id; /* owned; build_id NULL: none was asked for */
    Dwfl *dwfl;            /* owned; NULL: nothing can be read of it */
    Dwfl_Module *module;
} files[MOST_OPEN];
static int nfiles;

/* May libdw see the file? A report names it, and libdw takes it apart in this process, which may be
   root's: files of other users are not read. */
static int is_trusted(int fd)
{
    struct stat st;

    return !fstat(fd, &st) && S_ISREG(st.st_mode) && (st.st_uid == 0 || st.st_uid == geteuid());
}

static int find_debuginfo(Dwfl_Module *module, void **user, const char *name, GElf_Addr base,
                          const char *file, const char *link, GElf_Word crc, char **found)
{
    int fd = dwfl_standard_find_debuginfo(module, user, name, base, file, link, crc, found);

    if (fd < 0 || is_trusted(fd))
        return fd;
    close(fd);
    free(*found);
    *found = NULL;
    return -1;
}

static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
                                         .find_debuginfo = find_debuginfo,
                                         .section_address = dwfl_offline_section_address};

static int same_id(Dwfl_Module *module, const char *wanted)
{
    const unsigned char *id;
    GElf_Addr at;
    int n = dwfl_module_build_id(module, &id, &at);
    char text[3];

    if (!wanted)
        return 1;
    if (n < 0 || strlen(wanted) != 2 * (size_t)n)
        return 0;
    for (int i = 0; i < n; i++) {
        snprintf(text, sizeof text, "%02x", id[i]);
        if (memcmp(text, wanted + 2 * (size_t)i, 2) != 0)
            return 0;
    }
    return 1;
}

/* A report may name anything: a FIFO, a device. The file is not opened before it is known. */
static int open_trusted(const char *path)
{
    char found[64];
    int at = open(path, O_PATH | O_CLOEXEC), fd = -1;

    snprintf(found, sizeof found, "/proc/self/fd/%d", at);
    if (at >= 0 && is_trusted(at))
        fd = open(found, O_RDONLY | O_CLOEXEC);
    if (at >= 0)
        close(at);
    return fd;
}

/* Nor is a server asked for what a foreign file names. */
static void open_file(struct opened *o)
{
    int fd = open_trusted(o->path);

    unsetenv("DEBUGINFOD_URLS");
    o->dwfl = fd < 0 ? NULL : dwfl_begin(&callbacks);
    if (!o->dwfl) {
        if (fd >= 0)
            close(fd);
        return;
    }
    o->module = dwfl_report_offline(o->dwfl, o->path, o->path, fd);
    if (!o->module)
        close(fd);
    dwfl_report_end(o->dwfl, NULL, NULL);
    if (!o->module || !same_id(o->module, o->build_id)) {
        dwfl_end(o->dwfl);
        o->dwfl = NULL;
    }
}

static int is_same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static const struct opened *find_file(const char *path, const char *build_id)
{
    for (int i = 0; i < nfiles; i++)
        if (!strcmp(files[i].path, path) && is_same_text(files[i].build_id, build_id))
            return &files[i];
    if (nfiles == MOST_OPEN)
        return NULL;
    struct opened *o = &files[nfiles];
    o->path = strdup(path);
    o->build_id = build_id ? strdup(build_id) : NULL;
    if (!o->path)
        return NULL;
    nfiles++;
    open_file(o);
    return o;
}

/* "src/solve.c" of a long path. */
static const char *last_two(const char *path)
{
    const char *last = strrchr(path, '/'), *before = last ? memrchr(path, '/', last - path) : NULL;

    return before ? before + 1 : path;
}

/* As the C++ source has it, where that language's library is there; cut where it is long. */
static void set_function(struct line *l, const char *name)
{
    static char *(*demangle)(const char *, char *, size_t *, int *);
    static int looked;
    char *plain = NULL;
    int status = -1, is_mangled = name[0] == '_' && name[1] == 'Z';

    if (!looked && is_mangled) {
        void *library = dlopen("libstdc++.so.6", RTLD_LOCAL | RTLD_LAZY);
        void *function = library ? dlsym(library, "__cxa_demangle") : NULL;

        memcpy(&demangle, &function, sizeof function);
        looked = 1;
    }
    if (demangle && is_mangled) /* "f" would be a float */
        plain = demangle(name, NULL, NULL, &status);
    name = plain && status == 0 ? plain : name;
    text_show(l->function, sizeof l->function, name, strlen(name));
    free(plain);
}

int lines_find(const char *object, const char *build_id, uint64_t offset, struct line *l)
{
    const struct opened *o = find_file(object, build_id);
    GElf_Addr bias = 0;

    *l = (struct line){0};
    if (!o || !o->dwfl || !offset || !dwfl_module_getelf(o->module, &bias))
        return 0;
    GElf_Addr at = bias + offset - 1; /* in the call, which the return address is behind */
    const char *name = dwfl_module_addrname(o->module, at);
    Dwfl_Line *line = dwfl_module_getsrc(o->module, at);
    const char *file = line ? dwfl_lineinfo(line, NULL, &l->line, NULL, NULL, NULL) : NULL;

    set_function(l, name ? name : "");
    file = file ? last_two(file) : "";
    text_show(l->file, sizeof l->file, file, strlen(file));
    return name || file[0];
}

void lines_close(void)
{
    while (nfiles) {
        struct opened *o = &files[--nfiles];

        if (o->dwfl)
            dwfl_end(o->dwfl);
        free(o->path);
        free(o->build_id);
        *o = (struct opened){0};
    }
}
#else
int lines_find(const char *object, const char *build_id, uint64_t offset, struct line *l)
{
    (void)object, (void)build_id, (void)offset;
    *l = (struct line){0};
    return 0;
}

void lines_close(void)
{
}
#endif
