/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One lock and one list of communicators: a poll with nothing to do costs a load, and one with
 * something to do takes longer than the lock. A poll that finds the lock taken goes away, since
 * another thread is advancing everything already; so does one from inside, because the transport
 * calls MPI, which polls.
 *
 * Rejected: several calls of a communicator side by side. Their messages would need tags of their
 * own, and the transport in shared memory state of its own, for links that one call fills.
 */
#include "shim/mpi/later/pending.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "shim/decide/base/floats.h"
#include "shim/decide/base/thread_own.h"
#include "shim/mpi/api/inside.h"
#include "shim/mpi/api/progress.h"
#include "shim/mpi/api/quiet.h"
#include "shim/mpi/comm/comm_plans.h"

enum { STEPS = 16 }; /* of each call in one poll, at most */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
#define inside THREAD_OWN(pending, int) /* holds the lock */
static struct mpi_comm *busy;           /* communicators with pending calls */
static int polled;                      /* the library's progress engine calls poll() */
static int kept_calls;                  /* that will be started again */
static int nothing_to_do;               /* poll() need not look, while calls are kept */
static int (*step_besides)(int *left);
static void (*end_besides)(void); /* read without the lock */
static int ending;                /* the library is about to call no hook any more */

static enum progress poll(void);

void pending_enter(void)
{
    pthread_mutex_lock(&lock);
    inside = 1;
}

static void leave(void)
{
    inside = 0;
    pthread_mutex_unlock(&lock);
}

void pending_leave(void)
{
    __atomic_store_n(&nothing_to_do, 0, __ATOMIC_RELAXED);
    if (!polled && !ending && progress_start(poll) == 0)
        __atomic_store_n(&polled, 1, __ATOMIC_RELAXED);
    leave();
}

void pending_besides(int (*step)(int *left), void (*end)(void))
{
    step_besides = step;
    __atomic_store_n(&end_besides, end, __ATOMIC_RELAXED);
}

static void end_all(void)
{
    void (*end)(void) = __atomic_load_n(&end_besides, __ATOMIC_RELAXED);

    if (end)
        end();
}

static void close_staging(struct pending *p)
{
    if (p->opened)
        staging_close(&p->staging);
    p->opened = 0;
}

/* own_output: of staging_open. */
static void open_staging(struct pending *p, int own_output)
{
    p->failed = staging_open(&p->staging, p->comm, &p->ready.call, p->ready.plan, own_output);
    p->opened = 1;
    if (p->failed)
        close_staging(p);
}

/* Get the buffers, unless the call has failed already. */
static void stage(struct pending *p)
{
    const struct mpi_call *call = &p->ready.call;

    if (p->compares)
        return;
    p->failed = call->wrong;
    if (!p->failed && p->opened)
        p->failed = staging_again(&p->staging, call, p->comm->private_comm);
    else if (!p->failed)
        open_staging(p, 0);
}

/* This rank alone. */
static int begin_alone(struct pending *p)
{
    struct engine_buffers buffers = run_buffers(&p->ready, &p->staging, p->failed);

    p->carried = 0;
    return engine_begin(p->ready.engine, &buffers);
}

static int begin(struct pending *p)
{
    stage(p);
    p->carried = p->background && background_begin(p->background, &p->staging, p->failed);
    return p->carried ? 0 : begin_alone(p);
}

/* The next one of its communicator can begin. If there is none, another thread may free the
   communicator from the last line on: it need not take the lock (pending_drain). */
static void take_out(struct pending *p)
{
    struct mpi_comm *c = p->comm, **at = &busy;

    while (!p->next && *at && *at != c)
        at = &(*at)->nonblocking.next_busy;
    if (!p->next && *at)
        *at = c->nonblocking.next_busy;
    __atomic_store_n(&c->nonblocking.first, p->next, __ATOMIC_RELEASE);
}

/* The call has run, with that code, and the library's beside it, if any, with the other. */
static void end(struct pending *p, int rc, int beside)
{
    if (!rc && p->compares && beside == MPI_SUCCESS)
        run_compare(p->comm, &p->ready, &p->staging);
    else if (!rc && !p->compares)
        rc = staging_deliver(&p->staging, &p->ready.call, p->comm->private_comm);
    if (!p->kept)
        pending_close(p);
    p->code = beside ? beside : run_code(rc);
    take_out(p);
    p->done(p);
}

