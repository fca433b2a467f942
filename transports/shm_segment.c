/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "transports/shm_segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LARGEST_CELL = 32 << 10, SMALLEST_CELL = 4 << 10, PAGE = 4096 };
static const size_t most_for_cells = (size_t)512 << 20;
static const char name[] = "collshim";

/* Fields that a member checks before it trusts the rest. */
struct header {
    uint64_t nonce;
    uint64_t bytes;
};

static size_t pages(size_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

static size_t boards_from(const struct shm_segment *s)
{
    return PAGE + pages((size_t)s->members * (size_t)s->members * sizeof(struct shm_pair));
}

static size_t notices_from(const struct shm_segment *s)
{
    return boards_from(s) + pages((size_t)s->members * SHM_NOTICES * sizeof(struct shm_notice));
}

static size_t cells_from(const struct shm_segment *s)
{
    return notices_from(s) + (size_t)s->members * SHM_NOTICES * SHM_NOTICE_BYTES;
}

/* The same on all members: a function of their number. */
static void lay_out(struct shm_segment *s, int members)
{
    size_t pairs = (size_t)members * (size_t)members;

    *s = (struct shm_segment){.members = members, .cell_bytes = LARGEST_CELL};
    while (s->cell_bytes > SMALLEST_CELL && pairs * SHM_CELLS * s->cell_bytes > most_for_cells)
        s->cell_bytes /= 2;
    s->bytes = cells_from(s) + pairs * SHM_CELLS * s->cell_bytes;
}

/* A forked child has no part in the communicator, and must not spoil the rings. */
static int map(struct shm_segment *s, int fd)
{
    void *at = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);

    if (at == MAP_FAILED)
        return -errno;
    madvise(at, s->bytes, MADV_DONTFORK);
    s->map = at;
    return 0;
}

/* A file that grows past the limit costs the process a deadly signal, not an error code. */
static int too_large(size_t bytes)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
           bytes > limit.rlim_cur;
}

int shm_segment_file(void)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

    return fd < 0 ? -errno : fd;
}

int shm_segment_create(struct shm_segment *s, int members, uint64_t nonce, int fd)
{
    lay_out(s, members);
    if (too_large(s->bytes))
        return -EFBIG;
    /* Sealed: no process can shrink the file. */
    if (fchmod(fd, 0600) || ftruncate(fd, (off_t)s->bytes) ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
        return -errno;
    int rc = map(s, fd);
    if (!rc)
        *(struct header *)s->map = (struct header){.nonce = nonce, .bytes = s->bytes};
    return rc;
}

/* A process id of another name space may belong to any process: look before opening. */
static int is_segment(const char *path)
{
    char target[64];
    ssize_t n = readlink(path, target, sizeof target - 1);

    if (n < 0)
        return -errno;
    target[n] = 0;
    return strstr(target, name) && !strncmp(target, "/memfd:", 7) ? 0 : -ESTALE;
}

int shm_segment_join(struct shm_segment *s, int members, uint64_t nonce, int pid, int fd)
{
    char path[64];
    struct stat st;

    lay_out(s, members);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
    int rc = is_segment(path);
    if (rc)
        return rc;
    int own = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (own < 0)
        return -errno;
    rc = fstat(own, &st) ? -errno : (uint64_t)st.st_size != s->bytes ? -ESTALE : map(s, own);
    close(own);
    if (rc)
        return rc;
    const struct header *h = (const struct header *)s->map;
    if (h->nonce != nonce || h->bytes != s->bytes) {
        shm_segment_close(s);
        return -ESTALE;
    }
    return 0;
}

void shm_segment_close(struct shm_segment *s)
{
    if (s->map)
        munmap(s->map, s->bytes);
    s->map = NULL;
}

static size_t pair_index(const struct shm_segment *s, int from, int to)
{
    return (size_t)from * (size_t)s->members + (size_t)to;
}

struct shm_pair *shm_segment_pair(const struct shm_segment *s, int from, int to)
{
    return (struct shm_pair *)(s->map + PAGE) + pair_index(s, from, to);
}

char *shm_segment_cell(const struct shm_segment *s, int from, int to, uint32_t count)
{
    return s->map + cells_from(s) +
           (pair_index(s, from, to) * SHM_CELLS + count % SHM_CELLS) * s->cell_bytes;
}

static size_t notice_index(int member, uint32_t notice)
{
    return (size_t)member * SHM_NOTICES + notice;
}

struct shm_notice *shm_segment_notice(const struct shm_segment *s, int member, uint32_t notice)
{
    return (struct shm_notice *)(s->map + boards_from(s)) + notice_index(member, notice);
}

char *shm_segment_notice_bytes(const struct shm_segment *s, int member, uint32_t notice)
{
    return s->map + notices_from(s) + notice_index(member, notice) * SHM_NOTICE_BYTES;
}
