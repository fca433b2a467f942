/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "transports/shm/shm_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const char name[] = "collshim";

int shm_file_make(void)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

    return fd < 0 ? -errno : fd;
}

/* A file that grows past the limit costs the process a deadly signal, not an error code. */
static int too_large(size_t bytes)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
           bytes > limit.rlim_cur;
}

int shm_file_size(int fd, size_t bytes)
{
    if (too_large(bytes))
        return -EFBIG;
    /* Sealed: no process can shrink the file. */
    return fchmod(fd, 0600) || ftruncate(fd, (off_t)bytes) ||
                   fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
               ? -errno
               : 0;
}

/* A process id of another name space may belong to any process: look before opening. */
static int is_ours(const char *path)
{
    char target[64];
    ssize_t n = readlink(path, target, sizeof target - 1);

    if (n < 0)
        return -errno;
    target[n] = 0;
    return strstr(target, name) && !strncmp(target, "/memfd:", 7) ? 0 : -ESTALE;
}

int shm_file_open(int pid, int fd, size_t bytes)
{
    char path[64];
    struct stat st;

    snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
    int rc = is_ours(path);
    if (rc)
        return rc;
    int own = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (own < 0)
        return -errno;
    rc = fstat(own, &st) ? -errno : (uint64_t)st.st_size != bytes ? -ESTALE : 0;
    if (!rc)
        return own;
    close(own);
    return rc;
}

int shm_file_map(int fd, size_t bytes, char **at_p)
{
    char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);

    if (at == MAP_FAILED)
        return -errno;
    madvise(at, bytes, MADV_DONTFORK);
    *at_p = at;
    return 0;
}
