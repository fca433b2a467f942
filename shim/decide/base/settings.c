/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/decide/base/settings.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config/base/hash.h"

struct settings settings;
const char settings_version[] = COLLSHIM_VERSION;

void settings_open(const char *calls)
{
    settings.calls = calls;
    if (!getcwd(settings.start, sizeof settings.start))
        settings.start[0] = 0;
    cfg_load(&settings.cfg, NULL);
    wanted_open(&settings.cfg, settings.choice);
    if (settings.cfg.mode != CFG_MODE_OFF)
        tuning_load(&settings.cfg, &settings.tuning);
}

const char *settings_path(const char *text, struct settings_path *path)
{
    int joins = *text && *text != '/' && settings.start[0];

    /* cppcheck-suppress ctuuninitvar ; snprintf writes it */
    snprintf(path->at, sizeof path->at, "%s%s%s", joins ? settings.start : "", joins ? "/" : "",
             text);
    return path->at;
}

const char *settings_topology(struct settings_path *path)
{
    const char *text = settings.cfg.topology;

    return access(settings_path(text, path), F_OK) == 0 ? path->at : text;
}

uint64_t settings_hash(void)
{
    uint64_t files = tuning_hash(&settings.tuning) ^ wanted_hash(settings.choice);
    uint64_t hash = hash_text(HASH_SEED ^ files, settings_version);
    char value[CFG_TEXT_MAX];

    for (int id = 0; id < CFG_COUNT; id++)
        if (cfg_rows[id].agreed) {
            cfg_value_text(&settings.cfg, (enum cfg_id)id, value, sizeof value);
            hash = hash_text(hash, value);
        }
    return hash;
}
