/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In three steps, because in a program's first large call all ranks wait here for all, and each
 * step takes as long as a small call of the library. All say hello, make the private communicator,
 * and tell whether they can go on. After the first step a node's first rank does its work for the
 * others (links_place). The work has ended once the library has agreed on the communicator. With a
 * library that makes one without a message, nodes may lack shared memory; nothing else fails.
 */
#include "shim/mpi/comm/comm_setup.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/host.h"
#include "config/base/socket.h"
#include "shim/decide/choose/rails_level.h"
#include "shim/mpi/api/attribute.h"
#include "shim/mpi/api/foreign.h"
#include "shim/mpi/api/numbering.h"
#include "shim/mpi/api/quiet.h"
#include "shim/mpi/comm/stored.h"
#include "shim/preload/reserve.h"
#include "shim/record/counts/count.h"

/* Each rank's first message: plain bytes, laid out alike in any representation. */
struct hello {
    struct topo_report report;
    struct shm_offer offer;
    int32_t representation;
    int32_t verdict; /* enum reason: what keeps it from going on */
    int32_t limited; /* its memory is (reserve_is_limited) */
    int32_t shared;  /* numbering_is_shared */
};

/* And its last one. */
struct last_word {
    uint64_t found; /* hash of the rows for its place (stored_here) */
    int32_t error;  /* why it shares no memory (an errno), or 0, or NO_MEMORY */
};

/* Room on the stack for this many ranks. If there are more, all first agree that there is memory.
 */
enum { FEW = 32 };

/* Owned, [n] each. */
struct room {
    struct hello *hello; /* NULL if the ranks are few */
    struct topo_report *report;
    struct shm_offer *offer;
    struct last_word *last;
    int *member; /* ranks in MPI_COMM_WORLD */
    int *error;  /* of the last words */
};
enum { NO_MEMORY = -1 };

/* How this process lays out its numbers: ranks that differ cannot exchange packed bytes. Processors
   have formats of long double that only the digits tell apart. */
static int32_t representation(void)
{
    uint16_t one = 1;
    unsigned char little;

    memcpy(&little, &one, 1);
    return (int32_t)(little | sizeof(long) << 4 | sizeof(long double) << 8 | sizeof(void *) << 16 |
                     (unsigned)LDBL_MANT_DIG << 24);
}

static int room_open(struct room *m, int size)
{
    size_t n = (size_t)size;

    *m = (struct room){.hello = size > FEW ? malloc(n * sizeof *m->hello) : NULL,
                       .report = malloc(n * sizeof *m->report),
                       .offer = malloc(n * sizeof *m->offer),
                       .last = malloc(n * sizeof *m->last),
                       .member = malloc(n * sizeof *m->member),
                       .error = malloc(n * sizeof *m->error)};
    return (m->hello || size <= FEW) && m->report && m->offer && m->last && m->member && m->error;
}

static void room_close(struct room *m)
{
    free(m->hello);
    free(m->report);
    free(m->offer);
    free(m->last);
    free(m->member);
    free(m->error);
}

/* Plain bytes from every rank. Returns 0 if that failed. */
static int tell_all(MPI_Comm comm, const void *own, void *all, int bytes)
{
    return mpi.Allgather(own, bytes, MPI_BYTE, all, bytes, MPI_BYTE, comm) == MPI_SUCCESS;
}

/* The first step. all: [n]. Returns the worst that any rank has to say. */
static enum reason say_hello(MPI_Comm comm, const struct hello *own, struct hello *all, int n)
{
    int worst = REASON_NONE;

    if (!tell_all(comm, own, all, sizeof *own))
        return REASON_MEMORY;
    for (int r = 0; r < n; r++) {
        if (all[r].representation != own->representation)
            return REASON_MIXED;
        if (all[r].verdict > worst)
            worst = all[r].verdict;
    }
    return (enum reason)worst;
}

/* Comm_create and not Comm_dup: a duplicate would run the application's attribute copy callbacks
   and inherit its info hints. */
static int make_private_comm(struct mpi_comm *c, MPI_Comm comm)
{
    MPI_Group group;

    if (mpi.Comm_group(comm, &group) != MPI_SUCCESS)
        return 0;
    int rc = mpi.Comm_create(comm, group, &c->private_comm);
    mpi.Group_free(&group);
    return rc == MPI_SUCCESS &&
           mpi.Comm_set_errhandler(c->private_comm, mpi_process.errors_return) == MPI_SUCCESS;
}

