/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* memfd_create */
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "test/ncclsim/ncclsim.h"

int board_make(void)
{
    int fd = memfd_create("ncclsim-board", MFD_CLOEXEC);
    struct board *b;

    if (fd < 0)
        return -1;
    if (ftruncate(fd, sizeof *b) == 0 && (b = board_open(getpid(), fd))) {
        if (getrandom(&b->number, sizeof b->number, 0) < 0)
            b->number = (uint64_t)getpid() << 32 | (unsigned)fd;
        board_close(b);
        return fd;
    }
    close(fd);
    return -1;
}

struct board *board_open(int pid, int fd)
{
    char path[64];
    void *at;
    int file;

    snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
    file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0)
        return NULL;
    at = mmap(NULL, sizeof(struct board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file,
              0);
    close(file);
    return at == MAP_FAILED ? NULL : at;
}

void board_close(struct board *b)
{
    if (b)
        munmap(b, sizeof *b);
}

void board_fail(struct board *b, int result, const char *format, ...)
{
    va_list list;

    if (__atomic_load_n(&b->failed, __ATOMIC_ACQUIRE))
        return;
    va_start(list, format);
    vsnprintf(b->why, sizeof b->why, format, list);
    va_end(list);
    __atomic_store_n(&b->failed, result, __ATOMIC_RELEASE);
    fprintf(stderr, "ncclsim: %s\n", b->why);
}

int board_pause(const struct ncclComm *comm, unsigned *turns)
{
    const struct timespec moment = {0, 200000};

    if (__atomic_load_n(&comm->aborted, __ATOMIC_ACQUIRE) ||
        __atomic_load_n(&comm->board->failed, __ATOMIC_ACQUIRE))
        return -1;
    if (++*turns < 200)
        sched_yield();
    else
        nanosleep(&moment, NULL);
    return 0;
}

int board_meet(struct ncclComm *comm, struct gate *g)
{
    uint32_t round = __atomic_load_n(&g->round, __ATOMIC_ACQUIRE);
    unsigned turns = 0;

    if (__atomic_add_fetch(&g->here, 1, __ATOMIC_ACQ_REL) == (uint32_t)comm->nranks) {
        __atomic_store_n(&g->here, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&g->round, round + 1, __ATOMIC_RELEASE);
        return 0;
    }
    while (__atomic_load_n(&g->round, __ATOMIC_ACQUIRE) == round)
        if (board_pause(comm, &turns) < 0)
            return -1;
    return 0;
}
