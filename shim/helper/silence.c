/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "shim/helper/silence.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { ASK_MS = 1000 };

int silence_stopped_most = 5, silence_most = 60;

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The state of the helper's process as /proc has it, 'T' if it is stopped; 0: not known. A number
   alone proves nothing where there are several name spaces. */
static char state_of(const struct mailbox *box, const struct stat *file)
{
    char path[64], text[64] = "", *state;
    struct stat st;

    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)box->helper_pid, HELPER_FD_MAILBOX);
    if (stat(path, &st) || st.st_dev != file->st_dev || st.st_ino != file->st_ino)
        return 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)box->helper_pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    state = n > 0 ? strstr(text, " (collshim-helper) ") : NULL;
    return state ? state[strlen(" (collshim-helper) ")] : 0;
}

int silence_is_loss(struct silence *s, struct mailbox *box, const struct stat *file)
{
    uint32_t beats = atomic_load_explicit(&box->beats, memory_order_relaxed);
    int64_t now = now_ms();

    if (s->asked_ms && now - s->asked_ms < ASK_MS)
        return 0;
    if (!s->asked_ms || beats != s->beats) {
        *s = (struct silence){.asked_ms = now, .beats = beats};
        return 0;
    }
    s->asked_ms = now;
    s->unanswered++;
    s->stopped = state_of(box, file) == 'T' ? s->stopped + 1 : 0;
    mailbox_ring(box);
    return s->stopped >= silence_stopped_most ||
           (s->unanswered >= silence_most && box->work == MAILBOX_FOR_MPI);
}

void silence_end(struct mailbox *box, const struct stat *file)
{
    atomic_store(&box->quit, 1);
    mailbox_ring(box);
    int fd = (int)syscall(SYS_pidfd_open, box->helper_pid, 0);
    if (state_of(box, file)) {
        if (fd < 0 || syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0))
            kill(box->helper_pid, SIGKILL);
    }
    if (fd >= 0)
        close(fd);
}
