/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/base/host.h"

#include <stdio.h>
#include <unistd.h>

#include "config/base/hash.h"

uint64_t host_key(void)
{
    char host[256] = "", boot[64] = "";
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

    gethostname(host, sizeof host - 1);
    if (f) {
        if (!fgets(boot, sizeof boot, f))
            boot[0] = 0;
        fclose(f);
    }
    return hash_text(hash_text(HASH_SEED, host), boot);
}
