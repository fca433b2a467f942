/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The answer is an attribute's value, which is not copied to duplicates: it is found again there.
 */
#include "shim/mpi/api/foreign.h"

#include "shim/mpi/api/attribute.h"
#include "shim/mpi/api/calls.h"

static int keyval = MPI_KEYVAL_INVALID;
#define last THREAD_OWN(foreign, struct attribute_seen)

/* The attribute points to one of these. */
static enum reason ours = REASON_NONE, theirs = REASON_FOREIGN;

static int forget(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    attribute_gone();
    return MPI_SUCCESS;
}

int foreign_open(void)
{
    return mpi.Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &keyval, NULL);
}

void foreign_close(void)
{
    if (keyval != MPI_KEYVAL_INVALID)
        mpi.Comm_free_keyval(&keyval);
}

/* In pieces on the stack: an answer that must not depend on memory. */
static int has_others(MPI_Comm comm, int n)
{
    enum { AT_ONCE = 64 };
    int own[AT_ONCE], there[AT_ONCE], others = 0;
    MPI_Group group, world;

    mpi.Comm_group(comm, &group);
    mpi.Comm_group(MPI_COMM_WORLD, &world);
    for (int from = 0; from < n; from += AT_ONCE) {
        int some = n - from < AT_ONCE ? n - from : AT_ONCE;

        for (int i = 0; i < some; i++)
            own[i] = from + i;
        mpi.Group_translate_ranks(group, some, own, world, there);
        for (int i = 0; i < some; i++)
            others |= there[i] == MPI_UNDEFINED;
    }
    mpi.Group_free(&group);
    mpi.Group_free(&world);
    return others;
}

enum reason foreign_reason(MPI_Comm comm, int n)
{
    enum reason *known = attribute_find(comm, keyval, &last);

    if (known)
        return *known;
    known = has_others(comm, n) ? &theirs : &ours;
    attribute_set(comm, keyval, known);
    return *known;
}
