/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/mpi/rails/rails_follow.h"

#include "planners/links/load.h"
#include "shim/decide/base/say.h"
#include "shim/decide/choose/rails_level.h"
#include "shim/mpi/api/calls.h"
#include "shim/mpi/api/outlay.h"
#include "shim/mpi/comm/comm_plans.h"
#include "shim/mpi/comm/stored.h"
#include "shim/mpi/rails/rails.h"
#include "shim/mpi/rails/rails_probe.h"
#include "shim/record/counts/count.h"

enum { MOST_RANKS_WEIGHED = 256 }; /* whose demand is added up for each call */

/* Calls that take alike: the key is this rank's own affair. */
static uint32_t key_of(const struct mpi_call *call, const struct plan_algorithm *algorithm)
{
    uint32_t bits = 0;

    for (uint64_t total = call->total; total; total >>= 1)
        bits++;
    return 1 + (uint32_t)call->collective + 16 * bits + ((uint32_t)(uintptr_t)algorithm << 8);
}

/* The call's work, to which its time is proportional. */
static double work_of(const struct mpi_comm *c, const struct mpi_call *call)
{
    const struct plan_request *q = &call->request;

    return q->demand && c->size <= MOST_RANKS_WEIGHED ? load_bound(q) : (double)call->total;
}

/* Seconds that the rails need for it, as they were measured; 0: not known. */
static double least_of(const struct mpi_comm *c, const struct mpi_call *call)
{
    double bound = load_bound(&call->request);

    return load_rates_known(c->topo) ? bound : c->rails.rate > 0 ? bound / c->rails.rate : 0;
}

/* A line of rates by node, for a tuning profile. */
static void say_profile(const struct mpi_comm *c)
{
    char text[2048];

    if (c->rails.nodes_as_in_job && load_rates_known(c->topo) &&
        topo_print_rates(c->topo, text, sizeof text) < (int)sizeof text)
        say(CFG_LEVEL_INFO, "profile: %s", text);
}

/* Behind a glance all is worth measuring, or nothing: the brief form tells nothing of fast rails.
 */
static int glance(struct mpi_comm *c, enum load_worth *worth)
{
    int slow, rc = rails_glance(c->private_comm, c->rank, c->topo, &slow);

    c->rails.measured = LOAD_WORTH_GLANCE;
    *worth = slow ? LOAD_WORTH_FULL : LOAD_WORTH_GLANCE;
    return rc;
}

int rails_learn(struct mpi_comm *c, const struct plan_request *q)
{
    struct mpi_rails *rails = &c->rails;

    if (rails->measured == LOAD_WORTH_FULL)
        return MPI_SUCCESS;
    if (settings.cfg.choose == CFG_CHOOSE_MODEL || !rails_wanted(c->topo)) {
        rails->measured = LOAD_WORTH_FULL;
        return MPI_SUCCESS;
    }
    enum load_worth worth =
        rails->of_profile ? LOAD_WORTH_FULL
                          : load_worth_measuring(q, outlay_share(q->collective), &rails->crossed);
    if (worth <= rails->measured)
        return MPI_SUCCESS;
    mpi_comm_drain(c);
    int rc = worth == LOAD_WORTH_GLANCE ? glance(c, &worth) : MPI_SUCCESS;
    if (rc != MPI_SUCCESS || worth == LOAD_WORTH_GLANCE)
        return rc;
    rails->measured = worth;
    mpi_comm_forget_plans(c);
    rc = rails_measure(c->private_comm, c->rank, worth == LOAD_WORTH_BRIEF, c->topo, &rails->rate);
    rails->followed = worth == LOAD_WORTH_FULL || rails->rate > 0;
    if (!rails->of_profile)
        say_profile(c);
    if (rails_even_use(c->topo) > 1) { /* trials so far were of plans for equal rails */
        guard_renew(&c->measured.guard);
        stored_forget(c);
    }
    guard_spare(&c->measured.guard, rails_even_use(c->topo));
    follow_measured(&rails->follow, 1, c->topo->rail[0].bw_bytes_per_s > 0, 0,
                    rails_probe_cost(c->topo));
    return rc;
}

static void measure(struct mpi_comm *c, MPI_Comm comm)
{
    int changed = 0;
    double cost;

    if (rails_measure_again(c->private_comm, c->rank, c->topo, c->rails.follow.calls, &changed,
                            &c->rails.rate, &cost) != MPI_SUCCESS)
        return;
    if (changed) {
        mpi_comm_forget_plans(c);
        mpi_comm_renew(comm);
        guard_renew(&c->measured.guard);
        stored_forget(c);
        guard_spare(&c->measured.guard, rails_even_use(c->topo));
    }
    follow_measured(&c->rails.follow, changed, c->topo->rail[0].bw_bytes_per_s > 0, cost,
                    rails_probe_cost(c->topo));
    if (!changed)
        say(CFG_LEVEL_DEBUG,
            "rails: measured behind call %u, and none has changed; again %u calls "
            "later at the earliest",
            c->rails.follow.calls, c->rails.follow.rest);
}

/* A limiter that lets a third of a probe through at once makes a rail look half as fast again.
   After a measurement without a change that no longer counts. */
static void probe(struct mpi_comm *c, MPI_Comm comm)
{
    static const double much = 1.25, surely = 1.7;

    double seconds = 0;
    int faster = 0;

    if (rails_probe(c->private_comm, c->rank, c->topo, c->rails.follow.vain ? surely : much,
                    &faster, &seconds) != MPI_SUCCESS)
        return;
    follow_probed(&c->rails.follow, seconds);
    if (faster)
        measure(c, comm);
}

void rails_note(struct mpi_comm *c, const struct mpi_call *call,
                const struct plan_algorithm *algorithm, double seconds)
{
    struct follow *f = &c->rails.follow;
    uint32_t key = key_of(call, algorithm);

    if (!c->rails.followed)
        return;
    follow_call(f, key, seconds, work_of(c, call), follow_is_new(f, key) ? least_of(c, call) : 0);
    c->rails.noted = 1;
}

void rails_follow(struct mpi_comm *c, MPI_Comm comm)
{
    struct follow *f = &c->rails.follow;
    double value[FOLLOW_VALUES], began;
    int noted = c->rails.noted;

    c->rails.noted = 0;
    if (!noted || !follow_due(f))
        return;
    began = count_now();
    follow_tell(f, value);
    if (mpi.Allreduce(MPI_IN_PLACE, value, FOLLOW_VALUES, MPI_DOUBLE, MPI_MAX, c->private_comm) !=
        MPI_SUCCESS)
        return;
    enum follow_answer answer = follow_hear(f, value, count_now() - began);
    say(CFG_LEVEL_DEBUG,
        "rails: calls took %.3g of the usual, %.3g s each; an agreement after %u more calls",
        value[0], value[2], f->apart);
    switch (answer) {
    case FOLLOW_ON:
        return;
    case FOLLOW_PROBE:
        probe(c, comm);
        return;
    case FOLLOW_MEASURE:
        measure(c, comm);
        return;
    }
}
