/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/cli/install/preload_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/base/preload_list.h"

const char *const preload_places[] = {
    "", "/../lib", "/../lib64", "/../lib/collshim", "/../lib64/collshim", NULL};

int preload_command_folder(char folder[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    char *slash;

    if (n <= 0)
        return 0;
    folder[n] = 0;
    slash = strrchr(folder, '/');
    if (!slash)
        return 0;
    slash[slash == folder] = 0;
    return 1;
}

int preload_path(char path[PATH_MAX])
{
    char folder[PATH_MAX], candidate[PATH_MAX + 64];

    if (!preload_command_folder(folder))
        return 0;
    for (const char *const *place = preload_places; *place; place++) {
        snprintf(candidate, sizeof candidate, "%s%s/%s", folder, *place, PRELOAD_NAME);
        if (access(candidate, R_OK) == 0 && realpath(candidate, path))
            return 1;
    }
    return 0;
}