/* Do nodes have the numbers that a profile means: all of the job's, by their lowest rank in it? */
static int nodes_as_in_job(const struct mpi_comm *c, const int *member)
{
    int last = -1;

    if (c->size != mpi_process.world_size)
        return 0;
    for (int n = 0; n < c->topo->nnodes; n++) {
        int lowest = member[topo_node_rank(c->topo, n, 0)];

        for (int l = 1; l < topo_node_size(c->topo, n); l++) {
            int other = member[topo_node_rank(c->topo, n, l)];

            lowest = other < lowest ? other : lowest;
        }
        if (lowest < last)
            return 0;
        last = lowest;
    }
    return 1;
}

static int make_topology(struct mpi_comm *c, const struct room *m)
{
    int rc = mpi_process.topo ? topo_restrict(mpi_process.topo, m->member, c->size, &c->topo)
                              : topo_from_reports(m->report, c->size, 0, &c->topo);

    c->rails.nodes_as_in_job = !rc && nodes_as_in_job(c, m->member);
    if (c->rails.nodes_as_in_job) {
        int filled = tuning_fill_in_nodes(&settings.tuning, c->topo);

        c->rails.of_profile = filled > 0;
        rc = filled < 0;
    }
    if (!rc)
        tuning_fill_in(&settings.tuning, c->topo);
    return !rc;
}

/* The last step. Returns 0 if a rank cannot go on. */
static int tell_last(struct mpi_comm *c, MPI_Comm comm, int error, struct room *m)
{
    struct last_word own = {.error = error};
    int well = 1, alike = 1;

    if (error != NO_MEMORY)
        own.found = stored_here(c);
    if (!tell_all(comm, &own, m->last, sizeof own))
        return 0;
    for (int r = 0; r < c->size; r++) {
        m->error[r] = m->last[r].error;
        well &= m->error[r] != NO_MEMORY;
        alike &= m->last[r].found == own.found;
    }
    if (!alike)
        store_rows_free(&c->measured.found);
    return well;
}

/* From the first hello to the last word. */
static enum reason settle_in(struct mpi_comm *c, MPI_Comm comm, const struct hello *all,
                             struct room *m)
{
    int gpus = 1, error = 0;

    for (int r = 0; r < c->size; r++) {
        m->report[r] = all[r].report;
        m->offer[r] = all[r].offer;
        m->member[r] = all[r].report.world_rank;
        gpus &= all[r].report.gpu >= 0;
        c->ask.limited |= all[r].limited;
    }
    if (gpus)
        gpus_everywhere(&c->gpus, c->size);
    int well = make_topology(c, m);
    if (well)
        error = links_place(&c->links, c->topo, m->report, c->rank);
    well &= make_private_comm(c, comm);
    well = well && links_join(&c->links, c->private_comm, m->offer, &error) &&
           !ask_open(&c->ask, c->topo, c->rank, &c->links.mpi);
    if (!well)
        error = NO_MEMORY;
    if (!tell_last(c, comm, error, m))
        return REASON_MEMORY;
    links_choose(&c->links, c->rank, m->error);
    team_open(&c->team, c->topo);
    return REASON_NONE;
}

static enum reason agree(MPI_Comm comm, enum reason own)
{
    int mine = own, worst;

    return mpi.Allreduce(&mine, &worst, 1, MPI_INT, MPI_MAX, comm) == MPI_SUCCESS
               ? (enum reason)worst
               : REASON_MEMORY;
}

/* All ranks are here. May they make a communicator now? may: this one has its claim; a process with
   threads has waited with it until now. Later none of them may be making one. */
static enum reason agree_on_numbering(const struct mpi_comm *c, MPI_Comm comm,
                                      const struct hello *all, int *may, int *again)
{
    int shared = 0;

    for (int r = 0; r < c->size; r++)
        shared |= all[r].shared;
    if (!shared)
        return REASON_NONE; /* the hellos have told */
    if (!*may)
        *may = numbering_claim();
    enum reason worst = agree(comm, *may ? REASON_NONE : REASON_DUPLICATING);
    *again = worst == REASON_DUPLICATING;
    return worst;
}

/*
 * Fill in c's private communicator, topology, links and helpers. comm: of n ranks, none of them
 * foreign. own: REASON_NONE, or this rank's reason not to go on; c may be NULL then. *again: a
 * later try may end otherwise. Collective; all ranks get the same verdict. Members that were filled
 * in are freed with c, also after a verdict against it.
 */
