/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The settings: one row each in settings.def, read once per process from the site's file (site.c),
 * the YAML file that COLLSHIM_CONFIG names and the environment. The last one wins, but for settings
 * that the site has locked. A bad value never harms the job: it is reported in one line, and the
 * default (or the file's value) stays.
 *
 * Reading is single-threaded; a loaded struct cfg is const from then on.
 */
#ifndef COLLSHIM_CONFIG_SETTINGS_H
#define COLLSHIM_CONFIG_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

#ifndef COLLSHIM_SITE_DIR
#define COLLSHIM_SITE_DIR "/etc/collshim"
#endif

enum { CFG_SITE_TEXT = 2048, CFG_SHARE_ALL = 10000 };

/* In the order of their words in settings.def. */
enum cfg_mode { CFG_MODE_ON, CFG_MODE_OFF, CFG_MODE_AB, CFG_MODE_VERIFY };
enum cfg_choose { CFG_CHOOSE_MEASURE, CFG_CHOOSE_MODEL, CFG_CHOOSE_ALWAYS };
enum cfg_shm { CFG_SHM_ON, CFG_SHM_COPY, CFG_SHM_OFF };
enum cfg_signal { CFG_SIGNAL_NONE, CFG_SIGNAL_USR1, CFG_SIGNAL_USR2 };
enum cfg_level { CFG_LEVEL_ERROR, CFG_LEVEL_WARN, CFG_LEVEL_INFO, CFG_LEVEL_DEBUG };
enum cfg_origin { CFG_FROM_DEFAULT, CFG_FROM_SITE, CFG_FROM_FILE, CFG_FROM_ENVIRONMENT };
extern const char *const cfg_origin_texts[]; /* "default", ... */

#define CFG_TEXT_MAX 512

#define WORDS(type, ...) typedef int cfg_##type;
#include "config/settings/settings.def"
typedef size_t cfg_BYTES;
typedef int cfg_INT;
typedef int cfg_SECONDS;
typedef int cfg_BOOL;
typedef char cfg_TEXT[CFG_TEXT_MAX];

enum cfg_id {
#define SETTING(field, type, ...) CFG_##field,
#include "config/settings/settings.def"
    CFG_COUNT,
    CFG_BEFORE_RENAMED = CFG_COUNT - 1,
#define RENAMED(field, ...) CFG_old_##field,
#include "config/settings/settings.def"
    CFG_ALL
};

/* A site's decisions for all jobs, and whether they concern this process. */
struct cfg_site {
    char directory[512]; /* "": there is none */
    int has_file;
    int broken;                   /* the file cannot be used: all is left out */
    char lock[CFG_SITE_TEXT];     /* lists of words, divided by commas */
    char programs[CFG_SITE_TEXT]; /* left out */
    char users[CFG_SITE_TEXT];    /* left out */
    int share;                    /* of CFG_SHARE_ALL jobs so many take part */
    char left_out[CFG_SITE_TEXT]; /* why this process is left out, one line; "": it takes part */
    int own_mode;                 /* enum cfg_mode, as if no process were left out */
    int problems;                 /* of the file */
    char note[2048]; /* errors in the file, what it locks, and old names of settings; lines */
};

struct cfg {
#define SETTING(field, type, ...) cfg_##type field;
#include "config/settings/settings.def"
#define RENAMED(field, type, ...) cfg_##type old_##field; /* settings.c alone reads it */
#include "config/settings/settings.def"
    enum cfg_origin origin[CFG_ALL];
    unsigned char locked[CFG_COUNT]; /* by the site: what is read later changes nothing */
    int reading_site;                /* problems are the site's */
    struct cfg_site rules;
    int problems;       /* the user's: how many lines there are in `problem` */
    char problem[2048]; /* one line each, ended by \n; lines that do not fit are counted only */
};

/* How the rows look to info, manual page and documentation. Old names have rows from CFG_COUNT on.
 */
struct cfg_row {
    const char *name;     /* "min_bytes" */
    const char *variable; /* "COLLSHIM_MIN_BYTES" */
    const char *default_text;
    const char *meaning; /* NULL: an old name */
    int agreed;
};
extern const struct cfg_row cfg_rows[CFG_ALL];
const char *cfg_type(enum cfg_id id); /* "bytes" */
int cfg_is_for_users(enum cfg_id id); /* no old name, and not for tests */

/*
 * Read all settings. environment: as `environ`, or NULL for the process's own (then through
 * secure_getenv rules: a set-uid process reads none). Always leaves a usable *c; problems are
 * counted and worded in c->problem. Returns c->problems.
 */
int cfg_load(struct cfg *c, char **environment);

/* The value of one setting as text, in the form that cfg_load reads. Returns as snprintf does. */
int cfg_value_text(const struct cfg *c, enum cfg_id id, char *text, size_t size);

/*
 * The user's text for one collective: the right-hand side in `algorithm` (borrowed copy into
 * value), "" if there is none. Commas inside parentheses belong to the recipe. Returns its length.
 */
int cfg_algorithm_for(const struct cfg *c, const char *collective, char *value, size_t size);

/*
 * The index-th pair of `algorithm` (from 0), for those who check that the names exist. Both texts
 * are cut at their size. Returns 1, or 0 if there are not so many.
 */
int cfg_algorithm_pair(const struct cfg *c, int index, char *collective, size_t collective_size,
                       char *value, size_t value_size);

/*
 * Note one more problem, one line without its end, as cfg_load does: for checks that need more
 * than config/ knows. Control characters in it become '?'.
 */
void cfg_problem(struct cfg *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Print a byte count in the largest unit that divides it: 65536 is "64KiB". */
int cfg_print_bytes(unsigned long long bytes, char *text, size_t size);

/* A size as settings are written, "64KiB"; 0 and *bytes, or -EINVAL or -ERANGE. */
int cfg_parse_bytes(const char *text, size_t *bytes);

#endif
