/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The notice board, whose port is open to the network: strangers and ranks talk to a keeper
 * without its thread, and a rank hears any answer.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/un.h>

/* The keeper's parts, one at a time. */
#include "shim/nccl/board/notice_keeper.c"
#include "test/fuzz/fuzz.h"

enum { CLIENTS = 8, TOKEN = 7 };

int notice_is_token(uint64_t token)
{
    return token == TOKEN;
}

/* A socket at which the keeper listens; clients come from within. */
static struct sockaddr_un listen_at(void)
{
    static struct sockaddr_un a = {.sun_family = AF_UNIX};

    if (!a.sun_path[1])
        snprintf(a.sun_path + 1, sizeof a.sun_path - 1, "collshim-fuzz-%d", (int)getpid());
    if (keeper.fd <= 0) {
        keeper.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        FUZZ_MUST(keeper.fd >= 0 && !bind(keeper.fd, (struct sockaddr *)&a, sizeof a) &&
                  !listen(keeper.fd, CLIENTS));
    }
    return a;
}

static void connect_client(int *fd)
{
    struct sockaddr_un a = listen_at();

    if (*fd >= 0)
        close(*fd);
    *fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    FUZZ_MUST(*fd >= 0 && !connect(*fd, (struct sockaddr *)&a, sizeof a));
    while (welcome())
        ;
}

/* A sound post but for what the byte spoils. */
static void post(int fd, uint8_t how)
{
    struct notice_post p = {.mark = NOTICE_MARK,
                            .nranks = 1 + (how & 3),
                            .rank = how >> 2 & 3,
                            .bytes = 8,
                            .listens = (how & 0xf0) == 0xf0,
                            .token = TOKEN + ((how & 0xf0) == 0xe0),
                            .key = how >> 4 & 1};
    char note[8] = "note";

    send(fd, &p, sizeof p, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (!p.listens)
        send(fd, note, sizeof note, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* As the thread does, but for the wait. */
static void keep_once(void)
{
    for (int i = keeper.n - 1; i >= 0; i--) {
        struct pollfd p = {.fd = keeper.client[i].fd,
                           .events = keeper.client[i].state == HEARS ? POLLOUT : POLLIN};

        if (i < keeper.n && poll(&p, 1, 0) > 0 && keeper.client[i].fd == p.fd)
            serve(i);
    }
    look_at_clocks();
}

static void end_all(int fd[CLIENTS])
{
    for (int i = 0; i < CLIENTS; i++)
        if (fd[i] >= 0)
            close(fd[i]);
    while (keeper.entries) {
        if (!keeper.entries->over)
            decide(keeper.entries, 0);
        forget(keeper.entries);
    }
    while (keeper.n) {
        close_fd(keeper.client[0].fd);
        client_forget(0);
    }
    FUZZ_MUST(!keeper.open && !keeper.strangers && !keeper.told);
}

/* Two bytes say who does what; raw bytes follow where they are sent as they are. */
void fuzz_board(const uint8_t *data, size_t size)
{
    int fd[CLIENTS];

    for (int i = 0; i < CLIENTS; i++)
        fd[i] = -1;
    listen_at();
    for (size_t at = 0; at + 1 < size;) {
        int *who = &fd[data[at] % CLIENTS];
        uint8_t what = data[at] / CLIENTS % 4, how = data[at + 1];

        at += 2;
        if (*who < 0 || what == 0) {
            connect_client(who);
        } else if (what == 1) {
            post(*who, how);
        } else if (what == 2) {
            size_t n = how % 80 < size - at ? how % 80 : size - at;

            send(*who, data + at, n, MSG_NOSIGNAL | MSG_DONTWAIT);
            at += n;
        } else {
            close(*who);
            *who = -1;
        }
        keep_once();
        FUZZ_MUST(keeper.n <= keeper.room && keeper.strangers <= keeper.n);
    }
    end_all(fd);
}

/* The first 128 bytes are an id, the rest comes from its board. */
void fuzz_notice(const uint8_t *data, size_t size)
{
    struct notice_board b;
    ncclUniqueId id = {{0}};
    char note[8 * 64];
    int pair[2];

    memcpy(&id, data, size < sizeof id ? size : sizeof id);
    if (!notice_find(&id, &b))
        FUZZ_MUST(b.length <= sizeof b.address);
    if (size <= sizeof id)
        return;
    FUZZ_MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    send(pair[1], data + sizeof id, size - sizeof id, MSG_NOSIGNAL | MSG_DONTWAIT);
    close(pair[1]);
    notice_read(pair[0], 1 + data[0] % 8, note, 1 + data[1] % 64u, NULL);
}
