/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state is a few bytes that the attribute points to. Setting an attribute in each small call
 * took too long. A rank without memory for them says so when asked. The application's own
 * communicator is used for the question, so that a program whose calls are all small never pays for
 * a private one.
 *
 * On 16 ranks (emulated, two cores, scripts/fabric) the reduction takes as long as one Gatherv of 1
 * KiB, and the root's broadcast a tenth to a quarter of one. The first question is the reduction,
 * since it also tells whether all ranks had room to remember.
 */
#include "shim/mpi/choose/sizes.h"

#include <stdlib.h>

#include "shim/decide/base/thread_own.h"
#include "shim/decide/choose/gate.h"
#include "shim/mpi/api/attribute.h"
#include "shim/mpi/api/foreign.h"
#include "shim/mpi/api/quiet.h"
#include "shim/mpi/choose/gate.h"

/* How many calls wait after the first vain question, the second ...: even a program of the smallest
 * calls alone must not feel them. */
static const uint16_t pauses[] = {4, 64, 256, 1024};

struct memory {
    struct pause {
        uint16_t wait, level; /* level: vain questions in a row, so 0 until all ranks have memory */
        uint16_t passed;      /* calls that wait behind a large one, and are taken to be like it */
    } gatherv, scatterv;
};

static int keyval = MPI_KEYVAL_INVALID;

#define last THREAD_OWN(sizes, struct attribute_seen)

static int forget(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)extra;
    attribute_gone();
    free(value);
    return MPI_SUCCESS;
}

int sizes_open(void)
{
    return mpi.Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &keyval, NULL);
}

/* NULL: nothing yet. */
static struct memory *memory_of(MPI_Comm comm)
{
    return attribute_find(comm, keyval, &last);
}

void sizes_close(void)
{
    if (keyval == MPI_KEYVAL_INVALID)
        return;
    if (memory_of(MPI_COMM_WORLD))
        mpi.Comm_delete_attr(MPI_COMM_WORLD, keyval);
    mpi.Comm_free_keyval(&keyval);
}

/* At the first call on a communicator. NULL: there is no room, which the others hear when they ask.
 */
static struct memory *memory_begin(MPI_Comm comm)
{
    struct memory *m = calloc(1, sizeof *m);

    if (!m)
        return NULL;
    if (attribute_set(comm, keyval, m))
        return m;
    free(m);
    return NULL;
}

static struct pause *pause_of(struct memory *m, enum plan_collective c)
{
    return c == COLL_GATHERV ? &m->gatherv : &m->scatterv;
}

static void begin_to_wait(struct pause *p)
{
    p->wait = pauses[p->level];
    p->passed = 0;
    p->level += p->level + 1u < sizeof pauses / sizeof *pauses;
}

uint32_t sizes_passed(MPI_Comm comm, enum plan_collective c)
{
    struct memory *m = memory_of(comm);

    return m ? pause_of(m, c)->passed : 0;
}

/* Does the user want every call rerouted that can be? */
static int always(enum plan_collective c)
{
    return gate_always(c);
}

void sizes_were_vain(MPI_Comm comm, enum plan_collective c)
{
    struct memory *m = memory_of(comm);

    if (!m || always(c))
        return;
    begin_to_wait(pause_of(m, c));
    pause_of(m, c)->passed = pause_of(m, c)->wait;
}

int sizes_wait(MPI_Comm comm, enum plan_collective c)
{
    struct memory *m = mpi_process.verdict || comm == MPI_COMM_NULL ? NULL : memory_of(comm);

    if (!m || !pause_of(m, c)->wait)
        return 0;
    pause_of(m, c)->wait--;
    return 1;
}

enum reason sizes_ask(MPI_Comm comm, int n)
{
    enum reason why = foreign_reason(comm, n);

    if (!why && !memory_of(comm))
        memory_begin(comm);
    return why;
}

/* The root tells whether there is anything to ask all about. */
static enum reason root_knows(MPI_Comm comm, const struct sizes_claim *claim)
{
    uint64_t total = claim->wrong ? UINT64_MAX : claim->total;
    struct quiet quiet;

    quiet_begin(&quiet, comm);
    int rc = mpi.Bcast(&total, 1, MPI_UINT64_T, claim->root, comm);
    quiet_end(&quiet);
    if (rc != MPI_SUCCESS || total > MOST_BYTES)
        return REASON_ARGUMENTS;
    return gate_size(total);
}

enum reason sizes_agree_once(MPI_Comm comm, int n, const struct sizes_claim *claim, uint64_t *total)
{
    int64_t mine[3] = {claim->wrong || claim->own > MOST_BYTES / (unsigned)n};
    int64_t all[3] = {1};
    struct quiet quiet;

    if (!mine[0]) {
        mine[1] = (int64_t)claim->own;
        mine[2] = (int64_t)claim->total;
    }
    quiet_begin(&quiet, comm);
    int rc = mpi.Allreduce(mine, all, 3, MPI_INT64_T, MPI_SUM, comm);
    quiet_end(&quiet);
    if (rc != MPI_SUCCESS || all[0] || all[1] != all[2])
        return REASON_ARGUMENTS;
    *total = (uint64_t)all[2];
    return gate_size(*total);
}

enum reason sizes_agree(MPI_Comm comm, int n, enum plan_collective c,
                        const struct sizes_claim *claim, uint64_t *total)
{
    struct memory *m = memory_of(comm);
    struct sizes_claim known = *claim;
    enum reason why = REASON_NONE;

    if (m && pause_of(m, c)->level)
        why = root_knows(comm, claim);
    known.wrong |= !m;
    if (!why)
        why = sizes_agree_once(comm, n, &known, total);
    if (why == REASON_ARGUMENTS)
        return why;
    if (why && !always(c))
        begin_to_wait(pause_of(m, c));
    else
        *pause_of(m, c) = (struct pause){.passed = pause_of(m, c)->passed};
    return why;
}

int sizes_share(struct mpi_comm *c, int root, struct counts counts, MPI_Datatype type,
                size_t *bytes, uint64_t *offset)
{
    uint64_t next = 0;

    if (c->rank == root)
        vectors_sizes(counts, c->size, type, bytes, NULL, &next);
    int rc = mpi.Bcast(bytes, c->size * (int)sizeof *bytes, MPI_BYTE, root, c->private_comm);
    if (rc != MPI_SUCCESS)
        return rc;
    next = 0;
    for (int r = 0; r < c->size; r++) {
        offset[r] = next;
        next += bytes[r];
    }
    return rc;
}
