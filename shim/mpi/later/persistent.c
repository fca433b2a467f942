/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * There are fewer requests than private communicators (comm.c), so a row of a small table is found
 * by looking at all, and its number is the tag.
 *
 * A request that is freed while its call is active, or where the library's progress engine calls
 * us, is put aside and closed later. Closing frees communicators and types of the library's.
 *
 * Rejected: a generalized request. It cannot be started again.
 */
#include "shim/mpi/later/persistent.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/decide/choose/choose.h"
#include "shim/mpi/api/numbering.h"
#include "shim/mpi/api/quiet.h"
#include "shim/mpi/api/wrappers.h"
#include "shim/mpi/later/channel.h"
#include "shim/mpi/later/nonblocking.h"
#include "shim/mpi/later/pending.h"
#include "shim/record/counts/count.h"

enum { MOST = 64 };

struct persistent {
    struct pending pending;  /* first */
    struct persistent *next; /* of those that are to be closed */
    MPI_Comm comm;           /* the application's */
    MPI_Request request;     /* the receive */
    int tag;                 /* the row in `all` */
    int opened;              /* pending is */
    int made;                /* the application has or had it */
    int active;              /* from its start until it is through */
    int freed;               /* the application has freed it */
};

enum { MOST_PIECES = 4 };

/* Memory of a request of the library's own. */
struct kept {
    struct kept *next;
    MPI_Request request;
    void *memory[MOST_PIECES];
};

static pthread_mutex_t lock =
    PTHREAD_MUTEX_INITIALIZER; /* of what follows; pending's comes before */
static struct persistent *all[MOST];
static int rows;                   /* those in use are below */
static struct persistent *leaving; /* to be closed */
static int requests;               /* that the application has; read without the lock */
static struct kept *memories;
static MPI_Comm self = MPI_COMM_NULL; /* owned */
static int frees_failed; /* Open MPI up to 4 frees a persistent request when it reports its error */

/* Under the lock. */
static struct persistent *find(MPI_Request request)
{
    for (int i = 0; i < rows; i++)
        if (all[i] && !all[i]->freed && all[i]->request == request)
            return all[i];
    return NULL;
}

/* NULL: none of ours, or the library should judge the argument. */
static struct persistent *find_given(const MPI_Request *request)
{
    struct persistent *p = NULL;

    if (!request || *request == MPI_REQUEST_NULL)
        return p;
    pthread_mutex_lock(&lock);
    p = find(*request);
    pthread_mutex_unlock(&lock);
    return p;
}

/* NULL: no memory, or too many are there. */
static struct persistent *add(void)
{
    struct persistent *p = calloc(1, sizeof *p);

    if (!p)
        return p;
    p->request = MPI_REQUEST_NULL;
    pthread_mutex_lock(&lock);
    for (p->tag = 0; p->tag < MOST && all[p->tag]; p->tag++)
        ;
    if (p->tag < MOST) {
        all[p->tag] = p;
        p->freed = 1; /* the application does not have it yet */
        rows = p->tag < rows ? rows : p->tag + 1;
    }
    pthread_mutex_unlock(&lock);
    if (p->tag < MOST)
        return p;
    free(p);
    return NULL;
}

static void forget(struct persistent *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&lock);
    all[p->tag] = NULL;
    while (rows && !all[rows - 1])
        rows--;
    pthread_mutex_unlock(&lock);
    free(p);
}

/* Not inside the progress engine. */
static void close_one(struct persistent *p)
{
    struct mpi_comm *channel = p->pending.comm;

    if (p->made) {
        pending_keep(-1);
        __atomic_sub_fetch(&requests, 1, __ATOMIC_RELAXED);
    }
    if (p->opened)
        pending_close(&p->pending);
    channel_leave(channel);
    forget(p);
}

static void close_leaving(void)
{
    pthread_mutex_lock(&lock);
    struct persistent *list = leaving;
    leaving = NULL;
    pthread_mutex_unlock(&lock);
    while (list) {
        struct persistent *p = list;

        list = p->next;
        close_one(p);
    }
}

/* Returns 1 if there is a communicator for the receives. */
static int open_self(void)
{
    struct quiet quiet;
    MPI_Group group;
    int major;

    if (self != MPI_COMM_NULL)
        return 1;
    frees_failed = sscanf(mpi_process.library_version, "Open MPI v%d", &major) == 1 && major < 5;
    if (mpi.Comm_group(MPI_COMM_SELF, &group) != MPI_SUCCESS)
        return 0;
    int rc = MPI_ERR_OTHER;
    if (numbering_claim()) {
        quiet_begin(&quiet, MPI_COMM_SELF);
        rc = mpi.Comm_create(MPI_COMM_SELF, group, &self);
        quiet_end(&quiet);
        numbering_release();
    }
    mpi.Group_free(&group);
    return rc == MPI_SUCCESS &&
           mpi.Comm_set_errhandler(self, mpi_process.errors_return) == MPI_SUCCESS;
}

