/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "shim/nccl/helpers/ppg_watch.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/nccl/call/scratch.h"
#include "shim/nccl/helpers/ppg_orders.h"

enum { LOOK_MS = 20, IDLE_MS = 200, ENDS = 1, ENDS_AT_ONCE = 2, VERDICT = 2 };

static struct {
    pthread_mutex_t lock;
    struct ppg *list;
    pid_t pid; /* whose thread it is */
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int is_undone(const struct ppg *p)
{
    for (int i = 0; i < p->helpers; i++)
        if ((int32_t)(atomic_load(&ppg_orders_at(i, p->channel)->done) - atomic_load(&p->ticket)) <
            0)
            return 1;
    return 0;
}

/* The error of this rank's helpers; NULL: none. */
static const char *find_fault(const struct ppg *p)
{
    int undone = is_undone(p);

    if (atomic_load(&p->fault))
        return "a call could not be enqueued";
    for (int i = 0; i < p->helpers; i++) {
        const struct nccl_order_channel *at = ppg_orders_at(i, p->channel);

        if (!helpers_lives(i))
            return "a helper died";
        if (undone && helpers_silent(i, 0)) /* this thread alone looks at any helper's silence */
            return "a helper was stopped";
        if (atomic_load(&at->broken))
            return at->why;
    }
    return NULL;
}

/* A rank's message when helpers failed. */
struct account {
    uint64_t calls;
    uint32_t undone;
};

/* From here on no call is given to the helpers. */
static void fail(struct ppg *p, const char *fault)
{
    struct account own = {0};
    char note[NOTICE_BYTES] = {0};

    pthread_mutex_lock(&p->lock);
    atomic_store(&p->condition, PPG_FAILED);
    own.calls = p->calls;
    pthread_mutex_unlock(&p->lock);
    own.undone = (uint32_t)(is_undone(p) || atomic_load(&p->fault));
    if (fault) {
        notice_ring(p->alarm);
        say(atomic_load(&p->ends) ? CFG_LEVEL_INFO : CFG_LEVEL_WARN,
            "NCCL: rank %d of %d: %s; the communicator runs natively from now on", p->rank,
            p->nranks, fault);
    }
    helpers_dismiss(); /* they may wait on the device for the one that failed */
    memcpy(note, &own, sizeof own);
    p->verdict = notice_post(&p->board, p->key ^ VERDICT, p->nranks, p->rank, note, sizeof note);
    if (p->verdict < 0)
        atomic_store(&p->condition, PPG_UNSETTLED);
}

/* A call is lost if some rank's helpers are not through with it, or some rank has not begun it. */
static int judge(struct ppg *p, const char *notes)
{
    struct account theirs;
    int harmed = 0;

    for (int r = 0; r < p->nranks; r++) {
        memcpy(&theirs, notes + (size_t)r * NOTICE_BYTES, sizeof theirs);
        harmed |= theirs.undone != 0 || (r > 0 && theirs.calls != p->until);
        p->until = theirs.calls > p->until ? theirs.calls : p->until;
    }
    return harmed ? PPG_HARMED : PPG_UNHARMED;
}

static void ppg_settle(struct ppg *p)
{
    char *notes = malloc((size_t)p->nranks * NOTICE_BYTES);
    int condition = PPG_UNSETTLED;

    if (!notes)
        close(p->verdict);
    else if (notice_read(p->verdict, p->nranks, notes, NOTICE_BYTES, NULL) == 0)
        condition = judge(p, notes);
    free(notes);
    p->verdict = -1;
    if (condition != PPG_UNHARMED)
        say(CFG_LEVEL_ERROR,
            "NCCL: rank %d of %d: a call is lost with a helper (ncclCommGetAsyncError: "
            "ncclSystemError)",
            p->rank, p->nranks);
    atomic_store(&p->condition, condition);
}

static int is_readable(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};

    return fd >= 0 && poll(&ready, 1, 0) > 0;
}

/* The streams go on. A helper that was about to write its counter may have done so since. */
static void release(struct ppg *p)
{
    for (int i = 0; i < p->helpers; i++)
        atomic_store(&ppg_orders_at(i, p->channel)->done, atomic_load(&p->ticket));
}

