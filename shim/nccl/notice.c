/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "shim/nccl/notice.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MARK = 0x636f6c6c, RANKS_MOST = 1 << 16, CLIENTS_MOST = 4096 };

/* NCCL's id: a random number, the address of its start-up socket, zeros. Where NCCL_COMM_ID names
 * the address, the number is this one: then each process makes the id for itself, and they must be
 * alike in every byte, or NCCL takes each process for a host of its own. */
#define TOKEN_OF_ALL 0x0280028002800280u

struct id {
    uint64_t token;
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address;
    char unused[128 - 8 - sizeof(struct sockaddr_in6) - 12 - 8];
    uint64_t kept; /* zeros: left alone */
    uint32_t mark;
    uint16_t port, reserved;
};

/* Goes before the note. */
struct post {
    uint32_t mark, nranks, rank, bytes;
    uint32_t listens, reserved; /* 1: to an alarm of that key, and there is no note */
    uint64_t token, key;
};

/* One key. One that was given up stays as a stub: no rank may hear otherwise. */
struct entry {
    struct entry *next;
    uint64_t token, key;
    uint32_t nranks, have, bytes;
    time_t begun;
    int over;
    int *fd;    /* [nranks] owned, -1: not posted */
    char *note; /* [nranks * bytes] owned */
};

struct client { /* somebody who has not said all yet, or listens */
    int fd;
    size_t have; /* all of the post: it listens */
    struct post post;
    char *note; /* owned, once the post is in */
};

static struct {
    pthread_mutex_t lock;
    int fd; /* listening; 0: none */
    pid_t pid;
    uint16_t port;
    sa_family_t family;
    uint64_t *token; /* of the ids this process made; under the lock */
    size_t ntokens;
} board = {.lock = PTHREAD_MUTEX_INITIALIZER};

static time_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

static int is_token(uint64_t token)
{
    int found = 0;

    pthread_mutex_lock(&board.lock);
    for (size_t i = 0; i < board.ntokens && !found; i++)
        found = board.token[i] == token;
    pthread_mutex_unlock(&board.lock);
    return found;
}

/* The keeper's side -------------------------------------------------------------------------- */

static void tell(struct entry *e, uint32_t ok)
{
    for (uint32_t r = 0; r < e->nranks; r++) {
        if (e->fd[r] < 0)
            continue;
        if (send(e->fd[r], &ok, sizeof ok, MSG_NOSIGNAL) == sizeof ok && ok)
            send(e->fd[r], e->note, (size_t)e->nranks * e->bytes, MSG_NOSIGNAL);
        close(e->fd[r]);
    }
    free(e->fd);
    free(e->note);
    e->fd = NULL;
    e->note = NULL;
    e->over = 1;
}

static struct entry *entry_find(struct entry **list, const struct post *p)
{
    struct entry *e = *list;

    while (e && (e->token != p->token || e->key != p->key))
        e = e->next;
    if (e)
        return e;
    e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    *e = (struct entry){.next = *list,
                        .token = p->token,
                        .key = p->key,
                        .nranks = p->nranks,
                        .bytes = p->bytes,
                        .begun = now()};
    e->fd = malloc(p->nranks * sizeof *e->fd);
    e->note = malloc((size_t)p->nranks * p->bytes);
    e->over = !e->fd || !e->note;
    for (uint32_t r = 0; e->fd && r < p->nranks; r++)
        e->fd[r] = -1;
    *list = e;
    return e;
}

/* All ranks have posted and been told: nobody will ask again. */
static void forget(struct entry **list, struct entry *e)
{
    while (*list != e)
        list = &(*list)->next;
    *list = e->next;
    free(e);
}