/* One step of the helpers' work. Returns 1 if anything moved. */
static int step_background(struct pending *p, int *over, int *rc)
{
    enum background_state state = background_step(p->background, rc);

    *over = state == BACKGROUND_DONE;
    if (state == BACKGROUND_LOST) {
        *rc = begin_alone(p);
        *over = *rc != 0;
    }
    return state != BACKGROUND_IDLE;
}

/* One step towards the sizes, and the begin once they are known. Returns 1 if anything moved. */
static int learn_sizes(struct pending *p, int *over, int *rc)
{
    struct late_sizes *u = p->ready.call.owned.late_sizes;
    enum engine_state state = ENGINE_MOVED;

    if (p->begun)
        *rc = late_sizes_step(u, &state);
    else
        *rc = late_sizes_begin(u);
    p->begun = 1;
    *over = *rc != 0;
    if (*rc || state != ENGINE_DONE)
        return state != ENGINE_IDLE;
    p->sized = 1;
    p->begun = 0;
    *rc = late_sizes_finish(u, p->comm, &p->ready, &p->plan);
    *over = *rc || !p->ready.plan;
    return 1;
}

/* Advance the engine until it is through. Returns 1 if anything moved; *over: it is, with *rc. */
static int run(struct pending *p, int *over, int *rc)
{
    enum engine_state state = ENGINE_DONE;
    int begins = !p->begun;

    *rc = 0;
    if (p->ready.call.owned.late_sizes && !p->sized)
        return learn_sizes(p, over, rc);
    if (begins) {
        p->begun = 1;
        *rc = begin(p);
        if (p->carried) {
            *over = 0;
            return 1;
        }
    }
    if (p->carried)
        return step_background(p, over, rc);
    if (!*rc)
        *rc = engine_step(p->ready.engine, &state);
    *over = *rc || state == ENGINE_DONE;
    return begins || state != ENGINE_IDLE;
}

/* Is the library's call beside ours complete? Then *rc is its MPI code. Its request may be of
   either communicator, to the library, and the application's own wait raises the error. */
static int is_through_beside(struct pending *p, int *rc)
{
    struct quiet here, world;
    int there;

    quiet_begin(&world, MPI_COMM_WORLD);
    quiet_begin(&here, p->ready.call.comm);
    *rc = mpi.Test(&p->beside, &there, MPI_STATUS_IGNORE);
    quiet_end(&here);
    quiet_end(&world);
    return *rc || there;
}

/* One step of a communicator's first call. Returns 1 if anything moved. */
static int step(struct mpi_comm *c)
{
    struct pending *p = c->nonblocking.first;
    int over = p->through, moved = 0, rc = MPI_SUCCESS, there = 1;

    if (!over)
        moved = run(p, &over, &p->result);
    p->through = over;
    if (over && p->beside != MPI_REQUEST_NULL)
        there = is_through_beside(p, &rc);
    if (!over || !there)
        return moved;
    end(p, p->result, rc);
    return 1;
}

/* Under the lock. Returns 1 if anything moved. *over: nothing is left. */
static int step_all(int *over)
{
    FLOATS_THEIRS;
    int left = 0, moved = step_besides ? step_besides(&left) : 0;

    for (struct mpi_comm *c = busy, *next; c; c = next) {
        next = c->nonblocking.next_busy; /* c may leave the list */
        moved |= step(c);
    }
    *over = !busy && !left;
    return moved;
}

static enum progress poll(void)
{
    if (!__atomic_load_n(&polled, __ATOMIC_RELAXED))
        return PROGRESS_OVER;
    if (inside ||
        (!ending && __atomic_load_n(&nothing_to_do, __ATOMIC_RELAXED) &&
         __atomic_load_n(&kept_calls, __ATOMIC_RELAXED)) ||
        pthread_mutex_trylock(&lock) != 0)
        return PROGRESS_NONE;
    inside = 1;
    int over, moved = step_all(&over);
    /* Received messages let more start: a program that tests rarely should not have to test again.
     */
    for (int more = moved, i = 0; more && !over && i < STEPS; i++)
        more = step_all(&over);
    __atomic_store_n(&nothing_to_do, over, __ATOMIC_RELAXED);
    over = over && (ending || !kept_calls);
    if (over)
        __atomic_store_n(&polled, 0, __ATOMIC_RELAXED);
    leave();
    end_all();
    return over ? PROGRESS_OVER : moved ? PROGRESS_MADE : PROGRESS_NONE;
}

