/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "shim/record/counts/live.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/decide/base/say.h"
#include "shim/decide/base/settings.h"
#include "shim/record/counts/count.h"
#include "shim/record/counts/live_layout.h"
#include "shim/record/roll/roll.h"
#include "shim/record/roll/roll_watch.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U /* of Linux 6.3; older ones refuse it */
#endif

/* Programs count on the low numbers. From 64 on the kernel makes a larger table, for which it waits
   milliseconds if there are threads. */
enum { HIGH_FD = 48 };

static struct {
    const char *library;        /* NULL: never opened */
    int fd;                     /* -1: not shared */
    int forked;                 /* this is a child of the process that shared them */
    struct live_header *shared; /* the file's first page; NULL: not shared */
    struct live_header header;  /* its contents */
    dev_t device;
    ino_t inode;
} live = {.fd = -1};

static size_t page(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Whole pages, from the first of `counters` on. The file also has the other variables of the last
   page. */
static size_t counts_mapped(void)
{
    return (sizeof counters.live + page() - 1) / page() * page();
}

static size_t roll_at(void)
{
    return page() + counts_mapped();
}

static size_t file_bytes(void)
{
    return roll_at() + live.header.roll_bytes;
}

/* Put the counters back into memory of this process's own. Calls nothing that a forked child must
   not call. */
static void unshare_counts(void)
{
    size_t n = counts_mapped();
    void *copy = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (copy == MAP_FAILED)
        return;
    memcpy(copy, &counters, n);
    if (mremap(copy, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, &counters) == MAP_FAILED)
        munmap(copy, n);
}

/* The program may have closed the descriptor, and have another file by that number. */
static void close_ours(void)
{
    struct stat st;

    if (!fstat(live.fd, &st) && st.st_dev == live.device && st.st_ino == live.inode)
        close(live.fd);
}

static void in_child(void)
{
    if (!live.shared)
        return;
    unshare_counts();
    munmap(live.shared, page());
    live.shared = NULL;
    if (roll)
        munmap(roll, sizeof *roll);
    roll = NULL;
    close_ours();
    live.fd = -1;
    live.forked = 1;
}

/* Its name is of no file system. Where a file of that size is not allowed, making one would end
   the process by SIGXFSZ. */
static int create(void)
{
    struct rlimit limit;

    if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur < file_bytes()) {
        errno = EFBIG;
        return -1;
    }
    int fd = memfd_create(LIVE_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL)
        fd = memfd_create(LIVE_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);
    if (high < 0)
        return fd;
    close(fd);
    return high;
}

/* Without room for it no roll is kept. */
static void place_roll(int fd)
{
    void *memory = live.header.roll_bytes ? mmap(NULL, sizeof *roll, PROT_READ | PROT_WRITE,
                                                 MAP_SHARED | MAP_POPULATE, fd, (off_t)roll_at())
                                          : MAP_FAILED;

    roll_place(memory == MAP_FAILED ? NULL : memory);
}

/* Allocate the file's pages, which are 0 as the counters are, and map it. Returns 0, or -1 with
   errno. */
static int fill(int fd)
{
    struct stat st;
    ssize_t n = (ssize_t)counts_mapped();

    if (fchmod(fd, 0600) || fallocate(fd, 0, 0, (off_t)file_bytes()) ||
        (live.forked && pwrite(fd, &counters, (size_t)n, (off_t)page()) != n) ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) || fstat(fd, &st))
        return -1;
    void *header = mmap(NULL, page(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (header == MAP_FAILED)
        return -1;
    if (mmap(&counters, counts_mapped(), PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, (off_t)page()) == MAP_FAILED) {
        munmap(header, page());
        return -1;
    }
    place_roll(fd);
    live.shared = header;
    *live.shared = live.header;
    live.device = st.st_dev;
    live.inode = st.st_ino;
    live.fd = fd;
    return 0;
}

/* Returns 0, or -1 with errno. */
static int share(void)
{
    int fd = create();

    if (fd < 0)
        return -1;
    if (!fill(fd))
        return 0;
    int why = errno;
    close(fd);
    errno = why;
    return -1;
}

void live_open(const char *library)
{
    struct live_header *h = &live.header;

    if (live.library || settings.cfg.mode == CFG_MODE_OFF)
        return;
    live.library = library;
    *h = (struct live_header){.magic = LIVE_MAGIC,
                              .layout = LIVE_LAYOUT,
                              .counts_at = (uint32_t)page(),
                              .names = live_names(),
                              .counts_bytes = sizeof counters.live,
                              .pid = getpid(),
                              .rank = -1};
    if (roll_is_wanted()) {
        h->roll_at = (uint32_t)roll_at();
        h->roll_bytes = sizeof(struct roll);
    }
    strncpy(h->version, COLLSHIM_VERSION, sizeof h->version - 1);
    strncpy(h->library, library, sizeof h->library - 1);
    gethostname(h->host, sizeof h->host - 1);
    if ((uintptr_t)&counters % page() || counts_mapped() > sizeof counters)
        errno = EINVAL;
    else if (pthread_atfork(NULL, NULL, in_child))
        errno = ENOMEM;
    else if (!share())
        return;
    say(CFG_LEVEL_DEBUG, "%scounters are not shared with collshim top: %s", settings.calls,
        strerror(errno));
}

void live_rank(int rank, int size)
{
    live.header.rank = rank;
    live.header.size = size;
    if (live.forked) {
        live.header.pid = getpid();
        share();
        live.forked = 0;
    }
    if (live.shared)
        *live.shared = live.header;
    if (roll)
        roll_watch_open();
}

void live_close(void)
{
    live.header.ended = 1;
    if (live.shared)
        *live.shared = live.header;
}
