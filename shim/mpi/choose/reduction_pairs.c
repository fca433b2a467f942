/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each rank asks its library once per process (arithmetic.h), and the ranks of a communicator
 * compare their findings in one small reduction: libraries choose their loops by the processor, so
 * ranks on different processors may differ. Sums of real numbers need none of this.
 *
 * A pair stands for all handles of C's integers of one sign and size. A library may treat them
 * differently (Open MPI 4.1.4 does), so all are tried, and the one that is least like the kernel
 * counts. A rank whose handle the library treats well then combines by the library too.
 *
 * A pair without a kernel is not tried out: a library that lacks it may abort, and may do so even
 * where the type exists. Its first call on a communicator is the library's, as it would be without
 * us.
 */
#include "shim/mpi/choose/reduction_pairs.h"

#include "shim/decide/choose/arithmetic.h"
#include "shim/mpi/api/calls.h"
#include "shim/mpi/call/predefined.h"

/* The verdict on a pair, for a communicator. */
enum state {
    UNKNOWN,
    REFUSED, /* by the library, as far as this rank knows: its call did not return well */
    SERVED,
    AGREED /* + enum arithmetic */
};

/* The verdict of this process: 0, or 1 + enum arithmetic. Threads that ask at once find the same.
 */
static unsigned char found[REDUCTION_PAIRS];

static enum arithmetic arithmetic_find(const struct reduction *r)
{
    struct reduction by = *r;
    MPI_Datatype alike[PREDEFINED_ALIKE];
    unsigned char known = __atomic_load_n(&found[r->pair], __ATOMIC_RELAXED);

    for (int i = 0, n = known ? 0 : predefined_alike(r->type, alike); i < n; i++) {
        by.type = alike[i];
        enum arithmetic one =
            arithmetic_probe(r->kernel_type, r->kernel_op, reduction_by_library, &by);
        known = 1 + one > known ? (unsigned char)(1 + one) : known;
    }
    __atomic_store_n(&found[r->pair], known, __ATOMIC_RELAXED);
    return (enum arithmetic)(known - 1);
}

/* All find the same, or the library is left alone. */
static enum arithmetic agree(const struct mpi_comm *c, enum arithmetic own)
{
    int mine[2] = {(int)own, -(int)own}, most[2];

    if (mpi.Allreduce(mine, most, 2, MPI_INT, MPI_MAX, c->private_comm) != MPI_SUCCESS ||
        most[0] != -most[1])
        return ARITHMETIC_UNEVEN;
    return own;
}

/* state: AGREED or beyond. */
static enum reason heed(int state, struct reduction *r)
{
    if (state == AGREED + ARITHMETIC_UNEVEN)
        return r->kernel ? REASON_ARITHMETIC : REASON_OPERATION;
    if (state == AGREED + ARITHMETIC_OTHER) {
        r->kernel = NULL;
        r->kernel_type = KERNEL_NONE;
    }
    return REASON_NONE;
}

/* Nothing is to be agreed on. */
static int is_plain(const struct reduction *r)
{
    return r->real && !r->index_bytes && r->kernel;
}

enum reason reduction_pairs_agree(struct mpi_comm *c, struct reduction *r)
{
    unsigned char *state = &c->pairs[r->pair];

    if (is_plain(r))
        return REASON_NONE;
    if (*state == UNKNOWN && !r->kernel) {
        *state = REFUSED;
        return REASON_UNTRIED;
    }
    if (*state < AGREED)
        *state = (unsigned char)(AGREED + agree(c, r->kernel          ? arithmetic_find(r)
                                                   : *state == SERVED ? ARITHMETIC_OTHER
                                                                      : ARITHMETIC_UNEVEN));
    return heed(*state, r);
}

enum reason reduction_pairs_known(const struct mpi_comm *c, struct reduction *r)
{
    int state = c->pairs[r->pair];

    return is_plain(r) ? REASON_NONE : state < AGREED ? REASON_AGREE : heed(state, r);
}

void reduction_pairs_served(struct mpi_comm *c, const struct reduction *r, int rc)
{
    if (rc == MPI_SUCCESS)
        c->pairs[r->pair] = SERVED;
}
