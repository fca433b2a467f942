/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "test/fuzz/fuzz.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config/base/text.h"

const struct fuzz_target fuzz_targets[] = {
#define TARGET(name, what) {#name, what, fuzz_##name},
#include "test/fuzz/targets.def"
#undef TARGET
    {NULL, NULL, NULL}};

static FILE *complaints, *printed; /* the original stderr; what is caught */
static char *caught;
static size_t caught_size;
static char folder[64];

const struct fuzz_target *fuzz_find(const char *name)
{
    for (const struct fuzz_target *t = fuzz_targets; t->name; t++)
        if (name && !strcmp(t->name, name))
            return t;
    return NULL;
}

void fuzz_failed(const char *what, const char *file, int line)
{
    fprintf(complaints, "%s:%d: does not hold: %s\n", file, line, what);
    fflush(complaints);
    abort();
}

static void remove_folder(void)
{
    char command[96];

    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command))
        fprintf(complaints, "%s: cannot be removed\n", folder);
}

void fuzz_begin(void)
{
    complaints = stderr;
    stderr = fopen("/dev/null", "we");
    unsetenv("COLUMNS");
}

const char *fuzz_folder(void)
{
    if (!folder[0]) {
        strcpy(folder, "/tmp/collshim-fuzz.XXXXXX");
        FUZZ_MUST(mkdtemp(folder));
        atexit(remove_folder);
    }
    return folder;
}

void fuzz_put(const char *name, const uint8_t *data, size_t size)
{
    char path[128];

    snprintf(path, sizeof path, "%s/%s", fuzz_folder(), name);
    FILE *f = fopen(path, "we");
    FUZZ_MUST(f && fwrite(data, 1, size, f) == size && !fclose(f));
}

char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    FUZZ_MUST(text);
    if (size)
        memcpy(text, data, size);
    text[size] = 0;
    return text;
}

const char *fuzz_file(const uint8_t *data, size_t size)
{
    static char path[64];
    static int fd = -1;

    if (fd < 0)
        fd = memfd_create("fuzz", MFD_CLOEXEC);
    FUZZ_MUST(!ftruncate(fd, 0) && pwrite(fd, data, size, 0) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return path;
}

void fuzz_catch(void)
{
    printed = open_memstream(&caught, &caught_size);
    FUZZ_MUST(printed);
    stdout = printed;
}

char *fuzz_caught(size_t *size)
{
    fclose(printed);
    stdout = stderr;
    *size = caught_size;
    return caught;
}

void fuzz_must_be_plain(const char *text, size_t size)
{
    unsigned code;

    for (size_t at = 0, n; at < size; at += n) {
        n = text[at] == '\n' ? 1 : (size_t)text_character(text + at, size - at, &code);
        FUZZ_MUST(n);
        FUZZ_MUST(text[at] == '\n' || !text_is_control(code));
    }
}

void fuzz_must_be_json(const char *text, size_t size)
{
    json_t *value = json_loadb(text, size, 0, NULL);

    FUZZ_MUST(value);
    json_decref(value);
}

int fuzz_command(int (*command)(int, char **), char **argv, int is_json)
{
    int argc = 0;
    size_t size;

    while (argv[argc])
        argc++;
    fuzz_catch();
    int code = command(argc, argv);
    char *text = fuzz_caught(&size);
    fuzz_must_be_plain(text, size);
    if (is_json && !code)
        fuzz_must_be_json(text, size);
    free(text);
    return code;
}
