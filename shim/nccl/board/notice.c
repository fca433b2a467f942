/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank at a notice board: what it says to the keeper, and how it waits for the answer. Once its
 * post is out it believes nothing but the keeper's word, or that the keeper has gone.
 */
#define _GNU_SOURCE
#include "shim/nccl/board/notice.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "shim/nccl/board/notice_wire.h"

enum { STOP_MS = 20 /* between looks at *stop */ };

int notice_find(const ncclUniqueId *unique, struct notice_board *b)
{
    struct notice_id id;

    memcpy(&id, unique, sizeof id);
    if (id.mark != NOTICE_MARK)
        return -ENOENT;
    memset(b, 0, sizeof *b);
    b->token = id.token;
    if (id.address.any.sa_family == AF_INET6) {
        id.address.v6.sin6_port = id.port;
        b->length = sizeof id.address.v6;
    } else {
        id.address.v4.sin_port = id.port;
        b->length = sizeof id.address.v4;
    }
    memcpy(&b->address, &id.address, b->length);
    return 0;
}

static int send_all(int fd, const void *data, size_t bytes, int flags)
{
    size_t done = 0;

    while (done < bytes) {
        ssize_t n = send(fd, (const char *)data + done, bytes - done, flags | MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        done += (size_t)n;
    }
    return 0;
}

static int is_stopped(const int *stop)
{
    return stop && __atomic_load_n(stop, __ATOMIC_ACQUIRE);
}

/* However long it takes, unless the other end goes or *stop is set. */
static int receive_all(int fd, void *data, size_t bytes, const int *stop)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    size_t done = 0;

    while (done < bytes) {
        ssize_t n = recv(fd, (char *)data + done, bytes - done, MSG_DONTWAIT);

        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) ||
                 is_stopped(stop))
            return -1;
        else
            poll(&ready, 1, STOP_MS);
    }
    return 0;
}

/* So that the end of the keeper's host is heard of as well. */
static void watch_connection(int fd)
{
    const struct {
        int level, name, value;
    } options[] = {{SOL_SOCKET, SO_KEEPALIVE, 1},
                   {IPPROTO_TCP, TCP_KEEPIDLE, 30},
                   {IPPROTO_TCP, TCP_KEEPINTVL, 10},
                   {IPPROTO_TCP, TCP_KEEPCNT, 3}};

    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof(int));
}

/* Say that to the board. Returns the descriptor, or -1: the keeper has not all of it. */
static int say_to(const struct notice_board *b, struct notice_post *p, const void *note)
{
    const struct timeval patience = {NOTICE_PATIENCE_S, 0};
    int fd = socket(b->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    p->mark = NOTICE_MARK;
    p->token = b->token;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience); /* of connect() too */
    watch_connection(fd);
    if (connect(fd, (const struct sockaddr *)&b->address, b->length) == 0 &&
        send_all(fd, p, sizeof *p, p->bytes ? MSG_MORE : 0) == 0 &&
        (!p->bytes || send_all(fd, note, p->bytes, 0) == 0))
        return fd;
    close(fd);
    return -1;
}

int notice_post(const struct notice_board *b, uint64_t key, int nranks, int rank, const void *note,
                size_t bytes)
{
    struct notice_post p = {
        .nranks = (uint32_t)nranks, .rank = (uint32_t)rank, .bytes = (uint32_t)bytes, .key = key};

    return say_to(b, &p, note);
}

int notice_listen(const struct notice_board *b, uint64_t key)
{
    struct notice_post p = {.listens = 1, .key = key};
    int fd = say_to(b, &p, NULL);
    uint32_t ok = 0;

    if (fd >= 0 && receive_all(fd, &ok, sizeof ok, NULL) == 0 && ok)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

void notice_ring(int fd)
{
    send(fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

int notice_rang(int fd)
{
    char word;
    ssize_t n = recv(fd, &word, 1, MSG_DONTWAIT);

    return n > 0 ? 1 : n == 0 || (errno != EAGAIN && errno != EINTR) ? -1 : 0;
}

int notice_read(int fd, int nranks, void *note, size_t bytes, const int *stop)
{
    uint32_t yes = 0;

    if (fd < 0)
        return -1;
    if (receive_all(fd, &yes, sizeof yes, stop) < 0 || !yes ||
        receive_all(fd, note, (size_t)nranks * bytes, stop) < 0)
        yes = 0;
    close(fd);
    return yes ? 0 : -1;
}
