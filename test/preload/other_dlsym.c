/* SPDX-License-Identifier: BSD-3-Clause */
/* Another tool that lives from dlsym(), as those that divide GPUs do: preloaded behind collshim.
 * Each lookup of a name that begins with "nccl" leaves a line in $OTHER_DLSYM. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((visibility("default"))) void *dlsym(void *handle, const char *name);

void *dlsym(void *handle, const char *name)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
    const char *path = getenv("OTHER_DLSYM");
    void *(*real)(void *, const char *) = NULL;

    for (int i = 0; !real && i < 3; i++)
        *(void **)&real = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    if (path && !strncmp(name, "nccl", 4)) {
        int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

        if (fd >= 0 && (write(fd, name, strlen(name)) < 0 || write(fd, "\n", 1) < 0))
            abort();
        if (fd >= 0)
            close(fd);
    }
    return real(handle, name);
}
