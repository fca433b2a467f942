/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/run/run.h"

#include <errno.h>
#include <string.h>

#include "planners/choose/slices.h"
#include "shim/decide/base/floats.h"
#include "shim/decide/choose/choose.h"
#include "shim/mpi/api/inside.h"
#include "shim/mpi/call/library.h"
#include "shim/mpi/comm/comm_plans.h"
#include "shim/mpi/rails/rails_follow.h"
#include "shim/mpi/run/slices.h"
#include "shim/mpi/run/staging.h"
#include "shim/mpi/run/threads.h"
#include "shim/mpi/run/variants.h"
#include "shim/mpi/run/watched.h"
#include "shim/record/counts/count.h"
#include "shim/record/counts/rail_count.h"

int run_code(int rc)
{
    return rc == -ENOMEM     ? MPI_ERR_NO_MEM
           : rc == -EMSGSIZE ? MPI_ERR_TRUNCATE
           : rc < 0          ? MPI_ERR_OTHER
                             : rc;
}

static int run_sliced(struct mpi_comm *c, const struct ready *ready, const struct staging *s,
                      int failed, struct load_link *crossing)
{
    const struct mpi_call *call = &ready->call;
    struct slices_result result;
    int rc = slices_run(c, call, ready->algorithm, ready->ppg,
                        &(struct slicing_buffers){.input = s->input,
                                                  .output = s->output,
                                                  .device = s->device,
                                                  .gpu = s->gpu,
                                                  .place = &s->place,
                                                  .failed = failed},
                        &result);

    *crossing = result.crossing;
    count_sliced(call->collective, result.on_device, result.redone);
    if (result.redone)
        say(CFG_LEVEL_WARN,
            "%s of %llu bytes: a rank's helper died; the ranks finished the call themselves, and "
            "such calls on this communicator run natively from now on",
            plan_collective_name(call->collective), (unsigned long long)call->total);
    return rc;
}

/* When the parts of a call on two paths were done. */
struct path_times {
    double start, took[DIVISION_TIMES];
};

static void note_part(void *context, int host)
{
    struct path_times *w = context;

    w->took[host] = count_now() - w->start;
}

/* The call's buffers beside the application's, if they are not there yet. Returns 0, or the code
   with which the call has failed before it began. */
static int open_staging(struct staging *s, struct mpi_comm *c, const struct ready *ready,
                        int own_output)
{
    const struct mpi_call *call = &ready->call;

    if (ready->staged && s != &ready->staging) {
        *s = ready->staging;
        return ready->failed;
    }
    *s = (struct staging){0};
    return call->wrong ? call->wrong : staging_open(s, c, call, ready->plan, own_output);
}

struct engine_buffers run_buffers(const struct ready *ready, const struct staging *s, int failed)
{
    const struct mpi_call *call = &ready->call;

    return (struct engine_buffers){.input = s->input,
                                   .output = s->output,
                                   .scratch = s->scratch,
                                   .host = s->host,
                                   .combine = reduction_combine,
                                   .combine_context = (void *)(uintptr_t)&call->reduction,
                                   .grain = call->request.grain,
                                   .device = s->device,
                                   .failed = failed};
}

/* failed: what open_staging returned. crossing: the bytes moved to and from other nodes. */
static int run_engine(struct mpi_comm *c, const struct ready *ready, const struct staging *s,
                      int failed, struct load_link *crossing)
{
    const struct mpi_call *call = &ready->call;
    struct path_times parts = {0};

    if (ready->ppg > 1)
        return run_sliced(c, ready, s, failed, crossing);
    *crossing = ready->crossing;
    int divided = division_used(&c->measured.divisions, call->request.recipe);
    int hired = ready->plan->host_bytes && s->device && threads_hire(&c->links.shm);
    if (divided)
        parts.start = count_now();
    struct engine_buffers buffers = run_buffers(ready, s, failed);
    buffers.part_done = divided ? note_part : NULL;
    buffers.part_context = &parts;
    watched(c, call, &buffers);
    int rc = staging_run(ready->engine, &buffers);
    if (hired)
        threads_rest(&c->links.shm);
    if (divided)
        memcpy(c->measured.divisions.took, parts.took, sizeof parts.took);
    return rc;
}

