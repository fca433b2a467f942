/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The keeper of a notice board: one thread, which alone decides the answer to the ranks of a key,
 * and decides once. No rank leaves by its own clock, so that a keeper that is delayed, even for
 * long, still answers all of them alike. It waits for no client: bytes that a reader does not take
 * at once are sent when it has room. A silent client is closed after some time.
 *
 * The port is open to the network, and descriptors belong to the program. A stranger, who has not
 * shown a token of this process, costs at most an eighth of those that are left; a new one takes
 * the oldest one's place. The keeper as a whole keeps to half the limit. A rank that it closes
 * takes that for a no, and no other rank hears a yes then.
 *
 * Known gap: a keeper that is killed while it answers, within microseconds, may have told some
 * ranks yes. If it was no rank of theirs, these wait for the others until the program aborts.
 * Rejected: two phases, because they cost each agreement one more round trip.
 */
#define _GNU_SOURCE
#include "shim/nccl/board/notice_keeper.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "shim/nccl/board/notice.h"
#include "shim/nccl/board/notice_wire.h"

enum { RANKS_MOST = 1 << 16, STRANGERS_MOST = 256, SAY_MS = 5000, ACCEPT_AGAIN_MS = 100 };
enum { DESCRIPTORS = 1 << 16 };

int notice_patience_ms = NOTICE_PATIENCE_S * 1000;

/* The answer to all ranks of a key. */
struct answer {
    size_t bytes, users;
    char data[]; /* the word, and behind a yes the notes */
};

/* One key. One that was given up stays as a stub: no rank may hear otherwise. */
struct entry {
    struct entry *next;
    uint64_t token, key;
    uint32_t nranks, have, bytes;
    int64_t begun; /* ms */
    int over;
    int *fd;               /* [nranks] owned, -1: not posted */
    struct answer *answer; /* owned: the yes, as far as it has come */
};

struct client {
    int fd;
    enum { SAYS, LISTENS, HEARS } state;
    size_t done;   /* bytes of what it says, or is told */
    int stranger;  /* no token so far */
    int64_t since; /* ms: it says */
    struct notice_post post;
    char *note;            /* owned, once the post is in */
    struct answer *answer; /* it is told; shared */
};

/* The thread's own, except the members that finish() reads. */
static struct {
    int fd; /* listening */
    pid_t pid;
    pthread_mutex_t at_work; /* held, but while it waits: see finish() */
    struct entry *entries;
    struct client *client; /* owned; [room] */
    struct pollfd *ready;  /* owned; [room + 1] */
    int n, room, strangers, told;
    int open; /* descriptors, those in entries included: there is room for each */
    int64_t accept_at;
} keeper = {.at_work = PTHREAD_MUTEX_INITIALIZER};

/* Descriptors that a fork's child closes: with them open, the end of this process would not be
 * seen. Those from DESCRIPTORS on are not accepted. */
static unsigned char ours[DESCRIPTORS];

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Clients ------------------------------------------------------------------------------------- */

static void close_fd(int fd)
{
    __atomic_store_n(&ours[fd], 0, __ATOMIC_RELAXED);
    close(fd);
    keeper.open--;
}

static int make_room(void)
{
    int room = keeper.room ? 2 * keeper.room : 64;
    struct client *client;
    struct pollfd *ready;

    if (keeper.open < keeper.room)
        return 1;
    client = realloc(keeper.client, (size_t)room * sizeof *client);
    if (client)
        keeper.client = client;
    ready = realloc(keeper.ready, ((size_t)room + 1) * sizeof *ready);
    if (ready)
        keeper.ready = ready;
    if (!client || !ready)
        return 0;
    keeper.room = room;
    return 1;
}

static void client_forget(int i)
{
    struct client *c = &keeper.client[i];

    keeper.strangers -= c->stranger;
    keeper.told -= c->state == HEARS;
    free(c->note);
    if (c->answer && !--c->answer->users)
        free(c->answer);
    *c = keeper.client[--keeper.n];
}

