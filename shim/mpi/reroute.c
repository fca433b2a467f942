/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The slow half of an intercepted call. Everything that decides here is equal on all
 * ranks: the settings (agreed at MPI_Init), the communicator's state (agreed when it was
 * made), the collective's sizes (equal by MPI's own rules) and the number of calls so far.
 * After the decision there is no way back: what fails then is an error of the call, as it
 * would be inside the library.
 */
#include "shim/mpi/reroute.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shim/mpi/comm.h"
#include "shim/mpi/count.h"

/* Set while the shim itself is inside the library, which may call intercepted functions. */
static __thread int inside __attribute__((tls_model("initial-exec")));

enum reason gate_call(MPI_Comm comm, int nranks, enum plan_collective collective)
{
    const struct choice *choice = &process.choice[collective];
    int inter = 0;

    if (inside)
        return REASON_NESTED;
    if (choice->native)
        return REASON_CHOSEN;
    if (!choice->algorithm)
        return REASON_NO_ALGORITHM;
    if (nranks < 2)
        return REASON_ONE_RANK;
    if (mpi.Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter)
        return REASON_INTERCOMM;
    return REASON_NONE;
}

enum reason gate_rooted(MPI_Comm comm, int root, enum plan_collective collective, int *size,
                        int *rank)
{
    if (process.verdict)
        return process.verdict;
    if (comm == MPI_COMM_NULL || mpi.Comm_size(comm, size) != MPI_SUCCESS ||
        mpi.Comm_rank(comm, rank) != MPI_SUCCESS)
        return REASON_ARGUMENTS;
    enum reason why = gate_call(comm, *size, collective);
    return why ? why : root < 0 || root >= *size ? REASON_ARGUMENTS : REASON_NONE;
}

struct comm *gate_comm(MPI_Comm comm, int nranks, enum plan_collective collective, enum reason *why)
{
    *why = gate_call(comm, nranks, collective);
    if (*why)
        return NULL;
    struct comm *c = comm_find(comm);
    if (!c) {
        inside++;
        c = comm_make(comm);
        inside--;
    }
    *why = c->verdict;
    return *why ? NULL : c;
}

int leave_to_library(const struct call *call)
{
    count_native(call->collective, REASON_ARGUMENTS);
    return call->native(call);
}

static int mpi_code(int rc)
{
    return rc == -ENOMEM ? MPI_ERR_NO_MEM : rc < 0 ? MPI_ERR_OTHER : rc;
}

static int unpack_output(const struct call *call, const char *packed, MPI_Comm comm)
{
    for (int i = 0; i < call->nblocks; i++) {
        struct call_block b = call->output_block(call, i);
        int rc = layout_unpack(&call->output, packed + b.packed, b.user, b.count, comm);
        if (rc != MPI_SUCCESS)
            return rc;
    }
    return MPI_SUCCESS;
}

static int pack_output(const struct call *call, char *packed, MPI_Comm comm)
{
    for (int i = 0; i < call->nblocks; i++) {
        struct call_block b = call->output_block(call, i);
        int rc = layout_pack(&call->output, b.user, b.count, packed + b.packed, comm);
        if (rc != MPI_SUCCESS)
            return rc;
    }
    return MPI_SUCCESS;
}

/* Packed buffers of one call: the application's own where they are packed already. */
struct staging {
    char *input, *output, *scratch;
    char *allocated[3];
};

static void staging_free(struct staging *s)
{
    for (int i = 0; i < 3; i++)
        free(s->allocated[i]);
}

/* Get the buffers and fill in this rank's contribution. own_output: do not use the application's.
 */
static int staging_open(struct staging *s, const struct call *call, const struct plan *plan,
                        MPI_Comm comm, int own_output)
{
    int rc = MPI_SUCCESS;

    *s = (struct staging){0};
    s->input = call->input_block.user;
    if (call->output_dense && !own_output)
        s->output = call->nblocks ? call->output_block(call, 0).user : NULL;
    else
        s->output = s->allocated[0] = malloc(plan->output_bytes + 1);
    if (plan->input_bytes && (!call->input.dense || call->stage_input))
        s->input = s->allocated[1] = malloc(plan->input_bytes + 1);
    if (plan->scratch_bytes)
        s->scratch = s->allocated[2] = malloc(plan->scratch_bytes);
    if ((!s->output && plan->output_bytes) || (!s->input && plan->input_bytes) ||
        (!s->scratch && plan->scratch_bytes))
        return -ENOMEM;
    for (int i = 0; rc == MPI_SUCCESS && s->allocated[1] && i < call->ninputs; i++) {
        struct call_block b = call->inputs(call, i);
        rc = layout_pack(&call->input, b.user, b.count, s->input + b.packed, comm);
    }
    if (s->allocated[1] && !call->ninputs)
        rc = layout_pack(&call->input, call->input_block.user, call->input_block.count, s->input,
                         comm);
    if (rc == MPI_SUCCESS && s->allocated[0] && call->held_block != NO_BLOCK) {
        struct call_block own = call->output_block(call, call->held_block);
        rc = layout_pack(&call->output, own.user, own.count, s->output + own.packed, comm);
    }
    return rc;
}

static int run_engine(struct engine *engine, const struct call *call, const struct staging *s)
{
    return engine_run(
        engine, &(struct engine_buffers){.input = s->input,
                                         .output = s->output,
                                         .scratch = s->scratch,
                                         .combine = reduction_combine,
                                         .combine_context = (void *)(uintptr_t)&call->reduction,
                                         .grain = call->request.grain});
}

