/* SPDX-License-Identifier: BSD-3-Clause */
#include "transports/shm/shm_segment.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "transports/shm/shm_file.h"

enum { LARGEST_CELL = 32 << 10, SMALLEST_CELL = 4 << 10, PAGE = 4096 };
static const size_t most_for_cells = (size_t)512 << 20;

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
    return shm_file_map(fd, s->bytes, &s->map);
}

int shm_segment_create(struct shm_segment *s, int members, uint64_t nonce, int fd)
{
    lay_out(s, members);
    int rc = shm_file_size(fd, s->bytes);
    if (!rc)
        rc = map(s, fd);
    if (!rc)
        *(struct header *)s->map = (struct header){.nonce = nonce, .bytes = s->bytes};
    return rc;
}

int shm_segment_join(struct shm_segment *s, int members, uint64_t nonce, int pid, int fd)
{
    lay_out(s, members);
    int own = shm_file_open(pid, fd, s->bytes);
    if (own < 0)
        return own;
    int rc = map(s, own);
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
