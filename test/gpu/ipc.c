/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two processes on one device: memory and events of one used by the other, and counters in host
 * memory that both have pinned, which let either's stream wait for the other's without a word
 * between the hosts.
 */
#define _GNU_SOURCE /* memfd_create */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/gpu/gpu.h"

#define N (1u << 18)
#define WHOLE (2u << 20)
#define ROUNDS 20

struct offer {
    CUipcMemHandle memory;
    CUipcEventHandle event;
    size_t offset;
};

static void say(int fd, const void *p, size_t n)
{
    if (write(fd, p, n) != (ssize_t)n)
        _exit(3);
}

static void hear(int fd, void *p, size_t n)
{
    size_t have = 0;

    while (have < n) {
        ssize_t got = read(fd, (char *)p + have, n - have);

        if (got <= 0)
            _exit(3);
        have += (size_t)got;
    }
}

/* Counters of both, a line each; where this process's device sees them. */
enum { PAGE = 4096, LINE = 128 };
static int counters_file;

static CUdeviceptr pin_counters(void)
{
    void *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, counters_file, 0);
    CUdeviceptr p;

    if (at == MAP_FAILED)
        _exit(3);
    MUST(MemHostRegister(at, PAGE, CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_PORTABLE));
    MUST(MemHostGetDevicePointer(&p, at, 0));
    return p;
}

/* The owner: fills the buffer with the round's number, and waits for the other's counter. */
static int owner(int fd)
{
    CUdeviceptr memory, counters;
    CUevent event;
    struct offer o = {.offset = 512};
    unsigned char first, last;
    CUstream s;
    char word = 0;

    gpu_start(0);
    memory =
        gpu_alloc(WHOLE); /* a smaller allocation shares its pages, and is exported with others */
    counters = pin_counters();
    event = gpu_event(CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
    s = gpu_stream();
    MUST(MemsetD8Async(memory + o.offset, 0xee, N, s));
    MUST(EventRecord(event, s));
    MUST(IpcGetMemHandle(&o.memory, memory + o.offset));
    MUST(IpcGetEventHandle(&o.event, event));
    MUST(StreamSynchronize(s));
    say(fd, &o, sizeof o);
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        MUST(MemsetD8Async(memory + o.offset, (unsigned char)round, N, s));
        MUST(StreamWriteValue32(s, counters, round, 0));
        MUST(StreamWaitValue32(s, counters + LINE, round, CU_STREAM_WAIT_VALUE_GEQ));
    }
    MUST(StreamSynchronize(s));
    hear(fd, &word, 1); /* the other has closed its mappings */
    MUST(MemcpyDtoH(&first, memory + o.offset, 1));
    MUST(MemcpyDtoH(&last, memory + o.offset + N - 1, 1));
    MUST(EventDestroy(event));
    MUST(StreamDestroy(s));
    MUST(MemFree(memory));
    return first == 0x77 && last == 0x77 ? 0 : 1;
}

static int check_round(const unsigned char *host, uint32_t round)
{
    for (size_t i = 0; i < N; i++)
        if (host[i] != (unsigned char)round)
            return 0;
    return 1;
}

static int user(int fd)
{
    CUdeviceptr memory, counters;
    unsigned char *host;
    struct offer o;
    CUevent event;
    CUstream s;
    int right = 1;

    gpu_start(0);
    host = gpu_pinned((size_t)N * ROUNDS);
    s = gpu_stream();
    hear(fd, &o, sizeof o);
    MUST(IpcOpenMemHandle(&memory, o.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    counters = pin_counters();
    MUST(IpcOpenEventHandle(&event, o.event));
    MUST(StreamWaitEvent(s, event, 0));
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        MUST(StreamWaitValue32(s, counters, round, CU_STREAM_WAIT_VALUE_GEQ));
        /* A handle stands for the whole allocation: the offset travels beside it. */
        MUST(MemcpyDtoHAsync(host + (size_t)N * (round - 1), memory + o.offset, N, s));
        if (round == ROUNDS)
            MUST(MemsetD8Async(memory + o.offset, 0x77, N, s));
        MUST(StreamWriteValue32(s, counters + LINE, round, 0));
    }
    MUST(StreamSynchronize(s));
    for (uint32_t round = 1; round <= ROUNDS; round++)
        right &= check_round(host + (size_t)N * (round - 1), round);
    MUST(EventDestroy(event));
    MUST(IpcCloseMemHandle(memory));
    MUST(MemFreeHost(host));
    say(fd, "", 1);
    return right ? 0 : 1;
}

/* The exit status of a child, which must not have seen a violation either. */
static pid_t start(int (*role)(int), int mine, int other)
{
    pid_t pid = fork();

    if (pid == 0) {
        int (*violations)(void), status;

        close(other);
        status = role(mine);
        violations = (int (*)(void))gpu_simulated("gpusim_violations");
        fflush(stdout);
        _exit(status ? status : violations && violations() ? 2 : 0);
    }
    return pid;
}

void gpu_test_ipc(void)
{
    int pair[2], status[2] = {-1, -1};
    pid_t child[2];

    counters_file = memfd_create("counters", MFD_CLOEXEC);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 || counters_file < 0 ||
        ftruncate(counters_file, PAGE) < 0)
        exit(1);
    child[0] = start(owner, pair[0], pair[1]);
    child[1] = start(user, pair[1], pair[0]);
    close(pair[0]);
    close(pair[1]);
    close(counters_file);
    for (int i = 0; i < 2; i++)
        waitpid(child[i], &status[i], 0);
    for (int i = 0; i < 2; i++) {
        if (WIFEXITED(status[i]) && WEXITSTATUS(status[i]) == 77)
            continue; /* no device: the caller is about to say so */
        gpu_check(
            WIFEXITED(status[i]) && WEXITSTATUS(status[i]) == 0,
            "two processes share a device's memory and wait for each other: %s ended with %#x",
            i ? "the user" : "the owner", (unsigned)status[i]);
    }
}
