/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings, from each place that they are read from. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/settings/settings.h"
#include "test/fuzz/fuzz.h"

enum { VARIABLES = 64, VALUE = CFG_TEXT_MAX + 32, PRINTED = VALUE + 64 };

/* Its lines may be shown, and its values are read again as the same. */
static void load(char **environment)
{
    static struct cfg c, again;
    static char line[CFG_COUNT][PRINTED];
    char *printed[CFG_COUNT + 1] = {NULL}, value[VALUE], same[VALUE];

    cfg_load(&c, environment);
    fuzz_must_be_plain(c.problem, strlen(c.problem));
    fuzz_must_be_plain(c.rules.note, strlen(c.rules.note));
    fuzz_must_be_plain(c.rules.left_out, strlen(c.rules.left_out));
    for (int i = 0; i < CFG_COUNT; i++) {
        cfg_value_text(&c, (enum cfg_id)i, value, sizeof value);
        /* These name other files, which would be read. */
        int is_file = i == CFG_config || i == CFG_test_site;
        snprintf(line[i], sizeof line[i], "%.60s=%s", cfg_rows[i].variable, is_file ? "" : value);
        printed[i] = line[i];
    }
    cfg_load(&again, printed);
    FUZZ_MUST(!again.problems);
    for (int i = 0; i < CFG_COUNT; i++) {
        if (i == CFG_config || i == CFG_test_site)
            continue;
        cfg_value_text(&c, (enum cfg_id)i, value, sizeof value);
        cfg_value_text(&again, (enum cfg_id)i, same, sizeof same);
        FUZZ_MUST(!strcmp(value, same));
    }
}

void fuzz_settings(const uint8_t *data, size_t size)
{
    char variable[96];

    snprintf(variable, sizeof variable, "COLLSHIM_CONFIG=%s", fuzz_file(data, size));
    load((char *[]){variable, NULL});
}

/* One variable per line. */
void fuzz_environment(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *rest = text, *environment[VARIABLES + 1];
    int n = 0;

    for (char *line; n < VARIABLES && (line = strsep(&rest, "\n"));)
        environment[n++] = line;
    environment[n] = NULL;
    load(environment);
    free(text);
}

void fuzz_site(const uint8_t *data, size_t size)
{
    char variable[96], user[] = "USER=fuzz", job[] = "SLURM_JOB_ID=7";

    fuzz_put("collshim.yaml", data, size);
    snprintf(variable, sizeof variable, "COLLSHIM_TEST_SITE=%s", fuzz_folder());
    load((char *[]){variable, user, job, NULL});
}