static void take_post(struct entry **list, const struct client *c)
{
    const struct post *p = &c->post;
    uint32_t no = 0;
    struct entry *e = NULL;

    if (c->note)
        e = entry_find(list, p);
    if (!e || e->over || e->nranks != p->nranks || e->bytes != p->bytes || e->fd[p->rank] >= 0) {
        send(c->fd, &no, sizeof no, MSG_NOSIGNAL);
        close(c->fd);
        return;
    }
    e->fd[p->rank] = c->fd;
    memcpy(e->note + (size_t)p->rank * e->bytes, c->note, e->bytes);
    if (++e->have < e->nranks)
        return;
    tell(e, 1);
    forget(list, e);
}

static int is_sound(const struct post *p)
{
    return p->mark == MARK && p->nranks > 0 && p->nranks <= RANKS_MOST && p->rank < p->nranks &&
           p->bytes > 0 && p->bytes <= NOTICE_MOST && is_token(p->token);
}

/* Its post is in, and no note follows. */
static int is_listening(const struct client *c)
{
    return c->have == sizeof c->post && !c->note;
}

/* A rank rings: all that listen hear of it, itself included. */
static void ring(const struct client *all, int n, const struct post *p)
{
    for (int i = 0; i < n; i++)
        if (is_listening(&all[i]) && all[i].post.token == p->token && all[i].post.key == p->key)
            send(all[i].fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* What one that listens says: that it rings, or, by its end, that it listens no more. */
static int hear_listener(const struct client *all, int n, const struct client *c)
{
    char word;
    ssize_t got = recv(c->fd, &word, 1, MSG_DONTWAIT);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return 1;
    if (got > 0)
        ring(all, n, &c->post);
    else
        close(c->fd);
    return got > 0;
}

/* Returns 1 if it listens from now on. */
static int take_listener(const struct client *c)
{
    uint32_t ok = c->post.mark == MARK && is_token(c->post.token);

    if (send(c->fd, &ok, sizeof ok, MSG_NOSIGNAL) == sizeof ok && ok)
        return 1;
    close(c->fd);
    return 0;
}

/* Returns 0 once the client is to be forgotten: it has said all, or has gone. */
static int hear(struct entry **list, const struct client *all, int nall, struct client *c)
{
    if (is_listening(c))
        return hear_listener(all, nall, c);
    size_t head = sizeof c->post, whole = c->note ? head + c->post.bytes : head;
    char *to = c->note ? c->note + (c->have - head) : (char *)&c->post + c->have;
    ssize_t n = recv(c->fd, to, whole - c->have, MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 1;
    if (n <= 0) {
        close(c->fd);
        free(c->note);
        return 0;
    }
    c->have += (size_t)n;
    if (c->have < whole)
        return 1;
    if (c->post.listens)
        return take_listener(c);
    if (!c->note && is_sound(&c->post) && (c->note = malloc(c->post.bytes)))
        return 1; /* now the note */
    take_post(list, c);
    free(c->note);
    return 0;
}

/* Whoever does not read what he is told holds up nobody else for long. */
static void welcome(struct client *c, int fd)
{
    const struct timeval patience = {1, 0};

    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    *c = (struct client){.fd = fd};
}

static void *keep(void *unused)
{
    static struct client client[CLIENTS_MOST];
    static struct pollfd ready[CLIENTS_MOST + 1];
    struct entry *entries = NULL;
    int n = 0;

    (void)unused;
    for (;;) {
        ready[0] = (struct pollfd){.fd = board.fd, .events = POLLIN};
        for (int i = 0; i < n; i++)
            ready[i + 1] = (struct pollfd){.fd = client[i].fd, .events = POLLIN};
        poll(ready, (nfds_t)n + 1, 500);
        for (int i = n - 1; i >= 0; i--)
            if (ready[i + 1].revents && !hear(&entries, client, n, &client[i]))
                client[i] = client[--n];
        if (ready[0].revents & POLLIN && n < CLIENTS_MOST) {
            int fd = accept4(board.fd, NULL, NULL, SOCK_CLOEXEC);

            if (fd >= 0)
                welcome(&client[n++], fd);
        }
        for (struct entry *e = entries; e; e = e->next)
            if (!e->over && now() - e->begun > NOTICE_PATIENCE_S)
                tell(e, 0);
    }
    return NULL;
}

static int start_thread(void)
{
    sigset_t all, before;
    pthread_t thread;
    int rc;

    sigfillset(&all); /* the application's signals are its own threads' */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&thread, NULL, keep, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!rc)
        pthread_detach(thread);
    return rc;
}

/* Lock held. Listen at the address that NCCL listens at. */
static int open_board(const struct id *id)
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
    fd = socket(a.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
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
    if (start_thread()) {
        close(fd);
        board.fd = 0;
        return -1;
    }
    return 0;
}

static int is_usable(const struct id *id)
{
    static const char zeros[sizeof id->unused];
    sa_family_t f = id->address.any.sa_family;

    return (f == AF_INET || f == AF_INET6) && !id->mark && !id->port && !id->kept &&
           sizeof(struct id) == sizeof(ncclUniqueId) && id->token && id->token != TOKEN_OF_ALL &&
           !memcmp(id->unused + sizeof id->unused - 32, zeros, 32);
}

void notice_keep(ncclUniqueId *unique)
{
    struct id id;
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
        id.mark = MARK;
        id.port = board.port;
        memcpy(unique, &id, sizeof id);
    }
    pthread_mutex_unlock(&board.lock);
}

/* The ranks' side ------------------------------------------------------------------------------ */

int notice_find(const ncclUniqueId *unique, struct notice_board *b)
{
    struct id id;

    memcpy(&id, unique, sizeof id);
    if (id.mark != MARK)
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

/* flags: of a send; 0: receive. */
static int move_all(int fd, void *data, size_t bytes, int flags)
{
    size_t done = 0;

    while (done < bytes) {
        ssize_t n = flags ? send(fd, (char *)data + done, bytes - done, flags | MSG_NOSIGNAL)
                          : recv(fd, (char *)data + done, bytes - done, 0);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        done += (size_t)n;
    }
    return 0;
}

/* Say that to the board. Returns the descriptor, or -1. */
static int say_to(const struct notice_board *b, struct post *p, const void *note)
{
    const struct timeval patience = {NOTICE_PATIENCE_S, 0};
    int fd = socket(b->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    p->mark = MARK;
    p->token = b->token;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience); /* of connect() too */
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(fd, (const struct sockaddr *)&b->address, b->length) == 0 &&
        move_all(fd, p, sizeof *p, p->bytes ? MSG_MORE : MSG_NOSIGNAL) == 0 &&
        (!p->bytes || move_all(fd, (void *)(uintptr_t)note, p->bytes, MSG_NOSIGNAL) == 0))
        return fd;
    close(fd);
    return -1;
}

int notice_post(const struct notice_board *b, uint64_t key, int nranks, int rank, const void *note,
                size_t bytes)
{
    struct post p = {
        .nranks = (uint32_t)nranks, .rank = (uint32_t)rank, .bytes = (uint32_t)bytes, .key = key};

    return say_to(b, &p, note);
}

int notice_listen(const struct notice_board *b, uint64_t key)
{
    struct post p = {.listens = 1, .key = key};
    int fd = say_to(b, &p, NULL);
    uint32_t ok = 0;

    if (fd >= 0 && move_all(fd, &ok, sizeof ok, 0) == 0 && ok)
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
    const time_t until = now() + NOTICE_PATIENCE_S + 3;
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    uint32_t ok = 0;

    if (fd < 0)
        return -1;
    while (poll(&ready, 1, 20) <= 0 && now() < until)
        if (stop && __atomic_load_n(stop, __ATOMIC_ACQUIRE))
            break;
    if (!(ready.revents & POLLIN) || move_all(fd, &ok, sizeof ok, 0) < 0 || !ok ||
        move_all(fd, note, (size_t)nranks * bytes, 0) < 0)
        ok = 0;
    close(fd);
    return ok ? 0 : -1;
}
