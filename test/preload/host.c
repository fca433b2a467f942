/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program without MPI that opens one with it, as an interpreter opens an extension module:
 * host local|global PLUGIN. With "local" the plugin's libmpi is in no global scope.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "host: usage: host local|global PLUGIN\n");
        return 2;
    }
    int scope = strcmp(argv[1], "global") == 0 ? RTLD_GLOBAL : RTLD_LOCAL;
    void *plugin = dlopen(argv[2], RTLD_NOW | scope);
    int (*app_main)(int, char **) =
        plugin ? (int (*)(int, char **))dlsym(plugin, "app_main") : NULL;
    if (!app_main) {
        fprintf(stderr, "host: %s\n", dlerror());
        return 2;
    }
    return app_main(1, argv);
}