static void leave(struct ppg *p, int how)
{
    const struct nccl_order order = {.kind = how == ENDS ? NCCL_ORDER_LEAVE : NCCL_ORDER_CUT,
                                     .channel = p->channel};
    static const int at_once = 1;

    for (int i = 0; i < p->helpers; i++)
        if (ppg_orders_post(i, &order, &at_once))
            atomic_store(&p->fault, 1); /* it is too far behind to be told */
    p->left = 1;
}

static void look(struct ppg *p)
{
    int ends = atomic_load(&p->ends), rang = 0;
    const char *fault;

    if (p->alarm >= 0 && (rang = notice_rang(p->alarm)) < 0) {
        close(p->alarm);
        p->alarm = -1;
    }
    if (atomic_load(&p->condition) == PPG_WORKS && ((fault = find_fault(p)) || rang > 0))
        fail(p, fault);
    if (atomic_load(&p->condition) == PPG_FAILED && is_readable(p->verdict))
        ppg_settle(p);
    if (ends && !p->left)
        leave(p, ends);
    if (ends == ENDS_AT_ONCE ||
        (atomic_load(&p->condition) != PPG_WORKS && (ends || atomic_load(&p->told))))
        release(p);
}

/* Has it ended, here and in its helpers? */
static int is_over(const struct ppg *p)
{
    if (!atomic_load(&p->forgotten) || !p->left || p->verdict >= 0)
        return 0;
    for (int i = 0; i < p->helpers; i++)
        if (helpers_lives(i) && atomic_load(&ppg_orders_at(i, p->channel)->joined))
            return 0;
    return 1;
}

/* Memory and channel of helpers that failed are not used again: such a helper may still write. */
static void bury(struct ppg *p)
{
    if (atomic_load(&p->condition) == PPG_WORKS) {
        scratch_give(p->staging.context, p->staging.at, p->staging.bytes, p->staging.last);
        ppg_orders_return(p->channel);
    }
    if (p->alarm >= 0)
        close(p->alarm);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

static void *keep_watch(void *unused)
{
    (void)unused;
    for (;;) {
        pthread_mutex_lock(&watch.lock);
        for (struct ppg **at = &watch.list, *p; (p = *at);) {
            look(p);
            if (is_over(p)) {
                *at = p->next;
                bury(p);
            } else {
                at = &p->next;
            }
        }
        int pause = watch.list ? LOOK_MS : IDLE_MS;
        pthread_mutex_unlock(&watch.lock);
        poll(NULL, 0, pause);
    }
    return NULL;
}

/* Lock held. */
static int start_thread(void)
{
    sigset_t all, before;
    pthread_t thread;
    int rc = 0;

    if (watch.pid == getpid())
        return 0;
    sigfillset(&all); /* the application's signals are its own threads' */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&thread, NULL, keep_watch, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc)
        return -1;
    pthread_detach(thread);
    watch.pid = getpid();
    return 0;
}

int ppg_watch(struct ppg *p)
{
    int rc;

    p->verdict = -1;
    p->alarm = notice_listen(&p->board, p->key);
    if (p->alarm < 0)
        return -1;
    pthread_mutex_lock(&watch.lock);
    rc = start_thread();
    if (!rc) {
        p->next = watch.list;
        watch.list = p;
    }
    pthread_mutex_unlock(&watch.lock);
    p->watched = !rc;
    if (rc)
        close(p->alarm);
    return rc;
}

int ppg_watch_expects(void)
{
    int ends = 0;

    pthread_mutex_lock(&watch.lock);
    for (const struct ppg *p = watch.list; p && !ends; p = p->next)
        ends = atomic_load(&p->ends) != 0;
    pthread_mutex_unlock(&watch.lock);
    return ends;
}

ncclResult_t ppg_state(struct ppg *p)
{
    if (!p || atomic_load(&p->condition) < PPG_HARMED)
        return ncclSuccess;
    atomic_store(&p->told, 1);
    return ncclSystemError;
}

void ppg_end(struct ppg *p, int at_once)
{
    if (p && p->watched)
        atomic_store(&p->ends, at_once ? ENDS_AT_ONCE : ENDS);
}

void ppg_forget(struct ppg *p)
{
    if (p && p->watched)
        atomic_store(&p->forgotten, 1);
}
