/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts and files that settings name, and what all that is shown goes through. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/cpulist.h"
#include "config/base/json.h"
#include "config/base/preload_list.h"
#include "config/base/text.h"
#include "config/settings/profile.h"
#include "config/topo/topo.h"
#include "planners/choose/tuning.h"
#include "shim/decide/store/store.h"
#include "test/fuzz/fuzz.h"

/* A topology that is printed reads as the same one. */
void fuzz_topology(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), why[256];
    struct topo *t, *again;

    if (!topo_parse(text, 0, &t, why, sizeof why)) {
        int length = topo_print(t, NULL, 0);
        char *printed = malloc((size_t)length + 1);

        FUZZ_MUST(printed);
        FUZZ_MUST(topo_print(t, printed, (size_t)length + 1) == length);
        FUZZ_MUST(!topo_parse(printed, t->nranks, &again, why, sizeof why));
        FUZZ_MUST(topo_hash(t) == topo_hash(again));
        topo_free(again);
        topo_free(t);
        free(printed);
    }
    free(text);
}

/* A row that is refused costs a line that may be shown. */
void fuzz_profile(const uint8_t *data, size_t size)
{
    static struct cfg c;
    char *text = fuzz_text(data, size);
    struct profile p;
    struct tuning t;

    memset(&c, 0, sizeof c);
    if (!profile_parse("profile", text, &c, &p) && !tuning_open("profile", &p, &c, &t)) {
        tuning_hash(&t);
        tuning_free(&t);
    }
    profile_free(&p);
    fuzz_must_be_plain(c.problem, strlen(c.problem));
    free(text);
}

/* Rows that are printed are read again as the same rows. */
void fuzz_store(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *printed = NULL;
    struct store_rows rows, again;
    size_t length = 0;

    if (!store_rows_parse(text, &rows)) {
        FILE *f = open_memstream(&printed, &length);

        FUZZ_MUST(f);
        for (int i = 0; i < rows.n; i++)
            store_row_print(f, &rows.row[i]);
        fclose(f);
        FUZZ_MUST(!store_rows_parse(printed, &again));
        FUZZ_MUST(again.n == rows.n);
        for (int i = 0; i < rows.n; i++)
            FUZZ_MUST(store_rows_find(&again, &rows.row[i]));
        store_rows_free(&again);
        free(printed);
    }
    store_rows_free(&rows);
    if (!store_open(text, "fuzz"))
        store_close();
    free(text);
}

/* A text that is shown is plain, and keeps to its room; JSON of it is JSON. */
void fuzz_shown(const uint8_t *data, size_t size)
{
    size_t room = size ? 4 + data[0] % 60u : 4, length = 0;
    char *text = fuzz_text(data, size), *printed = NULL;
    char *out = malloc(room);

    FUZZ_MUST(out);
    text_show(out, room, text, size);
    FUZZ_MUST(strnlen(out, room) < room);
    fuzz_must_be_plain(out, strlen(out));
    FILE *f = open_memstream(&printed, &length);
    FUZZ_MUST(f);
    struct json j = json_begin(f);
    json_open(&j, NULL, '{');
    json_string(&j, "key", text);
    json_close(&j, '}');
    fclose(f);
    fuzz_must_be_json(printed, length);
    free(printed);
    text_clean(text);
    fuzz_must_be_plain(text, strlen(text));
    FUZZ_MUST(!strchr(text, '\n'));
    free(text);
    free(out);
}

/* How many entries of the list are files of that name. */
static int times_in(const char *list, const char *name)
{
    size_t length = strlen(name);
    int n = 0;

    for (; *list; list += strspn(list, ":")) {
        size_t size = strcspn(list, ":");

        n += size >= length && !strncmp(list + size - length, name, length) &&
             (size == length || list[size - length - 1] == '/');
        list += size;
    }
    return n;
}

/* Ours is in the list once, or never, and doing it twice is doing it once. */
void fuzz_lists(const uint8_t *data, size_t size)
{
    static const char *const libraries[] = {"/opt/libcollshim.so", NULL};
    char *text = fuzz_text(data, size);
    cpu_set_t cpus;

    for (int i = 0; i < 2; i++) {
        char *once = preload_list_with(text, libraries[i]);

        FUZZ_MUST(once);
        char *twice = preload_list_with(once, libraries[i]);
        FUZZ_MUST(twice && !strcmp(once, twice));
        FUZZ_MUST(times_in(once, "libcollshim.so") == (libraries[i] != NULL));
        free(once);
        free(twice);
    }
    CPU_ZERO(&cpus);
    cpulist_parse(text, &cpus);
    free(text);
}
