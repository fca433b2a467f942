/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A site's decisions for all jobs: a folder with collshim.yaml and `off`. Settings in collshim.yaml
 * are read before the user's. If `off` exists, all jobs that start are native. The folder is
 * /etc/collshim; where that is absent, the one that COLLSHIM_TEST_SITE names.
 *
 * Beside settings the file may have, each one value or a list:
 *   lock           settings that users cannot change
 *   skip_programs  patterns of fnmatch(3) for the file that runs; of its path if it has a '/'
 *   skip_users     numbers, compared with the process's real one; names, with $USER
 *   share          the percentage of jobs that take part, by a hash of the job's id
 *
 * In doubt the process is left out: the file cannot be read or is not YAML, the share is no
 * percentage. The functions are for settings.c and yaml.c; `struct cfg_site` is for all who read
 * settings.
 */
#ifndef COLLSHIM_CONFIG_SITE_H
#define COLLSHIM_CONFIG_SITE_H

#include <stddef.h>

#ifndef COLLSHIM_SITE_DIR
#define COLLSHIM_SITE_DIR "/etc/collshim"
#endif

enum { CFG_SITE_TEXT = 2048, CFG_SHARE_ALL = 10000 };

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

struct cfg;

/* Find the folder and read the file. named: COLLSHIM_TEST_SITE. */
void cfg_site_read(struct cfg *c, const char *named);

/* A key of the file that is no setting, with its value, a list of words. Returns 0 if the key is
   unknown. */
int cfg_site_take(struct cfg *c, const char *where, const char *key, const char *words);

/* Is this process left out? Sets left_out. environment: as `environ`. */
void cfg_site_decide(struct cfg *c, char **environment);

#endif
