/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * open and read, not stdio: fopen on a FIFO would wait for a writer inside
 * MPI_Init, and strerror would answer in the language of the application. The
 * few reasons that happen in practice are worded here.
 */
#include "config/base/read_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    int code;
    const char *text;
} reasons[] = {
    {ENOENT, "no such file"},
    {ENOTDIR, "no such file: part of the path is not a directory"},
    {EACCES, "no permission to read it"},
    {EPERM, "no permission to read it"},
    {EISDIR, "a directory, not a file"},
    {ELOOP, "too many symbolic links"},
    {ENAMETOOLONG, "the path is too long"},
    {EMFILE, "the process has no file descriptor left"},
    {ENFILE, "the machine has no file descriptor left"},
    {ENOMEM, "out of memory"},
    {EFBIG, "too large"},
    {ENXIO, "not a regular file"},
    {EINVAL, "not a regular file"},
};

static const char *reason(int code)
{
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].code == code)
            return reasons[i].text;
    return "cannot be read";
}

/* Read up to size bytes; the file may have shrunk since fstat. Returns bytes or -errno. */
static ssize_t read_all(int fd, char *text, size_t size)
{
    size_t done = 0;

    while (done < size) {
        ssize_t n = read(fd, text + done, size - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

int config_read_file(const char *path, size_t limit, char **text_p, size_t *size_p,
                     const char **why)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    char *text = NULL;
    ssize_t n;

    if (fd < 0) {
        n = -errno;
        goto fail;
    }
    if (fstat(fd, &st) < 0) {
        n = -errno;
        goto fail_close;
    }
    if (!S_ISREG(st.st_mode)) {
        n = S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
        goto fail_close;
    }
    if (st.st_size < 0 || (size_t)st.st_size > limit) {
        n = -EFBIG;
        goto fail_close;
    }
    text = malloc((size_t)st.st_size + 1);
    if (!text) {
        n = -ENOMEM;
        goto fail_close;
    }
    n = read_all(fd, text, (size_t)st.st_size);
    if (n < 0)
        goto fail_free;
    text[n] = 0;
    close(fd);
    *text_p = text;
    *size_p = (size_t)n;
    return 0;

fail_free:
    free(text);
fail_close:
    close(fd);
fail:
    *why = reason((int)-n);
    return (int)n;
}
