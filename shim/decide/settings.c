/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/decide/settings.h"

#include <string.h>

#include "config/hash.h"
#include "shim/decide/say.h"

struct settings settings;

void settings_open(const char *calls)
{
    settings.calls = calls;
    cfg_load(&settings.cfg, NULL);
    wanted_open(&settings.cfg, settings.choice);
    if (settings.cfg.mode != CFG_MODE_OFF)
        tuning_load(&settings.cfg, &settings.tuning);
}

void settings_complain(void)
{
    static int done;

    if (__atomic_exchange_n(&done, 1, __ATOMIC_RELAXED))
        return;
    for (const char *line = settings.cfg.problem; *line;) {
        size_t length = strcspn(line, "\n");

        say(CFG_LEVEL_WARN, "%.*s", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

uint64_t settings_hash(void)
{
    uint64_t hash = hash_text(HASH_SEED ^ tuning_hash(&settings.tuning), COLLSHIM_VERSION);
    char value[CFG_TEXT_MAX];

    for (int id = 0; id < CFG_COUNT; id++)
        if (cfg_rows[id].agreed) {
            cfg_value_text(&settings.cfg, (enum cfg_id)id, value, sizeof value);
            hash = hash_text(hash, value);
        }
    return hash;
}