static int run_plan(struct comm *c, const struct plan *plan, struct engine *engine,
                    const struct call *call)
{
    struct staging s;
    double start = count_now();
    int rc = staging_open(&s, call, plan, c->private_comm, 0);

    if (!rc)
        rc = run_engine(engine, call, &s);
    if (!rc && s.allocated[0] && !call->output_unchanged)
        rc = unpack_output(call, s.output, c->private_comm);
    staging_free(&s);
    count_timed(call->collective, 1, call->total, count_now() - start);
    return mpi_code(rc);
}

static int run_native(const struct call *call)
{
    double start = count_now();
    int rc = call->native(call);

    count_timed(call->collective, 0, call->total, count_now() - start);
    return rc;
}

/* Both ways, on the same input; the application keeps the native result. handled: as run_in_mode.
 */
static int run_both(struct comm *c, const struct plan *plan, struct engine *engine,
                    const struct call *call, int *handled)
{
    struct staging s;
    int opened = staging_open(&s, call, plan, c->private_comm, 1);
    int rc = call->native(call);
    *handled = rc != MPI_SUCCESS;
    double start = count_now();
    int ran = opened ? opened : run_engine(engine, call, &s);
    char *expected = malloc(plan->output_bytes + 1);

    count_timed(call->collective, 1, call->total, count_now() - start);
    if (rc == MPI_SUCCESS && !ran && expected &&
        pack_output(call, expected, c->private_comm) == MPI_SUCCESS) {
        int equal =
            call->combines
                ? reduction_equal(&call->reduction, expected, s.output, plan->output_bytes, c->size)
                : layout_equal(&call->output, expected, s.output, plan->output_bytes);
        count_verified(call->collective, equal);
        if (!equal)
            say_here(CFG_LEVEL_ERROR,
                     "verify: %s (%s) of %llu bytes differs from the library's result on rank %d",
                     plan_collective_name(call->collective), plan->algorithm,
                     (unsigned long long)call->total, process.world_rank);
    }
    free(expected);
    staging_free(&s);
    return rc != MPI_SUCCESS ? rc : mpi_code(ran);
}

/* Take the turn of ab mode: natively, then rerouted. *handled: as in run_both. */
static int run_in_mode(struct comm *c, const struct plan *plan, struct engine *engine,
                       const struct call *call, int *handled)
{
    if (process.cfg.mode == CFG_MODE_VERIFY)
        return run_both(c, plan, engine, call, handled);
    if (process.cfg.mode == CFG_MODE_AB && c->turn++ % 2 == 0) {
        count_native(call->collective, REASON_TURN);
        *handled = 1;
        return run_native(call);
    }
    return run_plan(c, plan, engine, call);
}

/* Rerouted in chunks of request.chunk_bytes. */
static int run_rerouted(struct comm *c, const struct plan_algorithm *a, struct call *call)
{
    struct engine *engine;
    const struct plan *plan;
    int handled = 0;

    int rc = comm_engine(c, &call->request, a, &plan, &engine);
    if (rc == -ENOTSUP) {
        count_native(call->collective, REASON_SHAPE);
        return call->native(call);
    }
    rc = rc ? mpi_code(rc) : run_in_mode(c, plan, engine, call, &handled);
    if (rc != MPI_SUCCESS && !handled)
        mpi.Comm_call_errhandler(call->comm, rc);
    return rc;
}

/* Is measuring wanted, and not overruled by a wish for this very algorithm? */
static int guarded(const struct choice *choice)
{
    return process.cfg.guard && !process.cfg.reproducible && process.cfg.mode == CFG_MODE_ON &&
           process.cfg.min_bytes && !choice->forced;
}

/* Let the guard pick between the library (candidate 0) and the chunks (candidates 1 ...). */
static int run_guarded(struct comm *c, const struct plan_algorithm *a, struct call *call,
                       const size_t *chunk, int nchunks)
{
    struct guard_entry *e = guard_find(&c->guard, call->collective, call->total, nchunks + 1);
    int picked = guard_pick(e, nchunks + 1), settled = e->settled, rc;
    double start = count_now();

    if (picked == GUARD_NATIVE) {
        count_native(call->collective, settled ? REASON_SLOWER : REASON_TRIAL);
        call->in_vain = settled;
        rc = run_native(call);
    } else {
        call->request.chunk_bytes = chunk[picked - 1];
        rc = run_rerouted(c, a, call);
    }
    if (guard_note(e, nchunks + 1, picked, count_now() - start, c->private_comm) == 1)
        say(CFG_LEVEL_INFO, "guard: %s of %llu bytes on %d ranks: %s",
            plan_collective_name(call->collective), (unsigned long long)call->total, c->size,
            e->best == GUARD_NATIVE ? "the library is at least as fast"
            : e->best == 1          ? "rerouted"
                                    : "rerouted in small chunks");
    return rc;
}

int reroute(struct comm *c, struct call *call)
{
    const struct choice *choice = &process.choice[call->collective];
    size_t chunk[PLAN_CHUNKS] = {process.cfg.chunk_bytes / call->request.grain *
                                 call->request.grain};
    int nchunks = 1, rc;

    call->request.topo = c->topo;
    call->request.rank = c->rank;
    if (!choice->forced && process.cfg.min_bytes && choice->algorithm->pays(&call->request)) {
        count_native(call->collective, REASON_SHAPE);
        call->in_vain = 1;
        return call->native(call);
    }
    if (!chunk[0])
        nchunks = plan_chunks(&call->request, chunk);
    inside++;
    if (guarded(choice)) {
        rc = run_guarded(c, choice->algorithm, call, chunk, nchunks);
    } else {
        call->request.chunk_bytes = chunk[0];
        rc = run_rerouted(c, choice->algorithm, call);
    }
    inside--;
    return rc;
}
