/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nccl/process.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "shim/helper/crew.h"

struct nccl_process nccl_process;

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return (hash ^ 0xff) * 0x100000001b3u;
}

void nccl_process_open(void)
{
    char value[CFG_TEXT_MAX];

    if (nccl_process.ncopies)
        return;
    cfg_load(&nccl_process.cfg, NULL);
    crew_init(MAILBOX_FOR_NCCL);
    wanted_open(&nccl_process.cfg, nccl_process.choice);
    if (nccl_process.cfg.mode != CFG_MODE_OFF)
        tuning_load(&nccl_process.cfg, &nccl_process.tuning);
    nccl_process.settings_hash =
        hash_text(0xcbf29ce484222325u ^ tuning_hash(&nccl_process.tuning), COLLSHIM_VERSION);
    for (int id = 0; id < CFG_COUNT; id++) {
        if (!cfg_rows[id].agreed)
            continue;
        cfg_value_text(&nccl_process.cfg, (enum cfg_id)id, value, sizeof value);
        nccl_process.settings_hash = hash_text(nccl_process.settings_hash, value);
    }
}

void nccl_process_complain(void)
{
    static int done;

    if (__atomic_exchange_n(&done, 1, __ATOMIC_RELAXED))
        return;
    for (const char *line = nccl_process.cfg.problem; *line; line += strcspn(line, "\n") + 1)
        say(CFG_LEVEL_WARN, "%.*s", (int)strcspn(line, "\n"), line);
}

void say(enum cfg_level level, const char *format, ...)
{
    char line[1024] = "collshim: ";
    size_t n = strlen(line);
    va_list args;

    if ((int)level > nccl_process.cfg.log)
        return;
    va_start(args, format);
    vsnprintf(line + n, sizeof line - n - 1, format, args);
    va_end(args);
    memcpy(line + strlen(line), "\n", 2);
    fputs(line, stderr); /* one write, so that ranks do not cut each other's lines */
}
