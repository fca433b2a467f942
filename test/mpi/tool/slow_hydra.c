/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A launcher that is late: a process between this rank and Hydra's proxy keeps back one answer for
 * SLOW_MS milliseconds, that to the first question about a rank with collshim. Meanwhile a timer's
 * signals interrupt each call that waits. Preloaded by the test into one rank, in front of
 * MPI_Init.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static void on_signal(int number)
{
    (void)number;
}

/* Lines and answers both come whole: one write each. */
static void relay(int rank, int proxy, long slow_ms)
{
    struct pollfd at[2] = {{.fd = rank, .events = POLLIN}, {.fd = proxy, .events = POLLIN}};
    char bytes[8192];
    int late = 0;

    while (poll(at, 2, -1) > 0) {
        for (int from = 0; from < 2; from++) {
            ssize_t n = at[from].revents ? read(at[from].fd, bytes, sizeof bytes) : -1;

            if (!n)
                _exit(0);
            if (n < 0)
                continue;
            late |= !from && memmem(bytes, (size_t)n, "cmd=get ", 8) &&
                    memmem(bytes, (size_t)n, "key=collshim-", 13);
            if (from && late && slow_ms) {
                nanosleep(&(struct timespec){slow_ms / 1000, slow_ms % 1000 * 1000000}, NULL);
                slow_ms = 0;
            }
            if (write(at[!from].fd, bytes, (size_t)n) != n)
                _exit(1);
        }
    }
    _exit(0);
}

/* The other end must look like Hydra's proxy, so its process makes the sockets. */
__attribute__((constructor)) static void begin(void)
{
    const char *number = getenv("PMI_FD"), *slow = getenv("SLOW_MS"), *rank = getenv("PMI_RANK");
    char text[16], room[CMSG_SPACE(sizeof(int))] = "", byte = 0;
    int way[2], pair[2];

    if (!number || !slow || !rank || atoi(rank) || socketpair(AF_UNIX, SOCK_STREAM, 0, way))
        return;
    struct iovec one = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &one, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    if (!fork()) {
        struct cmsghdr *c = CMSG_FIRSTHDR(&message);

        prctl(PR_SET_NAME, "hydra_pmi_proxy");
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
            _exit(1);
        *c = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
        memcpy(CMSG_DATA(c), &pair[1], sizeof(int));
        sendmsg(way[1], &message, 0);
        close(pair[1]);
        close(way[0]);
        close(way[1]);
        relay(pair[0], atoi(number), atol(slow));
    }
    close(way[1]);
    if (recvmsg(way[0], &message, 0) == 1) {
        int fd;

        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
        snprintf(text, sizeof text, "%d", fd);
        setenv("PMI_FD", text, 1);
        close(atoi(number));
    }
    close(way[0]);
    unsetenv("SLOW_MS"); /* programs that it starts are not slowed */
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = on_signal}, NULL);
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 20000}, {0, 20000}}, NULL);
}