int pending_open(struct pending *p, struct mpi_comm *c, const struct ready *ready, int kept,
                 void (*done)(struct pending *p))
{
    const struct mpi_call *call = &ready->call;
    int rc = MPI_ERR_NO_MEM;

    *p = (struct pending){.comm = c,
                          .ready = *ready,
                          .plan = mpi_comm_hold(c, ready->plan),
                          .type = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL},
                          .arguments = malloc(call->arguments_bytes),
                          .beside = MPI_REQUEST_NULL,
                          .kept = kept,
                          .done = done};
    if (p->arguments) {
        p->ready.call.arguments = memcpy(p->arguments, call->arguments, call->arguments_bytes);
        rc = layout_keep(&p->ready.call.input.layout, &p->type[0]);
    }
    if (rc == MPI_SUCCESS)
        rc = layout_keep(&p->ready.call.output.layout, &p->type[1]);
    if (rc == MPI_SUCCESS)
        rc = call->owned.late_sizes ? rc : run_code(background_open(c, &p->ready, &p->background));
    if (rc != MPI_SUCCESS)
        pending_close(p);
    return rc;
}

int pending_compare(struct pending *p)
{
    FLOATS_THEIRS;
    struct mpi_call call = p->ready.call;

    p->compares = 1;
    if (call.wrong)
        p->failed = call.wrong;
    else
        open_staging(p, 1); /* before the library writes what is read in place */
    call.nonblocking = &p->beside;
    int was = mpi_step_out(), rc = call.native(&call);
    mpi_step_in(was);
    return rc;
}

void pending_close(struct pending *p)
{
    close_staging(p);
    for (int i = 0; i < 2; i++)
        if (p->type[i] != MPI_DATATYPE_NULL)
            mpi.Type_free(&p->type[i]);
    background_close(p->background);
    late_sizes_close(p->ready.call.owned.late_sizes);
    p->ready.call.owned.late_sizes = NULL;
    mpi_plan_release(p->plan);
    free(p->arguments);
    mpi_call_drop(&p->ready.call);
    p->ready.call.owned.room = p->arguments = NULL;
    p->ready.call.owned.ntypes = 0;
    p->plan = NULL;
    p->background = NULL;
}

int pending_processes(const struct pending *p)
{
    return p->background ? background_helpers(p->background) : 1;
}

int pending_reserve(struct pending *p)
{
    if (p->ready.call.wrong)
        return 0;
    p->opened = 1;
    int rc = staging_reserve(&p->staging, &p->ready.call, p->ready.plan);
    return rc ? rc : engine_reserve(p->ready.engine, 1);
}

void pending_keep(int more)
{
    pthread_mutex_lock(&lock);
    __atomic_store_n(&kept_calls, kept_calls + more, __ATOMIC_RELAXED);
    leave();
}

void pending_start(struct pending *p)
{
    struct mpi_comm *c = p->comm;

    pending_enter();
    p->next = NULL;
    p->begun = p->through = 0;
    if (c->nonblocking.first) {
        c->nonblocking.last->next = p;
        c->nonblocking.last = p;
    } else {
        c->nonblocking.first = c->nonblocking.last = p;
        c->nonblocking.next_busy = busy;
        busy = c;
        step(c);
    }
    pending_leave();
    if (ending)
        pending_drain(c);
}

/* Until nothing is pending: of one communicator, or, NULL, of all. */
static void advance_until_done(const struct mpi_comm *c)
{
    unsigned idle = 0;
    int over;

    for (;;) {
        pending_enter();
        int moved = step_all(&over), done = c ? !c->nonblocking.first : !busy;
        leave();
        end_all();
        if (done)
            return;
        idle = moved ? 0 : idle + 1;
        if (idle > (c ? c->links.use->patience : 0))
            sched_yield();
    }
}

void pending_drain(struct mpi_comm *c)
{
    if (__atomic_load_n(&c->nonblocking.first, __ATOMIC_ACQUIRE))
        advance_until_done(c);
}

void pending_last(void)
{
    ending = progress_ends();
}

void pending_finish(void)
{
    advance_until_done(NULL);
}