static void count_carried(const struct ready *ready, const struct load_link *crossing,
                          double seconds)
{
    const struct mpi_call *call = &ready->call;

    count_rerouted(call->collective, ready->algorithm, ready->ppg, call->total, seconds);
    rail_count_call(crossing, seconds);
}

static struct mpi_outcome run_plan(struct mpi_comm *c, const struct ready *ready)
{
    const struct mpi_call *call = &ready->call;
    struct load_link crossing;
    struct staging s;
    double start = count_now();
    int rc = open_staging(&s, c, ready, 0);

    rc = run_engine(c, ready, &s, rc, &crossing);
    if (!rc)
        rc = staging_deliver(&s, call, c->private_comm);
    staging_close(&s);
    double seconds = count_now() - start;
    count_carried(ready, &crossing, seconds);
    if (ready->ppg == 1)
        rails_note(c, call, ready->algorithm, seconds);
    return run_failed(run_code(rc));
}

static struct mpi_outcome run_variant(struct mpi_comm *c, const struct ready *ready)
{
    struct mpi_call own = ready->call;
    double start = settings_want_report() ? count_now() : 0;
    int rc = variants_run(c, ready->variant, &own);

    count_rerouted(own.collective, &ready->variant->row, 1, own.total,
                   settings_want_report() ? count_now() - start : 0);
    return run_failed(rc);
}

static int call_for_program(const struct mpi_call *call)
{
    int was = mpi_step_out(), rc = library_call(call);

    mpi_step_in(was);
    return rc;
}

/* No clock is read here, unless a report will tell the time. */
struct mpi_outcome run_natively(const struct mpi_call *call, enum reason why)
{
    double start = settings_want_report() ? count_now() : 0;
    struct mpi_outcome o = {.native = why == REASON_TRIAL || why == REASON_TURN ? REASON_NONE : why,
                            .by_library = 1};

    count_native(call->collective, why);
    if (call->decided)
        call->decided(call, o.native);
    o.rc = call_for_program(call);
    if (settings_want_report() && !call->nonblocking)
        count_timed_native(call->collective, call->total, count_now() - start);
    return o;
}

void run_compare(struct mpi_comm *c, const struct ready *ready, const struct staging *s)
{
    FLOATS_OURS;
    const struct mpi_call *call = &ready->call;
    int equal = staging_verify(s, call, c);

    if (equal >= 0)
        count_verified(call->collective, equal);
    if (equal == 0)
        say_here(CFG_LEVEL_ERROR,
                 "verify: %s (%s) of %llu bytes differs from the library's result on rank %d",
                 plan_collective_name(call->collective), ready->algorithm->name,
                 (unsigned long long)call->total, mpi_process.world_rank);
}

/* Both ways, on the same input; the application keeps the native result. Ours comes first: the
   other ranks need this one there, and the library's errors may not return. */
static struct mpi_outcome run_both(struct mpi_comm *c, const struct ready *ready)
{
    const struct mpi_call *call = &ready->call;
    struct load_link crossing;
    struct staging s;
    int opened = open_staging(&s, c, ready, 1);
    double start = count_now();
    int ran = run_engine(c, ready, &s, opened, &crossing);

    count_carried(ready, &crossing, count_now() - start);
    if (call->decided)
        call->decided(call, REASON_NONE);
    int rc = call_for_program(call);
    if (rc == MPI_SUCCESS && !ran)
        run_compare(c, ready, &s);
    staging_close(&s);
    struct mpi_outcome o = run_failed(rc == MPI_SUCCESS ? run_code(ran) : rc);
    if (rc != MPI_SUCCESS)
        o.unhandled = MPI_SUCCESS;
    o.by_library = 1;
    return o;
}

