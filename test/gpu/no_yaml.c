/* SPDX-License-Identifier: BSD-3-Clause */
/* In place of config/settings/yaml.c: a machine with a GPU has a compiler and CUDA, but not always
   libyaml, and nothing here reads a settings file. */
#include "config/settings/settings_private.h"

int cfg_read_yaml(struct cfg *c, const char *path, enum cfg_origin origin)
{
    (void)origin;
    cfg_problem(c, "%s: settings files are not read here", path);
    return -1;
}
