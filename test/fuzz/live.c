/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters that a process of another user offers to `collshim top`. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shim/cli/top/top_show.h"
#include "shim/record/counts/live_layout.h"
#include "test/fuzz/fuzz.h"

/* The file of this process, as a reader of all processes would find it. */
#include "shim/cli/top/top_read.c"

static void show(const struct top_reading *r, int is_json)
{
    size_t size;

    fuzz_catch();
    if (is_json)
        top_show_json(r, r, 1);
    else
        top_show_text(r, r);
    char *text = fuzz_caught(&size);
    fuzz_must_be_plain(text, size);
    if (is_json)
        fuzz_must_be_json(text, size);
    free(text);
}

/* An odd first byte: what tells this build's counters from others stands where it should. */
void fuzz_live(const uint8_t *data, size_t size)
{
    int fd = memfd_create(LIVE_NAME, MFD_CLOEXEC), proc = open("/proc", O_RDONLY | O_DIRECTORY);
    struct live_header h = {.magic = ""};
    struct top_reading r = {0};

    FUZZ_MUST(fd >= 0 && proc >= 0);
    FUZZ_MUST(pwrite(fd, data, size, 0) == (ssize_t)size);
    if (size && data[0] & 1) {
        memcpy(&h, data, size < sizeof h ? size : sizeof h);
        memcpy(h.magic, LIVE_MAGIC, sizeof h.magic);
        h.layout = LIVE_LAYOUT;
        h.names = live_names();
        h.counts_bytes = sizeof(struct live_counts);
        h.counts_at %= 2 * sizeof h;
        FUZZ_MUST(pwrite(fd, &h, sizeof h, 0) == sizeof h);
        FUZZ_MUST(!ftruncate(fd, (off_t)(3 * sizeof h + sizeof(struct live_counts))));
    }
    FUZZ_MUST(!read_process(&r, proc, "self"));
    show(&r, 0);
    show(&r, 1);
    top_free(&r);
    close(proc);
    close(fd);
}
