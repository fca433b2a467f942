/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is remembered is one word, the attribute's value itself: nothing to allocate, and so nothing
 * that could fail on one rank alone. The application's own communicator is used for the question,
 * so that a program whose calls are all small never pays for a private one.
 */
#include "shim/mpi/sizes.h"

enum { SEEN = 1, FOREIGN = 2 };
enum {
    FIELD_BITS = 12,
    WAIT_BITS = 7,
    MOST_LEVEL = 7
}; /* at level k the next 2^(k-1) calls wait */

static int keyval = MPI_KEYVAL_INVALID;

int sizes_open(void)
{
    return mpi.Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
}

void sizes_close(void)
{
    if (keyval != MPI_KEYVAL_INVALID)
        mpi.Comm_free_keyval(&keyval);
}

/* What is remembered of a collective lies in a field of the word. */
struct memory {
    unsigned wait, level;
};

static int field_at(enum plan_collective c)
{
    return c == COLL_GATHERV ? 8 : 8 + FIELD_BITS;
}

static struct memory memory_of(uintptr_t word, enum plan_collective c)
{
    uintptr_t field = word >> field_at(c);

    return (struct memory){.wait = field & ((1u << WAIT_BITS) - 1),
                           .level = field >> WAIT_BITS & ((1u << (FIELD_BITS - WAIT_BITS)) - 1)};
}

static uintptr_t remember(uintptr_t word, enum plan_collective c, struct memory m)
{
    uintptr_t mask = (((uintptr_t)1 << FIELD_BITS) - 1) << field_at(c);

    return (word & ~mask) | ((uintptr_t)m.wait | (uintptr_t)m.level << WAIT_BITS) << field_at(c);
}

static uintptr_t word_get(MPI_Comm comm)
{
    void *value = NULL;
    int found = 0;

    if (mpi.Comm_get_attr(comm, keyval, &value, &found) != MPI_SUCCESS || !found)
        return 0;
    return (uintptr_t)value;
}

static int word_set(MPI_Comm comm, uintptr_t word)
{
    return mpi.Comm_set_attr(comm, keyval, (void *)word) == MPI_SUCCESS; /* NOLINT: a number */
}

static void begin_to_wait(MPI_Comm comm, enum plan_collective c)
{
    uintptr_t word = word_get(comm);
    struct memory m = memory_of(word, c);

    m.level += m.level < MOST_LEVEL;
    m.wait = 1u << (m.level - 1);
    word_set(comm, remember(word, c, m));
}

/* Does the user want every call rerouted that can be? */
static int always(enum plan_collective c)
{
    return !process.cfg.min_bytes || process.choice[c].forced;
}

void sizes_were_vain(MPI_Comm comm, enum plan_collective c)
{
    if (!always(c))
        begin_to_wait(comm, c);
}

enum reason sizes_agree(MPI_Comm comm, int n, enum plan_collective c,
                        const struct sizes_claim *claim, uint64_t *total)
{
    uintptr_t word = word_get(comm);
    int kept = 1;

    if (!(word & SEEN)) {
        word = SEEN | (comm_is_foreign(comm, n) ? FOREIGN : 0);
        kept = word_set(comm, word);
    }
    if (word & FOREIGN)
        return REASON_FOREIGN;
    struct memory m = memory_of(word, c);
    if (m.wait) {
        m.wait--;
        word_set(comm, remember(word, c, m));
        return REASON_SIZES;
    }
    int64_t mine[3] = {claim->wrong || !kept || claim->own > MOST_BYTES / (unsigned)n};
    int64_t all[3] = {1};
    if (!mine[0]) {
        mine[1] = (int64_t)claim->own;
        mine[2] = (int64_t)claim->total;
    }
    if (mpi.Allreduce(mine, all, 3, MPI_INT64_T, MPI_SUM, comm) != MPI_SUCCESS || all[0] ||
        all[1] != all[2])
        return REASON_ARGUMENTS;
    *total = (uint64_t)all[2];
    enum reason why = gate_size(*total);
    if (why && !always(c))
        begin_to_wait(comm, c);
    else if (m.level)
        word_set(comm, remember(word, c, (struct memory){0}));
    return why;
}

int sizes_share(struct comm *c, MPI_Comm comm, int root, struct counts counts, MPI_Datatype type)
{
    uint64_t next = 0;

    if (c->rank == root)
        vectors_sizes(counts, c->size, type, c->bytes, NULL, &next);
    int rc = mpi.Bcast(c->bytes, c->size * (int)sizeof *c->bytes, MPI_BYTE, root, c->private_comm);
    if (rc != MPI_SUCCESS) {
        mpi.Comm_call_errhandler(comm, rc);
        return rc;
    }
    next = 0;
    for (int r = 0; r < c->size; r++) {
        c->offset[r] = next;
        next += c->bytes[r];
    }
    return rc;
}