/* The communicator on which the call's errors are raised. */
static MPI_Comm raised_on(const struct persistent *p)
{
    return channel_is_orphan(p->pending.comm) ? MPI_COMM_SELF : p->comm;
}

static void borrow_handler(const struct persistent *p)
{
    MPI_Errhandler handler;

    if (mpi.Comm_get_errhandler(raised_on(p), &handler) != MPI_SUCCESS)
        return;
    mpi.Comm_set_errhandler(self, handler);
    mpi.Errhandler_free(&handler);
}

/* Complete the receive, with an error if there is one. */
static void complete_receive(int tag, int code)
{
    static char byte;
    MPI_Request sent;

    if (mpi.Isend(&byte, code != MPI_SUCCESS, MPI_BYTE, 0, tag, self, &sent) == MPI_SUCCESS)
        mpi.Request_free(&sent);
}

/* Its memory may be gone once the receive is complete. */
static void on_done(struct pending *pending)
{
    struct persistent *p = (struct persistent *)pending;
    int tag = p->tag, code = pending->code;

    if (code != MPI_SUCCESS)
        borrow_handler(p);
    pthread_mutex_lock(&lock);
    p->active = 0;
    p->freed |= code != MPI_SUCCESS && frees_failed;
    if (p->freed) {
        p->next = leaving;
        leaving = p;
    }
    pthread_mutex_unlock(&lock);
    complete_receive(tag, code);
}

/*
 * Make the request. well: 0: this rank cannot. REASON_NONE; or REASON_NOT_READY on all ranks alike:
 * p is gone, call.owned.room freed, and the channel left.
 */
static enum reason make(struct persistent *p, struct mpi_comm *channel, const struct ready *ready,
                        int well)
{
    const struct mpi_call *call = &ready->call;
    int all_well = 0;

    p->comm = call->comm;
    p->pending.comm = channel;
    if (well)
        well = p->opened = pending_open(&p->pending, channel, ready, 1, on_done) == MPI_SUCCESS;
    else
        mpi_call_drop(call);
    pthread_mutex_lock(&lock);
    well = well && open_self();
    pthread_mutex_unlock(&lock);
    well = well && !pending_reserve(&p->pending) &&
           mpi.Recv_init(NULL, 0, MPI_BYTE, 0, p->tag, self, &p->request) == MPI_SUCCESS;
    if (mpi.Allreduce(&well, &all_well, 1, MPI_INT, MPI_MIN, channel->private_comm) != MPI_SUCCESS)
        all_well = 0;
    if (!all_well) {
        if (p->request != MPI_REQUEST_NULL)
            mpi.Request_free(&p->request);
        close_one(p);
        return REASON_NOT_READY;
    }
    p->made = 1;
    pending_keep(1);
    *call->nonblocking = p->request;
    pthread_mutex_lock(&lock);
    p->freed = 0;
    pthread_mutex_unlock(&lock);
    __atomic_add_fetch(&requests, 1, __ATOMIC_RELAXED);
    return REASON_NONE;
}

/* On a channel of its own. Why the library makes it, or REASON_NONE. */
static enum reason make_on_channel(struct mpi_comm *c, struct mpi_call *call,
                                   const struct mpi_candidates *found)
{
    struct persistent *p = add();
    struct ready ready;
    enum reason why;
    int well, rc = 0;
    struct mpi_comm *channel = channel_take(c, p && !call->owned.lacks_room, &well, &why);

    if (!why) {
        call->request.topo = channel->topo;
        why = nonblocking_prepare(channel, call, found, &ready, &rc);
        if (why)
            channel_leave(channel);
    }
    if (!why)
        return make(p, channel, &ready, well && !rc);
    forget(p);
    mpi_call_drop(call);
    return why;
}

struct mpi_outcome persistent_run(struct mpi_comm *c, struct mpi_call *call,
                                  const struct mpi_candidates *found)
{
    enum reason why = found->why;

    if (call->total && settings.cfg.mode == CFG_MODE_VERIFY)
        why = REASON_WAITING;
    close_leaving();
    if (!why && choose_way(&c->history.ab_count) == CHOOSE_NATIVE)
        why = REASON_TURN;
    if (why)
        mpi_call_drop(call);
    else
        why = make_on_channel(c, call, found);
    return why ? run_natively(call, why) : (struct mpi_outcome){.rc = MPI_SUCCESS};
}

