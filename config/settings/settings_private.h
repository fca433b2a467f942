/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations shared by the files behind settings.h; no file outside config/ includes it. */
#ifndef COLLSHIM_CONFIG_SETTINGS_PRIVATE_H
#define COLLSHIM_CONFIG_SETTINGS_PRIVATE_H

#include <stddef.h>

#include "config/settings/settings.h"

/* How one type of setting is read and printed: one row of a table in value.c per type. */
struct cfg_kind {
    const char *name;
    const char
        *expected; /* "a size such as 65536, 64K or 1MiB", as messages word it; NULL: words */
    /* Read size bytes of text into *value: 0, -EINVAL (not of this form), -ERANGE or -ENAMETOOLONG.
       On error *value is untouched. */
    int (*read)(const struct cfg_kind *kind, const char *text, size_t size, long long least,
                long long most, void *value);
    /* As snprintf. */
    int (*print)(const struct cfg_kind *kind, const void *value, char *text, size_t size);
    const char *const *words; /* of a type that is one of several, by value; ends with NULL */
};

/* The types as in settings.def. */
extern const struct cfg_kind cfg_kind_BOOL, cfg_kind_BYTES, cfg_kind_INT, cfg_kind_SECONDS,
    cfg_kind_TEXT;
#define WORDS(type, ...) extern const struct cfg_kind cfg_kind_##type;
#include "config/settings/settings.def"

/* The values that the type allows: `expected`, or "on, copy or off". As snprintf. */
int cfg_print_expected(const struct cfg_kind *kind, char *text, size_t size);

/* 0 if text has the form of COLLSHIM_ALGORITHM, else -EINVAL and why. */
int cfg_check_algorithm(const char *text, char *why, size_t why_size);

/* The setting of that YAML key, or -1 and the nearest key (NULL if none is near). */
int cfg_find_key(const char *key, const char **nearest);

/* The setting that an old name means; a new name means itself. */
enum cfg_id cfg_now(enum cfg_id id);

/*
 * Give one setting the value written in size bytes of text, or note why not and leave it as it is.
 * where: the start of the message, "COLLSHIM_MODE=" or "FILE:3: mode: "; the value follows it.
 */
void cfg_take(struct cfg *c, enum cfg_id id, const char *where, const char *text, size_t size,
              enum cfg_origin origin);

/* Read the YAML file at path into c. Problems count as the site's if the origin is. Returns 0, or
   -1 if nothing could be taken from it. */
int cfg_read_yaml(struct cfg *c, const char *path, enum cfg_origin origin);

/* Find the site's folder and read its file. named: COLLSHIM_TEST_SITE. */
void cfg_site_read(struct cfg *c, const char *named);

/* A key of that file that is no setting, with its value, a list of words. Returns 0 if the key is
   unknown. */
int cfg_site_take(struct cfg *c, const char *where, const char *key, const char *words);

/* Is this process left out? Sets left_out. environment: as `environ`. */
void cfg_site_decide(struct cfg *c, char **environment);

/* Note a line that is no problem, beside the site's problems. */
void cfg_note(struct cfg *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
