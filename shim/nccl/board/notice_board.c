/* SPDX-License-Identifier: BSD-3-Clause */
/* This process's notice board: where it is, and the unique ids that say so. */
#define _GNU_SOURCE
#include "shim/nccl/board/notice_board.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/nccl/board/notice.h"
#include "shim/nccl/board/notice_keeper.h"
#include "shim/nccl/board/notice_wire.h"

/* If NCCL_COMM_ID names the address, the number is this one. Then each process makes the id itself,
   and the ids must be alike in every byte: otherwise NCCL takes each process for a host of its own.
 */
#define TOKEN_OF_ALL 0x0280028002800280u

static struct {
    pthread_mutex_t lock;
    int fd; /* listening; 0: none */
    pid_t pid;
    uint16_t port;
    sa_family_t family;
    uint64_t *token; /* of the ids this process made; under the lock */
    size_t ntokens;
} board = {.lock = PTHREAD_MUTEX_INITIALIZER};

int notice_is_token(uint64_t token)
{
    int found = 0;

    pthread_mutex_lock(&board.lock);
    for (size_t i = 0; i < board.ntokens && !found; i++)
        found = board.token[i] == token;
    pthread_mutex_unlock(&board.lock);
    return found;
}

/* Lock held. Listen at the address that NCCL listens at. */
static int open_board(const struct notice_id *id)
{
    struct sockaddr_storage a = {0};
    int v6 = id->address.any.sa_family == AF_INET6, on = 1;
    socklen_t length = v6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    int fd;

    if (board.fd && board.pid == getpid())
        return board.family == id->address.any.sa_family ? 0 : -1;
    memcpy(&a, &id->address, length);
    if (v6)
        ((struct sockaddr_in6 *)&a)->sin6_port = 0;
    else
        ((struct sockaddr_in *)&a)->sin_port = 0;
    fd = socket(a.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&a, length) < 0 || listen(fd, SOMAXCONN) < 0 ||
        getsockname(fd, (struct sockaddr *)&a, &length) < 0) {
        close(fd);
        return -1;
    }
    board.fd = fd;
    board.pid = getpid();
    board.family = a.ss_family;
    board.port = v6 ? ((struct sockaddr_in6 *)&a)->sin6_port : ((struct sockaddr_in *)&a)->sin_port;
    if (notice_keeper_start(fd) == 0)
        return 0;
    close(fd);
    board.fd = 0;
    return -1;
}

static int is_usable(const struct notice_id *id)
{
    static const char zeros[sizeof id->unused];
    sa_family_t f = id->address.any.sa_family;

    return (f == AF_INET || f == AF_INET6) && !id->mark && !id->port && !id->kept &&
           sizeof *id == sizeof(ncclUniqueId) && id->token && id->token != TOKEN_OF_ALL &&
           !memcmp(id->unused + sizeof id->unused - 32, zeros, 32);
}

void notice_keep(ncclUniqueId *unique)
{
    struct notice_id id;
    uint64_t *more;

    memcpy(&id, unique, sizeof id);
    if (!is_usable(&id))
        return;
    pthread_mutex_lock(&board.lock);
    more = realloc(board.token, (board.ntokens + 1) * sizeof *more);
    if (more) {
        board.token = more;
        board.token[board.ntokens++] = id.token;
    }
    if (more && open_board(&id) == 0) {
        id.mark = NOTICE_MARK;
        id.port = board.port;
        memcpy(unique, &id, sizeof id);
    }
    pthread_mutex_unlock(&board.lock);
}
