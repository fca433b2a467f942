/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A backend names the MPI it was compiled for in a string that begins with MARK, the old convention
 * of what(1). This file searches for the string. Rejected: dlopen, because it needs the backend's
 * MPI, which a login node may lack, and runs its constructors here.
 */
#include "shim/cli/install/libraries.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/base/text.h"
#include "shim/cli/install/preload_path.h"

#define MARK_NAME "collshim backend for "
#define PREFIX "libcollshim-"
#define SUFFIX ".so"

/* Copy the text behind the mark, up to its end; text stays empty if the file has none. */
static void find_mark(const char *file, size_t file_size, char *text, size_t size)
{
    static const char mark[] = "@(#)";
    const char *at = file, *end = file + file_size;
    size_t mark_size = strlen(mark), name_size = strlen(MARK_NAME);

    /* The mark and the name are apart in this file, or the search would find itself. */
    while ((at = memchr(at, mark[0], (size_t)(end - at))) != NULL) {
        size_t left = (size_t)(end - at);

        if (left > mark_size + name_size && !memcmp(at, mark, mark_size) &&
            !memcmp(at + mark_size, MARK_NAME, name_size)) {
            at += mark_size + name_size;
            text_show(text, size, at, strnlen(at, (size_t)(end - at)));
            return;
        }
        at++;
    }
}

static void read_mark(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    void *file;

    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (file != MAP_FAILED) {
            find_mark(file, (size_t)st.st_size, text, size);
            munmap(file, (size_t)st.st_size);
        }
    }
    close(fd);
}

static void take_file(struct libraries *l, const char *directory, const char *name)
{
    struct library *b = &l->backend[l->n];
    size_t n = strlen(name), prefix = strlen(PREFIX), suffix = strlen(SUFFIX);
    char path[PATH_MAX];

    if (!strcmp(name, "libcollshim.so"))
        l->has_preload = 1;
    if (l->n == LIBRARIES_MOST || n <= prefix + suffix || strncmp(name, PREFIX, prefix) ||
        strcmp(name + n - suffix, SUFFIX))
        return;
    if (n - prefix - suffix >= sizeof b->family)
        return;
    snprintf(b->family, sizeof b->family, "%.*s", (int)(n - prefix - suffix), name + prefix);
    b->built_for[0] = 0;
    if (snprintf(path, sizeof path, "%s/%s", directory, name) < (int)sizeof path)
        read_mark(path, b->built_for, sizeof b->built_for);
    l->n++;
}

static int by_family(const void *a, const void *b)
{
    return strcmp(((const struct library *)a)->family, ((const struct library *)b)->family);
}

static int search(struct libraries *l, const char *directory)
{
    DIR *d = opendir(directory);
    const struct dirent *entry;

    if (!d)
        return 0;
    while ((entry = readdir(d)) != NULL)
        take_file(l, directory, entry->d_name);
    closedir(d);
    qsort(l->backend, (size_t)l->n, sizeof *l->backend, by_family);
    return l->n > 0 || l->has_preload;
}

void libraries_find(struct libraries *l)
{
    char path[PATH_MAX];

    memset(l, 0, sizeof *l);
    if (!preload_command_folder(l->searched))
        return;
    for (const char *const *place = preload_places; *place; place++) {
        if (snprintf(path, sizeof path, "%s%s", l->searched, *place) >= (int)sizeof path)
            continue;
        if (search(l, path) && realpath(path, l->directory))
            return;
    }
    l->directory[0] = 0;
}
