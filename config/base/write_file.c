/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The content goes into a file without a name, which gets one when it is whole. linkat cannot
 * replace a file, so it then takes a secret name for the moment until rename. A job that is killed
 * earlier leaves nothing. File systems without O_TMPFILE (NFS) get the file under such a name from
 * the beginning.
 *
 * Rejected: writing into the old file, because it follows links that others put in its place, and
 * stops at a FIFO. On a full disk it leaves half of the new content and nothing of the old.
 */
#define _GNU_SOURCE
#include "config/base/write_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    PATIENCE_MS = 1000,
    PIECE = 4096 /* the bytes that a pipe takes if it polls as ready: PIPE_BUF */
};

static const struct {
    const char *path;
    int fd; /* -1: nowhere */
} devices[] = {{"/dev/null", -1}, {"/dev/stdout", 1}, {"/dev/stderr", 2}};

static const struct {
    mode_t type;
    const char *why;
} refused[] = {
    {S_IFIFO, "a FIFO, not a regular file"},      {S_IFLNK, "a symbolic link, not a regular file"},
    {S_IFDIR, "a directory, not a regular file"}, {S_IFSOCK, "a socket, not a regular file"},
    {S_IFCHR, "a device, not a regular file"},    {S_IFBLK, "a device, not a regular file"},
};

/* The errors that occur in practice. Not strerror, which uses the language of the application. */
static const struct {
    int code;
    const char *text;
} reasons[] = {
    {ENOENT, "no such directory"},
    {ENOTDIR, "no such directory: part of the path is a file"},
    {EACCES, "no permission to write there"},
    {EPERM, "no permission to write there"},
    {EROFS, "the file system is read-only"},
    {ENOSPC, "the file system is full"},
    {EDQUOT, "the quota is used up"},
    {EFBIG, "larger than a file may be (ulimit -f)"},
    {ELOOP, "too many symbolic links"},
    {ENAMETOOLONG, "the path is too long"},
    {EMFILE, "the process has no file descriptor left"},
    {ENFILE, "the machine has no file descriptor left"},
    {ENOMEM, "out of memory"},
    {EIO, "the device fails"},
    {EPIPE, "closed"},
    {EAGAIN, "others write it all the time"},
};

const char *config_write_reason(int code)
{
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].code == code)
            return reasons[i].text;
    return "cannot be written";
}

/* One file being written. */
struct place {
    int dir;           /* where it goes */
    const char *name;  /* in dir; borrowed */
    struct stat there; /* the file that has the name now; st_nlink 0: none */
};

static int find_device(const char *path)
{
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        if (strcmp(path, devices[i].path) == 0)
            return (int)i;
    return -1;
}

int config_write_is_device(const char *path)
{
    return find_device(path) >= 0;
}