/* Can the candidate's recipe be built for this shape? Says why not once per collective. */
static int recipe_suits(const struct plan_request *q, const struct plan_algorithm *a)
{
    static int said[COLL_COUNT];
    char why[256] = "";

    if (!q->recipe || !a->accepts || a->accepts(q, why, sizeof why) == 0)
        return 1;
    if (!__atomic_exchange_n(&said[q->collective], 1, __ATOMIC_RELAXED))
        say(CFG_LEVEL_WARN, "%s=%s(%s) on %d ranks: %s (it runs natively)",
            plan_collective_name(q->collective), a->name, q->recipe, q->topo->nranks, why);
    return 0;
}

enum reason run_prepare(struct mpi_comm *c, const struct mpi_call *call,
                        const struct plan_candidate *r, struct ready *ready, int *rc)
{
    struct plan_request *q = &ready->call.request;

    *ready = (struct ready){.call = *call,
                            .algorithm = r->algorithm,
                            .ppg = 1,
                            .variant = plan_variant_of(r->algorithm)};
    *rc = 0;
    c->plans.unagreed = 0;
    if (ready->variant) /* it may have to pack blocks */
        return c->ask.limited ? REASON_NOT_READY : variants_prepare(c, ready->variant, call);
    q->chunk_bytes = plan_chunk(q, r->chunk_bytes);
    q->recipe = r->recipe;
    q->recipe = division_recipe(&c->measured.divisions, q, r->algorithm);
    if (!recipe_suits(q, r->algorithm))
        return REASON_RECIPE;
    if (r->ppg > 1 && slices_possible(call))
        ready->ppg = slices_of(q, r->ppg < c->team.ppg ? r->ppg : c->team.ppg);
    mpi_comm_prepare(c);
    if (ready->ppg > 1)
        *rc = slices_try(c, &ready->call, r->algorithm, ready->ppg);
    else
        *rc = mpi_comm_engine(c, q, r->algorithm, &ready->plan, &ready->engine, &ready->crossing);
    mpi_comm_prepared(c);
    return *rc == -ENOTSUP ? REASON_SHAPE : REASON_NONE;
}

static void unstage(struct ready *ready)
{
    if (ready->staged)
        staging_close(&ready->staging);
    ready->staged = 0;
}

struct mpi_outcome run_in_mode(struct mpi_comm *c, struct ready *ready, int rc)
{
    enum choose_way way = rc ? CHOOSE_REROUTED : choose_way(&c->history.ab_count);

    if (way == CHOOSE_NATIVE)
        unstage(ready);
    return rc                                         ? run_failed(run_code(rc))
           : way == CHOOSE_BOTH && ready->variant     ? run_natively(&ready->call, REASON_CHOSEN)
           : way == CHOOSE_BOTH                       ? run_both(c, ready)
           : way == CHOOSE_REROUTED && ready->variant ? run_variant(c, ready)
           : way == CHOOSE_REROUTED                   ? run_plan(c, ready)
                                                      : run_natively(&ready->call, REASON_TURN);
}

/* The call's buffers, before the ranks agree. Returns 0 or -ENOMEM. */
static int stage(struct mpi_comm *c, struct ready *ready)
{
    ready->staged = 1;
    ready->failed = open_staging(&ready->staging, c, ready, settings.cfg.mode == CFG_MODE_VERIFY);
    return ready->failed == -ENOMEM ? -ENOMEM : engine_reserve(ready->engine, 0);
}

enum reason run_prepare_all(struct mpi_comm *c, const struct mpi_call *call,
                            const struct plan_candidate *r, struct ready *ready, int *rc)
{
    enum reason why = run_prepare(c, call, r, ready, rc);
    double began = c->ask.limited ? count_now() : 0;

    if (!c->plans.unagreed && (!c->ask.limited || why))
        return why;
    if (c->ask.limited && !why && !*rc)
        *rc = stage(c, ready);
    int all = mpi_comm_agree(c, *rc != -ENOMEM, rc);
    ready->asking = c->ask.limited ? count_now() - began : 0;
    if (!all || *rc)
        unstage(ready);
    return all || *rc ? why : REASON_NOT_READY;
}