static enum reason set_up(struct mpi_comm *c, MPI_Comm comm, int n, enum reason own, int *again)
{
    struct hello few[FEW], me = {.report = {.node_key = host_key(),
                                            .socket = socket_here(),
                                            .gpu = gpus_here(),
                                            .world_rank = mpi_process.world_rank},
                                 .offer = {.fd = -1},
                                 .representation = representation(),
                                 .limited = reserve_is_limited(),
                                 .shared = numbering_is_shared()};
    struct room m;
    int may = !me.shared && numbering_claim();

    *again = 0;
    if (!own && !me.shared && !may)
        own = REASON_DUPLICATING;
    if (!room_open(&m, n) || (!own && !links_offer(&c->links, n, &me.offer)))
        own = REASON_MEMORY;
    me.verdict = own;
    struct hello *all = n > FEW ? m.hello : few;
    enum reason worst = n > FEW ? agree(comm, own) : REASON_NONE;
    if (!worst)
        worst = say_hello(comm, &me, all, n);
    if (!worst)
        worst = agree_on_numbering(c, comm, all, &may, again);
    if (!worst)
        worst = settle_in(c, comm, all, &m);
    if (may)
        numbering_release();
    room_close(&m);
    return worst;
}

/* All zero. Most of it is never touched, so calloc need not touch it either. */
static struct mpi_comm *new_state(void)
{
    size_t edge = _Alignof(struct mpi_comm);
    char *memory = calloc(1, sizeof(struct mpi_comm) + edge);

    if (!memory)
        return NULL;
    struct mpi_comm *c = (void *)(memory + (edge - (uintptr_t)memory % edge) % edge);
    c->memory = memory;
    return c;
}

/* Collective over comm. c: all zero, or NULL: there is no memory. own: why this rank cannot go on.
   Returns c, or &mpi_comm_lacking. */
static struct mpi_comm *make_state(struct mpi_comm *c, MPI_Comm comm, enum reason own, int *again)
{
    enum reason verdict;
    int size;

    mpi.Comm_size(comm, &size);
    if (c) {
        c->size = size;
        c->private_comm = MPI_COMM_NULL;
        guard_open(&c->measured.guard, 0, count_now);
        mpi.Comm_rank(comm, &c->rank);
        c->room.bytes = malloc((size_t)size * sizeof *c->room.bytes);
        c->room.offset = malloc((size_t)size * sizeof *c->room.offset);
    }
    if (!c || !c->room.bytes || !c->room.offset)
        own = REASON_MEMORY;
    else if (!own && !mpi_comm_take_place(c))
        own = REASON_MANY;
    *again = 0;
    verdict = foreign_reason(comm, size);
    if (!verdict)
        verdict = set_up(c, comm, size, own, again);
    if (!c) {
        c = &mpi_comm_lacking;
    } else if (verdict) {
        mpi_comm_empty(c);
        *c = (struct mpi_comm){
            .memory = c->memory, .verdict = verdict, .private_comm = MPI_COMM_NULL};
    } else {
        guard_spare(&c->measured.guard, rails_even_use(c->topo)); /* as the user's topology says */
        c->revocable = (struct revocable){.follows = comm,
                                          .private_comm = c->private_comm,
                                          .variants = &c->variants,
                                          .verdict = &c->verdict};
        revoke_follow(&c->revocable);
    }
    return c;
}

struct mpi_comm *mpi_comm_state(MPI_Comm comm)
{
    int again;

    return make_state(new_state(), comm, REASON_NONE, &again);
}

/* Until the ranks have agreed, the attribute is a state that no call looks at. So a rank that
   cannot remember what they agree on tells the others before. */
struct mpi_comm *mpi_comm_make(MPI_Comm comm)
{
    struct mpi_comm *c = new_state();
    struct quiet quiet;
    int again;

    quiet_begin(&quiet, comm);
    int kept = attribute_set(comm, mpi_process.keyval, c ? c : &mpi_comm_lacking);
    make_state(c, comm, kept ? REASON_NONE : REASON_MEMORY, &again);
    quiet_end(&quiet);
    if (!kept && c)
        mpi_comm_drop(c);
    if (!kept || !c)
        return &mpi_comm_lacking;
    if (again) {
        mpi.Comm_delete_attr(comm, mpi_process.keyval);
        return NULL;
    }
    return c;
}