static int write_all(int fd, const char *text, size_t size)
{
    while (size) {
        ssize_t n = write(fd, text, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        text += n;
        size -= (size_t)n;
    }
    return 0;
}

/* Write to a descriptor of the application, which may lead to a pipe. Each write has as many bytes
   as it takes without waiting, since the descriptor's flags are shared and stay as they are. */
static int write_stream(int fd, const char *text, size_t size, const char **why)
{
    while (size) {
        struct pollfd p = {.fd = fd, .events = POLLOUT};
        size_t piece = size < PIECE ? size : PIECE;
        int ready = poll(&p, 1, PATIENCE_MS), rc;

        if (ready < 0 && errno == EINTR)
            continue;
        if (ready == 0) {
            *why = "nobody reads it";
            return -EAGAIN;
        }
        if (ready < 0 || p.revents & (POLLERR | POLLNVAL))
            return -EPIPE;
        rc = write_all(fd, text, piece);
        if (rc)
            return rc;
        text += piece;
        size -= piece;
    }
    return 0;
}

/* A secret name beside the file. */
static void draw_name(char *name, size_t size)
{
    uint64_t number[2] = {0};

    /* Without the kernel's numbers O_EXCL and linkat still take no name that is there. */
    if (getrandom(number, sizeof number, GRND_NONBLOCK) != (ssize_t)sizeof number)
        number[0] = (uint64_t)getpid();
    snprintf(name, size, ".collshim-%016llx%016llx", (unsigned long long)number[0],
             (unsigned long long)number[1]);
}

/* Give the open file without a name its own. A file that is there is replaced only if `replace`. */
static int name_file(const struct place *p, int fd, int replace)
{
    char from[64], beside[64];
    int rc = 0;

    snprintf(from, sizeof from, "/proc/self/fd/%d", fd);
    if (!replace)
        return linkat(AT_FDCWD, from, p->dir, p->name, AT_SYMLINK_FOLLOW) ? -errno : 0;
    draw_name(beside, sizeof beside);
    if (linkat(AT_FDCWD, from, p->dir, beside, AT_SYMLINK_FOLLOW))
        return -errno;
    if (renameat(p->dir, beside, p->dir, p->name)) {
        rc = -errno;
        unlinkat(p->dir, beside, 0);
    }
    return rc;
}

/* The new file as the old one was, where that is this user's; else as any new one. */
static void take_over_mode(const struct place *p, int fd)
{
    if (p->there.st_nlink && p->there.st_uid == geteuid())
        (void)!fchmod(fd, p->there.st_mode & 0777);
}

/* -EOPNOTSUPP: not here; nothing has been done. */
static int write_nameless(const struct place *p, const char *text, size_t size)
{
    int fd = openat(p->dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666), rc;

    if (fd < 0) /* the last two: of kernels and file systems that do not know the flag */
        return errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL ? -EOPNOTSUPP : -errno;
    take_over_mode(p, fd);
    rc = write_all(fd, text, size);
    if (!rc) {
        rc = name_file(p, fd, p->there.st_nlink > 0);
        if (rc == -EEXIST) /* by now */
            rc = -EAGAIN;
        else if (rc == -ENOENT || rc == -EPERM || rc == -EXDEV) /* no /proc, no such links */
            rc = -EOPNOTSUPP;
    }
    close(fd);
    return rc;
}

static int write_named(const struct place *p, const char *text, size_t size)
{
    char beside[64];
    int fd, rc;

    draw_name(beside, sizeof beside);
    fd = openat(p->dir, beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return -errno;
    take_over_mode(p, fd);
    rc = write_all(fd, text, size);
    if (close(fd) && !rc)
        rc = -errno;
    if (!rc && renameat(p->dir, beside, p->dir, p->name))
        rc = -errno;
    if (rc)
        unlinkat(p->dir, beside, 0);
    return rc;
}

/* The file that has the name now: none, or a regular file that may be written to, or an error. */
static int look(struct place *p, const char **why)
{
    p->there = (struct stat){0};
    if (fstatat(p->dir, p->name, &p->there, AT_SYMLINK_NOFOLLOW)) {
        p->there.st_nlink = 0;
        return errno == ENOENT ? 0 : -errno;
    }
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if ((p->there.st_mode & S_IFMT) == refused[i].type) {
            *why = refused[i].why;
            return -EINVAL;
        }
    return faccessat(p->dir, p->name, W_OK, AT_EACCESS) ? -errno : 0;
}

static int write_place(struct place *p, const char *text, size_t size, const char **why)
{
    int rc = -EAGAIN;

    if (!*p->name) {
        *why = refused[2].why;
        return -EISDIR;
    }
    for (int tries = 0; tries < 3 && rc == -EAGAIN; tries++) { /* others write the same file */
        rc = look(p, why);
        if (!rc)
            rc = write_nameless(p, text, size);
        if (rc == -EOPNOTSUPP)
            rc = write_named(p, text, size);
    }
    return rc;
}

static int write_file(const char *path, const char *text, size_t size, const char **why)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    struct place p = {.name = slash ? slash + 1 : path};
    int rc;

    if (!folder)
        return -ENOMEM;
    p.dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    if (p.dir < 0)
        return -errno;
    rc = write_place(&p, text, size, why);
    close(p.dir);
    return rc;
}

/* The signals of a closed pipe and of RLIMIT_FSIZE, either of which would end the process. */
static void hold_signals(sigset_t *held, sigset_t *before)
{
    sigemptyset(held);
    sigaddset(held, SIGPIPE);
    sigaddset(held, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, held, before);
}

static void release_signals(int rc, sigset_t *held, const sigset_t *before)
{
    const struct timespec at_once = {0};

    /* Those that the application held itself may be another's. */
    for (int s = 0; s < 2; s++)
        if (sigismember(before, s ? SIGXFSZ : SIGPIPE))
            sigdelset(held, s ? SIGXFSZ : SIGPIPE);
    if (rc == -EPIPE || rc == -EFBIG)
        while (sigtimedwait(held, NULL, &at_once) < 0 && errno == EINTR)
            ;
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

int config_write_file(const char *path, void (*print)(FILE *f), const char **why)
{
    int device = find_device(path), rc = -ENOMEM;
    sigset_t held, before;
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);

    *why = NULL;
    if (f) {
        print(f);
        rc = ferror(f) ? -ENOMEM : 0;
        if (fclose(f))
            rc = -ENOMEM;
    }
    if (!rc) {
        hold_signals(&held, &before);
        if (device < 0)
            rc = write_file(path, text, size, why);
        else if (devices[device].fd >= 0)
            rc = write_stream(devices[device].fd, text, size, why);
        release_signals(rc, &held, &before);
    }
    free(text);
    if (rc && !*why)
        *why = config_write_reason(-rc);
    return rc;
}

int config_write_at(int dir, const char *name, const char *text, size_t size, const char **why)
{
    struct place p = {.dir = dir, .name = name};
    sigset_t held, before;

    *why = NULL;
    hold_signals(&held, &before);
    int rc = write_place(&p, text, size, why);
    release_signals(rc, &held, &before);
    if (rc && !*why)
        *why = config_write_reason(-rc);
    return rc;
}
