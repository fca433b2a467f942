/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "shim/decide/store/store_folder.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/base/read_file.h"
#include "config/base/text.h"

static int is_folder(const char *path)
{
    struct stat st;

    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

const char *store_folder_own(const char *path, char own[STORE_PATH])
{
    if (!is_folder(path))
        return path;
    snprintf(own, STORE_PATH, "%s/%u.store", path, (unsigned)geteuid());
    return own;
}

static int is_user_file(const struct dirent *e)
{
    const char *end = e->d_name;

    while (text_is_digit(*end))
        end++;
    return end > e->d_name && !strcmp(end, ".store");
}

/* Not alphasort, which follows the application's locale. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Returns 0, or -1: it is left out. */
static int read_user(const char *path, unsigned long uid, struct store_rows *rows)
{
    const char *why;
    struct stat st;
    char *text;
    size_t size;

    if (uid == geteuid())
        return store_rows_read(path, rows);
    if (lstat(path, &st) || !S_ISREG(st.st_mode) || st.st_uid != uid ||
        config_read_file(path, STORE_BYTES, &text, &size, &why) < 0)
        return -1;
    int rc = strncmp(text, STORE_HEAD, strlen(STORE_HEAD)) ? -1 : store_rows_parse(text, rows);
    free(text);
    return rc;
}

static void add(struct store_rows *all, const struct store_rows *one)
{
    for (int i = 0; i < one->n; i++) {
        struct store_row r = one->row[i], *there = store_rows_find(all, &r);

        if (there && there->day <= r.day) {
            store_row_combine(there, &r);
        } else if (there) {
            store_row_combine(&r, there);
            *there = r;
        } else if (all->n < STORE_ROWS) {
            store_rows_set(all, &r);
        }
    }
}

int store_folder_read(const char *path, struct store_rows *rows)
{
    struct dirent **list;
    char file[STORE_PATH];

    if (!is_folder(path))
        return store_rows_read(path, rows);
    *rows = (struct store_rows){0};
    int n = scandir(path, &list, is_user_file, by_name);
    for (int i = 0; i < n; i++) {
        struct store_rows one = {0};

        snprintf(file, sizeof file, "%s/%s", path, list[i]->d_name);
        if (i < STORE_USERS && !read_user(file, strtoul(list[i]->d_name, NULL, 10), &one))
            add(rows, &one);
        store_rows_free(&one);
        free(list[i]);
    }
    if (n >= 0)
        free(list);
    return 0;
}