/* The library has started the receive. Its handle may be another one then. */
static void started(struct persistent *p, MPI_Request request)
{
    const struct ready *ready = &p->pending.ready;

    pthread_mutex_lock(&lock);
    int active = p->active;
    p->active = 1;
    p->request = request;
    pthread_mutex_unlock(&lock);
    if (active)
        return; /* the library let it pass */
    count_started(ready->call.collective, ready->algorithm, pending_processes(&p->pending),
                  ready->call.total);
    pending_start(&p->pending);
}

static int start(MPI_Request *request)
{
    struct persistent *p = find_given(request);
    int rc = mpi.Start(request);

    if (p && rc == MPI_SUCCESS)
        started(p, *request);
    return rc;
}

int mpi_wrap_Start(MPI_Request *request)
{
    return __atomic_load_n(&requests, __ATOMIC_RELAXED) ? start(request) : mpi.Start(request);
}

/* Ours singly, all others in as few calls as there can be. */
static int start_all(int n, MPI_Request *request)
{
    int from = 0, rc = MPI_SUCCESS;

    for (int i = 0; i < n && rc == MPI_SUCCESS; i++) {
        if (!find_given(&request[i]))
            continue;
        if (i > from)
            rc = mpi.Startall(i - from, request + from);
        if (rc == MPI_SUCCESS)
            rc = start(&request[i]);
        from = i + 1;
    }
    return rc != MPI_SUCCESS || (from == n && n) ? rc : mpi.Startall(n - from, request + from);
}

int mpi_wrap_Startall(int n, MPI_Request *request)
{
    return __atomic_load_n(&requests, __ATOMIC_RELAXED) && n > 0 && request
               ? start_all(n, request)
               : mpi.Startall(n, request);
}

void persistent_keep(MPI_Request request, void **memory, int n)
{
    struct kept *k = calloc(1, sizeof *k);

    if (!k)
        return; /* it stays for ever */
    k->request = request;
    memcpy(k->memory, memory, (size_t)n * sizeof *memory);
    pthread_mutex_lock(&lock);
    k->next = memories;
    memories = k;
    pthread_mutex_unlock(&lock);
    __atomic_add_fetch(&requests, 1, __ATOMIC_RELAXED);
}

static void drop_memory(MPI_Request request)
{
    struct kept **at = &memories, *k;

    pthread_mutex_lock(&lock);
    while (*at && (*at)->request != request)
        at = &(*at)->next;
    k = *at;
    if (k)
        *at = k->next;
    pthread_mutex_unlock(&lock);
    if (!k)
        return;
    for (int i = 0; i < MOST_PIECES; i++)
        free(k->memory[i]);
    free(k);
    __atomic_sub_fetch(&requests, 1, __ATOMIC_RELAXED);
}

static int free_request(MPI_Request *request)
{
    struct persistent *p = find_given(request);
    MPI_Request freed = p || !request ? MPI_REQUEST_NULL : *request;
    int rc = mpi.Request_free(request);

    if (rc == MPI_SUCCESS && freed != MPI_REQUEST_NULL)
        drop_memory(freed);
    if (!p || rc != MPI_SUCCESS)
        return rc;
    pthread_mutex_lock(&lock);
    p->freed = 1;
    if (!p->active) {
        p->next = leaving;
        leaving = p;
    }
    pthread_mutex_unlock(&lock);
    close_leaving();
    return rc;
}

int mpi_wrap_Request_free(MPI_Request *request)
{
    return __atomic_load_n(&requests, __ATOMIC_RELAXED) ? free_request(request)
                                                        : mpi.Request_free(request);
}

/* Cancelling a collective is an error. */
int mpi_wrap_Cancel(MPI_Request *request)
{
    struct persistent *p =
        __atomic_load_n(&requests, __ATOMIC_RELAXED) ? find_given(request) : NULL;

    if (!p)
        return mpi.Cancel(request);
    mpi.Comm_call_errhandler(raised_on(p), MPI_ERR_REQUEST);
    return MPI_ERR_REQUEST;
}

void persistent_close(void)
{
    for (int i = 0; i < MOST; i++)
        if (all[i] && !all[i]->freed) {
            MPI_Request request = all[i]->request;

            free_request(&request);
        }
    close_leaving();
    if (self != MPI_COMM_NULL)
        mpi.Comm_free(&self);
}
