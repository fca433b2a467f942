/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "shim/helper/mailbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Addresses in a file of which most is never there. */
static const size_t head_room = (size_t)1 << 20;
/* The largest payload and window of a channel. */
static const size_t payload_max = (size_t)1 << 28, window_max = (size_t)1 << 36;

static size_t file_bytes(void)
{
    return head_room + MAILBOX_CHANNELS * (payload_max + window_max);
}

static size_t payload_at(int channel)
{
    return head_room + (size_t)channel * (payload_max + window_max);
}

_Static_assert(sizeof(struct mailbox) <= 1 << 20, "the head has no room for the mailbox");

/* A file that grows past the limit costs the process a deadly signal, not an error code. */
static int too_large(size_t bytes)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
           bytes > limit.rlim_cur;
}

/* Neither forked children nor dumps of a crash have a use for it. */
static int map_part(int fd, size_t from, size_t bytes, char **at_p)
{
    char *at =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, (off_t)from);

    if (at == MAP_FAILED)
        return -errno;
    madvise(at, bytes, MADV_DONTFORK);
    madvise(at, bytes, MADV_DONTDUMP);
    *at_p = at;
    return 0;
}

static int make_mutex(pthread_mutex_t *m)
{
    pthread_mutexattr_t how;
    int rc = pthread_mutexattr_init(&how);

    if (rc)
        return -rc;
    pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST);
    rc = pthread_mutex_init(m, &how);
    pthread_mutexattr_destroy(&how);
    return -rc;
}

int mailbox_create(struct mailbox **box_p)
{
    struct mailbox *box = NULL;
    char *at = NULL;

    if (too_large(file_bytes()))
        return -EFBIG;
    int fd = memfd_create("collshim-helper", MFD_CLOEXEC | MFD_ALLOW_SEALING), rc = 0;
    if (fd < 0)
        return -errno;
    if (fchmod(fd, 0600) || ftruncate(fd, (off_t)file_bytes()) ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
        rc = -errno;
    if (!rc)
        rc = map_part(fd, 0, sizeof *box, &at);
    if (!rc) {
        box = (struct mailbox *)at;
        rc = make_mutex(&box->alive);
    }
    if (rc) {
        mailbox_unmap(box);
        close(fd);
        return rc;
    }
    snprintf(box->version, sizeof box->version, "%s", COLLSHIM_VERSION);
    *box_p = box;
    return fd;
}

int mailbox_join(int fd, struct mailbox **box_p)
{
    struct stat st;
    char *at = NULL;

    if (fstat(fd, &st))
        return -errno;
    if ((size_t)st.st_size != file_bytes())
        return -EPROTO;
    int rc = map_part(fd, 0, sizeof **box_p, &at);
    if (rc)
        return rc;
    if (strncmp(((struct mailbox *)at)->version, COLLSHIM_VERSION, sizeof((*box_p)->version))) {
        munmap(at, sizeof **box_p);
        return -EPROTO;
    }
    *box_p = (struct mailbox *)at;
    return 0;
}

void mailbox_unmap(struct mailbox *box)
{
    if (box)
        munmap(box, sizeof *box);
}

static int map_more(int fd, size_t from, size_t bytes, size_t most, struct mailbox_map *map)
{
    enum { STEP = 1 << 20 };
    size_t room = (bytes + STEP - 1) / STEP * STEP;
    char *at;

    if (bytes > most)
        return -E2BIG;
    if (bytes <= map->bytes)
        return 0;
    int rc = map_part(fd, from, room, &at);
    if (rc)
        return rc;
    mailbox_unmap_part(map);
    *map = (struct mailbox_map){at, room};
    return 0;
}

int mailbox_map_payload(int fd, int channel, size_t bytes, struct mailbox_map *map)
{
    return map_more(fd, payload_at(channel), bytes, payload_max, map);
}

int mailbox_map_window(int fd, int channel, size_t bytes, struct mailbox_map *map)
{
    return map_more(fd, payload_at(channel) + payload_max, bytes, window_max, map);
}

void mailbox_unmap_part(struct mailbox_map *map)
{
    if (map->at)
        munmap(map->at, map->bytes);
    *map = (struct mailbox_map){0};
}

void mailbox_clear(int fd, int channel)
{
    fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)payload_at(channel),
              (off_t)(payload_max + window_max));
}

int leash_make(void)
{
    int fd = memfd_create("collshim-leash", MFD_CLOEXEC | MFD_ALLOW_SEALING), rc = 0;
    char *page;

    if (fd < 0)
        return -errno;
    rc = ftruncate(fd, 1) ? -errno : map_part(fd, 0, 1, &page);
    if (rc) {
        close(fd);
        return rc;
    }
    return fd;
}

/* The system forbids writing to what some process has mapped to write to. */
int leash_is_loose(int fd)
{
    return fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) == 0;
}

void mailbox_wait(_Atomic uint32_t *word, uint32_t value)
{
    static const struct timespec most = {.tv_sec = 2};

    syscall(SYS_futex, word, FUTEX_WAIT, value, &most, NULL, 0);
}

void mailbox_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void mailbox_ring(struct mailbox *box)
{
    atomic_fetch_add(&box->bell, 1);
    mailbox_wake(&box->bell);
}
