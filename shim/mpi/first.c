/* SPDX-License-Identifier: BSD-3-Clause */
/* The value of the attribute is a bit per collective, so remembering needs no memory of ours. */
#include "shim/mpi/first.h"

#include <stdint.h>
#include <string.h>

#include "shim/mpi/process.h"

_Static_assert(COLL_COUNT <= 8 * sizeof(uintptr_t), "a bit per collective is an attribute's value");

static int keyval = MPI_KEYVAL_INVALID, few_keyval = MPI_KEYVAL_INVALID;

int first_open(void)
{
    int rc = mpi.Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);

    return rc ? rc
              : mpi.Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &few_keyval,
                                       NULL);
}

void first_close(void)
{
    if (keyval != MPI_KEYVAL_INVALID)
        mpi.Comm_free_keyval(&keyval);
    if (few_keyval != MPI_KEYVAL_INVALID)
        mpi.Comm_free_keyval(&few_keyval);
}

int first_few(MPI_Comm comm)
{
    uintptr_t calls = 0;
    void *value = NULL;
    int found = 0;

    if (mpi.Comm_get_attr(comm, few_keyval, &value, &found) == MPI_SUCCESS && found)
        memcpy(&calls, &value, sizeof calls);
    if (calls >= FIRST_FEW)
        return 0;
    calls++;
    memcpy(&value, &calls, sizeof value);
    mpi.Comm_set_attr(comm, few_keyval, value);
    return 1;
}

int first_call(MPI_Comm comm, enum plan_collective collective)
{
    uintptr_t seen = 0, bit = (uintptr_t)1 << collective;
    void *value = NULL;
    int found = 0;

    if (mpi.Comm_get_attr(comm, keyval, &value, &found) == MPI_SUCCESS && found)
        memcpy(&seen, &value, sizeof seen);
    if (seen & bit)
        return 0;
    seen |= bit;
    memcpy(&value, &seen, sizeof seen);
    mpi.Comm_set_attr(comm, keyval, value); /* comm.c needs attributes to work, too */
    return 1;
}