/* Returns 0 once all of it has gone, or the reader has. */
static int answer_send(struct client *c)
{
    const struct answer *a = c->answer;

    while (c->done < a->bytes) {
        ssize_t n = send(c->fd, a->data + c->done, a->bytes - c->done, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return 1;
        if (n <= 0)
            break;
        c->done += (size_t)n;
    }
    close_fd(c->fd);
    return 0;
}

/* There is room, as the descriptor is open. */
static void answer_with(int fd, struct answer *a)
{
    struct client *c = &keeper.client[keeper.n++];

    a->users++;
    keeper.told++;
    *c = (struct client){.fd = fd, .state = HEARS, .answer = a};
    if (!answer_send(c))
        client_forget(keeper.n - 1);
}

static void answer_no(int fd)
{
    uint32_t no = 0;

    send(fd, &no, sizeof no, MSG_NOSIGNAL | MSG_DONTWAIT); /* an empty buffer takes it */
    close_fd(fd);
}

/* Entries ------------------------------------------------------------------------------------- */

static void decide(struct entry *e, int yes)
{
    struct answer *a = e->answer;

    e->over = 1;
    if (a)
        a->users = 1; /* us */
    for (uint32_t r = 0; e->fd && r < e->nranks; r++) {
        if (e->fd[r] < 0)
            continue;
        if (yes)
            answer_with(e->fd[r], a);
        else
            answer_no(e->fd[r]);
    }
    free(e->fd);
    if (a && !--a->users)
        free(a);
    e->fd = NULL;
    e->answer = NULL;
}

static struct entry *entry_find(const struct notice_post *p)
{
    struct entry *e = keeper.entries;
    size_t bytes = sizeof(uint32_t) + (size_t)p->nranks * p->bytes;

    while (e && (e->token != p->token || e->key != p->key))
        e = e->next;
    if (e)
        return e;
    e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    *e = (struct entry){.next = keeper.entries,
                        .token = p->token,
                        .key = p->key,
                        .nranks = p->nranks,
                        .bytes = p->bytes,
                        .begun = now_ms()};
    e->fd = malloc(p->nranks * sizeof *e->fd);
    e->answer = malloc(sizeof *e->answer + bytes);
    for (uint32_t r = 0; e->fd && r < p->nranks; r++)
        e->fd[r] = -1;
    if (e->answer)
        *e->answer = (struct answer){.bytes = bytes};
    if (!e->fd || !e->answer)
        decide(e, 0);
    keeper.entries = e;
    return e;
}

/* All ranks have posted and have their answer: no further question comes. */
static void forget(struct entry *e)
{
    struct entry **at = &keeper.entries;

    while (*at != e)
        at = &(*at)->next;
    *at = e->next;
    free(e);
}

/* The client has said all; its descriptor is the entry's now, or closed. */
static void take_post(const struct client *c)
{
    const struct notice_post *p = &c->post;
    struct entry *e = c->note ? entry_find(p) : NULL;
    uint32_t yes = 1;

    if (!e || e->over || e->nranks != p->nranks || e->bytes != p->bytes || e->fd[p->rank] >= 0) {
        answer_no(c->fd);
        return;
    }
    e->fd[p->rank] = c->fd;
    memcpy(e->answer->data + sizeof yes + (size_t)p->rank * e->bytes, c->note, e->bytes);
    if (++e->have < e->nranks)
        return;
    memcpy(e->answer->data, &yes, sizeof yes);
    decide(e, 1);
    forget(e);
}

/* Messages from clients ----------------------------------------------------------------------- */

static int is_sound(const struct notice_post *p)
{
    return p->mark == NOTICE_MARK && p->nranks > 0 && p->nranks <= RANKS_MOST &&
           p->rank < p->nranks && p->bytes > 0 && p->bytes <= NOTICE_MOST &&
           notice_is_token(p->token);
}

/* A rank rings: all that listen hear of it, itself included. */
static void ring(const struct notice_post *p)
{
    for (int i = 0; i < keeper.n; i++) {
        const struct client *c = &keeper.client[i];

        if (c->state == LISTENS && c->post.token == p->token && c->post.key == p->key)
            send(c->fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

/* A message from a listener: it rings or, by its end, stops listening. */
static int hear_listener(const struct client *c)
{
    char word;
    ssize_t got = recv(c->fd, &word, 1, MSG_DONTWAIT);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return 1;
    if (got > 0)
        ring(&c->post);
    else
        close_fd(c->fd);
    return got > 0;
}

static void is_known(struct client *c)
{
    keeper.strangers -= c->stranger;
    c->stranger = 0;
}

static int take_listener(struct client *c)
{
    uint32_t ok = c->post.mark == NOTICE_MARK && notice_is_token(c->post.token);

    if (send(c->fd, &ok, sizeof ok, MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof ok || !ok) {
        close_fd(c->fd);
        return 0;
    }
    c->state = LISTENS;
    is_known(c);
    return 1;
}

enum heard { MORE, ALL, GONE };

static enum heard hear(struct client *c)
{
    size_t head = sizeof c->post, whole = c->note ? head + c->post.bytes : head;
    char *to = c->note ? c->note + (c->done - head) : (char *)&c->post + c->done;
    ssize_t n = recv(c->fd, to, whole - c->done, MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return MORE;
    if (n <= 0) {
        close_fd(c->fd);
        return GONE;
    }
    c->done += (size_t)n;
    if (c->done < whole)
        return MORE;
    if (c->post.listens)
        return take_listener(c) ? MORE : GONE;
    if (!c->note && is_sound(&c->post) && (c->note = malloc(c->post.bytes))) {
        is_known(c);
        return MORE; /* now the note */
    }
    return ALL;
}

/* A client's post. Taking it may answer others, who come into the table. */
static void serve_post(int i)
{
    struct client said;
    enum heard heard = hear(&keeper.client[i]);

    if (heard == MORE)
        return;
    said = keeper.client[i];
    keeper.client[i].note = NULL;
    client_forget(i);
    if (heard == ALL)
        take_post(&said);
    free(said.note);
}

static void serve(int i)
{
    struct client *c = &keeper.client[i];

    if (c->state == SAYS)
        serve_post(i);
    else if (!(c->state == LISTENS ? hear_listener(c) : answer_send(c)))
        client_forget(i);
}

/* How many strangers may stay; fd: the least descriptor that was free. */
static int strangers_most(rlim_t limit, int fd)
{
    rlim_t most = limit > (rlim_t)fd ? (limit - (rlim_t)fd) / 8 : 0;

    return most < 1 ? 1 : most > STRANGERS_MOST ? STRANGERS_MOST : (int)most;
}

static int oldest_stranger(void)
{
    int oldest = -1;

    for (int i = 0; i < keeper.n; i++)
        if (keeper.client[i].stranger &&
            (oldest < 0 || keeper.client[i].since < keeper.client[oldest].since))
            oldest = i;
    return oldest;
}

/* Each is heard once more before it is closed: a rank's post may have come meanwhile. */
static void close_strangers(int most)
{
    while (keeper.strangers > most) {
        int i = oldest_stranger(), fd = keeper.client[i].fd;

        serve_post(i);
        if (i < keeper.n && keeper.client[i].fd == fd && keeper.client[i].stranger) {
            close_fd(fd);
            client_forget(i);
        }
    }
}

/* Returns whether there was one. */
static int welcome(void)
{
    int fd = accept4(keeper.fd, NULL, NULL, SOCK_CLOEXEC), on = 1;
    struct rlimit files = {.rlim_cur = DESCRIPTORS};

    if (fd < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == ECONNABORTED))
        return 0;
    if (fd < 0) { /* no descriptors: not again at once */
        keeper.accept_at = now_ms() + ACCEPT_AGAIN_MS;
        return 0;
    }
    getrlimit(RLIMIT_NOFILE, &files);
    if (fd >= DESCRIPTORS || (rlim_t)keeper.open >= files.rlim_cur / 2 || !make_room()) {
        close(fd);
        return 1;
    }
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    __atomic_store_n(&ours[fd], 1, __ATOMIC_RELAXED);
    keeper.open++;
    keeper.strangers++;
    keeper.client[keeper.n] =
        (struct client){.fd = fd, .state = SAYS, .stranger = 1, .since = now_ms()};
    serve_post(keeper.n++);
    close_strangers(strangers_most(files.rlim_cur, fd));
    return 1;
}

/* Posts that are there count, however late the keeper reads them. */
static void look_at_clocks(void)
{
    int64_t now = now_ms();

    for (int i = keeper.n - 1; i >= 0; i--)
        if (keeper.client[i].state == SAYS && now - keeper.client[i].since > SAY_MS) {
            close_fd(keeper.client[i].fd);
            client_forget(i);
        }
    for (struct entry *e = keeper.entries; e; e = e->next)
        if (!e->over && now - e->begun > notice_patience_ms)
            decide(e, 0);
}

static int wait_ms(void)
{
    return notice_patience_ms < 5000 ? notice_patience_ms / 10 : 500;
}

static void *keep(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&keeper.at_work);
    for (;;) {
        int n = keeper.n, accepts = now_ms() >= keeper.accept_at;

        for (int i = 0; i < n; i++)
            keeper.ready[i] =
                (struct pollfd){.fd = keeper.client[i].fd,
                                .events = keeper.client[i].state == HEARS ? POLLOUT : POLLIN};
        keeper.ready[n] = (struct pollfd){.fd = accepts ? keeper.fd : -1, .events = POLLIN};
        pthread_mutex_unlock(&keeper.at_work);
        poll(keeper.ready, (nfds_t)n + 1, accepts ? wait_ms() : ACCEPT_AGAIN_MS);
        pthread_mutex_lock(&keeper.at_work);
        accepts = keeper.ready[n].revents & POLLIN;
        for (int i = n - 1; i >= 0; i--)
            if (i < keeper.n && keeper.ready[i].revents &&
                keeper.client[i].fd == keeper.ready[i].fd)
                serve(i);
        for (int come = 0; accepts && come < STRANGERS_MOST && welcome(); come++)
            ;
        look_at_clocks();
    }
    return NULL;
}

/* Beginning and end --------------------------------------------------------------------------- */

/*
 * The process ends: not in the middle of telling, while some have heard a yes and others would find
 * that the board has gone. The keeper works no more after this. A process that is killed may end
 * there.
 */
static void finish(void)
{
    const struct timespec moment = {0, 1000000};
    int64_t until = now_ms() + notice_patience_ms;

    if (keeper.pid != getpid())
        return;
    pthread_mutex_lock(&keeper.at_work);
    while (keeper.told && now_ms() < until) {
        pthread_mutex_unlock(&keeper.at_work);
        nanosleep(&moment, NULL);
        pthread_mutex_lock(&keeper.at_work);
    }
    for (int fd = 0; fd < DESCRIPTORS; fd++)
        if (ours[fd])
            shutdown(fd, SHUT_RDWR);
}

static void leave_to_parent(void)
{
    for (int fd = 0; fd < DESCRIPTORS; fd++)
        if (__atomic_load_n(&ours[fd], __ATOMIC_RELAXED))
            close(fd);
    memset(ours, 0, sizeof ours);
}

static int start_thread(void)
{
    sigset_t all, before;
    pthread_t thread;
    int rc;

    sigfillset(&all); /* the application's signals are its own threads' */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = make_room() ? pthread_create(&thread, NULL, keep, NULL) : -1;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!rc)
        pthread_detach(thread);
    return rc;
}

int notice_keeper_start(int fd)
{
    static int hooked;

    if (fd >= DESCRIPTORS)
        return -1;
    memset(&keeper, 0,
           sizeof keeper); /* descriptors of a parent, all of which the child has closed */
    pthread_mutex_init(&keeper.at_work, NULL);
    keeper.fd = fd;
    keeper.pid = getpid();
    ours[fd] = 1;
    if (start_thread()) {
        ours[fd] = 0;
        keeper.pid = 0;
        return -1;
    }
    if (!hooked++) {
        pthread_atfork(NULL, NULL, leave_to_parent);
        atexit(finish);
    }
    return 0;
}
